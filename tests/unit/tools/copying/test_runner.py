"""Copies between two of our own brokers: what arrives, in which order, and what stays as it is."""

from __future__ import annotations

import asyncio
import json

import pytest

from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.order import CopyRange
from tests.support.copying import NAMES, two_brokers


def run(tmp_path, scenario):
    async def whole():
        async with two_brokers(tmp_path) as pair:
            return await scenario(pair, tmp_path / "receipt.jsonl")

    return asyncio.run(whole())


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def of_producers(message):
    return (
        message.body,
        message.properties,
        message.flag,
        message.born_timestamp_ms,
        message.sys_flag,
    )


def own(message):
    """Properties but the one that the target sets."""
    return {name: value for name, value in message.properties.items() if name != "CLUSTER"}


def test_everything_of_producers_arrives_in_order_and_the_source_stays(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 150, queues=3, city="杭州, x")
        before = [await pair.stored("orders", queue, of_target=False) for queue in range(3)]
        receipt = await pair.copy(pair.order("orders"), path)
        assert (receipt.counts.copied, receipt.left, str(receipt.counts)) == (150, 0, "150 copied")
        for queue in range(3):
            copied = await pair.stored("orders", queue)
            assert [of_producers(message) for message in copied] == [of_producers(message) for message in before[queue]]
            assert await pair.stored("orders", queue, of_target=False) == before[queue]
        lines = lines_of(path)
        assert sum(line["count"] for line in lines if "copied" in line) == 150
        assert {"topic": "orders", "did": "created"} in lines
        assert lines[-1]["messages"]["left"] == 0

    run(tmp_path, scenario)


def test_a_range_of_offsets_and_the_newest(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 20, queues=2)
        wanted = CopyRange(first_offset=2, end_offset=8, last=4)
        await pair.copy(pair.order("orders", wanted=wanted), path)
        return [int(message.body) for message in await pair.stored("orders", 1)]

    assert run(tmp_path, scenario) == [9, 11, 13, 15]


def test_settings_of_what_exists_stay_unless_asked(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 8, queues=4)
        await pair.admins[0].set_group("billing", retryMaxTimes=3)
        await pair.admins[1].create_topic("orders", queues=2)
        await pair.admins[1].set_group("billing", retryMaxTimes=7)
        address = next(iter((await pair.admins[1].master_addresses()).values()))

        async def settings():
            topic = (await pair.admins[1].topic_configs(address))["orders"]
            return topic["writeQueueNums"], (await pair.admins[1].groups())["billing"].retry_times_max

        plan = await pair.plan(pair.order("orders", groups=("billing",)))
        assert plan.topics[0].differences == ("queues to read: 2, not 4", "queues to write: 2, not 4")
        assert plan.groups[0].differences == ("retryMaxTimes: 7, not 3",)
        await pair.copy(plan.order, path)
        assert await settings() == (2, 7)
        assert sorted(int(message.body) for message in await pair.stored("orders", 0)) == [0, 2, 4, 6]
        await pair.copy(pair.order("orders", groups=("billing",), change_settings=True), path.with_name("second"))
        assert await settings() == (4, 3)

    run(tmp_path, scenario)


def test_a_topic_that_cannot_be_written_is_opened_for_the_copy_and_the_preview_says_that_it_stays_so(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 4, queues=2)
        for admin in pair.admins:
            await admin.create_topic("orders", queues=2, permission=4)
        with pytest.raises(UsageError, match="takes no messages"):
            await pair.plan(pair.order("orders"))
        order = pair.order("orders", change_settings=True)
        plan = await pair.plan(order)
        assert "permission: 4, not 6" in plan.topics[0].differences
        (note,) = plan.topics[0].notes
        assert note.startswith("changed to permission 6, as messages could not be written with 4, and stays so")
        receipt = await pair.copy(order, path)
        address = next(iter((await pair.admins[1].master_addresses()).values()))
        assert (await pair.admins[1].topic_configs(address))["orders"]["perm"] == 6
        return receipt.counts.copied

    assert run(tmp_path, scenario) == 4


def test_queues_that_share_one_are_merged_by_store_time_each_in_its_order(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 30, queues=3)
        await pair.admins[1].create_topic("orders", queues=1)
        await pair.copy(pair.order("orders"), path)
        found = [int(message.body) for message in await pair.stored("orders", 0)]
        assert sorted(found) == list(range(30))
        for queue in range(3):
            assert [number for number in found if number % 3 == queue] == list(range(queue, 30, 3))

    run(tmp_path, scenario)


