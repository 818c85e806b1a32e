"""How a store is searched: which parts are read, and why not the rest, stated before it begins.

    lookup    ids say where a record lies, keys are in the index files; what the index does not cover is scanned
    queues    topic, queue and state pick consume queues, times parts of them; used when that is little of the store
    log       all records of a part of the log, by columns

Queues and index are used when they can be trusted: in the store that is open in this process, and in a directory that was
closed in order and has the queues of the filter's topics. They hold what RocketMQ serves; a record without a queue is found by
a scan of the log. When they would have been used and are not, the plan says why.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from broker_core.cluster.slices import CLOCK_MARGIN_MS
from broker_core.counted import counted
from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.engine.store.newer_layouts import check_layout
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import ForeignStoreError
from broker_core.protocol.message.message_id import offset_in_id, offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.names import LMQ_PREFIX
from broker_core.tools.search.bounds import EVERYTHING, HIGHEST, Interval, Lookup, interval_of, literal_topics, lookups_of
from broker_core.tools.search.columns import may_match
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.gone import Gone
from broker_core.tools.search.keys import KeyIndex, Range
from broker_core.tools.search.queues import Queues, QueueSpan, unit_of
from broker_core.tools.search.store_times import file_times, narrowed_span, narrowed_to_files, time_at

QUEUE_SHARE_MAX = 0.25
"""With more than this share of a store's messages in the chosen queues, the log is read as a whole."""
LOOKUPS_MAX = 1_000
QUESTIONS_MAX = 20_000
"""Keys times topics: each pair is looked up in every file of the index, 5 to 100 µs together."""
RECORD_BYTES_GUESSED = 512
"""Used when no queue has a number of messages."""
UNSETTLED = "the store is in use, or was not closed in good order"
ELSEWHERE = "the store has queues of a kind that RocketMQ 5 alone reads"
NO_QUEUES = "the store has no consume queues"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search will read.

    Attributes:
        places: Physical offsets that the index and ids name, ascending; they lie outside of ``ranges``.
        ranges: Parts of the log to be scanned, ascending.
        steps: The same in words.
        total_messages: Their approximate number.
        notes: What cannot be found, because it is no longer stored.
    """

    steps: tuple[str, ...]
    total_messages: int
    places: tuple[int, ...] = ()
    spans: tuple[QueueSpan, ...] = ()
    ranges: tuple[Range, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", then ".join(self.steps)


@dataclass(slots=True)
class Planner:
    """Makes the plan for one filter on one store; ``doubt`` says why queues and index cannot be trusted, if so."""

    expression: Expression
    log: LogReader
    queues: Queues
    log_end: int
    doubt: str
    _spans: list[QueueSpan] = field(init=False)
    _topics: frozenset[str] = field(init=False)
    """Topics with queues."""
    _stored: Interval = field(init=False)
    """Times that may hold matches; everything when times do not rise along the log."""
    _file_times: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._spans = self.queues.spans()
        self._topics = frozenset(span.topic for span in self._spans)
        self._stored = interval_of(self.expression, "stored").widened(CLOCK_MARGIN_MS)
        times = file_times(self.log) if self._stored != EVERYTHING else []
        self._stored, self._file_times = (EVERYTHING, []) if times is None else (self._stored, times)
        if not self.doubt and not self._topics and self.log_end > self.log.min_offset:
            self.doubt = NO_QUEUES

    def plan(self) -> Plan:
        """The cheapest way that finds everything that is stored."""
        plan = self._plan()
        is_by_id = len(plan.places) == plan.total_messages > 0  # each named record is there
        return plan if is_by_id else replace(plan, notes=self._gone())

    def _gone(self) -> tuple[str, ...]:
        """The note on deleted messages of queues that may have a match."""
        gone, offsets = Gone(), interval_of(self.expression, "offset")
        any_gone = self.log.min_offset or any(span.first for span in self._spans)
        if any_gone and interval_of(self.expression, "position").low < self.log.min_offset:
            for span in self._spans:
                if may_match(self.expression, span.topic, span.queue_id):
                    first = self._first_kept(span)
                    if self._time_of(span, first) >= self._stored.low:
                        gone.add(span.topic, first, offsets)
        return gone.notes()

    def _first_kept(self, span: QueueSpan) -> int:
        """Offset of the first message of a queue whose record is still in the log; its end if there is none."""
        low, high = span.first, span.end
        if low < high and self._place_of(span, low) < self.log.min_offset:
            low = bisect_left(range(high), self.log.min_offset, lo=low + 1, key=partial(self._place_of, span))
        return low

    def _time_of(self, span: QueueSpan, offset: int) -> int:
        """Store time of a message; the highest where it is not known, because deleted ones may be as new."""
        at = time_at(self.log, self._place_of(span, offset)) if offset < span.end else None
        return HIGHEST if at is None else at

    def _plan(self) -> Plan:
        lookups = lookups_of(self.expression)
        if lookups is not None and len(lookups) > LOOKUPS_MAX:
            lookups = None
        if lookups is not None:
            places = [self._place_by_id(lookup) for lookup in lookups]
            if -1 not in places:
                return Plan((f"{counted(len(places), 'record')} read by id",), len(places), tuple(sorted(set(places))))
            looked_up = None if self.doubt else self._lookup_plan(lookups)
            if looked_up is not None:
                return looked_up
        if self.doubt:
            would_help = lookups is not None or literal_topics(self.expression)
            return self._log_plan(f"queues and index are left aside: {self.doubt}" if would_help else "")
        if lost := self._lost_topics():
            return self._log_plan(f"queues are left aside: topic {lost[0]} has none")
        spans = self._chosen_spans()
        return self._log_plan() if spans is None else self._queue_plan(spans)

    # ---- lookups -------------------------------------------------------------------------------------------------------

    def _place_by_id(self, lookup: Lookup) -> int:
        """Place of the record with an offset message id; -1 without one, or for another kind of id."""
        place = offset_in_id(lookup.text) if lookup.field == "id" else -1
        parts = self.log.parts(place) if place >= 0 else None
        if parts is None or offset_message_id(HostAddress.from_packed(parts.head.store_host), place) != lookup.text.upper():
            return -1
        return place

    def _lookup_plan(self, lookups: frozenset[Lookup]) -> Plan | None:
        """A plan by the index; None when it would take so many lookups that a scan is faster."""
        every = self._topics | literal_topics(self.expression) | self.queues.named_topics()
        topics = [topic for topic in sorted(every) if may_match(self.expression, topic, None)]
        if len(topics) * len(lookups) > QUESTIONS_MAX:
            return None
        index = KeyIndex(self.log.root, self.log.min_offset, self.log_end)
        places = {self._place_by_id(lookup) for lookup in lookups} - {-1}
        for lookup in lookups:
            places |= index.places(topics, lookup.text)
        start, end = self._log_range()
        ranges = _merged([(max(low, start), min(high, end)) for low, high in index.unknown])
        outside = [place for place in sorted(places) if not _is_inside(place, ranges)]
        steps = [f"index lookup of {counted(len(lookups), 'key')} in {counted(len(topics), 'topic')}"]
        if ranges:
            steps.append(f"scan of {_size(ranges)} that the index does not cover")
        return Plan(tuple(steps), len(outside) + self._messages_in(ranges), tuple(outside), ranges=tuple(ranges))

    # ---- queues --------------------------------------------------------------------------------------------------------

    def _lost_topics(self) -> list[str]:
        """Topics of the filter that have no queue.

        The records of a deleted topic may still be in the log, and those of one whose directory was lost are.
        """
        return sorted(literal_topics(self.expression) - self._topics)

    def _chosen_spans(self) -> list[QueueSpan] | None:
        """Spans of queues to read; None when the log is the better way."""
        has_match = {topic: may_match(self.expression, topic, None) for topic in self._topics}
        chosen = [
            span for span in self._spans if has_match[span.topic] and may_match(self.expression, span.topic, span.queue_id)
        ]
        if len(chosen) == len(self._spans):
            return None
        if self._stored != EVERYTHING:
            chosen = [narrowed_span(self.log, self.queues, span, self._stored) for span in chosen]
        offsets = interval_of(self.expression, "offset")
        chosen = [
            span._replace(first=max(span.first, offsets.low), end=min(span.end, max(offsets.high, -1) + 1)) for span in chosen
        ]
        chosen = [span for span in chosen if span.first < span.end]
        in_log = self._messages_in([self._log_range()])
        return chosen if _messages(chosen) <= in_log * QUEUE_SHARE_MAX else None

    def _queue_plan(self, spans: list[QueueSpan]) -> Plan:
        if not spans:
            return Plan(("no queue of the store can hold a match",), 0)
        messages = _messages(spans)
        return Plan((f"scan of {counted(len(spans), 'queue')}, {_about(messages)}",), messages, spans=tuple(spans))

    # ---- the log -------------------------------------------------------------------------------------------------------

    def _log_plan(self, why: str = "") -> Plan:
        start, end = self._log_range()
        messages = self._messages_in([(start, end)])
        part = "the log" if (start, end) == (self.log.min_offset, self.log_end) else "a part of the log"
        step = f"scan of {part}, {_size([(start, end)])}, about {_about(messages)}"
        return Plan((why, step) if why else (step,), messages, ranges=((start, end),) if start < end else ())

    def _log_range(self) -> Range:
        """Part of the log that can hold matches by time and position; it starts with a record."""
        bounds = interval_of(self.expression, "position")
        start = max([self.log.min_offset, *(base for _, base in self.log.files if base <= bounds.low)])
        end = min([self.log_end, *(base for _, base in self.log.files if base > bounds.high)])
        if self._stored == EVERYTHING:
            return start, max(start, end)
        start, end = narrowed_to_files(self._file_times, self._stored, start, end)
        return (start, end) if self.doubt else self._narrowed_by_queues(start, end)

    def _narrowed_by_queues(self, start: int, end: int) -> Range:
        """Bounds within files: the last message before the time, and the first after it, over all queues."""
        for span in self._spans:
            narrowed = narrowed_span(self.log, self.queues, span, self._stored)
            before = self._place_of(span, narrowed.first - 1) if narrowed.first > span.first else -1
            behind = self._place_of(span, narrowed.end) if narrowed.end < span.end else -1
            start = max(start, before)
            if start <= behind < end:
                end = behind
        return start, max(start, end)

    def _place_of(self, span: QueueSpan, offset: int) -> int:
        unit = unit_of(self.queues, span, offset)
        return unit.physical_offset if unit is not None and unit.record_bytes > 0 else -1

    def _messages_in(self, ranges: list[Range]) -> int:
        """Approximate number of messages in parts of the log, as if all had one size."""
        log_bytes = self.log_end - self.log.min_offset
        part_bytes = sum(end - start for start, end in ranges)
        # Queues of light messages name records that are in queues of their topics, too.
        own = [span for span in self._spans if not span.topic.startswith(LMQ_PREFIX)]
        messages = _messages(own) or log_bytes // RECORD_BYTES_GUESSED
        return round(messages * part_bytes / log_bytes) if log_bytes > 0 else 0


def doubt_of(root: Path) -> str:
    """Why queues and index of a directory may be incomplete; empty if they are complete."""
    if StorePaths(root).abort.exists():
        return UNSETTLED
    try:
        check_layout(root)
    except ForeignStoreError:
        return ELSEWHERE
    return ""


def _messages(spans: list[QueueSpan]) -> int:
    return sum(span.end - span.first for span in spans)


def _merged(ranges: list[Range]) -> list[Range]:
    """The same ranges, ascending and disjoint."""
    merged: list[Range] = []
    for start, end in sorted(one for one in ranges if one[0] < one[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _is_inside(place: int, ranges: list[Range]) -> bool:
    return any(start <= place < end for start, end in ranges)


def _about(messages: int) -> str:
    if messages >= 1_000_000:
        return f"{messages / 1e6:.1f} M messages"
    return counted(messages, "message")


def _size(ranges: list[Range]) -> str:
    total = float(sum(end - start for start, end in ranges))
    for unit in ("B", "KiB", "MiB"):
        if total < 1024:
            return f"{total:.0f} {unit}" if unit == "B" else f"{total:.1f} {unit}"
        total /= 1024
    return f"{total:.1f} GiB"
