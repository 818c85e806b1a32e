"""A search of a store: from a filter to its hits, a step at a time.

The caller takes one `SearchStep` after the other; to stop taking them is a pause. Memory does not grow with the store or with
the hits. The search reads the files from outside and changes nothing; of the store that is open in this process it reads the
log up to its end at the start.

    parts of the plan → records by window → heads and bytes (`columns`) → those left open are decoded (`facts`) → hits
"""

from __future__ import annotations

import mmap
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.counted import counted
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.engine.store.known_names import stored_names
from broker_core.engine.store.layout import RecordHeads, records_at
from broker_core.engine.store.ownership import check_directory
from broker_core.errors import RecordError, UsageError
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import FILLER, MAGIC_BLANK, decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.shortage import shortage_text
from broker_core.tools.search.columns import TopicVerdicts, WindowFilter, rows_of
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.light_topics import told_by_records
from broker_core.tools.search.plan import Plan, Planner, doubt_of
from broker_core.tools.search.queues import LiveQueues, QueueCursor, Queues, QueueSpan, StoredQueues, merged, unit_of
from broker_core.tools.search.results import (
    FINDINGS_MAX,
    STEP_BYTES_MAX,
    STEP_HITS_MAX,
    Hit,
    Outcome,
    SearchStep,
    limit_reason,
    undecoded_reason,
)
from broker_core.tools.search.shared_retries import SharedRetries

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

WINDOW_BYTES = 8 * 1024 * 1024
_SPAN_BYTES = 32 * 1024 * 1024
"""Part of the log from which messages of queues are taken at a time."""
_DECODED_BETWEEN_BREATHS = 16
_STRETCH_NS = 1_000_000
_SLEEP_NS_MAX = 50_000_000
_CROWD_MAX = 4.0
"""A search sleeps at most this many times as long as it took."""


@dataclass(slots=True)
class _Counts:
    scanned: int = 0
    found: int = 0
    missing: int = 0
    unreadable: int = 0
    undecoded: int = 0
    damaged: int = 0
    findings: list[StoreFinding] = field(default_factory=list)


