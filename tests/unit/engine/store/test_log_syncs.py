from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.flush import FlushService, FlushTargets
from broker_core.engine.store.log_places import LogPlaces
from broker_core.engine.store.log_syncs import LogSyncs
from broker_core.protocol.message.record import topic_field
from tests.support.store_bench import BROKEN, FaultyDisk, message

pytestmark = pytest.mark.usefixtures("both_platforms")

DEADLINE_S = 60
TOPIC = topic_field(b"Orders")
FILE_BYTES = 1 << 14


class KernelByHand:
    """Syncs that end when a test says so."""

    def __init__(self) -> None:
        self.descriptor = -1
        self.is_under_way = False
        self.started: list[str] = []
        self.refusal = 0
        self._outcome: int | None = None
        self._is_closed = False

    def start(self, descriptor: int) -> None:
        assert not self.is_under_way
        if self.refusal:
            raise OSError(self.refusal, os.strerror(self.refusal))
        self.is_under_way = True
        self.started.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def end(self, error: int = 0) -> None:
        assert self.is_under_way
        self._outcome = error

    def ended(self) -> bool:
        if self._outcome is None:
            return False
        error, self._outcome = self._outcome, None
        self.is_under_way = False
        if error:
            raise OSError(error, os.strerror(error))
        return True

    def close(self) -> bool:
        was_closed, self._is_closed = self._is_closed, True
        return not was_closed


class Bench:
    """A log, its flush thread, and syncs by hand."""

    def __init__(self, directory, **settings) -> None:
        self.disk = FaultyDisk()
        self.log = CommitLog(LogPlaces([directory]), FILE_BYTES, self.disk, read_only=False)
        self.failures: list[OSError] = []
        targets = FlushTargets(*[lambda: None] * 4, self.failures.append)
        values = {"flush_commit_log_interval_ms": 3_600_000, "flush_consume_queue_interval_ms": 3_600_000} | settings
        self.service = FlushService(self.log, StoreConfig(**values), targets)
        self.service.start()
        self.kernel = KernelByHand()
        self.syncs = LogSyncs(self.log, self.service, self.kernel)
        self.answers: dict[str, bool] = {}
        self._answered = threading.Condition()

    def put(self, name: str, *, body_bytes: int = 100) -> None:
        """Append a message and wait for the disk."""
        self.log.append(message(bytes(body_bytes)), TOPIC, 0, 0, 0)
        self.syncs.when_durable(self.log.end, lambda durable: self._answer(name, durable=durable))

    def _answer(self, name: str, *, durable: bool) -> None:
        with self._answered:
            self.answers[name] = durable
            self._answered.notify_all()

    def wait_for(self, *names: str) -> dict[str, bool]:
        with self._answered:
            assert self._answered.wait_for(lambda: set(names) <= self.answers.keys(), DEADLINE_S)
            return self.answers

    def close(self) -> None:
        self.service.close()
        self.syncs.close()
        self.log.close()


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "commitlog")
    yield made
    made.close()


def test_a_sync_answers_what_lay_before_its_start_and_the_next_begins_at_once(bench):
    bench.put("first")
    bench.put("second")
    bench.put("third")
    bench.syncs.look()
    assert bench.answers == {}
    assert len(bench.kernel.started) == 1
    bench.kernel.end()
    bench.syncs.look()
    assert bench.answers == {"first": True}
    assert len(bench.kernel.started) == 2
    end = bench.log.end
    bench.kernel.end()
    bench.syncs.look()
    assert bench.answers == {"first": True, "second": True, "third": True}
    assert bench.log.flushed == end
    assert not bench.kernel.is_under_way
    assert bench.disk.syncs == 1  # that of the new file


def test_what_is_durable_already_is_answered_in_the_call(bench):
    bench.put("first")
    bench.kernel.end()
    bench.syncs.look()
    bench.syncs.when_durable(bench.log.end, lambda durable: bench._answer("again", durable=durable))
    assert bench.answers["again"]
    assert not bench.kernel.is_under_way


def test_after_a_failed_sync_nothing_is_acknowledged_any_more(bench):
    bench.put("first")
    bench.put("second")
    bench.kernel.end(BROKEN)
    bench.syncs.look()
    assert bench.answers == {"first": False, "second": False}
    assert [error.errno for error in bench.failures] == [BROKEN]
    bench.put("third")
    assert bench.answers["third"] is False
    assert bench.log.flushed == 0
    assert len(bench.kernel.started) == 1


def test_a_sync_that_ends_well_after_another_failed_acknowledges_nothing(bench):
    bench.put("first")
    bench.service.fail(OSError(BROKEN, "of the flush thread"))
    bench.kernel.end()
    bench.syncs.look()
    assert bench.answers == {"first": False}
    assert bench.log.flushed == 0


def test_the_thread_syncs_where_the_kernel_does_not(bench):
    bench.kernel.refusal = 22
    bench.put("first")
    assert bench.wait_for("first") == {"first": True}
    bench.kernel.refusal = 0
    bench.put("second")
    bench.wait_for("second")
    assert bench.kernel.started == []
    assert not bench.failures


def test_a_sync_that_was_not_done_is_done_by_the_thread(bench):
    bench.put("first")
    bench.kernel.end(errno.ECANCELED)
    bench.syncs.look()
    assert bench.wait_for("first") == {"first": True}
    assert not bench.failures
    assert bench.disk.syncs == 2  # that of the new file, and the thread's


def test_two_files_are_synced_by_the_thread_and_then_the_new_one_by_the_kernel(bench):
    bench.put("first", body_bytes=FILE_BYTES - 1000)
    bench.put("second", body_bytes=2000)
    bench.kernel.end()
    bench.syncs.look()
    assert bench.wait_for("first", "second") == {"first": True, "second": True}
    bench.put("third")
    assert bench.kernel.started == [f"{0:020}", f"{FILE_BYTES:020}"]


def test_after_its_close_the_thread_answers_the_rest(bench):
    bench.put("first")
    bench.syncs.close()
    assert bench.wait_for("first") == {"first": True}
    bench.put("second")
    bench.wait_for("second")
    bench.syncs.close()
    assert len(bench.kernel.started) == 1


def test_a_sync_that_takes_too_long_is_told(tmp_path):
    bench = Bench(tmp_path / "commitlog", sync_flush_timeout_ms=1)
    bench.put("first")
    assert bench.wait_for("first") == {"first": False}
    assert not bench.failures
    bench.close()
