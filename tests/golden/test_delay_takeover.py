"""Delay levels of stores that real brokers left: what they delivered is what ours would have, and what waits is delivered."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.schedule.delayed_message import delivered
from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.names import SCHEDULE_TOPIC
from tests.support.clock import ManualClock
from tests.support.golden import golden_store
from tests.support.schedule_bench import ManualTimers

LEVEL_18_MS = 2 * 3_600_000
SIZES = ("mappedFileSizeCommitLog", "mappedFileSizeConsumeQueue", "maxHashSlotNum", "maxIndexNum")


@pytest.fixture(params=["delay", "delay-5"])
def golden(request):
    return golden_store(request.param)


def opened(golden, root, clock):
    sizes = {key: golden.expected["settings"][key] for key in SIZES}
    config = with_settings(BrokerConfig(store=StoreConfig(root=root, disk_warning_percent=100)), sizes).store
    return MessageStore.open(config, clock=clock)


def scheduled(golden):
    """Level, description row of every message that waited or waits."""
    return [(message.queue_id + 1, message.columns) for message in golden.messages() if message.topic == SCHEDULE_TOPIC]


def is_pending(golden, level, columns):
    return columns["queueOffset"] >= golden.expected["delayOffsets"].get(str(level), 0)


def identity(topic, queue_id, columns):
    return topic, queue_id, columns["properties"].get("UNIQ_KEY"), columns["bodyCrc"]


def test_what_the_real_broker_delivered_is_byte_for_byte_what_ours_delivers(golden, tmp_path):
    real = {
        identity(message.topic, message.queue_id, message.columns): message.columns
        for message in golden.messages()
        if not message.topic.startswith(("SCHEDULE", "rmq_sys"))
    }
    with opened(golden, golden.unpack(tmp_path), ManualClock()) as store:
        done = [columns for level, columns in scheduled(golden) if not is_pending(golden, level, columns)]
        assert len(done) > 30
        for columns in done:
            copy = delivered(store.record_at(columns["physicalOffset"]))
            theirs = real[identity(copy.topic, copy.queue_id, columns)]
            record = bytes(store.record_at(theirs["physicalOffset"]))
            assert record == encode_record(
                copy,
                queue_offset=theirs["queueOffset"],
                physical_offset=theirs["physicalOffset"],
                store_timestamp_ms=theirs["storeTimestamp"],
            )


def test_what_waits_is_delivered_once_when_it_is_due(golden, tmp_path):
    pending = [columns for level, columns in scheduled(golden) if is_pending(golden, level, columns)]
    clock = ManualClock(max(columns["storeTimestamp"] for _, columns in scheduled(golden)) + 1)
    root = golden.unpack(tmp_path)
    due = sorted(columns["tagsCode"] for columns in pending)
    assert len(due) > 8

    async def scenario():
        arrivals = []
        with opened(golden, root, clock) as store:
            files, timers = ConfigFiles(root / "config"), ManualTimers(clock)
            service = DelayService(
                store, files, ActionJournal(root / "config", clock=clock), clock=clock, timers=timers, save_interval_ms=10_000
            )
            store.add_arrival_listener(arrivals.append)
            service.start()
            timers.advance(0)
            timers.advance(due[0] - clock.now_ms - 1 if due[0] > clock.now_ms else 0)
            assert all(arrival.store_timestamp_ms >= due[0] for arrival in arrivals)
            timers.advance(LEVEL_18_MS)
            assert [arrival.store_timestamp_ms for arrival in arrivals] == [max(time, clock_start) for time in due]
            delivered_now = [decode_record(store.record_at(arrival.physical_offset)) for arrival in arrivals]
            await service.stop()
            await files.stop()
        return delivered_now

    clock_start = clock.now_ms
    copies = asyncio.run(scenario())
    wanted = Counter(
        (columns["properties"]["REAL_TOPIC"], int(columns["properties"]["REAL_QID"]), columns["properties"]["UNIQ_KEY"])
        for columns in pending
    )
    assert Counter((copy.topic, copy.queue_id, copy.properties["UNIQ_KEY"]) for copy in copies) == wanted
    written = ConfigFile(root / "config" / "delayOffset.json").look().value
    ends = Counter(level for level, _ in scheduled(golden))
    assert written["offsetTable"] == {str(level): count for level, count in sorted(ends.items())}
    assert ("dataVersion" in written) == (golden.name == "delay-5")
