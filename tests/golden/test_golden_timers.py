"""Timers that a real 5.3.3 broker left pending are taken over: its files are read, its messages delivered in time."""

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.schedule.timer.checkpoint import decode_checkpoint
from broker_core.engine.schedule.timer.layout import WHEEL_BYTES
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.recovery import open_timer_store, read_found_precision
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.work import TimerWork
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import WHEEL_TIMER_TOPIC
from tests.support.clock import ManualClock
from tests.support.golden import golden_store

TOPIC = "ShopLater"


class TakenOver:
    """A copy of the golden store, served by us from a moment on."""

    def __init__(self, root, now_ms):
        self.clock = ManualClock(now_ms)
        self.paths = TimerPaths(root)
        config = StoreConfig(root=root, disk_warning_percent=100, file_reserved_hours=1_000_000)
        self.store = MessageStore.open(config, clock=self.clock)
        source = StoreSource(self.store, self.store.commit_log_max_offset)
        settings = TimerSettings()
        self.found_precision = read_found_precision(self.paths, settings, Disk())
        history = PrecisionHistory.of_json({}, current_ms=1_000, found_ms=self.found_precision)
        checkpoint = decode_checkpoint(self.paths.checkpoint.read_bytes())
        opened = open_timer_store(self.paths, settings, source, history, checkpoint, now_ms=now_ms, disk=Disk())
        self.work = TimerWork(opened.store, source, history, put=self.store.put)

    def pass_time_until(self, end_ms):
        while True:
            wait_ms = self.work.turn(self.clock())
            if wait_ms == 0:
                continue
            if wait_ms is None or self.clock() + wait_ms > end_ms:
                self.clock.now_ms = end_ms
                return
            self.clock.advance(wait_ms)

    def messages(self, queue_id):
        offset, found = self.store.min_offset(TOPIC, queue_id), []
        while offset < self.store.max_offset(TOPIC, queue_id):
            records = self.store.get_messages(TOPIC, queue_id, offset, 32).records
            found += [decode_record(record) for record in records]
            offset += len(records)
        return found


@pytest.fixture
def golden():
    return golden_store("delay-5")


@pytest.fixture
def taken_over(golden, tmp_path):
    root = golden.unpack(tmp_path)
    checkpoint = decode_checkpoint((root / "config" / "timercheck").read_bytes())
    made = TakenOver(root, checkpoint.read_ms + 5_000)
    yield made
    made.store.close()


def waiting_in(golden, read_ms):
    """What the description says is still to come: unique key → what the message was."""
    found = {}
    for message in golden.messages():
        properties = message.columns["properties"]
        pending = message.topic == WHEEL_TIMER_TOPIC and int(properties.get("TIMER_OUT_MS", 0)) >= read_ms
        if pending and "TIMER_DEL_UNIQKEY" not in properties:
            found[properties["UNIQ_KEY"]] = message
    return found


def test_the_files_say_what_waits(taken_over):
    store = taken_over.work.store
    assert taken_over.found_precision == 1_000
    assert (store.queue_offset, store.waiting) == (39, 19)
    assert list(taken_over.work.far.days.values()) == [1]


def test_all_that_waits_is_delivered_in_time_and_nothing_else(golden, taken_over):
    read_ms = taken_over.work.store.redo_read_ms
    waiting = waiting_in(golden, read_ms)
    before = [len(taken_over.messages(queue_id)) for queue_id in range(4)]
    taken_over.pass_time_until(read_ms + 5 * 86_400_000)
    delivered = [message for queue_id in range(4) for message in taken_over.messages(queue_id)[before[queue_id] :]]
    assert sorted(message.properties["UNIQ_KEY"] for message in delivered) == sorted(waiting)
    assert len(delivered) == 19
    for message in delivered:
        wanted = waiting[message.properties["UNIQ_KEY"]]
        assert message.queue_id == int(wanted.columns["properties"]["REAL_QID"])
        assert message.store_timestamp_ms - int(wanted.columns["properties"]["TIMER_OUT_MS"]) - 1_000 >= 0
        assert wanted.body_matches(message.body)
        stamps = {"TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_ROLL_TIMES"}
        assert {k: v for k, v in message.properties.items() if k not in stamps} == wanted.columns["properties"]
    assert [m.properties.get("TIMER_ROLL_TIMES") for m in delivered if m.properties["case"] == "roll"] == ["1"]


def test_our_files_over_its_store_are_the_same_where_nothing_has_changed(golden, taken_over, tmp_path):
    theirs = golden.unpack(tmp_path / "theirs")
    log = (theirs / "timerlog" / f"{0:020d}").read_bytes()
    store = taken_over.work.store
    flush = store.flush(taken_over.clock())
    store.write(flush)
    store.written(flush)
    assert (taken_over.paths.log / f"{0:020d}").read_bytes() == log
    ours, real = taken_over.paths.wheel.read_bytes(), (theirs / "timerwheel").read_bytes()
    assert len(ours) == len(real) == WHEEL_BYTES
    pending = {position for position in range(0, WHEEL_BYTES, 32) if any(ours[position : position + 8])}
    assert all(ours[position : position + 32] == real[position : position + 32] for position in pending)
    assert len(pending) == 10
    checkpoint = decode_checkpoint(taken_over.paths.checkpoint.read_bytes())
    assert (checkpoint.queue_offset, checkpoint.flush_position, checkpoint.counter) == (39, 2028, 92)