class StoreSearch:
    """One search. To be used by one thread at a time; `cancel` may be called from any. Raises `StoreError`.

    Args:
        store: The store, if it is open in this process.
        limit: Hits after which it stops; None for all.
        breathe: Called every millisecond or so of work, so that other threads run.
        window_bytes: How much of the log is read at a time.
        plan: A plan made earlier with the open store; None: it is made here.
        known: Groups and topics, to tell retry topics apart; None: those of the directory.
    """

    def __init__(
        self,
        root: Path,
        expression: Expression,
        *,
        store: MessageStore | None = None,
        limit: int | None = None,
        breathe: Callable[[], None] | None = None,
        window_bytes: int = WINDOW_BYTES,
        plan: Plan | None = None,
        known: KnownNames | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"a search gives 1 hit or more, not {limit}")
        if store is None:
            check_directory(root, read_only=True)
        self._expression = told_by_records(expression)
        self._limit = limit
        self._breathe = breathe or _no_breath
        self._log = LogReader(root, window_bytes)
        self._queues = StoredQueues(root) if store is None else LiveQueues(store)
        self._topics = TopicVerdicts()
        self._shared = SharedRetries(self._expression)
        self._known = known or (stored_names(root) if self._shared.is_needed else NOTHING_KNOWN)
        self._counts = _Counts()
        self._reasons: list[str] = []
        self._is_cancelled = False
        self.plan = plan or self._planned(root, store)
        self.outcome: Outcome | None = None

    def _planned(self, root: Path, store: MessageStore | None) -> Plan:
        doubt = "" if store is not None else doubt_of(root)
        end = _log_end(self._log, self._queues, is_trusted=not doubt) if store is None else store.commit_log_max_offset
        return Planner(self._expression, self._log, self._queues, end, doubt).plan()

    def cancel(self) -> None:
        """End it soon; the outcome says that it is partial."""
        self._is_cancelled = True

    def steps(self) -> Generator[SearchStep, None, None]:
        """Carry the search out; `outcome` is known afterwards. Steps without hits report progress."""
        hits: list[Hit] = []
        is_finished = False
        try:
            try:
                yield from self._steps_of_windows(hits)
                is_finished = True
            except OSError as error:
                self._reasons.append(f"the store could not be read further: {shortage_text(error) or error}")
            except UsageError as error:  # a regular expression timed out
                self._reasons.append(error.message)
            if hits:  # the hits so far
                yield self._step(hits)
        finally:
            self._is_cancelled = self._is_cancelled or not (is_finished or self._reasons)
            self._log.close()
            self._queues.close()
            self._end()

    def _steps_of_windows(self, hits: list[Hit]) -> Generator[SearchStep, None, None]:
        """The steps; ``hits`` are those that no step has returned yet."""
        held_bytes = 0
        for window in self._windows():
            for hit in window:
                hits.append(hit)
                held_bytes += len(hit.record)
                if self._is_over():
                    break
                if len(hits) >= STEP_HITS_MAX or held_bytes >= STEP_BYTES_MAX:
                    yield self._step(hits)
                    held_bytes = 0
            yield self._step(hits)
            held_bytes = 0
            if self._is_over():
                break

    def tags_code(self, message: StoredMessage) -> int | None:
        """Third field of a message's queue unit; None when its queue has no such unit. Only during the search."""
        offset = message.queue_offset
        unit = unit_of(self._queues, QueueSpan(message.topic, message.queue_id, offset, offset + 1), offset)
        return None if unit is None or unit.physical_offset != message.physical_offset else unit.tags_code

    def _is_over(self) -> bool:
        return self._is_cancelled or (self._limit is not None and self._counts.found >= self._limit)

    def _step(self, hits: list[Hit]) -> SearchStep:
        counts, given = self._counts, hits[:]
        hits.clear()
        return SearchStep(given, counts.scanned, max(self.plan.total_messages, counts.scanned), counts.found)

    def _end(self) -> None:
        counts, reasons = self._counts, self._reasons
        if self._limit is not None and counts.found >= self._limit:
            reasons.append(limit_reason(self._limit))
        elif self._is_cancelled:
            reasons.append("it was cancelled")
        if counts.damaged:
            reasons.append(f"{counted(counts.damaged, 'damaged place')} could not be read, the first in {counts.findings[0]}")
        if counts.missing:
            reasons.append(
                counted(
                    counts.missing,
                    "message that the queues name is not in the log",
                    "messages that the queues name are not in the log",
                )
            )
        if counts.unreadable:
            reasons.append(f"{counted(counts.unreadable, 'message')} that the index names could not be read")
        if counts.undecoded:
            reasons.append(undecoded_reason(counts.undecoded))
        notes = (*self.plan.notes, *self._shared.notes())
        self.outcome = Outcome(counts.scanned, counts.found, tuple(reasons), tuple(counts.findings), notes)

    # ---- records -------------------------------------------------------------------------------------------------------

    def _windows(self) -> Iterator[Iterator[Hit]]:
        """Hits of one window after the other, in the order of the log."""
        places = list(self.plan.places)
        if self.plan.spans:
            yield from self._of_queues()
        for start, end in self.plan.ranges:
            before = bisect_left(places, start)
            yield from self._of_places(places[:before])
            yield from self._of_log(start, end)
            del places[:before]
        yield from self._of_places(places)

    def _of_places(self, places: list[int]) -> Iterator[Iterator[Hit]]:
        """Hits among records that the index names; those of a deleted file have expired, and are not reported."""
        by_file: dict[int, list[int]] = {}
        for place in places:
            by_file.setdefault(place - place % max(self._log.file_bytes, 1), []).append(place)
        for base, named in by_file.items():
            scanned, is_there = self._counts.scanned, self._log.mapped(base) is not None
            yield self._at(base, memoryview(array("q", named)))
            if is_there:
                self._counts.unreadable += len(named) - (self._counts.scanned - scanned)

    def _of_queues(self) -> Iterator[Iterator[Hit]]:
        cursors = [QueueCursor(self._queues, span) for span in self.plan.spans]
        while True:
            starts = [place for place in (cursor.next_place() for cursor in cursors) if place is not None]
            if not starts:
                break
            first = min(starts)
            base = first - first % self._log.file_bytes
            stop = min(first + _SPAN_BYTES, base + self._log.file_bytes)
            places = merged([cursor.take_before(stop) for cursor in cursors])
            places = places[bisect_left(places, self._log.min_offset) :]
            if len(places):
                scanned = self._counts.scanned
                yield self._at(base, places)
                self._counts.missing += len(places) - (self._counts.scanned - scanned)
        self._counts.missing += sum(cursor.holes for cursor in cursors)

    def _at(self, base: int, places: memoryview) -> Iterator[Hit]:
        mapped = self._log.mapped(base)
        if mapped is not None:
            yield from self._hits(mapped, memoryview(mapped), records_at(mapped, base, places))

    def _of_log(self, start: int, end: int) -> Iterator[Iterator[Hit]]:
        for window in self._log.windows(start, end, check_bodies=False):
            self._take_findings()
            yield self._hits(window.buffer, window.data, window.heads)
        self._take_findings()

    def _take_findings(self) -> None:
        counts = self._counts
        counts.damaged += len(self._log.findings)
        counts.findings += self._log.findings[: FINDINGS_MAX - len(counts.findings)]
        self._log.findings.clear()
        self._log.notes.clear()

    # ---- hits ----------------------------------------------------------------------------------------------------------

    def _hits(self, buffer: mmap.mmap, data: memoryview, heads: RecordHeads) -> Iterator[Hit]:
        """Hits of a window; its messages count as scanned when all of it was read, or when it ends early."""
        self._breathe()
        if not len(heads):
            return
        sure, possible = WindowFilter(data, heads, self._topics).verdicts(self._expression)
        self._breathe()
        before = self._counts.scanned
        for count, row in enumerate(rows_of(possible)):
            if count % _DECODED_BETWEEN_BREATHS == 0:
                self._breathe()
                if self._is_cancelled:
                    return
            self._counts.scanned = before + row + 1
            position = heads.position[row]
            hit = self._hit(buffer[position : position + heads.size[row]], is_sure=bool(sure[row]))
            if hit is not None:
                self._counts.found += 1
                yield hit
                if self._is_over():
                    return
        self._counts.scanned = before + len(heads)

    def _hit(self, record: bytes, *, is_sure: bool) -> Hit | None:
        try:
            message = decode_record(record)
        except RecordError:
            # Overwritten after its head was read: the file was deleted or reused during the search.
            self._counts.missing += 1
            return None
        facts = MessageFacts(message, self._known)
        if not is_sure:
            is_match = matches(self._expression, facts)
            if facts.body_fault:
                self._counts.undecoded += 1
            if not is_match:
                return None
        self._shared.take(facts)
        return Hit(message, record)


