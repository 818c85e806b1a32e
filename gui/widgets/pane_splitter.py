"""`PaneSplitter`: a list and what belongs to it side by side; one below the other where the window is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gui.theme.tokens import Size

NARROW = 860
"""Below this width, px, panes stand below each other; also where they would not fit side by side."""
WIDE_AGAIN = 40
"""So much wider it must be to turn back: a scroll bar that comes with the turn takes width too."""
UPPER_SHARE = 0.42
"""Of the height for the first pane where they stand below each other."""


class PaneSplitter(QSplitter):
    """Two panes with a gap between; as narrow as the wider one may be.

    Args:
        panes: First the list.
        sizes: Widths in px side by side.
        grows: Which pane takes what a larger window gives.
    """

    def __init__(self, panes: tuple[QWidget, QWidget], sizes: Sequence[int], *, grows: int) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._side_by_side = list(sizes)
        for pane in panes:
            self.addWidget(pane)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(Size.GAP)
        self.setStretchFactor(grows, 1)
        self.setSizes(self._side_by_side)

    @property
    def is_turned(self) -> bool:
        """Whether the panes stand below each other."""
        return self.orientation() is Qt.Orientation.Vertical

    def minimumSizeHint(self) -> QSize:
        hints = self._hints()
        heights = [hint.height() for hint in hints]
        height = sum(heights) + self._gaps(hints) if self.is_turned else max(heights, default=0)
        return QSize(max((hint.width() for hint in hints), default=0), height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._turn(event.size().width())
        super().resizeEvent(event)

    def _turn(self, width: int) -> None:
        hints = self._hints()
        wanted = max(NARROW, sum(hint.width() for hint in hints) + self._gaps(hints)) + (WIDE_AGAIN if self.is_turned else 0)
        is_narrow = width < wanted
        if is_narrow == self.is_turned:
            return
        if is_narrow:
            self._side_by_side = self.sizes()
            self.setOrientation(Qt.Orientation.Vertical)
            upper = round(self.height() * UPPER_SHARE)
            self.setSizes([upper, self.height() - upper])
        else:
            self.setOrientation(Qt.Orientation.Horizontal)
            self.setSizes(self._side_by_side)
        self.updateGeometry()

    def _hints(self) -> list[QSize]:
        panes = [self.widget(place) for place in range(self.count())]
        return [pane.minimumSizeHint().expandedTo(pane.minimumSize()) for pane in panes if not pane.isHidden()]

    def _gaps(self, hints: Sequence[QSize]) -> int:
        return self.handleWidth() * max(0, len(hints) - 1)
