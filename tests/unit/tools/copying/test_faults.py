"""Lost answers, kills, stops and topics that go: what is copied, and what the receipt says about what may be there twice."""

from __future__ import annotations

import asyncio
import json

import pytest

from broker_core.errors import CodecError, ConnectionLostError, NetworkError, RemoteError, UsageError
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from broker_core.tools.commands.store_end import serving_store
from broker_core.tools.copying.control import CopyControl, CopySurroundings
from broker_core.tools.copying.ends import opened
from broker_core.tools.copying.order import CopyOrder
from broker_core.tools.copying.plan import CopyPlan
from broker_core.tools.copying.planner import CopyPlanner
from broker_core.tools.copying.receipt import CopyReceipt
from tests.support.copying import LosingSender, StoppedClock, two_brokers
from tests.support.full_disk import largest_file


def run(tmp_path, scenario):
    async def whole():
        async with two_brokers(tmp_path) as pair:
            return await scenario(pair, tmp_path / "receipt.jsonl")

    return asyncio.run(whole())


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def numbers(pair, topic="orders", queue=0):
    return [int(message.body) for message in await pair.stored(topic, queue)]


async def copy_with(pair, path, sender_of, *, control=None, topic="orders"):
    order = pair.order(topic)
    async with opened(order, source=None, target=None, serve=serving_store) as ends:
        receipt = CopyReceipt(path, await CopyPlanner(order, ends.source, ends.target).plan())
        return await pair.carry_out(receipt, ends, sender=sender_of(ends.sender), control=control)


def test_an_answer_that_is_lost_is_looked_for_before_anything_is_sent_again(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 8, queues=1)
        lost = ConnectionLostError("the connection ended")
        receipt = await copy_with(pair, path, lambda sender: LosingSender(sender, {2: "after", 5: "before"}, lost))
        assert await numbers(pair) == list(range(8))
        assert (receipt.counts.copied, receipt.counts.maybe_twice) == (8, 1)
        copied = [line for line in lines_of(path) if "copied" in line]
        assert [line["from"] for line in copied if line.get("found")] == [2]
        # The fifth send was the fourth message's; it was not at the target, so it went again and is named.
        assert [line["from"] for line in copied if line.get("maybeTwice")] == [5]
        assert any(text.startswith("waiting: sending to queue 0 of orders on target-b") for text in pair.said)
        assert any(text.startswith("going on: sending to queue 0") for text in pair.said)

    run(tmp_path, scenario)


def test_what_was_never_sent_is_not_in_doubt(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 4, queues=1)
        refused = NetworkError("cannot connect")
        receipt = await copy_with(pair, path, lambda sender: LosingSender(sender, {1: "before", 2: "before"}, refused))
        return await numbers(pair), str(receipt.counts)

    assert run(tmp_path, scenario) == ([0, 1, 2, 3], "4 copied")


@pytest.mark.parametrize("kept", [1, 4, 7, 10])
def test_after_a_kill_it_goes_on_without_a_duplicate(tmp_path, kept):
    async def scenario(pair, path):
        await pair.fill("orders", 40, queues=2)
        await pair.copy(pair.order("orders"), path)
        # As a kill would leave it: all is at the target, the receipt ends earlier, in the midst of a line.
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:kept]) + lines[kept][:-5])
        receipt = await pair.go_on(path)
        assert (receipt.left, receipt.counts.copied, receipt.counts.maybe_twice) == (0, 40, 0)
        assert [await numbers(pair, queue=queue) for queue in (0, 1)] == [list(range(0, 40, 2)), list(range(1, 40, 2))]

    run(tmp_path, scenario)


def test_what_a_killed_run_may_have_sent_is_named_when_it_is_sent_again(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 6, queues=1)
        order = pair.order("orders")
        async with opened(order, source=None, target=None, serve=serving_store) as ends:
            with CopyReceipt(path, await CopyPlanner(order, ends.source, ends.target).plan()) as receipt:
                receipt.hand_on(0, 3)
        receipt = await pair.go_on(path)
        assert await numbers(pair) == list(range(6))
        assert (receipt.counts.copied, receipt.counts.maybe_twice) == (6, 3)

    run(tmp_path, scenario)