class Breather:
    """Lets other threads run: after a stretch of work it sleeps as long as the work took, or longer.

    The broker's loop shares the interpreter with a search in its process; so it is free for half of the time, in stretches of a
    millisecond or two. A stretch that takes longer than its processor time competed with others for the interpreter or the
    processor; a thread that waits for the processor may hold the interpreter meanwhile. The sleep then is longer by the same
    factor, so that the search uses less than its share and can finish each stretch.
    """

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        worked_ns: Callable[[], int] = time.thread_time_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock_ns = clock_ns
        self._worked_ns = worked_ns
        self._sleep = sleep
        self.begin()

    def begin(self) -> None:
        """Begin a stretch; earlier waits do not count as work. Called by the working thread."""
        self._since_ns, self._worked_before_ns = self._clock_ns(), self._worked_ns()

    def __call__(self) -> None:
        """Sleep if there was work for a millisecond since the last time."""
        took_ns = self._clock_ns() - self._since_ns
        if took_ns >= _STRETCH_NS:
            worked_ns = max(self._worked_ns() - self._worked_before_ns, 1)
            crowd = min(max(took_ns / worked_ns, 1.0), _CROWD_MAX)
            self._sleep(min(took_ns * crowd, _SLEEP_NS_MAX) / 1e9)
            self.begin()


def _no_breath() -> None:
    """Do nothing: no other thread waits."""


def _log_end(log: LogReader, queues: Queues, *, is_trusted: bool) -> int:
    """Offset after the last record of a log, or the end of its last file when that is unknown; the log is not read.

    Files have their full size from the start, and their unwritten part is zeros. ``is_trusted``: the store was closed in order,
    so its queues lead to the end; otherwise records may lie anywhere.
    """
    files_end = max((base + log.file_bytes for path, base in log.files if path.stat().st_size), default=log.min_offset)
    if not is_trusted:
        return files_end
    end = _behind_queues(log, queues)
    while end is not None and end < files_end:
        rest = log.file_bytes - end % log.file_bytes
        head = log.record(end, FILLER.size) if rest >= FILLER.size else None
        if head is None:
            return files_end
        size, magic = FILLER.unpack_from(head)
        if not size and not magic:
            return end
        if magic != MAGIC_BLANK or size != rest:
            return files_end  # a record that no queue knows
        end += rest
    return files_end


def _behind_queues(log: LogReader, queues: Queues) -> int | None:
    """End of the last record that a queue names; None when no queue names one."""
    ends = []
    for span in queues.spans():
        if span.end == span.first:
            continue
        unit = unit_of(queues, span, span.end - 1)
        if unit is not None and unit.record_bytes > 0:
            ends.append(unit.physical_offset + unit.record_bytes)
    return max((end for end in ends if end > log.min_offset), default=None)
