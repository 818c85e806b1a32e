"""Makes log and queues consistent when a store is opened.

The log is the truth. Its end is found by checking record after record; queues are cut where they are ahead of it, completed
where they lag it, and built again where they are missing or damaged.

    after a clean stop   the scan begins after the last record that a queue knows
    after a crash        it begins in the last file that the checkpoint vouches for; units from there on (from the exact offset,
                         if our own note has it) are written again

If read-only, all of this happens in memory only.

Source: docs/spec/store.md §10; stricter where it says that RocketMQ loses queues (§9.1, §10.4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from broker_core.engine.store.consume_queue import PRE_BLANK, ConsumeQueue
from broker_core.engine.store.dispatch import further_queues, unit_tags_code
from broker_core.engine.store.index_service import Progress
from broker_core.engine.store.queue_table import QueueKey
from broker_core.engine.store.reading import first_offset_at
from broker_core.engine.store.scanned_window import FileScan, ScannedRecord, ScannedWindow
from broker_core.engine.store.store_parts import StoreParts
from broker_core.errors import RecordError
from broker_core.protocol.message.record import (
    FILLER,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    SIZE_AND_MAGIC,
    check_record,
    store_timestamp_ms,
)
from broker_core.protocol.message.sys_flag import enters_queue

_WINDOW_BYTES = 8 * 1024 * 1024
"""Bytes read at a time; more for a larger record."""
_GAP_UNITS_MAX = 5_000_000
"""Bound on the blanks for lost messages (100 MB); with more, a queue begins after them."""

_log = logging.getLogger(__name__)


class Recovery:
    """One run over a store that is being opened, its queues loaded.

    Args:
        parts: The run sets the end of their commit log.
        before_cut: Called with the log's new end before it is cut.
        progress: Called with the step, bytes done and bytes in all.
    """

    def __init__(self, parts: StoreParts, *, before_cut: Callable[[int], object], progress: Progress) -> None:
        self._commit_log = parts.commit_log
        self._queues = parts.queues
        self._checkpoint = parts.checkpoint
        self._levels = parts.delay_levels
        self._check_crc = parts.config.check_crc_on_recover
        self._scan = FileScan(parts.config, parts.delay_levels)
        self._light_only = not parts.config.multi_dispatch
        self._before_cut = before_cut
        self._progress = progress
        self._manifest = parts.queues.read_manifest(parts.checkpoint)
        self._complete_up_to = 0
        """Queues have everything before this offset of the log."""
        self._rebuild: set[QueueKey] = set()
        self.last_store_ms = 0
        self.index_note = self._manifest.index_note if self._manifest else None
        """State of the index at the last checkpoint."""
        self.note_is_too_long = False
        """The log was cut before the last checkpoint's offset: a new checkpoint must be written before the next put."""

    def run(self, *, clean: bool) -> None:
        """Recover; ``clean`` means that the last owner closed the store."""
        log = self._commit_log
        log.end = log.bases[-1] + log.file_bytes if log.bases else 0  # readable, until the scan has found the real end
        self._rebuild.update((queue.topic, queue.queue_id) for queue in self._queues if queue.is_damaged)
        start = self._clean_start() if clean else self._crash_start()
        if not clean:
            self._cut_at(max(self._complete_up_to, start))
        for key, noted_end in self._manifest.ends.items() if self._manifest else ():
            if self._queues.get_or_add(*key).max_offset < noted_end:
                self._rebuild.add(key)
        end = self._complete_from(start)
        self.note_is_too_long = self._manifest is not None and end < self._manifest.log_end
        self._before_cut(end)
        self._commit_log.set_end(end)
        for queue in self._queues:
            queue.cut(_first_beyond(queue, end))
        self._build_anew(end)
        self._settle()

    # ---- where to begin ------------------------------------------------------------------------------------------------

    def _cut_at(self, offset: int) -> None:
        """Remove from the queues the units of records from ``offset`` on, which a crash may have left incomplete."""
        self._complete_up_to = offset
        for queue in self._queues:
            queue.cut(first_offset_at(queue, offset))
            queue.clear_behind_end()
            self._last_record_end(queue)

    def _clean_start(self) -> int:
        """After the last record that a queue knows, if it exists; else the start of the last file before it."""
        log = self._commit_log
        start = log.min_offset
        for queue in self._queues:
            last = self._last_record_end(queue)
            start = max(start, last)
        return start

    def _last_record_end(self, queue: ConsumeQueue) -> int:
        """End of the record that the queue's last unit points to; 0 if it is not that queue's record."""
        unit = queue.unit(queue.max_offset - 1)
        if unit is None or unit.physical_offset < self._commit_log.min_offset:
            return 0
        record = self._commit_log.slice(unit.physical_offset, unit.record_bytes)
        try:
            parts = check_record(record or b"", 0, len(record or b""), check_crc=self._check_crc)
        except RecordError:
            parts = None
        if parts is None or parts.head.size != unit.record_bytes or parts.head.physical_offset != unit.physical_offset:
            _log.warning("queue %s/%d does not match the commit log; it is built anew", queue.topic, queue.queue_id)
            self._rebuild.add((queue.topic, queue.queue_id))
            return 0
        return unit.physical_offset + unit.record_bytes

    def _crash_start(self) -> int:
        """Start of the last file whose first record the checkpoint vouches for; the first file without one.

        If our own note has the offset, it decides, because store times may go back when the clock is set.
        """
        log, limit_ms = self._commit_log, self._checkpoint.min_timestamp_ms
        if self._manifest is not None and log.bases and log.min_offset <= self._manifest.log_end <= log.end:
            self._complete_up_to = self._manifest.log_end
            return min(self._complete_up_to - self._complete_up_to % log.file_bytes, log.bases[-1])
        for base in reversed(log.bases):
            head = log.slice(base, 100)
            if head is None or len(head) < 100:
                continue
            _, magic = SIZE_AND_MAGIC.unpack_from(head)
            if magic in (MAGIC_V1, MAGIC_V2) and 0 < store_timestamp_ms(head) <= limit_ms:
                return base
        return log.min_offset

    # ---- scanning ------------------------------------------------------------------------------------------------------

    def _complete_from(self, start: int) -> int:
        """Add missing units from ``start`` on to the queues; returns the end of the last good record."""
        end = start
        for window in self._windows(start, "recovering", first_taken=self._complete_up_to):
            end = window.end_offset
            if end > self._complete_up_to and not self._take_whole(window, skip=self._rebuild):
                for record in window.records():
                    if record.physical_offset >= self._complete_up_to:
                        self._dispatch(record)
            self.last_store_ms = window.last_store_ms
        return end

    def _take_whole(
        self,
        window: ScannedWindow,
        *,
        only: AbstractSet[QueueKey] | None = None,
        skip: AbstractSet[QueueKey] = frozenset(),
    ) -> bool:
        """Append the units of a window at once, by queue; False, with nothing done, if some do not follow their queue's end."""
        if window.queues is None:
            return False
        taken = [run for run in window.queues if (run[:2] in only if only is not None else run[:2] not in skip)]
        queues = [self._queues.get_or_add(run.topic, run.queue_id) for run in taken]
        if any(run.first != queue.max_offset for run, queue in zip(taken, queues, strict=True)):
            return False
        for run, queue in zip(taken, queues, strict=True):
            queue.extend(run.units)
        return True

    def _dispatch(self, record: ScannedRecord) -> None:
        for number, (queue, queue_offset) in enumerate(self._targets(record)):
            if self._rebuild and (queue.topic, queue.queue_id) in self._rebuild:
                continue
            if queue_offset < queue.max_offset:
                if number:
                    continue  # a copy that still has the offsets of the original (a retry, a delivery)
                queue.cut(queue_offset)  # the topic was deleted and created again, with numbers from 0
            if queue_offset > queue.max_offset and not self._begin_at(queue, queue_offset, record):
                self._rebuild.add((queue.topic, queue.queue_id))
                continue
            self._append(queue, record)

    def _begin_at(self, queue: ConsumeQueue, queue_offset: int, record: ScannedRecord) -> bool:
        """Start an empty queue at the log's first record; False if older records may be missing."""
        if queue.max_offset or record.physical_offset > self._commit_log.min_offset:
            return False
        queue.start_at(queue_offset)
        return True

    def _targets(self, record: ScannedRecord) -> list[tuple[ConsumeQueue, int]]:
        """Queues that a record is in, with its offset in each; its own first."""
        if not enters_queue(record.sys_flag):
            return []
        found = [(self._queues.get_or_add(record.topic, record.queue_id), record.queue_offset)]
        for topic, queue_id, queue_offset in further_queues(record.queue_id, record.properties, light_only=self._light_only):
            found.append((self._queues.get_or_add(topic, queue_id), queue_offset))
        return found

    def _append(self, queue: ConsumeQueue, record: ScannedRecord) -> None:
        code = unit_tags_code(record.topic, record.properties, record.store_timestamp_ms, self._levels)
        queue.next_offset(1)
        queue.append(record.physical_offset, record.size, code, record.store_timestamp_ms)

    def _build_anew(self, end: int) -> None:
        """Second pass, over the whole log, for the queues that are built from all of it."""
        if not self._rebuild:
            return
        for key in self._rebuild:
            self._queues.get_or_add(*key).forget()
        for window in self._windows(self._commit_log.min_offset, "building consume queues anew", first_taken=0):
            if window.first_offset >= end:
                break
            if window.end_offset > end or not self._take_whole(window, only=self._rebuild):
                self._take_singly(window, end)
        self._number_on(end)

    def _number_on(self, end: int) -> None:
        """Continue the numbering of queues whose messages were all cleaned away, if our note has it.

        The note is not used if messages were cut off at the log's end since.
        """
        ends = self._manifest.ends if self._manifest and end >= self._manifest.log_end else {}
        for key in self._rebuild & ends.keys():
            queue = self._queues.get_or_add(*key)
            if not queue.max_offset:
                queue.start_at(ends[key])

    def _take_singly(self, window: ScannedWindow, end: int) -> None:
        for record in window.records():
            if record.physical_offset >= end:
                return
            for number, (queue, queue_offset) in enumerate(self._targets(record)):
                if (queue.topic, queue.queue_id) not in self._rebuild or (number and queue_offset < queue.max_offset):
                    continue
                if queue_offset != queue.max_offset and not self._fill_gap(queue, queue_offset):
                    queue.forget()
                    queue.start_at(queue_offset)
                self._append(queue, record)

    def _fill_gap(self, queue: ConsumeQueue, queue_offset: int) -> bool:
        """Add blanks for messages whose records the log has lost, so that those before them stay; False if too many."""
        missing = queue_offset - queue.max_offset
        if not queue.max_offset or not 0 < missing <= _GAP_UNITS_MAX:
            return False
        queue.extend(PRE_BLANK * missing)
        return True

    def _windows(self, start: int, what: str, *, first_taken: int) -> Iterator[ScannedWindow]:
        """Good records from ``start`` on, up to the first place without one.

        Args:
            start: Physical offset of the first record.
            what: Step shown in the progress.
            first_taken: Records before this physical offset are checked only.
        """
        log = self._commit_log
        limit = log.bases[-1] + log.file_bytes if log.bases else start
        position = start
        while position < limit:
            base = position - position % log.file_bytes
            mapped = log.map_at(base)
            if mapped is None:
                following = next((other for other in log.bases if other > base), limit)
                if following < limit:
                    _log.warning("the commit log from %d to %d is missing", position, following)
                position = following
                continue
            for window in self._windows_of_file(mapped, base, position - base, first_taken):
                yield window
                position = window.end_offset
                self._progress(what, position - start, limit - start)
            if not _is_filler(mapped, position - base):
                return
            position = base + log.file_bytes

    def _windows_of_file(self, mapped: memoryview, base: int, start: int, first_taken: int) -> Iterator[ScannedWindow]:
        """Good records of one file, some megabytes at a time."""
        while start + SIZE_AND_MAGIC.size <= len(mapped):
            size, magic = SIZE_AND_MAGIC.unpack_from(mapped, start)
            if magic not in (MAGIC_V1, MAGIC_V2):
                return
            stop = min(start + max(size, _WINDOW_BYTES), len(mapped))
            window = self._scan.window(mapped, base, start, stop, first_taken)
            if window is None:
                return
            yield window
            start = window.end_offset - base

    # ---- the end -------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Set min offsets, the ends of extensions, and the time of each queue's last message."""
        log = self._commit_log
        for queue in self._queues:
            queue.min_offset = first_offset_at(queue, log.min_offset)
            queue.settle_extension()
            unit = queue.unit(queue.max_offset - 1)
            record = log.slice(unit.physical_offset, unit.record_bytes) if unit else None
            if record is not None:
                queue.last_store_ms = store_timestamp_ms(record)
                self.last_store_ms = max(self.last_store_ms, queue.last_store_ms)


def _is_filler(mapped: memoryview, position: int) -> bool:
    if position + FILLER.size > len(mapped):
        return False
    return bool(FILLER.unpack_from(mapped, position)[1] == MAGIC_BLANK)


def _first_beyond(queue: ConsumeQueue, end: int) -> int:
    """First queue offset whose record does not end before ``end`` of the log."""
    offset = first_offset_at(queue, end)
    unit = queue.unit(offset - 1) if offset > queue.min_offset else None
    return offset - 1 if unit is not None and unit.physical_offset + unit.record_bytes > end else offset