def test_offsets_go_to_the_position_of_the_copy(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 20, queues=2)
        await pair.admins[1].create_topic("orders", queues=2)
        for admin in pair.admins:
            await admin.set_group("billing")
        for queue, offset in ((0, 6), (1, 1)):
            await pair.admins[0].set_consumer_offset("billing", MessageQueue("orders", NAMES[0], queue), offset)
        await pair.copy(pair.order("orders"), path)
        wanted = CopyRange(first_offset=4)
        order = pair.order("orders", wanted=wanted, groups=("*",), offsets=True)
        plan = await pair.plan(order)
        text = "\n".join(plan.lines())
        assert "offsets of billing in orders, by the position of the copied message:" in text
        assert "queue 0 on source-a: 6 → queue 0 on target-b: about 12, now none" in text
        assert "3 messages before the range are not copied" in text
        await pair.copy(order, path.with_name("second"))
        return [await pair.admins[1].consumer_offset("billing", MessageQueue("orders", NAMES[1], queue)) for queue in (0, 1)]

    # Ten of each queue were there; the second copy begins with offset 4, so 6 is its third, and 1 lies before its first.
    assert run(tmp_path, scenario) == [12, 10]


def test_offsets_go_by_time_where_queue_numbers_do_not_agree(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 20, queues=2)
        await pair.admins[1].create_topic("orders", queues=1)
        await pair.admins[0].set_group("billing")
        for queue, offset in ((0, 6), (1, 4)):
            await pair.admins[0].set_consumer_offset("billing", MessageQueue("orders", NAMES[0], queue), offset)
        order = pair.order("orders", groups=("billing",), offsets=True)
        assert "by time, as queue numbers do not agree" in "\n".join((await pair.plan(order)).lines())
        await pair.copy(order, path)
        at = await pair.admins[1].consumer_offset("billing", MessageQueue("orders", NAMES[1], 0))
        return [int(message.body) for message in await pair.stored("orders", 0)][at:]

    # Consumed: 0 2 4 6 8 10 of one queue, 1 3 5 7 of the other; the oldest that is left is 9.
    rest = run(tmp_path, scenario)
    assert set(rest) >= {number for number in range(20) if number > 11 or number in (9, 11)}
    assert {0, 1, 2, 3, 4, 5}.isdisjoint(rest)


def test_topics_of_the_broker_become_plain_data(tmp_path):
    async def scenario(pair, path):
        await pair.fill("orders", 1)
        await pair.send("orders", 0, b"later", {"DELAY": "18", "KEYS": "k"})
        dead = {"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "ID", "RECONSUME_TIME": "3", "CLUSTER": "c", "KEYS": "d"}
        for topic in ("%DLQ%billing", "%RETRY%billing"):
            await pair.admins[0].create_topic(topic, queues=1)
        await pair.send("%DLQ%billing", 0, b"dead", dead)
        order = pair.order("orders", "SCHEDULE_TOPIC_XXXX", "%DLQ%billing", "%RETRY%billing")
        plan = await pair.plan(order)
        text = "\n".join(plan.lines())
        assert "SCHEDULE_TOPIC_XXXX → copied-SCHEDULE_TOPIC_XXXX: messages that wait for their time become plain" in text
        assert "%RETRY%billing → copied-RETRY-billing: retries become plain messages: no group gets them again" in text
        assert "originals go" in text
        receipt = await pair.copy(order, path)
        assert receipt.left == 0
        waiting = await pair.stored("copied-SCHEDULE_TOPIC_XXXX", 17)
        assert [(message.body, own(message)) for message in waiting] == [
            (b"later", {"KEYS": "k", "REAL_TOPIC": "orders", "REAL_QID": "0"})
        ]
        (copied,) = await pair.stored("%DLQ%billing", 0)
        assert own(copied) == {"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "ID", "KEYS": "d"}

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"topics": ("ordres",)}, "has no topic ordres: did you mean orders?"),
        ({"target": None}, "are the same cluster"),
        ({"groups": ("nobody",)}, "has no group nobody"),
        ({"groups": ("TOOLS_CONSUMER",)}, "belongs to the brokers themselves"),
    ],
)
def test_what_cannot_be_copied_is_refused_before_anything_is_changed(tmp_path, wrong, words):
    async def scenario(pair, _path):
        await pair.fill("orders", 1)
        given = {"topics": ("orders",), **wrong}
        if "target" in wrong:
            given["target"] = pair.source
        with pytest.raises(UsageError, match="(?s)" + words.replace("?", r"\?")):
            await pair.plan(pair.order(*given.pop("topics"), **given))
        assert "orders" not in await pair.admins[1].topics()

    run(tmp_path, scenario)