def test_a_stopped_copy_goes_on_where_it_ended(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 10, queues=1)
        control = pair.control()

        class Stopping(LosingSender):
            async def send_raw(self, *args, **more):
                if self.sent == 3:
                    control.stop("it was stopped")
                return await super().send_raw(*args, **more)

        receipt = await copy_with(pair, path, lambda sender: Stopping(sender, {}, None), control=control)
        assert (receipt.counts.copied, receipt.counts.unknown, receipt.left) == (4, 0, 6)
        assert lines_of(path)[-1]["ended"] == "it was stopped"
        receipt = await pair.go_on(path)
        assert (await numbers(pair), receipt.counts.maybe_twice, receipt.left) == (list(range(10)), 0, 0)
        again = await pair.go_on(path)
        assert (await numbers(pair), again.left) == (list(range(10)), 0)

    run(tmp_path, scenario)


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_stop_waits_for_no_answer_and_what_was_on_its_way_is_looked_for_by_the_next_run(tmp_path, is_stored):
    async def scenario(pair, path):
        await pair.fill("orders", 10, queues=1)
        control = pair.control()

        class Silent(LosingSender):
            async def send_raw(self, *args, **more):
                if self.sent == 3:
                    if is_stored:
                        await super().send_raw(*args, **more)
                    control.stop("it was stopped")
                    await asyncio.Event().wait()
                return await super().send_raw(*args, **more)

        receipt = await copy_with(pair, path, lambda sender: Silent(sender, {}, None), control=control)
        assert (receipt.counts.copied, receipt.left) == (3, 7)
        assert lines_of(path)[-1]["ended"] == "it was stopped"
        assert lines_of(path)[-1]["messages"]["unknown"] == 1
        assert str(receipt.counts) == "3 copied, 1 without an answer may be there"
        receipt = await pair.go_on(path)
        assert (await numbers(pair), receipt.left, receipt.counts.unknown) == (list(range(10)), 0, 0)
        copied = [line for line in lines_of(path) if "copied" in line]
        assert [line["from"] for line in copied if line.get("found")] == ([3] if is_stored else [])
        # One that did not arrive is sent by the next run alone, which cannot know that.
        assert receipt.counts.maybe_twice == (0 if is_stored else 1)

    run(tmp_path, scenario)


def test_a_stop_waits_for_no_answer_of_the_source_either(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 3, queues=1)
        control, order = pair.control(), pair.order("orders")
        async with opened(order, source=None, target=None, serve=serving_store) as ends:
            receipt = CopyReceipt(path, await CopyPlanner(order, ends.source, ends.target).plan())

            async def silent(*_args):
                control.stop("it was stopped")
                await asyncio.Event().wait()

            ends.source.admin.pull_records = silent
            receipt = await pair.carry_out(receipt, ends, control=control)
        assert (receipt.counts.copied, receipt.left) == (0, 3)
        receipt = await pair.go_on(path)
        assert (await numbers(pair), receipt.counts.maybe_twice) == ([0, 1, 2], 0)

    run(tmp_path, scenario)


def test_what_a_broker_never_takes_is_left_out_and_the_rest_goes_on(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 3, queues=1)
        too_large = RemoteError("the message is too large", code=13)
        receipt = await copy_with(pair, path, lambda sender: LosingSender(sender, {1: "before"}, too_large))
        (line,) = [line for line in lines_of(path) if "leftOut" in line]
        assert (line["from"], line["reason"]) == (1, "the message is too large")
        return await numbers(pair), str(receipt.counts), receipt.left

    assert run(tmp_path, scenario) == ([0, 2], "2 copied, 1 left out", 0)


@pytest.mark.parametrize("is_refused", [False, True])
def test_messages_with_properties_up_to_the_last_byte_are_copied_in_batches_and_alone(tmp_path, is_refused):
    async def scenario(pair, path):
        await pair.admins[0].create_topic("orders", queues=1)
        for free in (0, 40, 200):
            long = "v" * (PROPERTIES_BYTES_MAX - free - len("long\x01\x02CLUSTER\x01DefaultCluster"))
            await pair.send("orders", 0, b"%d" % free, {"long": long})
        refused = RemoteError("the batch is too large", code=13)
        receipt = await copy_with(pair, path, lambda sender: LosingSender(sender, {0: "before"} if is_refused else {}, refused))
        stored = await pair.stored("orders", 0)
        return [(message.body, len(message.properties_bytes)) for message in stored], str(receipt.counts)

    copied = [(b"%d" % free, PROPERTIES_BYTES_MAX - free) for free in (0, 40, 200)]
    assert run(tmp_path, scenario) == (copied, "3 copied")


