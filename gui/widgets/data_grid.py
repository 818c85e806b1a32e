"""`DataGrid`: the one table of all pages.

Fixed row height, cells painted by one delegate, selection that follows the key of a row rather than its number, and states
(loading, empty, error) shown in place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from itertools import chain
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QMimeData, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QDrag,
    QEnterEvent,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFileDialog,
    QHeaderView,
    QMenu,
    QStackedLayout,
    QTableView,
    QWidget,
)

from broker_core.api import csv_text, tsv_text
from gui.event_loop.turns import next_turn
from gui.models.table import Column, ColumnTableModel
from gui.models.table_text import as_markdown
from gui.operations.background import ClipboardCall
from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.widgets.basic import column
from gui.widgets.grid_columns import ColumnMemory, GridColumns
from gui.widgets.notice import Placeholder
from gui.widgets.progress_line import ProgressLine
from gui.widgets.row_painter import CELL_PADDING, GridDelegate, RowPainter
from gui.widgets.said import on_language
from gui.widgets.table_export import EXPORT_KEY, ROWS_A_TURN, TableExport, add_table_actions, lines_in_turns
from gui.words.text import Words, tr

R = TypeVar("R")
COPY_JSON = QKeySequence("Ctrl+Shift+C")
COLUMNS_KEY = QKeySequence("Ctrl+Shift+M")
NO_INDEX = QModelIndex()
COPIED_MAX = 10_000
"""Rows of a copied table; more are exported."""
PANEL_EDGE = 2
"""Px from the edge of a panel to its content."""
PLACEHOLDER_HEIGHT = 160
"""Px of a table that fits its rows and has none."""


class CopyFormat(Enum):
    TSV = "tsv"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


def text_of(keys: Sequence[str], lines: Sequence[Sequence[str]], form: CopyFormat) -> str:
    """Titles and the texts of rows as one text; in JSON the keys of the columns are the names. Any thread."""
    if form is CopyFormat.JSON:
        made = [dict(zip(keys, line, strict=True)) for line in lines[1:]]
        return json.dumps(made[0] if len(made) == 1 else made, ensure_ascii=False, indent=2)
    if form is CopyFormat.MARKDOWN:
        return as_markdown(lines)
    return csv_text(lines) if form is CopyFormat.CSV else tsv_text(lines)


class GridHeader(QHeaderView):
    """Header whose third click clears the sort, and whose arrow has the accent colour.

    Signals:
        menu_asked: The menu of the columns is wanted; carries the global position.
    """

    menu_asked = Signal(QPoint)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._theme = theme
        self.sort_column = -1
        self.sort_order = Qt.SortOrder.AscendingOrder
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setFixedHeight(Size.HEADER)
        self.setMinimumSectionSize(36)
        self._text_font = text_font(Size.SECONDARY)

    def next_order(self, column: int, *, descending_first: bool) -> None:
        """Go to the next of the three states of a column: its natural order, the other one, none."""
        first = Qt.SortOrder.DescendingOrder if descending_first else Qt.SortOrder.AscendingOrder
        if column != self.sort_column:
            self.sort_column, self.sort_order = column, first
        elif self.sort_order is first:
            self.sort_order = Qt.SortOrder.AscendingOrder if descending_first else Qt.SortOrder.DescendingOrder
        else:
            self.sort_column = -1
        self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_asked.emit(event.globalPos())

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        tokens = self._theme.tokens
        model = self.model()
        text = str(model.headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        right = bool(
            Qt.AlignmentFlag(model.headerData(logicalIndex, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole))
            & Qt.AlignmentFlag.AlignRight
        )
        painter.save()
        painter.fillRect(rect, QColor(tokens.raised))
        painter.setPen(QColor(tokens.border))
        if not self._is_at_top:
            painter.drawLine(rect.topLeft(), rect.topRight())
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        box = rect.adjusted(CELL_PADDING, 0, -CELL_PADDING, 0)
        if logicalIndex == self.sort_column:
            box = self._paint_arrow(painter, box, text, right=right)
        painter.setFont(self._text_font)
        painter.setPen(QColor(tokens.text_3))
        shown = QFontMetrics(self._text_font).elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()

    @property
    def _is_at_top(self) -> bool:
        """Whether the border of a panel is right above, so that no line is needed."""
        panel = self.parentWidget()
        while panel is not None and panel.property("role") != "panel":
            panel = panel.parentWidget()
        return panel is not None and self.mapTo(panel, QPoint()).y() <= PANEL_EDGE

    def _paint_arrow(self, painter: QPainter, box: QRect, text: str, *, right: bool) -> QRect:
        size = 11
        glyph = "caret-up" if self.sort_order is Qt.SortOrder.AscendingOrder else "caret-down"
        pixmap = icon_pixmap(glyph, self._theme.tokens.accent, size, painter.device().devicePixelRatioF())
        width = min(QFontMetrics(self._text_font).horizontalAdvance(text), box.width() - size - 4)
        left = box.right() - size + 1 if right else box.left() + width + 4
        painter.drawPixmap(QPoint(left, box.center().y() - size // 2 + 1), pixmap)
        return box.adjusted(0, 0, -size - 4, 0) if right else box


class GridView(QTableView):
    """The table itself; passes the hovered row to the painter and freezes the order of the model meanwhile.

    Signals:
        resized: The room for the columns changed.
        drag_wanted: The selected rows are dragged.
        figures_cut: Some figures did not fit; carries key of the column → necessary width in px.
    """

    resized = Signal()
    drag_wanted = Signal()
    figures_cut = Signal(dict)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._rows = RowPainter(theme)
        self._pressed: QPoint | None = None
        """Where a selected row was pressed."""
        self.setItemDelegate(GridDelegate(self))
        self.setMouseTracking(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setHorizontalHeader(GridHeader(theme))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._rows.paint(painter, self, event.rect())
        painter.end()
        cut, self._rows.cut = self._rows.cut, {}
        if cut:
            next_turn(self, lambda: self.figures_cut.emit(cut))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def take_room(self) -> None:
        """Update the scroll range for the current rows now instead of in the next turn."""
        self.executeDelayedItemsLayout()
        self.updateGeometries()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        is_left = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        # Only selected rows are dragged, so that a drag elsewhere selects.
        self._pressed = at if is_left and self.selectionModel().isSelected(self.indexAt(at)) else None
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        pressed, is_down = self._pressed, bool(event.buttons() & Qt.MouseButton.LeftButton)
        if pressed is not None and is_down:
            if (event.position().toPoint() - pressed).manhattanLength() >= QApplication.startDragDistance():
                self._pressed = None
                self.drag_wanted.emit()
            return
        super().mouseMoveEvent(event)
        self._hover(self.indexAt(event.position().toPoint()).row())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)
        model = self.model()
        if isinstance(model, ColumnTableModel):
            model.set_order_frozen(False)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        model = self.model()
        if isinstance(model, ColumnTableModel):
            model.set_order_frozen(True)

    def _hover(self, row: int) -> None:
        if row != self._rows.hovered_row:
            self._rows.hovered_row = row
            self.viewport().update()


class DataGrid(QWidget, Generic[R]):
    """A table over a `ColumnTableModel`.

    Signals:
        selected: Another row is selected; carries its value, or None.
        activated: Enter or a double click on a row; carries its value.
        menu_asked: A context menu is wanted; carries the row's value and the global position.
    """

    selected = Signal(object)
    activated = Signal(object)
    menu_asked = Signal(object, QPoint)

    def __init__(
        self,
        model: ColumnTableModel[R],
        theme: ThemeManager,
        *,
        row_height: int | None = None,
        several: bool = False,
    ) -> None:
        """Create the table; ``row_height`` in px is for tables with room for a number of rows, None: the user's choice."""
        super().__init__()
        self.model = model
        self.selected_key: Hashable | None = None
        """Key of the selected row; kept while the row is filtered away."""
        self._last_told: Hashable | None = None
        self._rows_most = self._fitted = 0
        """Rows that decide the height, and that height; 0: it takes what it gets."""
        self.view = GridView(theme)
        self.view.setModel(model)
        self.columns = GridColumns(self.view, model)
        mode = QAbstractItemView.SelectionMode
        self.view.setSelectionMode(mode.ExtendedSelection if several else mode.SingleSelection)
        self._theme = theme
        if row_height is None:
            self._take_density()
            theme.density_changed.connect(self._take_density)
        else:
            self.view.verticalHeader().setDefaultSectionSize(row_height)
        self.placeholder = Placeholder(theme)
        self.progress = ProgressLine(theme)
        self.progress.hide()
        self._stack = QStackedLayout()
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.placeholder)
        self.setLayout(column(self.progress, (self._stack, 1), spacing=0))
        self._empty: tuple[Words, Words, Callable[[], object] | None] = ("", "", None)
        self._error = False
        self._loading = False
        self._has_menu = False
        self._clipboard = ClipboardCall()
        self.read_ms = -1
        """When the shown rows were read, ms since the epoch; -1: with the live figures, or not known."""
        self._connect()
        on_language(self, self._write_texts)

    def _take_density(self) -> None:
        self.view.verticalHeader().setDefaultSectionSize(self._theme.density.value)
        self._fit()

    def _write_texts(self) -> None:
        """Write the cells, and name the table for screen readers."""
        self.model.all_texts_changed()
        titles = ", ".join(tr(column.title) for column in self.model.columns if column.title)
        self.view.setAccessibleName(tr("Table: {columns}", columns=titles))

    def _connect(self) -> None:
        self.view.selectionModel().selectionChanged.connect(self._selection_changed)
        self.view.doubleClicked.connect(lambda index: self._activate(index.row()))
        self.view.clicked.connect(self._clicked)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._ask_menu)
        self.view.resized.connect(self.share_width)
        self.view.drag_wanted.connect(self._drag)
        self.view.figures_cut.connect(self.columns.widen)
        header = self.header
        header.sectionClicked.connect(self._sort_clicked)
        self.model.shown_changed.connect(self._shown_changed)

    @property
    def header(self) -> GridHeader:
        header = self.view.horizontalHeader()
        assert isinstance(header, GridHeader)
        return header

    # ---- selection -------------------------------------------------------------------------------------------------

    @property
    def selected_row(self) -> R | None:
        """The current value of the selected row; None if nothing is selected or the row is not shown."""
        position = self.model.position_of(self.selected_key) if self.selected_key is not None else -1
        return self.model.row_at(position)

    @property
    def selected_rows(self) -> list[R]:
        return list(self.model.rows_at(self._selected_positions()))

    @property
    def selected_count(self) -> int:
        """Number of selected rows; fast for any number."""
        return sum(map(len, self._selected_parts()))

    def _selected_parts(self) -> list[range]:
        """Positions of the selected rows; Qt's own list of them calls the model for each cell, which takes seconds."""
        selection = self.view.selectionModel().selection()
        parts = {(part.top(), part.bottom()) for part in (selection.at(i) for i in range(selection.count()))}
        return [range(top, bottom + 1) for top, bottom in sorted(parts)]

    def _selected_positions(self) -> Iterator[int]:
        """Positions of selected rows, and of headings among them, from above."""
        return chain.from_iterable(self._selected_parts())

    def select_key(self, key: Hashable | None) -> bool:
        """Select the row of a key, also one that arrives later; returns whether it is shown now."""
        self.selected_key = key
        position = self.model.position_of(key) if key is not None else -1
        if position < 0:
            # The current row too: Qt would select its neighbour when the row is removed.
            self.view.selectionModel().clear()
            self.selected_key = key
            return False
        self._select_position(position)
        self.view.scrollTo(self.model.index(position, 0))
        return True

    def select_first(self) -> bool:
        """Select the topmost row unless one is selected; returns whether there is one."""
        if self.selected_row is not None:
            return True
        for position in range(self.model.rowCount()):
            key = self.model.key_at(position)
            if key is not None:
                return self.select_key(key)
        return False

    @contextmanager
    def held_in_place(self) -> Iterator[None]:
        """Keep the visible rows in place while others are added; a table at its top shows the new ones."""
        bar = self.view.verticalScrollBar()
        top = self.view.rowAt(0) if bar.value() > 0 else -1
        key = self.model.key_at(top)
        yield
        now = self.model.position_of(key) if key is not None else -1
        if now > top:
            self.view.take_room()
            bar.setValue(bar.value() + (now - top) * self.view.verticalHeader().defaultSectionSize())

    def _select_position(self, position: int) -> None:
        flags = QItemSelectionModel.SelectionFlag
        self.view.selectionModel().setCurrentIndex(self.model.index(position, 0), flags.ClearAndSelect | flags.Rows)

    def _selection_changed(self, _on: QItemSelection, _off: QItemSelection) -> None:
        parts, newest = self._selected_parts(), self.view.currentIndex().row()
        is_newest_selected = any(newest in part for part in parts) and self.model.row_at(newest) is not None
        positions = [newest] if is_newest_selected else self._selected_positions()
        keys = (self.model.key_at(position) for position in positions if self.model.row_at(position) is not None)
        current = next(keys, None)
        if current is not None:
            self.selected_key = current
        if self.selected_key != self._last_told or current is None:
            self._last_told = current
            self.selected.emit(None if current is None else self.selected_row)

    def fit_rows(self, most: int) -> None:
        """Be as high as the shown rows are, up to ``most`` of them; the panel around takes its height (see `fitting_panel`)."""
        self._rows_most = most
        self._fit()

    def _fit(self) -> None:
        if not self._rows_most:
            return
        rows = min(self.model.rowCount(), self._rows_most)
        row_height = self.view.verticalHeader().defaultSectionSize()
        has_none = self._stack.currentWidget() is self.placeholder
        height = PLACEHOLDER_HEIGHT if has_none else Size.HEADER + rows * row_height + 2
        if height != self._fitted:
            self._fitted = height
            self.setMaximumHeight(height)
            # A layout gives wrapped words their least height otherwise.
            self.setMinimumHeight(height if has_none else 0)
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width(), self._fitted) if self._rows_most else hint

    def _shown_changed(self) -> None:
        key = self.selected_key
        if key is not None and not self.view.selectionModel().hasSelection():
            position = self.model.position_of(key)
            if position >= 0:
                self._select_position(position)
        self._show_state()
        self.share_width()

    # ---- sort ------------------------------------------------------------------------------------------------------

    def sort_by(self, key: str, *, descending: bool = False) -> None:
        keys = [column.key for column in self.model.columns]
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.header.sort_column, self.header.sort_order = keys.index(key), order
        self.header.viewport().update()
        self.model.sort(keys.index(key), order)

    def _sort_clicked(self, column: int) -> None:
        header = self.header
        header.next_order(column, descending_first=self.model.columns[column].right)
        self.model.sort(header.sort_column, header.sort_order)

    # ---- states ----------------------------------------------------------------------------------------------------

    def set_empty(self, text: Words, action: Words = "", on_action: Callable[[], object] | None = None) -> None:
        """Set the sentence and the action that are shown without rows."""
        self._empty = (text, action, on_action)
        self._show_state()

    def set_loading(self, loading: bool, share: float | None = None) -> None:
        """Show that other rows are pending; the old ones stay. Without rows the table says that it is reading."""
        self._loading = loading
        self.progress.set_share(share)
        self.progress.setVisible(loading)
        self._show_state()

    def set_error(
        self, text: Words, detail: Words = "", action: Words = "", on_action: Callable[[], object] | None = None
    ) -> None:
        """Show in place of the rows why they were not read; an empty text ends it."""
        self._error = bool(text)
        if text:
            self.placeholder.show_error(text, detail, action, on_action)
            self._show_placeholder()
        else:
            self._show_state()

    def set_unsupported(self, text: Words, detail: Words) -> None:
        """Show in place of the rows that the source does not support them, until `set_error` ends it; there is no retry."""
        self._error = True
        self.placeholder.show_unsupported(text, detail)
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        self._stack.setCurrentWidget(self.placeholder)
        self._fit()

    def _show_state(self) -> None:
        if self._error:
            return
        text, action, on_action = self._empty if not self._loading or self.model.rows else (tr("Reading…"), "", None)
        if self.model.rowCount() == 0 and text:
            self.placeholder.show_empty(text, action, on_action)
            self._stack.setCurrentWidget(self.placeholder)
        else:
            had_keyboard = self.window().focusWidget() is self  # also of a window that is not active
            self._stack.setCurrentWidget(self.view)
            if had_keyboard:
                self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self._fit()

    def take_keyboard(self) -> None:
        """Focus the rows, or as soon as there are some."""
        has_rows = self._stack.currentWidget() is self.view
        (self.view if has_rows else self).setFocus(Qt.FocusReason.OtherFocusReason)

    # ---- keys, menu, copy ------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy(CopyFormat.TSV)
        elif QKeySequence(event.keyCombination()) == COPY_JSON:
            self.copy(CopyFormat.JSON)
        elif QKeySequence(event.keyCombination()) == EXPORT_KEY:
            self.ask_export()
        elif QKeySequence(event.keyCombination()) == COLUMNS_KEY and self.columns.is_chosen:
            self._open_columns(self.header.mapToGlobal(self.header.rect().bottomLeft()))
        elif event.key() == Qt.Key.Key_F1:
            self.columns.explain(self)  # in a dialog, where the keys of the window do not count
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._activate(self.view.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def copy(self, form: CopyFormat = CopyFormat.TSV) -> None:
        """Copy the selected rows."""
        self._copy(self._selected_positions(), form)

    def copied_text(self, form: CopyFormat) -> str:
        """The selected rows as a table with a head, tab-separated or of Markdown, or as JSON by column key."""
        return self._text_of(self.selected_rows, form)

    def copy_all(self, form: CopyFormat = CopyFormat.TSV) -> None:
        """Copy the shown rows, at most `COPIED_MAX`."""
        self._copy(range(min(self.model.rowCount(), COPIED_MAX)), form)

    def _copy(self, positions: Iterable[int], form: CopyFormat) -> None:
        """Copy rows, at once if they are few, else some in each turn of the loop."""
        places = list(positions)
        rows = self.model.rows_at(places)
        if len(places) <= ROWS_A_TURN:
            QGuiApplication.clipboard().setText(self._text_of(rows, form))
            return
        keys = [column.key for column in self.model.columns]
        lines_in_turns(self, self.model.columns, rows, lambda lines: self._clipboard.start(partial(text_of, keys, lines, form)))

    def _text_of(self, rows: Iterable[R], form: CopyFormat) -> str:
        columns = self.model.columns
        lines = [[tr(column.title) for column in columns], *([column.text(row) for column in columns] for row in rows)]
        return text_of([column.key for column in columns], lines, form)

    def ask_export(self) -> QFileDialog | None:
        """Ask for a CSV file of all shown rows; None where the rows are exported in another way."""
        return self.export().ask() if self.model.is_whole else None

    def export(self) -> TableExport:
        return TableExport(self, lambda done: lines_in_turns(self, self.shown_columns, self.model.shown_rows, done))

    @property
    def shown_columns(self) -> list[Column[R]]:
        """Columns with a title that are not hidden."""
        hidden = self.view.isColumnHidden
        return [column for place, column in enumerate(self.model.columns) if column.title and not hidden(place)]

    def dragged(self) -> QMimeData | None:
        """The selected rows for another program; None without any, and for more than `ROWS_A_TURN`."""
        if not 0 < self.selected_count <= ROWS_A_TURN:
            return None
        data = QMimeData()
        data.setText(self.copied_text(CopyFormat.TSV))
        data.setData("text/csv", self.copied_text(CopyFormat.CSV).encode("utf-8", "replace"))
        data.setData("application/json", self.copied_text(CopyFormat.JSON).encode("utf-8", "replace"))
        return data

    def _drag(self) -> None:
        data = self.dragged()
        if data is not None:
            drag = QDrag(self.view)
            drag.setMimeData(data)
            drag.exec(Qt.DropAction.CopyAction)

    def _clicked(self, index: QModelIndex) -> None:
        section = self.model.section_at(index.row())
        if section is not None:
            self.model.toggle_section(section)

    def _activate(self, position: int) -> None:
        row = self.model.row_at(position)
        if row is not None:
            self.activated.emit(row)

    def _ask_menu(self, at: QPoint) -> None:
        row = self.model.row_at(self.view.indexAt(at).row())
        if row is not None:
            self.menu_asked.emit(row, self.view.viewport().mapToGlobal(at))

    def _open_columns(self, at: QPoint) -> None:
        place = self.header.logicalIndexAt(self.header.viewport().mapFromGlobal(at).x())
        menu = self.columns.menu(self, place)
        menu.addSeparator()
        self.add_table_actions(menu)
        menu.popup(at)

    def add_table_actions(self, menu: QMenu) -> None:
        """Add what can be done with the whole table to a menu."""
        add_table_actions(menu, self.copy_all, self.ask_export if self.model.is_whole else None)

    # ---- columns ---------------------------------------------------------------------------------------------------

    def set_hidden(self, keys: Collection[str]) -> None:
        """Hide these columns and show the others, except those that the user hid."""
        self.columns.leave_out(keys)

    def share_width(self) -> None:
        """Share the remaining width among the columns without a width."""
        self.columns.share()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # A header with a context menu of its owner has its columns there.
        if self.columns.is_chosen or self.header.contextMenuPolicy() is Qt.ContextMenuPolicy.CustomContextMenu:
            return
        around = self.parentWidget()
        while around is not None and not isinstance(around, ColumnMemory):
            around = around.parentWidget()
        if around is not None:
            self.columns.remember_by(around)
        if not self._has_menu:
            self._has_menu = True
            self.header.menu_asked.connect(self._open_columns)
