"""`HitTableModel`: the hits of a search as rows; only visible ones become objects.

Rows are in store order, whatever the order of arrival, or sorted by a column.

Bodies and fields that hits do not have are requested when their rows are painted: see `wanted`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal

from broker_core.worker.questions.searches import SearchHits
from broker_core.worker.questions.stored_messages import FieldValues
from gui.models.hit_columns import HitColumns
from gui.models.messages import MessageRow, masked_row
from gui.models.stored_order import Int64s
from gui.models.table import CELL_ROLE, NO_INDEX, ROW_ROLE, Column, ColumnTableModel, Index, Section
from gui.words.text import UNKNOWN
from monitoring.payload.listed import MaskOf

KNOWN_ROWS_MAX = 5_000
LOADING = "…"
_Read = tuple[str, dict[str, str]]
"""Start of a body, fields."""


class HitTableModel(ColumnTableModel[MessageRow]):
    """See the module. The key of a row is its place in the log.

    Signals:
        wanted: A visible row lacks its body and fields; `take_wanted` returns such rows.
        order_wanted: Another order is requested; carries the key of the column, empty for store order.
    """

    wanted = Signal()
    order_wanted = Signal(str)

    def __init__(self, columns: Sequence[Column[MessageRow]], mask_of: MaskOf, parent: QObject | None = None) -> None:
        super().__init__(columns, lambda row: row.physical_offset, parent=parent)
        self._mask_of = mask_of
        self.hits = HitColumns()
        self._order: Int64s | None = None
        """Numbers of the hits in view order; later ones follow. None: as they arrived."""
        self._is_sorted = False
        """Whether the rows are sorted by a column."""
        self._positions: Int64s | None = None
        """Inverse of `_order`, made at its first use."""
        self._descending = False
        self._count = 0
        self._known: OrderedDict[int, _Read] = OrderedDict()
        """By place."""
        self._asked: dict[int, None] = {}
        self._unread: set[int] = set()
        """Places whose broker did not return the message in time."""
        self._last: tuple[int, MessageRow] | None = None
        """The row made last, with the number of its hit."""
        self.fields: list[str] = []
        """Fields of the language with columns of their own."""

    # ---- hits ------------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        if self._count:
            self.beginRemoveRows(NO_INDEX, 0, self._count - 1)
            self._start_anew()
            self.endRemoveRows()
        else:
            self._start_anew()
        self.shown_changed.emit()

    def _start_anew(self) -> None:
        self.hits, self._count, self._last = HitColumns(), 0, None
        self._order = self._positions = None
        self._is_sorted = False
        self._known, self._unread = OrderedDict(), set()
        self._asked.clear()

    def append(self, *turns: SearchHits) -> None:
        """Show more hits in their places; at the end while the rows are sorted by a column or frozen."""
        count = sum(len(hits.topic) for hits in turns)
        if not count:
            return
        self.beginInsertRows(NO_INDEX, self._count, self._count + count - 1)
        for hits in turns:
            self.hits.append(hits)
        self._count = len(self.hits)
        self.endInsertRows()
        if not self._is_sorted and not self._frozen:
            self._arrange(self.hits.stored_order)
        self.shown_changed.emit()

    def set_order(self, order: Int64s | None) -> None:
        """Show the rows in another order, None: store order; hits that arrived since it was made follow."""
        self._is_sorted = order is not None
        if order is None:
            order = self.hits.stored_order
        elif self._descending:
            order = order[::-1]
        self._arrange(order)
        self.shown_changed.emit()

    def _arrange(self, order: Int64s | None) -> None:
        if order is self._order:
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        numbers = [self._number(index.row()) for index in before]
        self._order = order
        self._positions = None
        after = [self.index(self._shown_at(number), index.column()) for number, index in zip(numbers, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _number(self, position: int) -> int:
        order = self._order
        return position if order is None or position >= len(order) else int(order[position])

    def _shown_at(self, number: int) -> int:
        order = self._order
        if order is None or number >= len(order):
            return number
        if self._positions is None:
            self._positions = np.empty_like(order)
            self._positions[order] = np.arange(len(order))
        return int(self._positions[number])

    # ---- bodies and fields -----------------------------------------------------------------------------------------

    def take_wanted(self, most: int) -> list[int]:
        """Places whose body and fields are to be read, the last requested first; each is returned once."""
        taken = list(self._asked)[::-1][:most]
        self._asked.clear()
        return taken

    def show_values(self, places: Sequence[int], fields: Sequence[str], values: FieldValues) -> None:
        """Show bodies and fields that were read."""
        self._last = None
        unread = {places[number] for number in values.unread}
        self._unread = (self._unread - set(places)) | unread
        for place_number, place in enumerate(places):
            number = self.hits.row_of(place)
            if number < 0 or place in unread:
                continue
            mask = self._mask_of(self.hits.topic[number])
            texts = {field: mask.field(field, values.texts[column][place_number]) for column, field in enumerate(fields)}
            body_bytes = int(self.hits.numbers["body_bytes"].values[number])
            self._known[place] = mask.preview(values.body_start[place_number], body_bytes), texts
            self._known.move_to_end(place)
        while len(self._known) > KNOWN_ROWS_MAX:
            self._known.popitem(last=False)
        self._places_changed(places)

    @property
    def lacks_some(self) -> bool:
        """Whether some values were not returned in time."""
        return bool(self._unread)

    def ask_unread_again(self) -> None:
        """Request the missing values again, where they are visible."""
        unread, self._unread, self._last = self._unread, set(), None
        self._places_changed(unread)

    def _places_changed(self, places: Iterable[int]) -> None:
        rows = [position for place in places if (position := self.position_of(place)) >= 0]
        if rows:
            self.dataChanged.emit(self.index(min(rows), 0), self.index(max(rows), self.columnCount() - 1))

    def masks_changed(self) -> None:
        """Apply other masking rules to all rows; bodies and fields are read again."""
        self._known.clear()
        self._last = None
        self.all_texts_changed()

    def field_of(self, row: MessageRow, field: str) -> str:
        """Value of a field that has a column of its own."""
        known = self._known.get(row.physical_offset)
        if known is None or field not in known[1]:
            return UNKNOWN if row.physical_offset in self._unread else LOADING
        return known[1][field]

    def set_columns(self, columns: Sequence[Column[MessageRow]], fields: Sequence[str]) -> None:
        """Show other columns; ``fields`` are those that must be read."""
        self.beginResetModel()
        self._columns = tuple(columns)
        self.fields = list(fields)
        self._known.clear()
        self.endResetModel()

    # ---- ColumnTableModel ------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[MessageRow]:
        return self.shown_rows

    @property
    def is_whole(self) -> bool:
        """Hits are read when they are visible; the export of hits reads them all."""
        return False

    @property
    def shown_rows(self) -> list[MessageRow]:
        return [row for position in range(self._count) if (row := self.row_at(position)) is not None]

    def row_at(self, position: int) -> MessageRow | None:
        if not 0 <= position < self._count:
            return None
        return self._row(self._number(position))

    def rows_at(self, positions: Iterable[int]) -> Iterator[MessageRow]:
        numbers = [self._number(position) for position in positions if 0 <= position < self._count]
        # A search that begins meanwhile replaces these.
        hits, known, unread = self.hits, self._known, self._unread
        return (self._made(hits, known, unread, number) for number in numbers)

    def _row(self, number: int) -> MessageRow:
        # The cells of a row are painted one after the other.
        if self._last is None or self._last[0] != number:
            self._last = number, self._made(self.hits, self._known, self._unread, number)
        return self._last[1]

    def _made(self, hits: HitColumns, known: Mapping[int, _Read], unread: Collection[int], number: int) -> MessageRow:
        place = hits.numbers["physical_offset"][number]
        read, unknown = known.get(place), UNKNOWN if place in unread else ""
        row = hits.row(number, unknown if read is None else read[0])
        return masked_row(row, self._mask_of(row.topic))

    def shown_at(self, position: int) -> MessageRow | Section:
        """The row at a position, to be painted; its missing values are requested."""
        row = self.row_at(position)
        assert row is not None
        self._want(row.physical_offset)
        return row

    def section_at(self, _position: int) -> str | None:
        return None

    def key_at(self, position: int) -> Hashable | None:
        return int(self.hits.places[self._number(position)]) if 0 <= position < self._count else None

    def position_of(self, key: Hashable) -> int:
        number = self.hits.row_of(key) if isinstance(key, int) else -1
        return self._shown_at(number) if 0 <= number < self._count else -1

    def set_order_frozen(self, frozen: bool) -> None:
        """Append new hits at the end while True, so that no row moves under the mouse."""
        self._frozen = frozen
        if not frozen and not self._is_sorted:
            self._arrange(self.hits.stored_order)
            self.shown_changed.emit()

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else self._count

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, CELL_ROLE, ROW_ROLE):
            return None
        row, column = self.row_at(index.row()), self._columns[index.column()]
        if row is None:
            return None
        if role == CELL_ROLE:
            self._want(row.physical_offset)
            return self.cell(row, column)
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tip(row, column)
        return column.text(row)

    def _want(self, place: int) -> None:
        """Request body and fields of a painted row unless they are known."""
        if place not in self._known and place not in self._asked and place not in self._unread:
            self._asked[place] = None
            if len(self._asked) == 1:
                self.wanted.emit()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._descending = order is Qt.SortOrder.DescendingOrder
        self._sort_column = column
        self.order_wanted.emit(self._columns[column].key if 0 <= column < len(self._columns) else "")

    @property
    def sort_key(self) -> str:
        """Key of the sorted column, empty for none."""
        return self._columns[self._sort_column].key if 0 <= self._sort_column < len(self._columns) else ""

    def all_texts_changed(self) -> None:
        super().all_texts_changed()
        if self._count:
            self.dataChanged.emit(self.index(0, 0), self.index(self._count - 1, len(self._columns) - 1))
