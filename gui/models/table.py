"""`ColumnTableModel`: rows of plain values shown through columns, with sort, filter, sections and exact row signals.

The model adapts a list of immutable rows; it does no I/O. Rows are compared with ``==``, so they hold plain values and no
arrays. `set_rows` compares the new list with the shown one, by key, and reports exactly which rows were removed, added, moved
or changed, so that selection and scroll position stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from gui.theme.tokens import State
from gui.words.plain_text import table_text, tip_text
from gui.words.text import count_text, tr

if TYPE_CHECKING:
    from broker_core.api import MarkPattern

R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex

NO_INDEX = QModelIndex()
CELL_ROLE = Qt.ItemDataRole.UserRole
"""Answers the `Cell` to paint, or a `Section` for a section row."""
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""Answers the row value."""


class CellKind(Enum):
    TEXT = "text"
    STRONG = "strong"
    MONO = "mono"
    """An id or address: cut in its middle."""
    KEYS = "keys"
    """Keys apart by spaces: the first one is shown, cut at its front, because keys differ at their ends."""
    CODE = "code"
    """Part of a body: cut at its end."""
    CHIP = "chip"
    FLAG = "flag"
    """A chip where it has a state, else a word: the usual needs no attention."""
    TAG = "tag"
    """A kind, not a state: a word in a frame of its colour."""
    SPARKLINE = "sparkline"
    BAR = "bar"
    LANE = "lane"
    """Pending messages before a moment: a `WaitingLane`."""
    PIPS = "pips"
    """Steps taken of those allowed, e.g. 3 of 15."""
    MOVE = "move"
    """A place on a line and its target: a `Move`."""


@dataclass(frozen=True, slots=True)
class WaitingLane:
    """Places of pending messages, as shares of the way: 0 due now, 1 just stored.

    Attributes:
        dots: One for each message; empty where there are too many for single dots.
        density: Messages in equal parts of the way, from due to stored; empty where there are dots.
    """

    dots: tuple[float, ...] = ()
    density: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A place on a line and its target, as shares of the line; NaN where not known."""

    now: float
    after: float


def painted_text(column: Column[R], row: R) -> str:
    """What a cell shows of its text: of keys the first."""
    text = table_text(column.text(row))
    return first_word(text) if column.kind is CellKind.KEYS else text


def first_word(text: str) -> str:
    """The first of words apart by spaces; all of a text in which a mask may hide the spaces."""
    return text if "•" in text else text.split(" ", maxsplit=1)[0]


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make a Column[Row](…)
class Column(Generic[R]):
    key: str
    title: str
    """English; shown through `tr`."""
    text: Callable[[R], str]
    """Text of the cell, also in copies."""
    sort: Callable[[R], Any] | None = None
    """Sort value; None: the text. NaN, None and unknown sort last."""
    kind: CellKind = CellKind.TEXT
    value: Callable[[R], object] | None = None
    """Value painted beside or instead of the text: sparkline → sequence of floats, bar → share 0…1, lane → a `WaitingLane`,
    pips → (steps, most), move → a `Move`.
    """
    state: Callable[[R], State | None] | None = None
    """Colour of text, chip, sparkline or bar; None: plain."""
    dot: Callable[[R], State | None] | None = None
    """A state dot before the text."""
    tip: Callable[[R], str] | None = None
    right: bool = False
    """Right-aligned, as numbers are."""
    width: int = 0
    """In px; 0: takes the remaining space."""
    wants: int = 0
    """Preferred px of a column that takes the remaining space, before columns that give way are shown; 0: the default."""
    least: int = 0
    """Minimum px of a column that takes the remaining space, below which the table is scrolled; 0: some letters."""
    dim: bool = False
    """In the secondary text colour."""
    marks: Callable[[], MarkPattern | None] | None = None
    """Pattern marked in its text now, e.g. of a search; None: nothing."""
    term: str = ""
    """Its key in `gui.views.explanation`, where its title does not say it."""
    term_of: Callable[[R], str] | None = None
    """Title of a cell's explanation, where rows are different things; None: the column's."""
    whole: bool = False
    """Its texts may not be shortened (moments): the column grows to the painted width, as columns of numbers do."""
    gives_way: int = 0
    """Columns with the largest number are hidden first where there is no room for all; 0: never."""


def number_column(
    key: str,
    title: str,
    value: Callable[[R], Any],
    text: Callable[[Any], str] = count_text,
    *,
    known: bool = False,
    kind: CellKind = CellKind.TEXT,
    state: Callable[[R], State | None] | None = None,
    tip: Callable[[R], str] | None = None,
    dim: bool = False,
    width: int = 0,
    gives_way: int = 0,
) -> Column[R]:
    """A right-aligned column that shows a number and sorts by it; ``known``: a negative number is unknown and sorts last."""
    sort = (lambda row: known_number(value(row))) if known else value
    return Column(
        key, title, lambda row: text(value(row)), sort=sort, kind=kind, state=state, tip=tip, right=True, dim=dim, width=width,
        gives_way=gives_way,
    )  # fmt: skip


def known_number(value: float) -> float | None:
    """What a column sorts by: None for a negative number, which is unknown."""
    return value if value >= 0 else None


@dataclass(frozen=True, slots=True)
class Cell:
    """Everything a delegate needs to paint one cell."""

    kind: CellKind
    text: str
    value: object
    state: State | None
    dot: State | None
    right: bool
    dim: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A heading between rows, with the number of rows below it."""

    title: str
    count: int
    folded: bool


