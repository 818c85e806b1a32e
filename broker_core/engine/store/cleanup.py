"""Deleting of files that are too old, or that a full disk has no room for.

    decide    `decide` and `count_to_delete`: which files may be deleted, from time, disk use and file ages; no I/O
    delete    `Cleaner`: commit log files first, oldest first and never the last, then queues and index

`broker_core.engine.store.disk_use` decides whether puts are refused because of the disk.

Source: docs/spec/store.md §12.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import TypeVar

from broker_core.config import StoreConfig
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.disk_use import clean_forcibly_percent, max_used_percent, warning_percent
from broker_core.engine.store.index_service import IndexService
from broker_core.engine.store.queue_table import QueueTable
from broker_core.engine.store.queue_writer import QueueWriter
from broker_core.engine.store.reading import first_offset_at
from broker_core.errors import StoreError, UsageError
from broker_core.outside import whole_of

_HOUR_MS = 3_600_000
_HOURS_OF_DAY = 24
_FILES_MAX = 1 << 31
RUNS_MAX = 100
"""Bound on the runs kept."""

_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


class Trigger(Enum):
    """Why files are deleted."""

    TIME_OF_DAY = "deleteWhen"
    DISK_USE = "diskMaxUsedSpaceRatio"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class CleanDecision:
    """How a run deletes. With ``regardless_of_age`` the disk is so full that files are deleted before their time."""

    trigger: Trigger
    regardless_of_age: bool


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Numbers of deleted files, and bytes of the deleted commit log files."""

    log_files: int = 0
    queue_files: int = 0
    index_files: int = 0
    log_bytes: int = 0

    def __add__(self, other: Cleaned) -> Cleaned:
        return Cleaned(
            self.log_files + other.log_files,
            self.queue_files + other.queue_files,
            self.index_files + other.index_files,
            self.log_bytes + other.log_bytes,
        )


@dataclass(frozen=True, slots=True)
class CleaningRun:
    """A run that deleted something or failed; ``error`` is empty after a success."""

    at_ms: int
    trigger: Trigger
    cleaned: Cleaned
    error: str = ""


def parse_hours(text: str) -> frozenset[int]:
    """Hours of ``deleteWhen``: ``04``, or several as in ``04;16``.

    Raises:
        UsageError: An entry is no hour of a day.
    """
    hours = set()
    for entry in filter(None, map(str.strip, text.split(";"))):
        hour = whole_of(entry)
        if hour is None or hour >= _HOURS_OF_DAY:
            raise UsageError(
                f"deleteWhen “{text}”: “{entry}” is no hour; write 00 to 23, several as in 04;16", key="deleteWhen"
            )
        hours.add(hour)
    return frozenset(hours)


def decide(config: StoreConfig, *, local_hour: int, used_percent: int, manual: bool) -> CleanDecision | None:
    """How to delete now; None for not at all.

    Args:
        config: The settings of cleaning.
        local_hour: 0 to 23.
        used_percent: Of the fullest disk, rounded up; -1 if unknown, which counts as full.
        manual: The user requested it.
    """
    is_urgent = used_percent > min(clean_forcibly_percent(config), warning_percent(config))
    regardless = is_urgent and config.clean_forcibly
    if manual:
        return CleanDecision(Trigger.MANUAL, regardless)
    if is_urgent or used_percent < 0 or used_percent > max_used_percent(config):
        return CleanDecision(Trigger.DISK_USE, regardless)
    if local_hour in parse_hours(config.delete_when):
        return CleanDecision(Trigger.TIME_OF_DAY, regardless_of_age=False)
    return None


def count_to_delete(modified_ms: Sequence[int], decision: CleanDecision, config: StoreConfig, now_ms: int) -> int:
    """How many of the oldest commit log files to delete in one run.

    ``modified_ms`` has the time of the last write to each file, oldest file first; the last file, which always stays, included.
    """
    count = 0
    for written_ms in modified_ms[:-1][: config.delete_batch_files]:
        if not decision.regardless_of_age and now_ms < written_ms + config.file_reserved_hours * _HOUR_MS:
            break
        count += 1
    return count


