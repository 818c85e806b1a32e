"""`ChartNote`: the words over a chart that has nothing to draw, or of which something was not read."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtWidgets import QLabel, QWidget

from gui.theme.style import set_role
from gui.words.text import tr

UNKNOWN_WIDTH_MIN = 150
"""Pixels without a line that are enough for the words; in fewer they stand over the lines."""
OVER_SHARE_MAX = 1 / 3
"""Of the height of a chart, for words over its lines; what needs more is cut to one line."""
SPACE = 6
"""Pixels to the ends of the part that the words stand in."""


class ChartNote(QLabel):
    """Lies over a chart, in the middle of the part without lines, and lets the mouse through."""

    def __init__(self, chart: QWidget) -> None:
        super().__init__(chart)
        self._fault = ""
        self._place = (QRect(), 0)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._write()

    def tell(self, *, is_empty: bool, fault: str) -> None:
        """Say why nothing is drawn, or what is missing; hidden where there is neither.

        Args:
            is_empty: No value of the shown lines is known.
            fault: What was not read, and why; in the language of the window.
        """
        self.setVisible(is_empty or bool(fault))
        if fault != self._fault:
            self._fault = fault
            self._write()

    def place(self, inside: QRect, lines_from: int) -> None:
        """Stand in the middle before the lines; if that is too narrow over them, at the top, where they leave room.

        Args:
            inside: Of the axes, in pixels of the chart.
            lines_from: Where the first known value is, in pixels from the left end of that.
        """
        self._place = (inside, lines_from)
        is_before = lines_from >= UNKNOWN_WIDTH_MIN
        width = lines_from if is_before else inside.width()
        room = QRect(inside.left(), inside.top(), width, inside.height()).adjusted(SPACE, SPACE // 2, -SPACE, 0)
        side = Qt.AlignmentFlag.AlignVCenter if is_before else Qt.AlignmentFlag.AlignTop
        flags = Qt.AlignmentFlag.AlignHCenter | side | Qt.TextFlag.TextWordWrap
        text, metrics = self._words(), self.fontMetrics()
        words = metrics.boundingRect(room, flags, text)
        if not is_before and words.height() > inside.height() * OVER_SHARE_MAX:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
            words = metrics.boundingRect(room, flags, text)
        self.setText(text)
        self.setGeometry(words.adjusted(-SPACE, -SPACE // 2, SPACE, SPACE // 2).intersected(inside))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._write()
            self.place(*self._place)

    def _write(self) -> None:
        set_role(self, "chart-fault" if self._fault else "caption")
        self.setText(self._words())

    def _words(self) -> str:
        return self._fault or tr("No value is known in this time range.")
