"""`JsonTree`: a JSON value as a tree whose branches are made when they are opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView

from broker_core.api import json_text, laid_out_json, members_of, without_half_pairs
from gui.operations.background import ClipboardCall
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Tokens, mix
from gui.widgets.code_view import MARK_SHARE
from gui.widgets.popups import new_menu
from gui.widgets.repaint import repaint_with
from gui.widgets.said import said
from gui.words.text import TimeZoneChoice, count_text, tr

if TYPE_CHECKING:
    from broker_core.api import MarkPattern

CHILDREN_MAX = 2_000
"""Listed items of one branch; more are counted."""
EPOCH_MS = range(10**12, 2 * 10**12)
"""Numbers that are shown with a date: 2001 to 2033 in milliseconds."""
PREVIEW_ITEMS = 3
PREVIEW_CHARACTERS = 60
VALUE_CHARACTERS_MAX, MARKS_MAX = 500, 20
"""Shown characters of a key or a value, and the maximum of marks in it; copies have all of it."""
OPENED_ROWS_MAX = 200
"""Rows that are opened at once below the first level."""
ROW_HEIGHT = 21

NODE_ROLE = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


@dataclass(slots=True)
class Node:
    """One value with its key. ``more`` counts items that a branch does not list."""

    key: str
    value: object
    row: int = 0
    parent: Node | None = None
    more: int = 0
    made: list[Node] | None = field(default=None, repr=False)

    @property
    def is_branch(self) -> bool:
        return not self.more and isinstance(self.value, dict | list) and bool(self.value)

    def children(self) -> list[Node]:
        """The items of the value, made when first requested."""
        if self.made is None:
            self.made = self._make()
        return self.made

    def _make(self) -> list[Node]:
        if not self.is_branch:
            return []
        value = self.value
        items: Iterable[tuple[object, object]] = (
            members_of(value) if isinstance(value, dict) else enumerate(value if isinstance(value, list) else [])
        )
        listed = enumerate(islice(items, CHILDREN_MAX))
        made = [Node(_cut(without_half_pairs(str(key))), item, row, self) for row, (key, item) in listed]
        if (count := _count(value)) > CHILDREN_MAX:
            made.append(Node("", None, CHILDREN_MAX, self, more=count - CHILDREN_MAX))
        return made


def _count(value: object) -> int:
    return len(members_of(value)) if isinstance(value, dict) else len(value) if isinstance(value, list) else 0


def value_text(value: object) -> str:
    """A value on one line: a leaf as JSON, a branch by its size and its first items."""
    if isinstance(value, dict):
        return "{} " + (_preview(value) or tr("empty"))
    if isinstance(value, list):
        return f"[] {len(value)}"
    return _cut(json_text(value[: VALUE_CHARACTERS_MAX + 1] if isinstance(value, str) else value))


def _copied(value: object) -> str:
    """A value as JSON, laid out; a text without its quotes."""
    return without_half_pairs(value) if isinstance(value, str) else laid_out_json(json_text(value))


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"


def _preview(value: dict[str, object]) -> str:
    leaves = (
        f"{_cut(key)} {_cut(item if isinstance(item, str) else json_text(item))}"
        for key, item in islice(members_of(value), CHILDREN_MAX)
        if not isinstance(item, dict | list)
    )
    text = without_half_pairs(", ".join(islice(leaves, PREVIEW_ITEMS)))
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


class JsonTreeModel(QAbstractItemModel):
    """Adapts one JSON value; its root is the only item of the first level."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root: Node | None = None

    def set_value(self, value: object) -> None:
        self.beginResetModel()
        self._root = Node("", value)
        self.endResetModel()

    def node(self, index: Index) -> Node | None:
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, Node) else None

    def index(self, row: int, column: int, parent: Index = NO_INDEX) -> QModelIndex:
        if column != 0 or self._root is None:
            return QModelIndex()
        branch = self.node(parent)
        siblings = [self._root] if branch is None else branch.children()
        return self.createIndex(row, 0, siblings[row]) if 0 <= row < len(siblings) else QModelIndex()

    def parent(self, index: Index = NO_INDEX) -> QModelIndex:  # type: ignore[override]  # Qt overloads it with QObject.parent
        node = self.node(index)
        if node is None or node.parent is None:
            return QModelIndex()
        return self.createIndex(node.parent.row, 0, node.parent)

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        node = self.node(parent)
        if node is None:
            return 0 if self._root is None or parent.isValid() else 1
        return len(node.children())

    def columnCount(self, _parent: Index = NO_INDEX) -> int:
        return 1

    def hasChildren(self, parent: Index = NO_INDEX) -> bool:
        node = self.node(parent)
        return self._root is not None if node is None else node.is_branch

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        node = self.node(index)
        if node is None:
            return None
        if role == NODE_ROLE:
            return node
        if role == Qt.ItemDataRole.DisplayRole:
            return " ".join(text for text in (node.key, value_text(node.value)) if text)
        return None