class ColumnTableModel(QAbstractTableModel, Generic[R]):
    """See the module. ``key`` returns the identity of a row.

    Signals:
        shown_changed: An update is complete; only then `position_of` and the rows agree.
    """

    shown_changed = Signal()

    def __init__(
        self,
        columns: Sequence[Column[R]],
        key: Callable[[R], Hashable],
        *,
        section: Callable[[R], str] | None = None,
        sections: Sequence[str] = (),
        parent: QObject | None = None,
    ) -> None:
        """Create an empty model.

        Args:
            columns: Left to right.
            key: Identity of a row. Of rows with one key, which a wrong answer of a broker may hold, the first is found by it.
            section: English title of the section of a row; None: no sections.
            sections: All section titles in order; a section without rows is not shown.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._columns = tuple(columns)
        self._key = key
        self._section = section
        self._sections = tuple(sections)
        self._folded: set[str] = set()
        self._rows: list[R] = []
        self._shown: MutableSequence[R | Section] = []
        self._shown_keys: list[Hashable] = []
        self._position: dict[Hashable, int] = {}
        self._filter: Callable[[R], bool] | None = None
        self._sort_column = -1
        self._sort_order = Qt.SortOrder.AscendingOrder
        self._frozen = False

    # ---- what pages call -------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column[R], ...]:
        return self._columns

    @property
    def rows(self) -> list[R]:
        """All rows, filtered or not, in the order of `set_rows`."""
        return self._rows

    @property
    def is_whole(self) -> bool:
        """Whether the model has all rows; else they are exported where they lie."""
        return True

    @property
    def shown_rows(self) -> list[R]:
        """Rows in view order, without section headings."""
        return [row for row in self._shown if not isinstance(row, Section)]

    def set_rows(self, rows: Iterable[R]) -> None:
        """Show other rows; the view is notified of the differences only."""
        self._rows = list(rows)
        self._update()

    def set_filter(self, accepts: Callable[[R], bool] | None) -> None:
        """Show only rows that ``accepts`` returns True for."""
        self._filter = accepts
        self._update(thaw=True)

    def set_order_frozen(self, frozen: bool) -> None:
        """Keep known rows in their places while True, e.g. under the mouse; new rows are last."""
        self._frozen = frozen
        if not frozen:
            self._update()

    def toggle_section(self, title: str) -> None:
        self._folded.symmetric_difference_update({title})
        self._update(thaw=True)

    def shown_at(self, position: int) -> R | Section:
        """The row or section heading at a position of the view."""
        return self._shown[position]

    def row_at(self, position: int) -> R | None:
        """The row at a position; None for a section heading or outside."""
        if not 0 <= position < len(self._shown):
            return None
        row = self._shown[position]
        return None if isinstance(row, Section) else row

    def rows_at(self, positions: Iterable[int]) -> Iterator[R]:
        """The rows that are at these positions now; each may be made when it is taken."""
        return iter([row for position in positions if (row := self.row_at(position)) is not None])

    def section_at(self, position: int) -> str | None:
        """Title of the section heading at a position, if it is one."""
        if not 0 <= position < len(self._shown):
            return None
        row = self._shown[position]
        return row.title if isinstance(row, Section) else None

    def key_at(self, position: int) -> Hashable | None:
        row = self.row_at(position)
        return None if row is None else self._key(row)

    def position_of(self, key: Hashable) -> int:
        """Position of the row of a key, -1 if it is not shown."""
        return self._position.get(key, -1)

    # ---- Qt's interface --------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(column.title)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if isinstance(self._shown[index.row()], Section):
            return Qt.ItemFlag.ItemIsEnabled
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row, column = self._shown[index.row()], self._columns[index.column()]
        if isinstance(row, Section):
            return self._section_data(row, index.column(), role)
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == CELL_ROLE:
            return self.cell(row, column)
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tip(row, column)
        return None

    @staticmethod
    def _section_data(section: Section, column: int, role: int) -> object:
        if role == CELL_ROLE:
            return section
        if role == Qt.ItemDataRole.DisplayRole and column == 0:
            return f"{tr(section.title)} {section.count}"
        return None

    def mark_of(self, _row: R) -> State | None:
        """State whose colour tints the ground of a row; None for most."""
        return None

    @staticmethod
    def tip(row: R, column: Column[R]) -> str | None:
        """Tool tip of a cell; None for none."""
        return tip_text(column.tip(row) if column.tip else column.text(row)) or None

    def cell(self, row: R, column: Column[R]) -> Cell:
        kind, state = column.kind, column.state(row) if column.state else None
        is_usual = kind is CellKind.FLAG and state is None
        if kind is CellKind.FLAG:
            kind = CellKind.TEXT if is_usual else CellKind.CHIP
        return Cell(
            kind=kind,
            text=painted_text(column, row),
            value=column.value(row) if column.value else None,
            state=state,
            dot=column.dot(row) if column.dot else None,
            right=column.right,
            dim=column.dim or is_usual,
        )

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the order of `set_rows`."""
        self._sort_column, self._sort_order = column, order
        self._update(thaw=True)

    # ---- from rows to what is shown --------------------------------------------------------------------------------

    def _update(self, *, thaw: bool = False) -> None:
        rows = self._rows if self._filter is None else [row for row in self._rows if self._filter(row)]
        rows = self._sorted(rows)
        if self._frozen and not thaw:
            last = len(self._position)
            rows = sorted(rows, key=lambda row: self._position.get(self._key(row), last))
        wanted = rows if self._section is None else self._with_sections(rows)
        self._show(list(wanted))

    def _sorted(self, rows: list[R]) -> list[R]:
        if not 0 <= self._sort_column < len(self._columns):
            return rows
        column = self._columns[self._sort_column]
        by = column.sort or column.text
        known = [(value, row) for row in rows if not _is_unknown(value := by(row))]
        unknown = [row for row in rows if _is_unknown(by(row))]
        known.sort(key=lambda pair: pair[0], reverse=self._sort_order is Qt.SortOrder.DescendingOrder)
        return [row for _, row in known] + unknown

    def _with_sections(self, rows: list[R]) -> list[R | Section]:
        assert self._section is not None
        by_title: dict[str, list[R]] = {title: [] for title in self._sections}
        for row in rows:
            by_title[self._section(row)].append(row)
        shown: list[R | Section] = []
        for title, members in by_title.items():
            if members:
                shown.append(Section(title, len(members), title in self._folded))
                shown.extend(members if title not in self._folded else ())
        return shown

    def _key_of(self, row: R | Section) -> Hashable:
        return (Section, row.title) if isinstance(row, Section) else self._key(row)

    def _show(self, wanted: list[R | Section]) -> None:
        wanted_keys = [self._key_of(row) for row in wanted]
        place = {key: position for position, key in enumerate(wanted_keys)}
        if len(place) < len(wanted_keys):
            wanted_keys = _numbered(wanted_keys)
            place = {key: position for position, key in enumerate(wanted_keys)}
        self._remove_missing(place)
        self._reorder(place)
        self._insert_new(wanted, wanted_keys)
        self._replace_changed(wanted)
        self._shown_keys = wanted_keys
        self._position = place
        self.shown_changed.emit()

    def _remove_missing(self, place: dict[Hashable, int]) -> None:
        end = len(self._shown_keys)
        while end > 0:
            if self._shown_keys[end - 1] in place:
                end -= 1
                continue
            start = end - 1
            while start > 0 and self._shown_keys[start - 1] not in place:
                start -= 1
            self.beginRemoveRows(NO_INDEX, start, end - 1)
            del self._shown[start:end], self._shown_keys[start:end]
            self.endRemoveRows()
            end = start

    def _reorder(self, place: dict[Hashable, int]) -> None:
        old = self._shown_keys
        order = sorted(range(len(old)), key=lambda position: place[old[position]])
        if order == list(range(len(old))):
            return
        self.layoutAboutToBeChanged.emit()
        moved_to = {was: now for now, was in enumerate(order)}
        before = self.persistentIndexList()
        self._shown = [self._shown[was] for was in order]
        self._shown_keys = [old[was] for was in order]
        after = [self.index(moved_to[index.row()], index.column()) for index in before]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _insert_new(self, wanted: list[R | Section], wanted_keys: list[Hashable]) -> None:
        known = set(self._shown_keys)
        start = 0
        while start < len(wanted):
            if wanted_keys[start] in known:
                start += 1
                continue
            end = start + 1
            while end < len(wanted) and wanted_keys[end] not in known:
                end += 1
            self.beginInsertRows(NO_INDEX, start, end - 1)
            self._shown[start:start] = wanted[start:end]
            self._shown_keys[start:start] = wanted_keys[start:end]
            self.endInsertRows()
            start = end

    def _replace_changed(self, wanted: list[R | Section]) -> None:
        changed = [i for i, row in enumerate(wanted) if row is not self._shown[i] and row != self._shown[i]]
        self._shown = wanted
        for first, last in _runs(changed):
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self._columns) - 1))

    def all_texts_changed(self) -> None:
        """Repaint headers and cells, e.g. in another language or time zone."""
        if self._columns:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self._columns) - 1)
        if self._shown:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, len(self._columns) - 1))


def _is_unknown(value: object) -> bool:
    return value is None or value != value  # noqa: PLR0124  NaN is the value that differs from itself


def _numbered(keys: Iterable[Hashable]) -> list[Hashable]:
    """The keys; one that comes again with its number."""
    met: Counter[Hashable] = Counter()
    made: list[Hashable] = []
    for key in keys:
        made.append((key, met[key]) if met[key] else key)
        met[key] += 1
    return made


def _runs(positions: list[int]) -> Iterable[tuple[int, int]]:
    """Neighbouring positions joined to (first, last) pairs."""
    start = 0
    for i in range(1, len(positions) + 1):
        if i == len(positions) or positions[i] != positions[i - 1] + 1:
            yield positions[start], positions[i - 1]
            start = i
