"""The shortcut sheet (``?``): every action with a key, by menu, and the keys of lists, by page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gui.operations.actions import Action
from gui.operations.key_choices import shown as key_text
from gui.operations.page_keys import CHART_MOUSE, PAGE_KEYS
from gui.views.registry import PAGES
from gui.widgets.basic import column, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.text import tr

COLUMNS_MAX = 4
BESIDE_MAX = 16
"""Characters of a key that stands beside its action; a longer one stands below it, because columns would be too wide."""
_PAGES = {entry.title for entry in PAGES}
Keys = list[tuple[str, str]]
"""(action, its key), both in the language of the window."""


class ShortcutSheet(FittedDialog):
    def __init__(self, actions: Sequence[Action], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        sheet = QWidget()
        columns = [
            column(*(_section(title, members) for title, members in sections), 1, spacing=14)
            for sections in _columns(_sections(actions))
        ]
        sheet.setLayout(row(*columns, spacing=24, margins=(0, 0, 12, 0)))
        area = QScrollArea()
        area.setWidget(sheet)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName(tr("Keyboard shortcuts"))
        self._window, self._sheet, self._area = parent, sheet, area
        close = (push_button("Close", self.accept), 0, Qt.AlignmentFlag.AlignRight)
        title = label(tr("Keyboard shortcuts"), "card-title")
        self.setLayout(column(title, (area, 1), close, spacing=16, margins=(20, 18, 20, 16)))

    def showEvent(self, event: QShowEvent) -> None:
        # The fonts of the style sheet are known only now: sizes computed with other fonts are outdated.
        for widget in self._sheet.findChildren(QWidget):
            widget.ensurePolished()
            widget.updateGeometry()
        wanted, room = self._sheet.sizeHint(), self._window.size().boundedTo(self.room)
        self._area.setMinimumSize(min(wanted.width() + 20, room.width() - 80), min(wanted.height(), room.height() - 180))
        self.adjustSize()
        super().showEvent(event)


def _sections(actions: Sequence[Action]) -> dict[str, Keys]:
    """Headings in the language of the window, and the keys under each; those of the whole window first."""
    sections: dict[str, Keys] = {}
    for action in actions:
        if action.shortcut:
            sections.setdefault(tr(action.section), []).append((action.text, key_text(action.shortcut)))
    for title, keys in PAGE_KEYS:
        sections[tr("On the page {page}", page=tr(title)) if title in _PAGES else tr(title)] = [
            (tr(text), key_text(key)) for text, key in keys
        ]
    sections[tr("In a chart, by mouse")] = [(tr(text), tr(way)) for text, way in CHART_MOUSE]
    return sections


def _columns(sections: dict[str, Keys]) -> list[list[tuple[str, Keys]]]:
    """Sections in order, in at most `COLUMNS_MAX` columns of the least height."""
    room = max(_lines(keys) for keys in sections.values())
    while len(columns := _filled(sections, room)) > COLUMNS_MAX:
        room += 1
    return columns


def _filled(sections: dict[str, Keys], room: int) -> list[list[tuple[str, Keys]]]:
    columns: list[list[tuple[str, Keys]]] = [[]]
    for title, members in sections.items():
        if sum(_lines(keys) for _, keys in columns[-1]) + _lines(members) > room:
            columns.append([])
        columns[-1].append((title, members))
    return columns


def _lines(keys: Keys) -> int:
    """Lines of a section, with its heading and the space after it."""
    return len(keys) + 2 + sum(len(shortcut) > BESIDE_MAX for _text, shortcut in keys)


def _section(title: str, keys: Keys) -> QVBoxLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(18)
    grid.setVerticalSpacing(3)
    for text, shortcut in keys:
        key = label(shortcut, "key")
        key.setFixedHeight(20)
        line = grid.rowCount()
        grid.addWidget(label(text), line, 0)
        if len(shortcut) > BESIDE_MAX:
            grid.addWidget(key, line + 1, 0, 1, 2, Qt.AlignmentFlag.AlignRight)
        else:
            grid.addWidget(key, line, 1, Qt.AlignmentFlag.AlignRight)
    return column(label(title, "panel-title"), grid, spacing=5)
