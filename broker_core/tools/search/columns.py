"""A filter on many records at once: first by the columns of their heads, then by the bytes that a match must have.

For each record a comparison surely holds, surely does not, or the record must be decoded to know. `and`, `or` and `not` combine
these verdicts, and only open records are decoded for `broker_core.tools.search.facts`.

    heads   queue, offset, position, times, sizes, reconsume; topic and state, once for each topic in the window
    bytes   text that must be in the record, or in the body, for the comparison to hold
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from broker_core.engine.store.layout import RecordHeads
from broker_core.engine.store.record_columns import topic_of
from broker_core.engine.store.record_heads import Groups, HeadScan
from broker_core.native.library import installed
from broker_core.protocol.message.sys_flag import COMPRESSED
from broker_core.protocol.retry_names import possible_groups
from broker_core.tools.search.expression import (
    AnyCondition,
    Comparison,
    EveryCondition,
    Expression,
    NotCondition,
    Operator,
    verdict,
)
from broker_core.tools.search.facts import compare
from broker_core.tools.search.fields import state_of_topic
from broker_core.tools.search.needles import needles_of

_COLUMNS: dict[str, Callable[[RecordHeads], memoryview]] = {
    "queue": lambda heads: heads.queue_id,
    "offset": lambda heads: heads.queue_offset,
    "position": lambda heads: heads.physical_offset,
    "size": lambda heads: heads.size,
    "body_bytes": lambda heads: heads.body_bytes,
    "born": lambda heads: heads.born_ms,
    "stored": lambda heads: heads.store_ms,
    "reconsume": lambda heads: heads.reconsume,
}
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


class Verdicts(NamedTuple):
    """What is known of each record, a byte each: 1 in ``sure`` where the filter holds, in ``possible`` where it may hold."""

    sure: bytes
    possible: bytes


def rows_of(marked: bytes) -> Iterator[int]:
    """The rows with a 1."""
    row = marked.find(1)
    while row >= 0:
        yield row
        row = marked.find(1, row + 1)


class _Known(NamedTuple):
    """As `Verdicts`; the bytes of each are a number, because numbers have and, or, not."""

    sure: int
    possible: int


@dataclass(slots=True)
class TopicVerdicts:
    """Comparisons that the topic decides, computed once for each topic of a search."""

    known: dict[tuple[Comparison, bytes], bool | None] = field(default_factory=dict)

    def of(self, comparison: Comparison, topic: bytes) -> bool | None:
        """As `topic_verdict`, for an encoded topic."""
        key = comparison, topic
        if key not in self.known:
            self.known[key] = topic_verdict(comparison, topic.decode("utf-8", "replace"))
        return self.known[key]


def topic_verdict(comparison: Comparison, topic: str) -> bool | None:
    """Whether a comparison holds for all messages of a topic; None when that depends on the message."""
    match comparison.field.name:
        case "topic":
            return compare(comparison, (topic,))
        case "state":
            return compare(comparison, (state_of_topic(topic),))
        case "group":
            # The properties of a message say which of the possible owners of a retry topic they leave.
            verdicts = {compare(comparison, (group,)) for group in possible_groups(topic)}
            return verdicts.pop() if len(verdicts) == 1 else None
    return None


def may_match(expression: Expression, topic: str, queue_id: int | None) -> bool:
    """Whether a message of a topic may match, in one of its queues or, without an id, in any."""

    def known(comparison: Comparison) -> bool | None:
        if comparison.field.name == "queue":
            return None if queue_id is None else compare(comparison, (queue_id,))
        return topic_verdict(comparison, topic)

    return verdict(expression, known) is not False


class WindowFilter:
    """A filter on the records of one window, ascending.

    Args:
        data: The log file.
        topics: Shared by all windows of a search.
    """

    def __init__(self, data: memoryview, heads: RecordHeads, topics: TopicVerdicts) -> None:
        self._data = data
        self._heads = heads
        self._topics = topics
        self._scan = HeadScan(installed())
        self._every = _number(b"\x01" * len(heads))
        self._by_topic: Groups | None = None
        self._plain_rows: int | None = None
        self._look_at_bytes = False

    def verdicts(self, expression: Expression) -> Verdicts:
        sure, possible = self._of(expression, self._every)
        open_rows = possible & ~sure
        if open_rows:
            self._look_at_bytes = True
            by_bytes = self._of(expression, open_rows)
            sure |= by_bytes.sure & open_rows
            possible = sure | (by_bytes.possible & open_rows)
        return Verdicts(self._marked(sure), self._marked(possible))

    def _marked(self, rows: int) -> bytes:
        return rows.to_bytes(len(self._heads), "little")

    # ---- logic ---------------------------------------------------------------------------------------------------------

    def _of(self, expression: Expression, rows: int) -> _Known:
        """Verdicts that are right in ``rows`` and undefined elsewhere."""
        match expression:
            case Comparison():
                return self._comparison(expression, rows)
            case NotCondition(item):
                sure, possible = self._of(item, rows)
                return _Known(self._every & ~possible, self._every & ~sure)
            case EveryCondition(items):
                sure = possible = rows
                for item in items:
                    if not possible:
                        break
                    found = self._of(item, possible)
                    sure &= found.sure
                    possible &= found.possible
                return _Known(sure & possible, possible)
            case AnyCondition(items):
                sure = possible = 0
                for item in items:
                    left = rows & ~sure
                    if not left:
                        break
                    found = self._of(item, left)
                    sure |= found.sure & left
                    possible |= found.possible & left
                return _Known(sure, possible | sure)

    def _comparison(self, comparison: Comparison, rows: int) -> _Known:
        name = comparison.field.name
        if name in _COLUMNS:
            return self._column(comparison, _COLUMNS[name](self._heads))
        if name in ("topic", "state", "group"):
            verdicts = self._topic(comparison)
            if name != "group":
                return verdicts
            # The bytes may decide what the topic does not.
            return self._narrowed(comparison, verdicts, rows)
        return self._narrowed(comparison, _Known(0, self._every), rows)

    # ---- heads ---------------------------------------------------------------------------------------------------------

    def _between(self, column: memoryview, borders: Iterable[int]) -> int:
        return _number(self._scan.between(column, borders))

    def _column(self, comparison: Comparison, column: memoryview) -> _Known:
        holds = self._between(column, _borders(comparison))
        if comparison.field.name != "body_bytes":
            return _Known(holds, holds)
        plain = self._plain()
        return _Known(holds & plain, holds | (self._every & ~plain))

    def _plain(self) -> int:
        """Rows whose body is not compressed."""
        if self._plain_rows is None:
            self._plain_rows = self._every & ~_number(self._scan.with_bits(self._heads.sys_flag, COMPRESSED))
        return self._plain_rows

    def _topic(self, comparison: Comparison) -> _Known:
        heads = self._heads
        if self._by_topic is None:
            self._by_topic = self._scan.groups(self._data, heads.topic_position, heads.topic_bytes)
        firsts, of_row = self._by_topic
        verdicts = [self._topics.of(comparison, topic_of(self._data, heads, row)) for row in firsts]
        holding = _around(group for group, one in enumerate(verdicts) if one is True)
        possibly = _around(group for group, one in enumerate(verdicts) if one is not False)
        sure = self._between(of_row, holding)
        return _Known(sure, sure if possibly == holding else self._between(of_row, possibly))

    # ---- bytes ---------------------------------------------------------------------------------------------------------

    def _narrowed(self, comparison: Comparison, verdicts: _Known, rows: int) -> _Known:
        """Verdicts of a comparison that the heads leave open, narrowed by the bytes if that is allowed and helps."""
        needles = needles_of(comparison) if self._look_at_bytes else None
        if needles is None:
            return verdicts
        sure, possible = verdicts
        open_rows = rows & possible & ~sure
        if needles.in_body:
            open_rows &= self._plain()
        if not open_rows:
            return verdicts
        found = 0
        for needle in needles.any_of:
            found |= self._with_bytes(needle, open_rows & ~found, in_body=needles.in_body)
        if needles.positions:
            found |= self._between(self._heads.physical_offset, _around(needles.positions))
        with_bytes, without = open_rows & found, open_rows & ~found
        if needles.is_opposite:
            return _Known(sure | without, possible & ~with_bytes if needles.is_exact else possible)
        return _Known(sure | with_bytes if needles.is_exact else sure, possible & ~without)

    def _with_bytes(self, needle: bytes, rows: int, *, in_body: bool) -> int:
        """Which of some rows hold given bytes, in the body or anywhere in the record."""
        heads = self._heads
        if not needle:
            return rows
        marked = bytearray(self._marked(rows))
        places = (heads.body_position, heads.body_bytes) if in_body else (heads.position, heads.size)
        self._scan.narrow(self._data, *places, needle, marked)
        return _number(marked)


def _number(marked: bytes | bytearray) -> int:
    return int.from_bytes(marked, "little")


def _borders(comparison: Comparison) -> Iterable[int]:
    """Between which numbers an exact comparison of whole numbers holds, as `HeadScan.between` takes them."""
    values = [value for value in comparison.values if isinstance(value, int)]
    match comparison.operator:
        case Operator.EQUAL | Operator.IN:
            return _around(values)
        case Operator.NOT_EQUAL:
            return _around(values, outside=True)
        case Operator.LESS:
            borders = [_INT64_MIN, values[0]]
        case Operator.LESS_OR_EQUAL:
            borders = [_INT64_MIN, values[0] + 1]
        case Operator.GREATER:
            borders = [values[0] + 1]
        case _:
            borders = [values[0]]
    return [max(border, _INT64_MIN) for border in borders if border <= _INT64_MAX]


def _around(numbers: Iterable[int], *, outside: bool = False) -> list[int]:
    """Borders around some numbers, or with ``outside`` around all others; of an even count the last range has an end."""
    borders = {_INT64_MIN} if outside else set()
    for number in set(numbers):
        if _INT64_MIN <= number <= _INT64_MAX:
            borders ^= {number, number + 1}
    return sorted(borders - {_INT64_MAX + 1})
