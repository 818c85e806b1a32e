"""`FoldingPanel`: a panel whose buttons lose their texts where it is narrow, so that the page need not scroll."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from gui.widgets.basic import IconButton
from gui.widgets.panel import Panel
from gui.words.plain_text import tip_text

WIDE_AGAIN = 16
"""Hysteresis in px before the texts return."""


class FoldingPanel(Panel):
    """As narrow as it may be with glyphs alone; the texts are then the tips of the buttons."""

    def __init__(self, title: str = "", *, flush: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(title, flush=flush, parent=parent)
        self._words: dict[IconButton, str] = {}
        self._tips: dict[IconButton, str] = {}
        self.is_folded = False

    def set_words(self, button: IconButton, words: str, tip: str = "") -> None:
        """Set the text of a button of the title line, and its tip beside the text."""
        self._words[button], self._tips[button] = words, tip
        self._write(button)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        head = self._head_width()
        # The content below the title line may be wider.
        rest = max(self.content.minimumSize().width(), head - self._words_width())
        return QSize(hint.width() - max(0, max(head, self.content.minimumSize().width()) - rest), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            # Another title, or other visible buttons.
            self._fold()
        return done

    def _fold(self) -> None:
        margins = self.contentsMargins()
        room = self.width() - margins.left() - margins.right() - 2
        whole = self._head_width() + (self._all_words_width() + WIDE_AGAIN if self.is_folded else 0)
        if (room < whole) != self.is_folded:
            self.is_folded = not self.is_folded
            for button in self._words:
                self._write(button)
            self.updateGeometry()

    def _write(self, button: IconButton) -> None:
        words, tip = self._words[button], self._tips[button]
        button.setText("" if self.is_folded else words)
        button.setToolTip(tip_text(tip or words if self.is_folded else tip))
        button.setAccessibleName(words if self.is_folded else "")

    def _head_width(self) -> int:
        return self._line.minimumSize().width()

    def _words_width(self) -> int:
        """How much narrower the title line can become."""
        return 0 if self.is_folded else self._all_words_width()

    def _all_words_width(self) -> int:
        shown = [button for button in self._words if not button.isHidden()]
        return sum(button.fontMetrics().horizontalAdvance(self._words[button]) for button in shown)
