"""Stores that real brokers wrote, served by our broker and copied to an empty one: every message, every place, every offset."""

from __future__ import annotations

import asyncio
import json

import pytest

from broker_core.client.admin import AdminClient
from broker_core.cluster.records import split_records
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.protocol.admin.topics import PERM_READ
from broker_core.protocol.message.record import decode_record
from broker_core.tools.commands.store_end import serving_store
from broker_core.tools.copying.control import CopyControl
from broker_core.tools.copying.copied_message import copied_message, is_copy_of, is_reserved
from broker_core.tools.copying.ends import opened
from broker_core.tools.copying.order import CopyOrder
from broker_core.tools.copying.planner import CopyPlanner
from broker_core.tools.copying.receipt import CopyReceipt
from broker_core.tools.copying.runner import CopyRunner
from broker_core.tools.replay.item import item_of_message
from tests.support.copying import StoppedClock
from tests.support.embedded import started
from tests.support.golden import golden_store


def config(name, root):
    return BrokerConfig(listen_port=0, name_server_port=0, broker_name=name, store=StoreConfig(root=root))


async def records_of(admin, queue):
    address = (await admin.readable_route(queue.topic)).address_of(queue.broker_name)
    offset, end = await admin.min_offset(queue), await admin.max_offset(queue)
    found = []
    while offset < end:
        body, offset = await admin.pull_records(address, queue, offset, 32)
        found += [item_of_message(decode_record(record)) for record in split_records(body)]
    return found


async def copied(order, path):
    async with opened(order, source=None, target=None, serve=serving_store) as ends:
        plan = await CopyPlanner(order, ends.source, ends.target).plan()
        with CopyReceipt(path, plan) as receipt:
            control = CopyControl(StoppedClock([]).surroundings, rate=None, wait_max_s=1_000.0)
            runner = CopyRunner(receipt, ends.source.admin, ends.target.admin, ends.sender, control)
            await runner.run()
            assert (control.stopped_because, runner.is_finished, receipt.left) == ("", True, 0)
            return receipt


def refused_in(path):
    """Part and offset of what was left out: messages without a body, which a 4.9.4 broker takes and ours refuses."""
    lines = [line for line in map(json.loads, path.read_text("utf-8").splitlines()) if "leftOut" in line]
    assert all("the message has no body" in line["reason"] for line in lines)
    return {(line["leftOut"], line["from"]) for line in lines}


def topics_of(broker):
    """Those that producers send to and that may be read."""
    table = broker.topics.all().items()
    return [topic for topic, settings in table if not is_reserved(topic) and settings.permission & PERM_READ]


@pytest.mark.parametrize("name", ["normal", "normal-5", "delay", "consume", "transaction"])
def test_all_topics_of_a_store_are_copied(tmp_path, name):
    files = golden_store(name).unpack(tmp_path / "files")

    async def scenario():
        async with (
            started(config("source-a", files)) as source,
            started(config("target-b", tmp_path / "target")) as target,
            AdminClient(source.name_server_address) as first,
            AdminClient(target.name_server_address) as second,
        ):
            order = CopyOrder(
                source=source.name_server_address,
                target=target.name_server_address,
                topics=tuple(topics_of(source)),
                groups=("*",),
                offsets=True,
            )
            receipt = await copied(order, tmp_path / "receipt")
            refused = refused_in(tmp_path / "receipt")
            assert bool(refused) == (name == "normal")
            for part in receipt.plan.parts:
                before, after = await records_of(first, part.source), await records_of(second, part.target)
                sent = [copied_message(item) for item in before if (part.number, item.queue_offset) not in refused]
                assert [item.body for item in after] == [message.body for message in sent]
                assert all(is_copy_of(item, message) for item, message in zip(after, sent, strict=True))
            assert receipt.counts.copied + len(refused) == sum(part.count for part in receipt.plan.parts)
            for row in receipt.plan.offsets:
                part = receipt.plan.parts[row.part]
                wanted = min(max(row.offset - part.first, 0), part.count)
                assert await second.consumer_offset(row.group, part.target) == wanted
            return len(receipt.plan.offsets)

    offsets = asyncio.run(scenario())
    assert (offsets > 0) == (name == "consume")
