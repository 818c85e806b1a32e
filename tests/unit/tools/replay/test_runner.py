"""Runs against a broker that is a list, with a clock that only a wait moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from broker_core.client.message import RawMessage, SendResult, SendStatus
from broker_core.errors import CodecError, NetworkError, RemoteError, UsageError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.properties import decode_properties
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.tools.replay import runner as module
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.journal import RECEIPT_FILE, ReplayJournal, ReplayPlan, Spool
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget
from broker_core.tools.replay.runner import SEND_TIMEOUT_MS, SENDS_UNDER_WAY_MAX, ReplayRunner, ReplaySurroundings
from broker_core.tools.replay.send_batch import BATCH_MESSAGES_MAX
from broker_core.transport.connection import RequestTimeoutError

QUEUES = [MessageQueue("t", "a", 0), MessageQueue("t", "a", 1)]


class World:
    """A broker, a clock, and what happens when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.sent: list[tuple[float, int, bytes]] = []
        self.requests: list[RawMessage] = []
        self.fault: Callable[[RawMessage], Exception | None] = lambda _message: None
        self.on_wait: Callable[[float], None] = lambda _seconds: None
        self.under_way = self.under_way_max = 0
        self.ids = 0
        self.routes_asked = 0

    async def queues(self, topic: str) -> list[MessageQueue]:
        self.routes_asked += 1
        if topic == "none":
            raise RemoteError("no route", code=17)
        return QUEUES

    async def send_raw(self, message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        assert timeout_ms == SEND_TIMEOUT_MS
        self.under_way += 1
        self.under_way_max = max(self.under_way, self.under_way_max)
        self.requests.append(message)
        await asyncio.sleep(0)
        self.under_way -= 1
        error = self.fault(message)
        if error is not None:
            raise error
        bodies = [member.body for member in decode_batch(message.body)] if message.is_batch else [message.body]
        first = len(self.sent)
        self.sent += [(self.now_s, queue.queue_id, body) for body in bodies]
        ids = ",".join(f"N{first + number}" for number in range(len(bodies)))
        return SendResult(SendStatus.SEND_OK, "", ids, queue, first, 1)

    async def wait(self, seconds: float) -> None:
        for _ in range(3):  # sends that have begun end at the time at which they began
            await asyncio.sleep(0)
        self.on_wait(seconds)
        self.now_s += seconds

    def new_id(self) -> str:
        self.ids += 1
        return f"U{self.ids}"

    def outside(self) -> ReplaySurroundings:
        return ReplaySurroundings(lambda: self.now_s, self.wait, lambda: 5, self.new_id)

    def bodies(self) -> list[bytes]:
        return [body for _, _, body in self.sent]


def item(number: int, *, queue_id: int = 0, stored_ms: int | None = None, body: bytes | None = None, **more: str) -> ReplayItem:
    stored = 1_000 * number if stored_ms is None else stored_ms
    data = b"%d" % number if body is None else body
    return ReplayItem("orders", queue_id, number, f"ID{number}", stored, 9, number, 0, data, dict(more))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def run(tmp_path, world):
    """Start a replay, or go on with it; returns the runner after its end."""

    def run_it(*items: ReplayItem, target: ReplayTarget | None = None, pace: Pace | None = None, use=None, **how):
        folder = tmp_path / "replay"
        if items:
            spool = Spool(folder)
            for entry in items:
                spool.add(entry)
            to = target or ReplayTarget(topic="t")
            spool.finish(ReplayPlan(source="", name_servers="", target=to, pace=pace or Pace(), count=len(items), body_bytes=0))
            spool.close()

        async def go() -> ReplayRunner:
            with ReplayJournal(folder) as journal:
                runner = ReplayRunner(journal, world, world.outside(), **{"failures_max": 10, **how})
                if use is not None:
                    use(runner)
                await runner.run()
                run_it.left = journal.left
                run_it.progress = str(journal.progress)
                return runner

        return asyncio.run(go())

    run_it.receipt = lambda: [
        row for row in map(json.loads, (tmp_path / "replay" / RECEIPT_FILE).read_text().splitlines()) if "number" in row
    ]
    return run_it


def test_messages_go_in_order_to_the_queue_of_their_origin(run, world):
    run(*[item(number, queue_id=number % 3) for number in range(300)])
    assert [body for _, queue_id, body in world.sent if queue_id == 1] == [b"%d" % n for n in range(300) if n % 3 == 1]
    assert sorted(map(int, world.bodies())) == list(range(300))
    assert run.left == 0
    assert run.progress == "300 sent"


def test_what_is_alike_travels_together_within_bounds(run, world):
    run(*[item(number) for number in range(BATCH_MESSAGES_MAX + 1)], item(500, body=b"x" * 200_000), item(501))
    assert [request.is_batch for request in world.requests] == [True, False, False, False]
    assert {request.born_timestamp_ms for request in world.requests} == {9}
    members = decode_batch(world.requests[0].body)
    assert [member.flag for member in members] == list(range(BATCH_MESSAGES_MAX))
    assert decode_properties(members[3].properties) == {ORIGIN_LINK: "ID3"}


def test_what_is_delayed_or_compressed_travels_alone(run, world):
    run(item(0), item(1, DELAY="3"), item(2), item(3))
    assert [request.is_batch for request in world.requests] == [False, False, True]
    assert b"DELAY" in world.requests[1].properties


def test_so_many_at_once_and_no_more(run, world):
    run(*[item(number, DELAY="1") for number in range(300)])
    assert world.under_way_max == SENDS_UNDER_WAY_MAX
    assert world.bodies() == [b"%d" % number for number in range(300)]


def test_the_receipt_links_both_messages(run):
    run(item(4, queue_id=1), item(5, queue_id=1), target=ReplayTarget(topic="t", new_ids=True))
    first, second = run.receipt()
    assert first == {
        "number": 0, "status": "sent", "originId": "ID4", "originTopic": "orders", "originQueueId": 1, "originQueueOffset": 4,
        "topic": "t", "broker": "a", "queueId": 1, "queueOffset": 0, "offsetMsgId": "N0", "uniqueKey": "U1",
        "storeStatus": "SEND_OK", "sentAt": 5,
    }  # fmt: skip
    assert (second["queueOffset"], second["offsetMsgId"], second["uniqueKey"]) == (1, "N1", "U2")


def test_a_rate_and_the_times_of_the_originals_are_kept(run, world):
    run(*[item(number) for number in range(4)], pace=Pace(speed=2))
    assert [at - 100 for at, _, _ in world.sent] == [0, 0.5, 1, 1.5]
    assert [request.is_batch for request in world.requests] == [False] * 4


def test_a_pause_sends_nothing_and_is_not_caught_up(run, world):
    waits: list[float] = []

    def use(runner: ReplayRunner) -> None:
        def on_wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 1:
                runner.pause()
            elif runner.is_paused:
                assert len(world.sent) == 1
                runner.resume()

        world.on_wait = on_wait

    run(*[item(number) for number in range(3)], pace=Pace(rate=1), use=use)
    assert waits == [1, 3600, 1]
    assert [at - 100 for at, _, _ in world.sent] == [0, 3601, 3602]


def test_a_stop_keeps_the_rest_for_later_without_doubt(run, world):
    def use(runner: ReplayRunner) -> None:
        def fault(_message: RawMessage) -> None:
            runner.stop("enough")

        world.fault = fault

    runner = run(*[item(number, DELAY="1") for number in range(200)], use=use)
    assert runner.stopped_because == "enough"
    sent_before = len(world.sent)
    assert 0 < sent_before < 200
    assert run.left == 200 - sent_before
    world.fault = lambda _message: None
    run()
    assert world.bodies() == [b"%d" % number for number in range(200)]
    assert run.progress == "200 sent"


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_stop_waits_a_moment_for_answers_and_then_what_is_on_its_way_is_in_doubt(run, world, monkeypatch, is_stored):
    monkeypatch.setattr(module, "ROUTE_GRACE_S", 0)
    monkeypatch.setattr(module, "ANSWER_GRACE_S", 0)
    send_at_once = world.send_raw

    async def send_raw(message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        if message.body == b"3":
            if is_stored:
                await send_at_once(message, queue, timeout_ms=timeout_ms)
            runners[0].stop("enough")
            await asyncio.Event().wait()
        return await send_at_once(message, queue, timeout_ms=timeout_ms)

    runners: list[ReplayRunner] = []
    world.send_raw = send_raw
    run(*[item(number, DELAY="1") for number in range(6)], use=runners.append)
    before = sorted(world.bodies())
    (unanswered,) = [row for row in run.receipt() if row["number"] == 3]
    assert (unanswered["status"], unanswered["maybeStored"]) == ("unknown", True)
    assert unanswered["reason"] == "it was stopped before the answer came"
    assert run.progress == f"{len(before) - is_stored} sent, 1 without an answer may be there"
    world.send_raw = send_at_once
    run()
    again = [b"%d" % number for number in range(6) if b"%d" % number not in before] + ([b"3"] if is_stored else [])
    assert sorted(world.bodies()) == sorted([*before, *again])
    assert [row["number"] for row in run.receipt() if row.get("maybeTwice")] == [3]
    assert (run.left, run.progress) == (0, "6 sent, 1 may be there twice")


def test_an_answer_that_comes_after_the_stop_leaves_no_doubt(run, world, monkeypatch):
    monkeypatch.setattr(module, "ROUTE_GRACE_S", 0)
    send_at_once = world.send_raw

    async def send_raw(message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        result = await send_at_once(message, queue, timeout_ms=timeout_ms)
        runners[0].stop("enough")
        for _ in range(50):  # longer than a route is waited for
            await asyncio.sleep(0)
        return result

    runners: list[ReplayRunner] = []
    world.send_raw = send_raw
    run(*[item(number, DELAY="1") for number in range(100)], use=runners.append)
    assert 0 < len(world.bodies()) < 100
    assert {row["status"] for row in run.receipt() if "status" in row} == {"sent"}
    world.send_raw = send_at_once
    run()
    assert sorted(world.bodies()) == sorted(b"%d" % number for number in range(100))


def test_a_stop_waits_for_no_route(run, world):
    async def queues(_topic: str) -> list[MessageQueue]:
        runners[0].stop("enough")
        await asyncio.Event().wait()
        return QUEUES

    runners: list[ReplayRunner] = []
    known, world.queues = world.queues, queues
    run(item(0), use=runners.append)
    assert (run.left, run.receipt()) == (1, [])
    world.queues = known
    run()
    assert run.progress == "1 sent"


def test_after_a_crash_those_on_their_way_are_sent_again_and_marked(run, world):
    class Crash(BaseException):
        pass

    def fault(message: RawMessage) -> Exception | None:
        if message.body == b"3":
            raise Crash
        return None

    world.fault = fault
    with pytest.raises(Crash):
        run(*[item(number, DELAY="1") for number in range(6)])
    world.fault = lambda _message: None
    run()
    assert sorted(world.bodies()) == [b"%d" % number for number in range(6)]
    assert [row["number"] for row in run.receipt() if row.get("maybeTwice")] == [3]


def test_failures_are_told_and_tried_again_by_the_next_run(run, world):
    world.fault = lambda message: RemoteError("refused: full", code=1) if message.body == b"1" else None
    runner = run(*[item(number, DELAY="1") for number in range(3)])
    assert not runner.stopped_because
    assert (run.left, run.progress, runner.last_failure) == (1, "2 sent, 1 failed", "refused: full")
    assert [(row["number"], row["status"]) for row in run.receipt()] == [(0, "sent"), (1, "failed"), (2, "sent")]
    world.fault = lambda _message: None
    run()
    assert (run.left, run.progress) == (0, "3 sent")
    assert "maybeTwice" not in run.receipt()[-1]


def test_no_answer_may_mean_stored(run, world):
    world.fault = lambda _message: RequestTimeoutError("no answer")
    run(item(0))
    (row,) = run.receipt()
    assert (row["status"], row["maybeStored"], run.progress) == ("unknown", True, "0 sent, 1 without an answer may be there")
    world.fault = lambda _message: None
    run()
    assert run.progress == "1 sent, 1 may be there twice"


def test_a_broker_that_was_not_reached_has_surely_nothing(run, world):
    world.fault = lambda _message: NetworkError("cannot connect")
    run(item(0))
    assert (run.receipt()[0]["status"], run.progress) == ("failed", "0 sent, 1 failed")
    world.fault = lambda _message: None
    run()
    assert run.progress == "1 sent"


def test_an_answer_that_cannot_be_read_is_no_fault_of_ours(run, world):
    world.fault = lambda _message: CodecError("no header")
    run(item(0))
    assert (run.left, run.progress) == (1, "0 sent, 1 without an answer may be there")


def test_a_refusal_does_not_settle_what_an_earlier_run_may_have_sent(run, world):
    for error in (RequestTimeoutError("no answer"), RemoteError("refused", code=1)):
        world.fault = lambda _message, error=error: error
        run(item(0)) if isinstance(error, NetworkError) else run()
        assert run.progress == "0 sent, 1 without an answer may be there"
    world.fault = lambda _message: None
    run()
    assert run.progress == "1 sent, 1 may be there twice"


def test_many_failures_stop_it(run, world):
    world.fault = lambda _message: RemoteError("refused", code=1)
    runner = run(*[item(number, DELAY="1") for number in range(500)], failures_max=3)
    assert runner.stopped_because.startswith("3 messages failed, the last because refused")
    assert 3 <= len(world.requests) < 3 + SENDS_UNDER_WAY_MAX + 1


def test_a_batch_that_is_never_taken_is_sent_one_by_one(run, world):
    def fault(message):
        bodies = [member.body for member in decode_batch(message.body)] if message.is_batch else [message.body]
        return RemoteError("illegal", code=int(ResponseCode.MESSAGE_ILLEGAL)) if b"3" in bodies else None

    world.fault = fault
    runner = run(*[item(number) for number in range(6)], failures_max=1)
    assert any(request.is_batch for request in world.requests)
    assert sorted(world.bodies()) == [b"0", b"1", b"2", b"4", b"5"]
    assert (runner.stopped_because, run.progress, runner.last_failure) == ("", "5 sent, 1 failed", "illegal")


def test_messages_that_are_never_taken_do_not_end_a_replay(run, world):
    world.fault = lambda message: (
        RemoteError("illegal", code=int(ResponseCode.MESSAGE_ILLEGAL)) if int(message.body) < 20 else None
    )
    runner = run(*[item(number, DELAY="1") for number in range(25)], failures_max=3)
    assert (runner.stopped_because, run.progress) == ("", "5 sent, 20 failed")


def test_a_stop_holds_what_is_left_of_a_batch_that_is_never_taken(run, world):
    runners: list[ReplayRunner] = []

    def fault(message):
        if message.body == b"2":
            runners[0].stop("a person asked for it")
        return RemoteError("illegal", code=int(ResponseCode.MESSAGE_ILLEGAL)) if message.is_batch else None

    world.fault = fault
    run(*[item(number) for number in range(6)], use=runners.append)
    assert sorted(world.bodies()) == [b"0", b"1", b"2"]
    world.fault = lambda _message: None
    run()
    assert sorted(world.bodies()) == [b"%d" % number for number in range(6)]


def test_a_busy_broker_is_asked_again(run, world):
    waits: list[float] = []
    world.on_wait = waits.append
    world.fault = lambda _message: RemoteError("busy", code=int(ResponseCode.SYSTEM_BUSY)) if len(waits) < 2 else None
    run(item(0))
    assert (waits, run.left) == ([0.1, 0.4], 0)
    waits.clear()


def test_a_topic_without_route_fails_its_messages_and_is_asked_for_once(run, world):
    runner = run(item(0), item(1), item(2), target=ReplayTarget(topic="none"))
    assert (run.left, runner.last_failure, world.routes_asked) == (3, "no route", 1)


def test_what_is_left_out_says_why(run, world):
    run(item(0, body=b""), item(1))
    assert world.bodies() == [b"1"]
    assert run.receipt()[0]["reason"].startswith("it has no body")
    assert run.left == 0


def test_a_fault_of_our_own_is_raised(run, world):
    world.fault = lambda _message: ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        run(item(0))


def test_bounds(run):
    with pytest.raises(UsageError, match="after 1 failure or more"):
        run(item(0), failures_max=0)


# ---- one by one --------------------------------------------------------------------------------------------------------


def test_one_by_one_each_is_sent_when_the_one_before_is_answered(run, world):
    run(*[item(number) for number in range(20)], one_by_one=True)
    assert world.under_way_max == 1
    assert not any(request.is_batch for request in world.requests)
    assert world.bodies() == [b"%d" % number for number in range(20)]


def test_one_by_one_failures_count_only_one_after_another(run, world):
    refused = {b"1", b"3", b"5", b"6", b"7"}
    world.fault = lambda message: RemoteError("full", code=1) if message.body in refused else None
    runner = run(*[item(number) for number in range(10)], one_by_one=True, failures_max=2)
    assert (runner.stopped_because, world.bodies()) == ("2 messages failed, the last because full", [b"0", b"2", b"4"])
    assert len(world.requests) == 7, "nothing is sent after the failure that ends it"
    assert run.left == 7


def test_one_by_one_only_the_one_on_its_way_is_in_doubt_after_a_kill(run, world, tmp_path):
    def kill(message: RawMessage) -> Exception | None:
        if message.body == b"3":
            raise KeyboardInterrupt
        return None

    world.fault = kill
    with pytest.raises(KeyboardInterrupt):
        run(*[item(number) for number in range(10)], one_by_one=True)
    with ReplayJournal(tmp_path / "replay") as journal:
        assert [journal.is_in_doubt(number) for number in range(10)] == [True] * 4 + [False] * 6
        assert [number for number, _order_ms, _item in journal.open_items()] == list(range(3, 10))


def test_one_by_one_a_stop_holds_nothing_back_in_doubt(run, world):
    def use(runner: ReplayRunner) -> None:
        world.fault = lambda message: runner.stop("it was stopped") if message.body == b"2" else None

    run(*[item(number) for number in range(10)], one_by_one=True, use=use)
    assert world.bodies() == [b"0", b"1", b"2"]
    assert run.progress == "3 sent"


def test_messages_are_spread_over_the_queues_where_any_will_do(run, world):
    run(*[item(number, queue_id=0) for number in range(6)], target=ReplayTarget(topic="t", any_queue=True), one_by_one=True)
    assert [queue_id for _at, queue_id, _body in world.sent] == [0, 1, 0, 1, 0, 1]
