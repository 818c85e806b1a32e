from __future__ import annotations

import threading

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.flush import FlushService, FlushTargets
from broker_core.engine.store.log_places import LogPlaces
from broker_core.protocol.message.record import topic_field
from tests.support.store_bench import BROKEN, FaultyDisk, message

DEADLINE_S = 90
TOPIC = topic_field(b"Orders")


class Called:
    """Counts calls, raises on demand, and lets a test wait for the first."""

    def __init__(self, error: int = 0) -> None:
        self.error = error
        self.event = threading.Event()

    def __call__(self, *_: object) -> None:
        self.event.set()
        if self.error:
            raise OSError(self.error, "fault")


@pytest.fixture
def log(tmp_path):
    made = CommitLog(LogPlaces([tmp_path / "commitlog"]), 1 << 14, FaultyDisk(), read_only=False)
    yield made
    made.close()


def service(log, *, write_queues=None, write_index=None, write_checkpoint=None, failed=None, **settings) -> FlushService:
    values = {"flush_commit_log_interval_ms": 3_600_000, "flush_consume_queue_interval_ms": 3_600_000} | settings
    targets = FlushTargets(
        write_queues or Called(), write_index or Called(), write_checkpoint or Called(), Called(), failed or Called()
    )
    made = FlushService(log, StoreConfig(**values), targets)
    made.start()
    return made


@pytest.mark.parametrize(("thorough_ms", "which"), [(3_600_000, "write_queues"), (0, "write_checkpoint")])
def test_queues_are_written_at_intervals_and_the_checkpoint_now_and_then(log, thorough_ms, which):
    called = Called()
    running = service(
        log,
        **{which: called},
        flush_consume_queue_interval_ms=1,
        flush_consume_queue_thorough_interval_ms=thorough_ms,
    )
    assert called.event.wait(DEADLINE_S)
    running.close()


def test_a_fault_in_the_background_is_reported_once_and_stops_the_work(log):
    failed = Called()
    running = service(log, write_queues=Called(BROKEN), failed=failed, flush_consume_queue_interval_ms=1)
    assert failed.event.wait(DEADLINE_S)
    answers: list[bool] = []
    log.append(message(), TOPIC, 0, 0, 0)
    running.when_durable(log.end, answers.append)
    assert answers == [False]
    running.close()


def test_the_log_is_synced_at_intervals_only_when_enough_pages_are_dirty(log):
    synced = threading.Event()
    log._disk.before_sync = synced.set
    log.append(message(), TOPIC, 0, 0, 0)
    running = service(log, flush_commit_log_interval_ms=1, flush_commit_log_least_pages=1)
    log.append(message(bytes(4096)), TOPIC, 0, 0, 0)
    assert synced.wait(DEADLINE_S)
    running.close()


def test_an_interval_of_centuries_stops_no_thread(log):
    failed, answers = Called(), []
    endless = (1 << 63) - 1
    running = service(log, failed=failed, flush_commit_log_interval_ms=endless, flush_consume_queue_interval_ms=endless)
    log.append(message(), TOPIC, 0, 0, 0)
    durable = threading.Event()
    running.when_durable(log.end, lambda is_durable: (answers.append(is_durable), durable.set()))
    assert durable.wait(DEADLINE_S)
    running.close()
    assert (answers, failed.event.is_set()) == ([True], False)


def test_those_who_wait_at_the_end_are_answered(log):
    answers: list[bool] = []
    running = service(log)
    running._closing.set()
    log.append(message(), TOPIC, 0, 0, 0)
    running.when_durable(log.end, answers.append)
    running.close()
    assert answers == [False]


def test_nothing_to_wait_for_is_answered_at_once(log):
    answers: list[bool] = []
    running = service(log)
    running.when_durable(0, answers.append)
    assert answers == [True]
    running.close()


def test_one_who_cannot_be_told_does_not_stop_the_others(log, caplog):
    told = threading.Event()

    def fail(_: bool) -> None:
        raise RuntimeError("gone")

    running = service(log)
    log.append(message(), TOPIC, 0, 0, 0)
    running.when_durable(log.end, fail)
    running.when_durable(log.end, lambda _: told.set())
    assert told.wait(DEADLINE_S)
    running.close()
    assert "could not be told" in caplog.text


def test_changed_intervals_take_effect_while_it_runs(log):
    queues, checkpoint = Called(), Called()
    running = service(log, write_queues=queues, write_checkpoint=checkpoint, flush_consume_queue_interval_ms=5)
    assert queues.event.wait(DEADLINE_S)
    assert not checkpoint.event.is_set(), "the usual minute is not over"
    running.reconfigure(StoreConfig(flush_consume_queue_interval_ms=5, flush_consume_queue_thorough_interval_ms=1))
    assert checkpoint.event.wait(DEADLINE_S)
    running.close()


def test_a_changed_wait_for_the_disk_counts_for_sends_after_it(log):
    told = Called()
    running = service(log, sync_flush_timeout_ms=3_600_000)
    running.reconfigure(StoreConfig(flush_commit_log_interval_ms=60_000, sync_flush_timeout_ms=1))
    assert running.add_waiter(1, told)
    assert told.event.wait(DEADLINE_S)
    running.close()
