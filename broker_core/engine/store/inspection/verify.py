"""Verification of a store: every inconsistency between and within its files, with file and position.

Takes no lock and changes nothing. Memory does not grow with the store. Notes name what is not examined: files of timer wheel,
compaction and batch queues of 5.x, RocksDB databases, and the records that a recovery cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.engine.store.checkpoint import read_checkpoint
from broker_core.engine.store.inspection.config_check import check_checkpoint, check_offsets, configured_topics, read_configs
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.index_check import IndexCheck, check_file, load_index
from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.engine.store.inspection.queue_check import QueueCheck
from broker_core.engine.store.inspection.queue_reader import QueueReaders
from broker_core.engine.store.newer_layouts import rocksdb_directories
from broker_core.engine.store.ownership import check_directory
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_table import read_manifest
from broker_core.protocol.delay_levels import DelayLevels

_NOT_EXAMINED = ("timerwheel", "timerlog", "compaction", "batchconsumequeue", "orbit.cut")


@dataclass(slots=True)
class Verification:
    """One run over a store; the counts are final when `findings` has ended.

    ``log_directories`` are all directories of its commit log; by default the one in ``root``.
    """

    root: Path
    levels: DelayLevels
    log_directories: Sequence[Path] = ()
    records: int = 0
    queues: int = 0
    index_files: int = 0
    log_min_offset: int = 0
    log_end: int = 0
    notes: list[StoreFinding] = field(default_factory=list)
    """Notes that are no inconsistency."""

    def findings(self) -> Iterator[StoreFinding]:
        """Every inconsistency, as soon as it is found.

        Raises:
            ForeignStoreError: The directory is no store.
            StorePermissionError: It cannot be read.
            OSError: A file cannot be read.
        """
        check_directory(self.root, read_only=True, logs=self.log_directories)
        log, readers = LogReader(self.root, directories=self.log_directories), QueueReaders(self.root)
        try:
            yield from self._run(log, readers)
        finally:
            log.close()
            readers.close()

    def _run(self, log: LogReader, readers: QueueReaders) -> Iterator[StoreFinding]:
        paths = StorePaths(self.root)
        is_crashed = paths.abort.exists()
        self._note_circumstances(is_crashed=is_crashed)
        faults: list[StoreFinding] = []
        configs = read_configs(self.root, faults)
        yield from faults
        index = load_index(self.root)
        manifest = read_manifest(paths, read_checkpoint(paths.checkpoint))
        queue_check = QueueCheck(log, readers, self.levels, is_crashed, configured_topics(configs), manifest)
        index_check = IndexCheck(log, index, is_crashed=is_crashed)
        last_store_ms = 0
        for window in log.windows():
            yield from _taken(log.findings)
            self.records += len(window.heads)
            last_store_ms = max(last_store_ms, max(window.heads.store_ms, default=0))
            yield from queue_check.check_window(window)
            if index_check.is_needed:
                yield from index_check.check_window(window)
        yield from _taken(log.findings)
        yield from queue_check.check_queues()
        for file in index:
            yield from check_file(file, log)
        yield from index_check.finish()
        yield from check_checkpoint(self.root, last_store_ms, is_crashed=is_crashed)
        yield from check_offsets(configs, readers, self.notes, is_crashed=is_crashed)
        self.notes += [*log.notes, *queue_check.notes(), *index_check.notes]
        self.queues, self.index_files = len(readers.by_key), len(index)
        self.log_min_offset, self.log_end = log.min_offset, log.end

    def _note_circumstances(self, *, is_crashed: bool) -> None:
        if is_crashed:
            self.notes.append(
                StoreFinding("abort", 0, "the store is in use or was not closed in good order; queues and index may be behind")
            )
        for name in _NOT_EXAMINED:
            if (self.root / name).exists():
                self.notes.append(StoreFinding(name, 0, "not examined"))
        for directory in rocksdb_directories(self.root):
            self.notes.append(StoreFinding(str(directory.relative_to(self.root)), 0, "a RocksDB database; not examined"))


def _taken(findings: list[StoreFinding]) -> list[StoreFinding]:
    taken = findings.copy()
    findings.clear()
    return taken