def test_a_topic_that_goes_is_waited_for_and_not_made_by_the_messages_and_what_went_with_it_is_said(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 4, queues=1)
        clock = StoppedClock(pair.said)
        waits = 0

        async def wait(seconds):
            nonlocal waits
            waits += 1
            if waits == 2:
                assert "orders" not in await pair.admins[1].topics()
                await pair.admins[1].create_topic("orders", queues=1)
            await asyncio.sleep(0)
            clock.now_s += seconds

        outside = CopySurroundings(lambda: clock.now_s, wait, pair.said.append)

        class Deleting(LosingSender):
            async def send_raw(self, *args, **more):
                if self.sent == 2:
                    await pair.admins[1].delete_topic("orders")
                return await super().send_raw(*args, **more)

        control = CopyControl(outside, rate=None, wait_max_s=1_000.0)
        receipt = await copy_with(pair, path, lambda sender: Deleting(sender, {}, None), control=control)
        assert any("TOPIC_NOT_EXIST" in text for text in pair.said)
        assert "queue 0 of orders on target-b ended at 2 and goes on at 0" in control.stopped_because
        assert control.is_over_for_good
        return await numbers(pair), receipt.left

    assert run(tmp_path, scenario) == ([2], 1)


def test_a_fault_that_lasts_too_long_ends_it_and_it_can_go_on(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 3, queues=1)
        lost = dict.fromkeys(range(1, 10_000), "before")
        control = pair.control()
        receipt = await copy_with(
            pair, path, lambda sender: LosingSender(sender, lost, NetworkError("cannot connect")), control=control
        )
        assert receipt.left == 2
        assert control.stopped_because.endswith("failed for 1,000 s: cannot connect")
        return (await pair.go_on(path)).left, await numbers(pair)

    assert run(tmp_path, scenario) == (0, [0, 1, 2])


def test_a_rate_is_kept_and_a_pause_is_not_caught_up():
    async def scenario():
        clock = StoppedClock([])
        control = CopyControl(clock.surroundings, rate=20.0, wait_max_s=1.0)
        assert control.messages_at_once == 2
        for _ in range(10):
            await control.turn(2)
        assert clock.now_s == pytest.approx(0.9)
        clock.now_s += 100.0
        before = clock.now_s
        for _ in range(11):
            await control.turn(2)
        assert clock.now_s - before == pytest.approx(1.0)

    asyncio.run(scenario())


def test_a_pause_holds_also_when_a_fault_ends_meanwhile():
    async def scenario():
        asked, waits = [], []

        async def wait(seconds):
            waits.append(seconds)
            clock.now_s += min(seconds, 1.0)
            if len(waits) == 5:
                control.resume()

        async def ask():
            asked.append(len(waits))
            if len(asked) == 1:
                control.pause()
                raise NetworkError("gone")
            return "answer"

        clock = StoppedClock([])
        control = CopyControl(CopySurroundings(lambda: clock.now_s, wait, lambda _text: None), rate=None, wait_max_s=1_000.0)
        assert await control.through("it", ask) == "answer"
        assert (asked, control.faults) == ([0, 5], [])

    asyncio.run(scenario())


def test_a_receipt_is_of_one_copy_and_of_one_process(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 2, queues=1)
        plan = await pair.plan(pair.order("orders"))
        with CopyReceipt(path, plan) as receipt:
            receipt.copied(0, 0, 1, 0)
            with pytest.raises(UsageError, match="another process is at work"):
                CopyReceipt(path)
        with pytest.raises(UsageError, match="exists already: go on with it"):
            CopyReceipt(path, plan)
        with CopyReceipt(path) as again:
            assert again.plan == plan
            assert (again.left, again.parts[0].next_offset) == (1, 1)

    run(tmp_path, scenario)


def test_a_receipt_without_room_for_its_plan_is_refused_and_no_file_stays(tmp_path):
    plan = CopyPlan(order=CopyOrder(source="a:1", target="b:1", topics=("orders",)), topics=())
    path = tmp_path / "receipt.jsonl"
    with largest_file(100), pytest.raises(UsageError, match=r"File too large\. Name another file with --receipt"):
        CopyReceipt(path, plan)
    assert not path.exists()


def test_what_is_no_receipt_or_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "other"
    with pytest.raises(UsageError, match="there is no file"):
        CopyReceipt(path)
    assert not path.exists()
    path.write_text("hello\n")
    with pytest.raises(UsageError, match="is no receipt of a copy"):
        CopyReceipt(path)
    path.write_text('{"orbitCopy": 1, "plan": {"order": 3}}\n')
    with pytest.raises(CodecError, match="names no order"):
        CopyReceipt(path)

    async def scenario(pair, copied):
        await pair.fill("orders", 2, queues=1)
        await pair.copy(pair.order("orders"), copied)
        lines = copied.read_bytes().splitlines(keepends=True)
        for wrong in (b"{]\n", b'{"copied": 99, "from": 1, "count": 1, "at": 1}\n'):
            copied.write_bytes(lines[0] + wrong + b"".join(lines[1:]))
            with pytest.raises(CodecError, match="damaged line at byte"):
                CopyReceipt(copied)

    run(tmp_path, scenario)
