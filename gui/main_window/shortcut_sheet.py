"""The shortcut sheet (``?``): every action that has a key, by menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.operations.actions import Action
from gui.text import tr
from gui.widgets.basic import label


class ShortcutSheet(QDialog):
    """Lists keys and what they do."""

    def __init__(self, actions: Sequence[Action], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        columns = QHBoxLayout()
        columns.setSpacing(36)
        with_keys = [action for action in actions if action.shortcut]
        for section in dict.fromkeys(action.section for action in with_keys):
            columns.addLayout(_section(section, [action for action in with_keys if action.section == section]))
        close = QPushButton(tr("Close"))
        close.clicked.connect(self.accept)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(16)
        lines.addWidget(label(tr("Keyboard shortcuts"), "card-title"))
        lines.addLayout(columns)
        lines.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)


def _section(title: str, actions: Sequence[Action]) -> QVBoxLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(18)
    grid.setVerticalSpacing(6)
    for place, action in enumerate(actions):
        key = label(key_text(action.shortcut), "key")
        key.setFixedHeight(20)
        grid.addWidget(label(action.text), place, 0)
        grid.addWidget(key, place, 1, Qt.AlignmentFlag.AlignRight)
    lines = QVBoxLayout()
    lines.addWidget(label(tr(title), "panel-title"))
    lines.addLayout(grid)
    lines.addStretch(1)
    return lines


def key_text(shortcut: str) -> str:
    """A shortcut as this system writes it."""
    return QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)
