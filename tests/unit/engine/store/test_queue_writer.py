from __future__ import annotations

import threading

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.checkpoint import Checkpoint, read_checkpoint
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.index_file import IndexHeader
from broker_core.engine.store.index_service import IndexService
from broker_core.engine.store.log_places import LogPlaces
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_table import IndexNote, QueueManifest, QueueTable
from broker_core.engine.store.queue_writer import QueueWriter
from broker_core.engine.store.write_gate import WriteGate, WriteRefusal
from tests.support.clock import ManualClock
from tests.support.store_bench import BROKEN, NO_SPACE, FaultyDisk

NO_INDEX = IndexNote([], IndexHeader().encode(), 0)


class Bench:
    def __init__(self, root) -> None:
        self.paths = StorePaths(root)
        self.disk = FaultyDisk()
        self.gate = WriteGate()
        self.queues = QueueTable(self.paths, 200, self.disk, read_only=False)
        log = CommitLog(LogPlaces([self.paths.commit_log]), 4096, self.disk, read_only=False)
        self.writer = QueueWriter(
            self.paths,
            log,
            self.queues,
            IndexService(self.paths.index, log, StoreConfig(), ManualClock(), self.disk, read_only=False),
            checkpoint=Checkpoint(index_ms=4, rest=b"kept"),
            gate=self.gate,
            disk=self.disk,
            memory_lock=threading.Lock(),
        )
        self.queue = self.queues.get_or_add("T", 0)
        self.queue.next_offset(1)
        self.queue.append(0, 100, 1, 99)
        self.writer.last_store_ms = 99


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_written_queues_are_not_written_again(bench):
    bench.writer.write_queues()
    assert (bench.queue.unwritten_units, bench.queues.take_touched()) == (0, [])
    assert bench.queue.needs_sync


def test_a_checkpoint_syncs_what_it_vouches_for_and_keeps_the_rest(bench):
    bench.writer.write_checkpoint()
    assert not bench.queue.needs_sync
    found = read_checkpoint(bench.paths.checkpoint)
    assert (found.physic_ms, found.logics_ms, found.index_ms) == (99, 99, 4)
    assert found.rest.startswith(b"kept")
    assert bench.queues.read_manifest(found) == QueueManifest(0, {("T", 0): 1}, NO_INDEX)


@pytest.mark.parametrize("work", ["write_queues", "write_checkpoint"])
def test_a_full_disk_shuts_the_gate_until_the_next_round_succeeds(bench, work):
    bench.disk.write_error = NO_SPACE
    getattr(bench.writer, work)()
    assert bench.gate.holds(WriteRefusal.QUEUE_SPACE)
    assert bench.queue.unwritten_units == 1
    bench.disk.write_error = 0
    getattr(bench.writer, work)()
    assert not bench.gate.is_shut
    assert bench.queue.unwritten_units == 0


@pytest.mark.parametrize("work", ["write_queues", "write_checkpoint"])
def test_a_broken_disk_is_an_error_and_the_units_stay(bench, work):
    bench.disk.write_error = BROKEN
    with pytest.raises(OSError, match="Input/output error"):
        getattr(bench.writer, work)()
    assert bench.queues.take_touched() == [bench.queue]
    assert bench.queue.unwritten_units == 1
