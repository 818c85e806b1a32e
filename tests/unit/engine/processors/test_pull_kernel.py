"""What Python does for the kernel of pulls: files, units, lanes, and what was served.

That it serves no pull otherwise than the general way is tested in `test_plain_pulls`.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.nameserver.registration import TopicConfig
from broker_core.engine.processors import pull_kernel
from broker_core.engine.processors.pull_kernel import PullKernel
from broker_core.engine.store import cold_read, reading
from broker_core.engine.store.consume_queue import ConsumeQueue
from broker_core.engine.store.message_store import MessageStore
from broker_core.native import lane_table
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import SerializeType
from tests.support.broker_bench import BrokerBench, bench_state, consumer_heartbeat
from tests.support.clock import ManualClock
from tests.support.machine_code import library
from tests.unit.engine.processors.test_plain_pulls import PartsPeer, decode, frame_of

JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ
TAGS = ("", "TAGS\x01a", "TAGS\x01b")


class Served:
    """A broker whose log and queues have small files, and the kernel over it."""

    def __init__(self, bench: BrokerBench, made) -> None:
        self.bench = bench
        self.store = bench.state.store
        self.reads = self.store.pull_reads(made)
        self.kernel = bench.dispatcher.plain.pull_kernel = PullKernel(bench.state, bench.dispatcher.pull, self.reads)
        self.counters = bench.state.counters

    def put(self, count: int, *, seed: int = 1) -> None:
        randomness = random.Random(seed)
        for _ in range(count):
            body = randomness.randbytes(randomness.choice((10, 100, 700)))
            self.bench.put(queue_id=randomness.randrange(2), body=body, properties=randomness.choice(TAGS))

    def take(self, *frames: bytes) -> list[bytes]:
        """Have the kernel alone serve pulls; returns its answers."""
        peer, data = PartsPeer(), b"".join(frames)
        at = taken = self.kernel.take(peer, data, 0)
        while taken:
            taken = self.kernel.take(peer, data, at) if at < len(data) else 0
            at += taken
        return answers_in(b"".join(peer.frames))

    def learn(self, **fields: object) -> None:
        for _ in range(3):
            self.take(frame_of(**fields))


def answers_in(data: bytes) -> list[bytes]:
    answers, at = [], 0
    while at < len(data):
        size = 4 + int.from_bytes(data[at : at + 4], "big")
        answers.append(data[at : at + size])
        at += size
    return answers


@contextmanager
def serving(root, made, log_file_bytes: int):
    config = StoreConfig(
        root=root, commit_log_file_bytes=log_file_bytes, consume_queue_file_bytes=20 * 97, disk_warning_percent=100
    )
    clock = ManualClock()
    with MessageStore.open(config, clock=clock) as store:
        bench = BrokerBench(bench_state(BrokerConfig(store=config), store, clock), clock)
        bench.state.topics.put(TopicConfig("T", 4, 4))
        yield Served(bench, library() if made == "machine code" else None)


@pytest.fixture(params=["machine code", "python"])
def served(tmp_path, request):
    with serving(tmp_path, request.param, 1 << 20) as found:
        yield found


@pytest.fixture(params=["machine code", "python"])
def served_from_many_files(tmp_path, request):
    with serving(tmp_path, request.param, 1 << 15) as found:
        yield found


@pytest.mark.parametrize("kind", [BINARY, JSON], ids=["binary", "json"])
@pytest.mark.parametrize(("subscription", "codes"), [("*", None), ("b", {98}), ("a || b", {97, 98})])
def test_a_consumer_gets_every_message_of_many_files(served_from_many_files, kind, subscription, codes):
    served = served_from_many_files
    served.put(600)
    served.store.flush()
    alike = {"serialize_type": kind, "subscription": subscription, "maxMsgNums": 8}
    served.learn(**alike)
    accepts = None if codes is None else codes.__contains__
    offset, end, by_kernel = 0, served.store.max_offset("T", 0), 0
    while offset < end:
        expected = served.store.get_messages("T", 0, offset, 8, accepts=accepts)
        answers = served.take(frame_of(queueOffset=offset, **alike))
        if answers:
            by_kernel += 1
            answer = decode(answers[0])
            assert answer.body == b"".join(expected.records)
            assert int(answer.ext_fields["nextBeginOffset"]) == expected.next_offset
        offset = expected.next_offset
    assert by_kernel > 8, "only runs over the end of a file are left to Python"


def test_a_page_and_the_next_one_cost_one_read_of_units(served, monkeypatch):
    served.put(500)
    served.store.flush()
    served.learn()
    read = []
    units = ConsumeQueue.units
    monkeypatch.setattr(ConsumeQueue, "units", lambda self, *asked: read.append(asked) or units(self, *asked))
    assert len(served.take(frame_of(queueOffset=100), frame_of(queueOffset=132, maxMsgNums=32))) == 2
    assert read == [(100, 64)]
    assert served.take(frame_of(queueOffset=164, maxMsgNums=32))
    assert read[1:] == [(164, q.WINDOW_UNITS)], "who goes on gets more at a time"


def test_who_keeps_up_needs_no_read_of_units(served, monkeypatch):
    served.put(60)
    served.learn()
    monkeypatch.setattr(ConsumeQueue, "units", None)
    end = served.store.max_offset("T", 0)
    (answer,) = served.take(frame_of(queueOffset=end - 3))
    assert int(decode(answer).ext_fields["nextBeginOffset"]) == end


def test_what_was_served_is_counted_once_for_each_lane(served):
    served.put(100)
    for queue_id in (0, 1):
        served.learn(queueId=queue_id)
    pulls, got = served.counters.pulls["T", "CG"].pulls, served.counters.got_messages
    member = PartsPeer()
    served.bench.answer(member, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 5)))
    frames = [frame_of(queueId=number % 2, queueOffset=number, commitOffset=number, maxMsgNums=32) for number in range(6)]
    data = b"".join(frames)
    assert served.kernel.take(member, data, 0) == len(data)
    answers = answers_in(b"".join(member.frames))
    assert (len(answers), member.requests_in) == (6, 6)
    counters = served.counters
    assert counters.pulls["T", "CG"].pulls == pulls + 6
    assert counters.got_messages == got + 6 * 32
    assert [served.bench.state.offsets.get("CG", "T", queue_id) for queue_id in (0, 1)] == [4, 5]
    assert [served.bench.state.consumers.puller("CG", "T", queue_id) for queue_id in (0, 1)] == ["c1", "c1"]


def test_a_commit_that_its_queue_cannot_have_changes_nothing_and_its_pull_is_served(served):
    served.put(100)
    served.learn()
    end, peer = served.store.max_offset("T", 0), PartsPeer()
    plain = served.bench.dispatcher.plain
    for commits, stored in (((4, end + 1), 4), ((end + 1, 5), 5), ((end, 10**17), end)):
        data = b"".join(frame_of(queueOffset=number, commitOffset=commit) for number, commit in enumerate(commits))
        at, first = 0, len(peer.frames)
        while at < len(data):
            at += plain.serve(peer, data, at, int.from_bytes(data[at : at + 4], "big"))
        answers = [decode(answer) for answer in answers_in(b"".join(peer.frames[first:]))]
        assert [answer.body != b"" for answer in answers] == [True, True]
        assert served.bench.state.offsets.get("CG", "T", 0) == stored


def test_what_lies_far_back_is_looked_at_once_and_left_to_a_thread_where_it_is_missing(served, monkeypatch):
    served.put(300)
    served.learn()
    for module in (reading, __import__("broker_core.engine.store.pull_reads", fromlist=["x"])):
        monkeypatch.setattr(module, "NEAR_BYTES", 1_000)
    looked, missing = [], set()
    monkeypatch.setattr(cold_read, "are_in_memory", lambda _log, first, _size: looked.append(first) or first not in missing)
    assert served.take(frame_of(queueOffset=0), frame_of(queueOffset=5))
    assert len([place for place in looked if place == 0]) == 1
    monkeypatch.setattr(cold_read, "KNOWN_MS", 0)
    served.reads._resident.seen[1] = 0
    missing.add(0)
    assert not served.take(frame_of(queueOffset=0))


def test_records_beyond_the_reach_of_memory_are_left_to_python(served):
    served.put(50)
    served.learn()
    assert served.take(frame_of())
    served.store.reconfigure(replace(served.bench.state.config.store, access_in_memory_max_ratio_percent=0))
    assert not served.take(frame_of())


def test_a_removed_queue_is_not_read_through_its_old_lane(served):
    served.put(50)
    served.learn()
    frame = frame_of()
    assert served.take(frame)
    version = served.bench.state.topics.version
    served.store.remove_topic("T")
    assert served.bench.state.topics.version is version, "only the row tells"
    assert not served.take(frame)
    served.put(50, seed=2)
    (answer,) = served.take(frame)
    assert decode(answer).body == b"".join(served.store.get_messages("T", 0, 0, 32).records)


def test_lanes_are_forgotten_when_there_are_too_many(served, monkeypatch):
    monkeypatch.setattr(lane_table, "LANES_MAX", 5)
    monkeypatch.setattr(pull_kernel, "_SEEN_MAX", 16)
    served.put(50)
    for number in range(40):
        served.learn(bname=str(number))
        assert served.take(frame_of(bname=str(number)))
        assert len(served.kernel._lanes) <= 5
        assert len(served.kernel._seen) <= 16
    served.learn(bname="b" * 2000)
    assert not served.take(frame_of(bname="b" * 2000)), "a key that is too long"


def test_who_waits_on_many_queues_by_turns_costs_no_memory(served, monkeypatch):
    monkeypatch.setattr(pull_kernel, "_SEEN_MAX", 16)
    for _ in range(3):
        for number in range(40):
            assert not served.take(frame_of(bname=str(number)))
    assert (len(served.kernel._lanes), len(served.kernel._seen) <= 16) == (0, True)


def test_lanes_that_served_a_read_are_noted_before_they_are_forgotten(served, monkeypatch):
    served.put(50)
    served.learn()
    monkeypatch.setattr(lane_table, "LANES_MAX", 1)
    other = frame_of(bname="x")
    served.take(other)
    before = served.counters.pulls["T", "CG"].pulls
    assert len(served.take(frame_of(), other)) == 2
    assert served.counters.pulls["T", "CG"].pulls == before + 2
    assert len(served.kernel._lanes) == 1


def test_a_pull_of_more_than_the_kernel_lists_is_left_to_python(served):
    served.put(50)
    config = served.bench.state.config
    store = replace(config.store, max_transfer_count_in_memory=p.PIECES_MAX + 1)
    served.store.reconfigure(store)
    served.bench.state.config = replace(config, store=store)
    served.learn(maxMsgNums=2000)
    assert not served.take(frame_of(maxMsgNums=2000))
    served.learn(maxMsgNums=1000)
    assert served.take(frame_of(maxMsgNums=1000))


def test_a_file_of_the_log_that_nobody_reads_is_let_go(served):
    served.put(300)
    served.learn()
    assert served.take(frame_of())
    served.kernel.tick()
    assert len(served.reads.table._log) > 0, "it was read since the last second"
    served.kernel.tick()
    assert len(served.reads.table._log) == 0
    assert served.take(frame_of())


def test_a_fault_of_the_disk_is_left_to_the_general_way(served, monkeypatch):
    served.put(300)
    served.store.flush()
    served.learn()

    def fail(*_: object) -> bytes:
        raise OSError(5, "broken")

    with monkeypatch.context() as broken:
        broken.setattr(ConsumeQueue, "units", fail)
        assert not served.take(frame_of(queueOffset=100))
    assert served.take(frame_of(queueOffset=100))


def test_pulls_with_another_filter_are_admitted_once_until_something_changes(served, monkeypatch):
    served.put(50)
    state = served.bench.state
    state.config = replace(state.config, property_filter=True)
    alike = {"subscription": "TAGS IS NOT NULL", "expressionType": "SQL92"}
    served.learn(**alike)
    asked, admit = [], served.bench.dispatcher.pull.admission.admit
    monkeypatch.setattr(
        served.bench.dispatcher.pull.admission, "admit", lambda terms, *, lite: asked.append(1) or admit(terms, lite=lite)
    )
    assert not served.take(frame_of(**alike))
    assert asked == []
    served.bench.state.topics.put(TopicConfig("U", 1, 1))
    assert not served.take(frame_of(**alike))
    assert asked == [1]


def test_a_queue_that_hides_messages_is_left_to_python(served):
    class Hiding:
        def end(self, topic: str, _queue_id: int) -> int | None:
            return 5 if topic == "T" else None

        def hides(self, _topic: str, _queue_id: int, _offset: int) -> bool:
            return False

    served.put(50)
    served.learn()
    assert served.take(frame_of())
    served.store.visibility = Hiding()
    assert not served.take(frame_of())
    served.store.visibility = None
    assert served.take(frame_of())


def test_a_queue_whose_row_is_not_open_is_left_to_python(served):
    served.put(50)
    row = served.store._parts.queues.by_key["T", 0].row
    serial = served.store._parts.queues.rows.table[row + q.OPEN_AS]
    served.store._parts.queues.rows.table[row + q.OPEN_AS] = 0
    served.learn()
    assert not served.take(frame_of())
    served.store._parts.queues.rows.table[row + q.OPEN_AS] = serial
    assert served.take(frame_of())
