"""The command palette: pages, topics, groups and actions by a few letters; pasted links, message IDs and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.main_window.matching import Match, match
from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, mix
from gui.widgets.basic import IconLabel, Line, column, fill, label, row
from gui.widgets.said import said, said_label, segments
from gui.words.text import tr

ENTRIES_PER_KIND_MAX = 30
ROW_HEIGHT = 36
HEADING_HEIGHT = 30
WIDTH = 680
TOP = 68
LIST_HEIGHT_MAX = 452

KINDS: tuple[tuple[str, str, str], ...] = (
    ("page", "Pages", ""),
    ("topic", "Topics", "#"),
    ("group", "Groups", "@"),
    ("command", "Commands", ">"),
)
"""Kind, English heading, prefix that narrows to it."""
MESSAGE_KIND, LINK_KIND, KEY_KIND = "message", "link", "key"
"""Kinds of pasted texts, which are not searched for."""
_FIRST, _LAST = (LINK_KIND, MESSAGE_KIND), (KEY_KIND,)
"""A link or an ID is unambiguous; any word may be a key."""
_PASTED = (*_FIRST, *_LAST)
_HEADINGS = {kind: heading for kind, heading, _ in KINDS} | {
    MESSAGE_KIND: "Message",
    LINK_KIND: "Link",
    KEY_KIND: "Messages",
}
_HINTS = ((">", "commands"), ("#", "topic"), ("@", "group"))
_ENTRY_ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """An entry that the palette may find, and what it runs."""

    kind: str
    title: str
    """As shown; names of the broker are not translated."""
    run: Callable[[], object]
    detail: str = ""
    icon: str = ""
    shortcut: str = ""
    blocked: str = ""
    """Why it cannot be chosen now."""


@dataclass(frozen=True, slots=True)
class PaletteRow:
    """A line of the list: a heading, or an entry with its matching parts."""

    heading: str = ""
    entry: PaletteEntry | None = None
    spans: tuple[tuple[int, int], ...] = ()


def found_rows(query: str, entries: Sequence[PaletteEntry], kind: str = "") -> list[PaletteRow]:
    """The lines to show for a query, best first within each kind; ``kind`` or a prefix of `KINDS` narrows to one kind."""
    for known, _, prefix in KINDS:
        if prefix and query.startswith(prefix):
            kind, query = known, query[1:]
    rows: list[PaletteRow] = []
    for known in (*_FIRST, *(known for known, _, _ in KINDS), *_LAST):
        if kind and known != kind:
            continue
        found = [(hit, entry) for entry in entries if entry.kind == known and (hit := _hit(query, entry)) is not None]
        found.sort(key=lambda pair: -pair[0].score)
        if found:
            rows.append(PaletteRow(heading=_HEADINGS[known]))
            rows.extend(PaletteRow(entry=entry, spans=hit.spans) for hit, entry in found[:ENTRIES_PER_KIND_MAX])
    return rows


def has_prefix(query: str) -> bool:
    """Whether the first character of a query narrows to a kind."""
    return any(prefix and query.startswith(prefix) for _, _, prefix in KINDS)


def _hit(query: str, entry: PaletteEntry) -> Match | None:
    if not query.strip() or entry.kind in _PASTED:
        return Match(0.0, ())
    return match(query, entry.title)


class _Model(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[PaletteRow] = []

    def set_rows(self, rows: list[PaletteRow]) -> None:
        # A new query is a new list: there is no selection or scroll position to keep.
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008  Qt's default
        return 0 if parent.isValid() else len(self.rows)

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        if not index.isValid() or self.rows[index.row()].entry is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == _ENTRY_ROLE:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.entry.title if row.entry else tr(row.heading)
        return None


class _Delegate(QStyledItemDelegate):
    def __init__(self, theme: ThemeManager, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        row = index.data(_ENTRY_ROLE)
        return QSize(200, ROW_HEIGHT if row.entry else HEADING_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        box = option.rect
        state = option.state
        row = index.data(_ENTRY_ROLE)
        tokens = self._theme.tokens
        painter.save()
        if row.entry is None:
            painter.setFont(text_font(Size.SECONDARY))
            painter.setPen(QColor(tokens.text_3))
            painter.drawText(box.adjusted(16, 6, 0, 0), Qt.AlignmentFlag.AlignVCenter, tr(row.heading))
        else:
            if state & QStyle.StateFlag.State_Selected:
                painter.fillRect(box, QColor(tokens.selected))
            self._paint_entry(painter, box, row, selected=bool(state & QStyle.StateFlag.State_Selected))
        painter.restore()

    def _paint_entry(self, painter: QPainter, box: QRect, row: PaletteRow, *, selected: bool) -> None:
        tokens, entry = self._theme.tokens, row.entry
        assert entry is not None
        middle = box.center().y()
        if entry.icon:
            glyph = icon_pixmap(entry.icon, tokens.text_2, 16, painter.device().devicePixelRatioF())
            painter.drawPixmap(QPoint(box.left() + 17, middle - 7), glyph)
        colour = mix(tokens.text_3, tokens.panel, 70) if entry.blocked else tokens.text_1
        left = _paint_title(painter, box.adjusted(44, 0, 0, 0), row, colour=colour, accent=tokens.accent)
        painter.setFont(text_font(Size.SECONDARY))
        painter.setPen(QColor(tokens.text_2 if selected else tokens.text_3))
        room = box.right() - left - 130
        detail = QFontMetrics(painter.font()).elidedText(entry.blocked or entry.detail, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRect(left + 12, box.top(), room, box.height()), Qt.AlignmentFlag.AlignVCenter, detail)
        if entry.shortcut:
            painter.drawText(
                box.adjusted(0, 0, -16, 0), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, entry.shortcut
            )


def _paint_title(painter: QPainter, box: QRect, row: PaletteRow, *, colour: str, accent: str) -> int:
    """Paint the title with its matching parts in accent; returns the right end."""
    assert row.entry is not None
    title, place, left = row.entry.title, 0, box.left()
    pieces: list[tuple[str, bool]] = []
    for start, length in row.spans:
        pieces += [(title[place:start], False), (title[start : start + length], True)]
        place = start + length
    for piece, hit in [*pieces, (title[place:], False)]:
        font = text_font(Size.BODY, QFont.Weight.DemiBold if hit else QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(QColor(accent if hit else colour))
        width = QFontMetrics(font).horizontalAdvance(piece)
        painter.drawText(QRect(left, box.top(), width + 4, box.height()), Qt.AlignmentFlag.AlignVCenter, piece)
        left += width
    return left


class CommandPalette(QWidget):
    """Covers the window with a veil and the list; Escape or a click beside it closes it."""

    def __init__(self, theme: ThemeManager, window: QWidget, entries: Callable[[str], list[PaletteEntry]]) -> None:
        """Create it, hidden; ``entries`` returns everything that can be chosen for a query."""
        super().__init__(window)
        self._theme = theme
        self._entries = entries
        self._window = window
        self._frame = QFrame(self)
        self._frame.setProperty("role", "dialog")
        self.field = said(QLineEdit(), hint="Go to topic, group, message ID, or command…", name="Command palette")
        self.field.setProperty("role", "palette")
        self.field.setFont(text_font(16))
        self._kinds = segments({"": "All", "command": "Commands", "topic": "Topics", "group": "Groups"})
        self._model = _Model(self)
        self.list = QListView()
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Delegate(theme, self))
        self.list.setMouseTracking(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._nothing = said_label("Nothing found", "caption")
        self._build()
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self._kinds.chosen.connect(lambda _kind: self._search())
        self.list.clicked.connect(lambda index: self._choose(index.row()))
        window.installEventFilter(self)
        theme.dress(self)
        self.hide()

    def _build(self) -> None:
        glass = IconLabel(self._theme, "magnifying-glass", "text_2", 18)
        head = row(glass, (self.field, 1), self._kinds, spacing=12, margins=(16, 10, 14, 10))
        foot = QFrame()
        foot.setProperty("role", "dialog-foot")
        line = row(spacing=6, margins=(16, 6, 16, 6))
        foot.setLayout(line)
        for text, meaning in _HINTS:
            cap = label(text, "key")
            cap.setFixedHeight(18)
            fill(line, cap, said_label(meaning, "caption"))
            line.addSpacing(8)
        fill(line, 1, said_label("Paste a message ID, a key or a link and press Enter", "caption"))
        self._nothing.setContentsMargins(16, 14, 16, 14)
        self._frame.setLayout(column(head, Line(), self._nothing, self.list, foot, spacing=0, margins=(1, 1, 1, 1)))

    @property
    def shown_titles(self) -> list[str]:
        return [row.entry.title for row in self._model.rows if row.entry is not None]

    def popup(self, text: str = "") -> None:
        self.setGeometry(self._window.rect())
        self._kinds.choose("")
        self.field.setText(text)
        self._search()
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _search(self) -> None:
        query = self.field.text().strip()
        rows = found_rows(query, self._entries(query), self._kinds.current)
        self._model.set_rows(rows)
        self._nothing.setVisible(not rows)
        self._select_next(-1, 1)
        self._place()

    def _place(self) -> None:
        wanted = sum(ROW_HEIGHT if row.entry else HEADING_HEIGHT for row in self._model.rows) + 8
        self.list.setVisible(bool(self._model.rows))
        self.list.setFixedHeight(min(LIST_HEIGHT_MAX, wanted, max(120, self.height() - TOP - 140)))
        self._frame.setFixedWidth(min(WIDTH, self.width() - 40))
        self._frame.adjustSize()
        self._frame.move((self.width() - self._frame.width()) // 2, TOP)

    def _select_next(self, start: int, step: int) -> None:
        position = start + step
        while 0 <= position < len(self._model.rows):
            if self._model.rows[position].entry is not None:
                self.list.setCurrentIndex(self._model.index(position))
                return
            position += step

    def _choose(self, position: int) -> None:
        row = self._model.rows[position] if 0 <= position < len(self._model.rows) else PaletteRow()
        if row.entry is None or row.entry.blocked:
            return
        self.hide()
        row.entry.run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self.setGeometry(self._window.rect())
            self._place()
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        current = self.list.currentIndex().row()
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.hide()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self._select_next(current, 1 if key == Qt.Key.Key_Down else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(current)
        else:
            return False
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self._frame.geometry().contains(event.position().toPoint()):
            self.hide()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        veil = QColor(self._theme.tokens.window if self._theme.tokens.dark else self._theme.tokens.text_1)
        veil.setAlpha(165 if self._theme.tokens.dark else 90)
        painter.fillRect(self.rect(), veil)
        painter.end()
