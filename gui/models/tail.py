"""Rows of a live tail: a ring of messages, newest first, those held during a pause, and counts by second.

Pure but for `TailModel`, which shows the ring. Nothing here sends requests.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, replace
from typing import cast, overload

from PySide6.QtCore import QObject, Qt

from broker_core.worker.questions.searches import Followed
from gui.models.packed_rows import PackedRows
from gui.models.stored_order import Int64s
from gui.models.table import NO_INDEX, Cell, CellKind, Column, ColumnTableModel, Section
from gui.models.tail_rows import PackedRow, TailRow, Unpacked, is_marked, number_of, pack_followed, stored_ms_of
from gui.theme.tokens import State
from monitoring.payload.listed import MaskOf

ROWS_MAX = 100_000
SECONDS_SHOWN = 60
SECONDS_KEPT = 10 * SECONDS_SHOWN
RATE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ColourRule:
    """Rows that pass ``filter`` are marked in the colour of ``mark``."""

    filter: str
    mark: State


class Arrivals:
    """Messages by the second of their store time, for the last `SECONDS_KEPT`."""

    def __init__(self) -> None:
        self._seconds: dict[int, list[int]] = {}

    def add(self, second: int, count: int, *, paused: bool) -> None:
        """Count messages of a second since the epoch, separately during a pause."""
        if second not in self._seconds:
            self._seconds[second] = [0, 0]
            for old in [known for known in self._seconds if known <= second - SECONDS_KEPT]:
                del self._seconds[old]
        self._seconds[second][paused] += count

    @property
    def since_s(self) -> int | None:
        """The earliest second with messages; None: there is none."""
        return min(self._seconds, default=None)

    def window(self, first_s: int, end_s: int) -> tuple[list[int], list[int]]:
        """Counts of the seconds from ``first_s`` to ``end_s`` (exclusive): shown at once, and held during a pause."""
        found = [self._seconds.get(second, (0, 0)) for second in range(first_s, end_s)]
        return [shown for shown, _ in found], [held for _, held in found]

    def rate(self, now_s: int) -> float:
        """Messages/s over the last `RATE_SECONDS` complete seconds."""
        counts = (self._seconds.get(second, (0, 0)) for second in range(now_s - RATE_SECONDS, now_s))
        return sum(map(sum, counts)) / RATE_SECONDS


class TailBuffer:
    """Messages of a tail that are not shown yet.

    While it is held, at most `ROWS_MAX` rows are pending, as many as the ring holds: a pause loses only what a running tail
    would have lost too.
    """

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.waiting = PackedRows(is_marked, stored_ms_of)
        self.is_held = False
        self.held_new = 0
        """Rows that arrived since it is held."""
        self.left_out = 0
        """Messages that the broker process left out."""
        self.skipped_bytes = 0
        self.left_out_at_s = -1
        """Second of the last loss; -1: never."""
        self._numbers = 0

    def hold(self, *, held: bool) -> None:
        """Hold rows back, or release them."""
        self.is_held = held
        self.held_new = 0

    def clear(self) -> None:
        """Drop pending rows and reset the counts."""
        self.waiting.clear()
        self.held_new = self.left_out = self.skipped_bytes = 0
        self.left_out_at_s = -1

    def take_in(self, followed: Followed, rules: Sequence[ColourRule], now_s: int) -> None:
        """Add messages; ``now_s`` is the second of a loss without rows."""
        rows = pack_followed(followed, self._numbers, [rule.mark for rule in rules])
        self._numbers += len(rows)
        self.waiting.extend(rows)
        self.waiting.drop_first(max(0, len(self.waiting) - ROWS_MAX))
        self.held_new += len(rows) if self.is_held else 0
        for second, count in Counter(store_ms // 1_000 for store_ms in followed.store_ms).items():
            self.arrivals.add(second, count, paused=self.is_held)
        if followed.left_out or followed.skipped_bytes:
            self.left_out += followed.left_out
            self.skipped_bytes += followed.skipped_bytes
            self.left_out_at_s = followed.store_ms[-1] // 1_000 if rows else now_s
            self.arrivals.add(self.left_out_at_s, followed.left_out, paused=self.is_held)

    def take_out(self) -> PackedRows:
        """Rows to show now, oldest first; none while it is held."""
        rows = PackedRows(is_marked, stored_ms_of)
        if not self.is_held:
            rows, self.waiting = self.waiting, rows
        return rows


class RowsAt(Sequence[PackedRow]):
    """Rows of a sequence at some places."""

    def __init__(self, rows: Sequence[PackedRow], places: Int64s) -> None:
        self._rows, self._places = rows, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> PackedRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[PackedRow]: ...
    def __getitem__(self, place: int | slice) -> PackedRow | list[PackedRow]:
        if isinstance(place, slice):
            return [self._rows[at] for at in self._places[place].tolist()]
        return self._rows[int(self._places[place])]


class TailModel(ColumnTableModel[TailRow]):
    """The ring, or those of its rows that were stored in a time; newest row first, in order of arrival, not sorted.

    A row is found by its number, so thousands of new rows are added without comparisons as in the base class.
    """

    def __init__(
        self,
        columns: Sequence[Column[TailRow]],
        mask_of: MaskOf,
        parent: QObject | None = None,
        *,
        rows_max: int = ROWS_MAX,
    ) -> None:
        super().__init__(columns, lambda row: row.number, parent=parent)
        self._rows_max = rows_max
        self._mask_of = mask_of
        self._ring = PackedRows(is_marked, stored_ms_of)
        self._use(self._ring)

    def _use(self, rows: Sequence[PackedRow]) -> None:
        self._packed = rows
        # The base class reads rows here and writes only in methods that do not apply.
        self._shown = cast("MutableSequence[TailRow | Section]", Unpacked(rows, self._mask_of))

    @property
    def kept(self) -> int:
        """Rows of the ring, shown or not."""
        return len(self._ring)

    @property
    def marked(self) -> int:
        """Marked rows of the ring."""
        return self._ring.marked

    def show_between(self, from_ms: int, to_ms: int) -> None:
        """Show only the rows stored from one moment to another, both included, until `show_all` or `add`."""
        self._show_rows(RowsAt(self._ring, self._ring.places_between(from_ms, to_ms)))

    def show_all(self) -> None:
        """Show all rows of the ring."""
        if self._packed is not self._ring:
            self._show_rows(self._ring)

    def _show_rows(self, rows: Sequence[PackedRow]) -> None:
        self.beginResetModel()
        self._use(rows)
        self.endResetModel()
        self.shown_changed.emit()

    def add(self, rows: PackedRows) -> None:
        """Move rows, oldest first, to the front; the oldest of the ring are dropped where there is no more room."""
        rows.drop_first(max(0, len(rows) - self._rows_max))
        if not rows:
            return
        self.show_all()
        gone = max(0, len(self._ring) + len(rows) - self._rows_max)
        if gone:
            self.beginRemoveRows(NO_INDEX, len(self._ring) - gone, len(self._ring) - 1)
            self._ring.drop_first(gone)
            self.endRemoveRows()
        self.beginInsertRows(NO_INDEX, 0, len(rows) - 1)
        self._ring.take(rows)
        self.endInsertRows()
        self.shown_changed.emit()

    def clear(self) -> None:
        self.beginResetModel()
        self._ring.clear()
        self._use(self._ring)
        self.endResetModel()
        self.shown_changed.emit()

    @property
    def rows(self) -> list[TailRow]:
        return [row for row in self._shown if isinstance(row, TailRow)]

    def position_of(self, key: object) -> int:
        if not isinstance(key, int):
            return -1
        # Numbers rise from row to row, with gaps where a pause lost rows.
        rows = self._packed
        age = bisect_left(rows, key, key=number_of)
        return len(rows) - 1 - age if age < len(rows) and number_of(rows[age]) == key else -1

    def set_order_frozen(self, frozen: bool) -> None:
        """Does nothing: rows never change their order."""

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Does nothing: the order is that of arrival."""

    def cell(self, row: TailRow, column: Column[TailRow]) -> Cell:
        found = super().cell(row, column)
        return replace(found, kind=CellKind.CHIP, state=row.mark) if row.mark is not None and column.key == "tag" else found
