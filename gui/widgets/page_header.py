from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import ElidedLabel, row
from gui.widgets.chip import Chip

TITLE_WIDTH_KEPT = 320
"""Of a title, px; a longer one is cut in its middle where there is no room."""


class PageHeader(QWidget):
    """The first line of every page: title, state chips, one line of facts, actions on the right."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title = ElidedLabel(role="page-title", mode=Qt.TextElideMode.ElideMiddle)
        self._facts = ElidedLabel(role="caption")
        # The facts take the width that the title leaves.
        self._facts.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._chips: list[Chip] = []
        self._chip_line = row(spacing=6)
        self._line = row(self._title, self._chip_line, (self._facts, 1), spacing=10)
        self.setLayout(self._line)
        self.setMinimumHeight(30)

    @property
    def title(self) -> str:
        return self._title.whole_text()

    @property
    def facts(self) -> str:
        return self._facts.whole_text()

    def set_title(self, text: str) -> None:
        self._title.setText(text)
        # Names of topics and groups may be longer than the page is wide; other titles are not.
        self._title.setMinimumWidth(min(self._title.sizeHint().width(), TITLE_WIDTH_KEPT))
        self.setAccessibleName(text)  # it has the keyboard where a page is about no list

    def set_facts(self, text: str) -> None:
        self._facts.setText(text)

    def set_chips(self, chips: Sequence[tuple[str, State]]) -> None:
        while len(self._chips) < len(chips):
            chip = Chip(self._theme)
            self._chips.append(chip)
            self._chip_line.addWidget(chip)
        for i, chip in enumerate(self._chips):
            chip.set(*(chips[i] if i < len(chips) else ("", State.PLAIN)))

    def add_action(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._line.addWidget(widget)