class JsonTree(QTreeView):
    """Shows a JSON value; keys, texts and numbers in their colours."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__()
        self._model = JsonTreeModel(self)
        self.setModel(self._model)
        self._delegate = _NodeDelegate(theme, times, self)
        self._copy = ClipboardCall()
        self.setItemDelegate(self._delegate)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setIndentation(16)
        said(self, name="Body as a tree")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        repaint_with(self.viewport(), theme)

    def set_value(self, value: object) -> None:
        """Show a value with its first levels open."""
        self._model.set_value(value)
        root, opened = self._model.index(0, 0), 0
        self.expand(root)
        for row in range(min(self._model.rowCount(root), OPENED_ROWS_MAX)):
            branch = self._model.index(row, 0, root)
            opened += self._model.rowCount(branch)
            if opened > OPENED_ROWS_MAX:
                break
            self.expand(branch)

    def set_mark(self, pattern: MarkPattern | None) -> None:
        """Mark the matches of a search in keys and values."""
        self._delegate.pattern = pattern
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_value()
        else:
            super().keyPressEvent(event)

    def copy_value(self) -> None:
        """Copy the selected value, a moment later because it may be large."""
        node = self._model.node(self.currentIndex())
        if node is not None and not node.more:
            self._copy.start(partial(_copied, node.value))

    def _open_menu(self, at: QPoint) -> None:
        if self.indexAt(at).isValid():
            menu = new_menu(self)
            menu.addAction(tr("Copy value"), self.copy_value)
            menu.popup(self.viewport().mapToGlobal(at))


class _NodeDelegate(QStyledItemDelegate):
    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._times = times
        self.pattern: MarkPattern | None = None

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        text = str(index.data(Qt.ItemDataRole.DisplayRole))
        return QSize(QFontMetrics(mono_font()).horizontalAdvance(text) + 160, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        node = index.data(NODE_ROLE)
        if not isinstance(node, Node):
            return
        tokens = self._theme.tokens
        state: QStyle.StateFlag = option.state
        box: QRect = option.rect
        painter.save()
        painter.setFont(mono_font())
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, QColor(tokens.selected))
        left = box.left() + 4
        metrics = QFontMetrics(mono_font())
        for text, colour in self._parts(node, tokens):
            for match in islice(self.pattern.finditer(text), MARKS_MAX) if self.pattern else ():
                start, end = (metrics.horizontalAdvance(text[:place]) for place in match.span())
                ground = QColor(mix(tokens.mark, tokens.panel, MARK_SHARE))
                painter.fillRect(QRect(left + start, box.top() + 2, end - start, box.height() - 4), ground)
            painter.setPen(QColor(colour))
            painter.drawText(QRect(left, box.top(), 10_000, box.height()), Qt.AlignmentFlag.AlignVCenter, text)
            left += metrics.horizontalAdvance(text + " ")
        painter.restore()

    def _parts(self, node: Node, tokens: Tokens) -> list[tuple[str, str]]:
        if node.more:
            return [(tr("{count} more", count=count_text(node.more)), tokens.text_3)]
        parts = [(node.key, tokens.accent)] if node.parent is not None else []
        if node.parent is None and isinstance(node.value, dict):
            return [("{} " + tr("{count} keys", count=_count(node.value)), tokens.text_2)]
        parts.append((value_text(node.value), _value_colour(node.value, tokens)))
        if isinstance(node.value, int) and node.value in EPOCH_MS:
            parts.append((self._times.full(node.value), tokens.text_3))
        return parts


def _value_colour(value: object, tokens: Tokens) -> str:
    if isinstance(value, str):
        return tokens.committed
    if isinstance(value, bool) or value is None:
        return tokens.checking
    if isinstance(value, int | float):
        return tokens.delayed
    return tokens.text_2