class Cleaner:
    """Deletes files of one open store; one run at a time, from any thread."""

    def __init__(
        self,
        config: StoreConfig,
        log: CommitLog,
        queues: QueueTable,
        index: IndexService,
        writer: QueueWriter,
        *,
        memory_lock: threading.Lock,
        clock: Callable[[], int],
    ) -> None:
        self._config = config
        self._commit_log = log
        self._queues = queues
        self._index = index
        self._writer = writer
        self._memory_lock = memory_lock
        self._clock = clock
        self._run_lock = threading.Lock()
        self.runs: deque[CleaningRun] = deque(maxlen=RUNS_MAX)
        """The newest runs that deleted something or failed."""

    def run(self, *, used_percent: int, manual: bool = False) -> Cleaned:
        """Delete what is due, at most ``deleteFileBatchMax`` files of the log.

        Raises:
            StoreError: A file could not be deleted; the next run continues.
            OSError: The checkpoint could not be written.
        """
        with self._run_lock:
            now_ms = self._clock()
            local_hour = datetime.fromtimestamp(now_ms / 1000).hour  # noqa: DTZ006  deleteWhen is in local time
            decision = decide(self._config, local_hour=local_hour, used_percent=used_percent, manual=manual)
            if decision is None:
                return Cleaned()
            try:
                modified_ms = _deleting("looked at", self._commit_log.modified_ms)
                count = count_to_delete(modified_ms, decision, self._config, now_ms)
                cleaned = self._delete(count, decision) if count else Cleaned()
            except StoreError as error:
                self.runs.append(CleaningRun(now_ms, decision.trigger, Cleaned(), error.message))
                raise
            if cleaned.log_files:
                self.runs.append(CleaningRun(now_ms, decision.trigger, cleaned))
            return cleaned

    def overdue_files(self) -> int:
        """Number of log files past their time.

        Raises:
            OSError: A file cannot be examined.
        """
        every = replace(self._config, delete_batch_files=_FILES_MAX)
        decision = CleanDecision(Trigger.MANUAL, regardless_of_age=False)
        return count_to_delete(self._commit_log.modified_ms(), decision, every, self._clock())

    def reconfigure(self, config: StoreConfig) -> None:
        self._config = config

    def clean_queues(self) -> int:
        """Delete the queue files before the log's first offset; returns their number.

        Raises:
            StoreError: A file could not be deleted.
        """
        with self._run_lock:
            return _deleting("deleted", lambda: self._shorten_queues(self._commit_log.min_offset))

    def _delete(self, count: int, decision: CleanDecision) -> Cleaned:
        # Before the log shrinks, so that after a crash in between the checkpoint is not older than the deletion.
        self._writer.write_checkpoint()
        before = self._commit_log.min_offset
        log_files = _deleting("deleted", lambda: self._commit_log.remove_oldest(count))
        if not log_files:
            return Cleaned()
        end = self._commit_log.min_offset
        queue_files = _deleting("deleted", lambda: self._shorten_queues(end))
        index_files = _deleting("deleted", lambda: self._index.remove_before(end))
        cleaned = Cleaned(log_files, queue_files, index_files, end - before)
        self._writer.write_checkpoint()
        _log.info(
            "%d commit log, %d consume queue and %d index files were deleted (%s); the log begins at %d now",
            cleaned.log_files, cleaned.queue_files, cleaned.index_files, decision.trigger.value, end,
        )  # fmt: skip
        return cleaned

    def _shorten_queues(self, physical_offset: int) -> int:
        deleted = 0
        for queue in self._queues:
            with self._writer.write_lock, self._memory_lock:
                queue.min_offset = first_offset_at(queue, physical_offset)
                deleted += queue.remove_before_min()
        return deleted


def _deleting(what: str, work: Callable[[], _Result]) -> _Result:
    try:
        return work()
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be {what}: {error.strerror}; old files stay until it can") from error
