"""A filter on many records at once: first by the columns of their heads, then by the bytes that a match must have.

For each record a comparison surely holds, surely does not, or the record must be decoded to know. `and`, `or` and `not` combine
these verdicts, and only open records are decoded for `broker_core.tools.search.facts`.

    heads   queue, offset, position, times, sizes, reconsume; topic and state, once for each topic in the window
    bytes   text that must be in the record, or in the body, for the comparison to hold
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from broker_core.tools.search.facts import ORDERS, compare
from broker_core.tools.search.fields import state_of_topic
from broker_core.tools.search.needles import needles_of

Bools = npt.NDArray[np.bool_]

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
_INT64_MAX = (1 << 63) - 1


class Verdicts(NamedTuple):
    """What is known of each record: ``sure`` where the filter holds, ``possible`` where it holds or may hold."""

    sure: Bools
    possible: Bools


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
        self._by_topic: Groups | None = None
        self._is_plain: Bools | None = None
        self._look_at_bytes = False

    def verdicts(self, expression: Expression) -> Verdicts:
        by_heads = self.by_heads(expression)
        open_rows = by_heads.possible & ~by_heads.sure
        if not open_rows.any():
            return by_heads
        self._look_at_bytes = True
        by_bytes = self._of(expression, open_rows)
        sure = by_heads.sure | (by_bytes.sure & open_rows)
        return Verdicts(sure, sure | (by_bytes.possible & open_rows))

    def by_heads(self, expression: Expression) -> Verdicts:
        """Verdicts by the heads alone."""
        self._look_at_bytes = False
        return self._of(expression, np.ones(len(self._heads), dtype=np.bool_))

    # ---- logic ---------------------------------------------------------------------------------------------------------

    def _of(self, expression: Expression, rows: Bools) -> Verdicts:
        """Verdicts that are right in ``rows`` and undefined elsewhere."""
        match expression:
            case Comparison():
                return self._comparison(expression, rows)
            case NotCondition(item):
                sure, possible = self._of(item, rows)
                return Verdicts(~possible, ~sure)
            case EveryCondition(items):
                sure, possible = rows.copy(), rows.copy()
                for item in items:
                    if not possible.any():
                        break
                    found = self._of(item, possible)
                    sure &= found.sure
                    possible &= found.possible
                return Verdicts(sure & possible, possible)
            case AnyCondition(items):
                sure, possible = np.zeros_like(rows), np.zeros_like(rows)
                for item in items:
                    left = rows & ~sure
                    if not left.any():
                        break
                    found = self._of(item, left)
                    sure |= found.sure & left
                    possible |= found.possible & left
                return Verdicts(sure, possible | sure)

    def _comparison(self, comparison: Comparison, rows: Bools) -> Verdicts:
        name = comparison.field.name
        if name in _COLUMNS:
            return self._column(comparison, _array(_COLUMNS[name](self._heads)))
        if name in ("topic", "state", "group"):
            verdicts = self._topic(comparison)
            if name != "group":
                return verdicts
            # The bytes may decide what the topic does not.
            return self._narrowed(comparison, verdicts, rows)
        return self._narrowed(comparison, self._unknown(), rows)

    def _unknown(self) -> Verdicts:
        count = len(self._heads)
        return Verdicts(np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_))

    # ---- heads ---------------------------------------------------------------------------------------------------------

    def _column(self, comparison: Comparison, column: npt.NDArray[Any]) -> Verdicts:
        holds = _holds(comparison, column)
        if comparison.field.name != "body_bytes":
            return Verdicts(holds, holds)
        plain = self._plain()
        return Verdicts(holds & plain, holds | ~plain)

    def _plain(self) -> Bools:
        """Rows whose body is not compressed."""
        if self._is_plain is None:
            self._is_plain = (_array(self._heads.sys_flag) & COMPRESSED) == 0
        return self._is_plain

    def _topic(self, comparison: Comparison) -> Verdicts:
        heads = self._heads
        if self._by_topic is None:
            self._by_topic = self._scan.groups(self._data, heads.topic_position, heads.topic_bytes)
        verdicts = [self._topics.of(comparison, topic_of(self._data, heads, row)) for row in self._by_topic.firsts.tolist()]
        sure, possible = np.array([one is True for one in verdicts]), np.array([one is not False for one in verdicts])
        of_row = _array(self._by_topic.of_row)
        return Verdicts(sure[of_row], possible[of_row])

    # ---- bytes ---------------------------------------------------------------------------------------------------------

    def _narrowed(self, comparison: Comparison, verdicts: Verdicts, rows: Bools) -> Verdicts:
        """Verdicts of a comparison that the heads leave open, narrowed by the bytes if that is allowed and helps."""
        needles = needles_of(comparison) if self._look_at_bytes else None
        if needles is None:
            return verdicts
        open_rows = rows & verdicts.possible & ~verdicts.sure
        if needles.in_body:
            open_rows &= self._plain()
        if not open_rows.any():
            return verdicts
        found = np.zeros(len(rows), dtype=np.bool_)
        for needle in needles.any_of:
            found |= self._with_bytes(needle, open_rows & ~found, in_body=needles.in_body)
        if needles.positions:
            found |= np.isin(_array(self._heads.physical_offset), np.array(needles.positions, dtype=np.int64))
        sure, possible = verdicts.sure.copy(), verdicts.possible.copy()
        if needles.is_opposite:
            sure[open_rows & ~found] = True
            if needles.is_exact:
                possible[open_rows & found] = False
        else:
            possible[open_rows & ~found] = False
            if needles.is_exact:
                sure[open_rows & found] = True
        return Verdicts(sure, possible)

    def _with_bytes(self, needle: bytes, rows: Bools, *, in_body: bool) -> Bools:
        """Which of some rows hold given bytes, in the body or anywhere in the record."""
        heads = self._heads
        if not needle:
            return rows.copy()
        marked = bytearray(rows.tobytes())
        places = (heads.body_position, heads.body_bytes) if in_body else (heads.position, heads.size)
        self._scan.narrow(self._data, *places, needle, marked)
        return np.frombuffer(marked, dtype=np.bool_)


def _array(column: memoryview) -> npt.NDArray[np.int64]:
    return np.frombuffer(column, dtype=np.int64)


def _holds(comparison: Comparison, column: npt.NDArray[Any]) -> Bools:
    """An exact comparison of a column of whole numbers."""
    literals = [value for value in comparison.values if isinstance(value, int) and abs(value) <= _INT64_MAX]
    beyond = [value for value in comparison.values if isinstance(value, int) and abs(value) > _INT64_MAX]
    match comparison.operator:
        case Operator.EQUAL | Operator.IN:
            return np.isin(column, np.array(literals, dtype=np.int64))
        case Operator.NOT_EQUAL:
            return np.isin(column, np.array(literals, dtype=np.int64), invert=True)
        case operator:
            if beyond:
                return np.full(len(column), bool(ORDERS[operator](0, beyond[0])))
            return np.asarray(ORDERS[operator](column, np.int64(literals[0])), dtype=np.bool_)
