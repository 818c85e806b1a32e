"""`PaneSplitter`: a list and its detail pane, one below the other in a narrow window; `splitter`: a `QSplitter` of parts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gui.theme.tokens import Size

NARROW = 860
"""Below this width, px, the panes are stacked; also where they do not fit side by side."""
TURN_HYSTERESIS_PX = 40
"""Before they are side by side again: a scroll bar that appears with the turn takes width too."""
UPPER_SHARE = 0.42
"""Share of the height for the first of the stacked panes."""
UPPER_MIN = 200
"""Its minimum height then, px: a few rows of a list; the page scrolls in less."""


class PaneSplitter(QWidget):
    """Two panes with a gap between; as narrow as the wider one may be.

    It has no layout and is no splitter itself: either would keep it as wide as both panes side by side.

    Args:
        panes: First the list.
        sizes: Widths in px side by side.
        grows: Which pane grows with the window.
    """

    def __init__(self, panes: tuple[QWidget, QWidget], sizes: Sequence[int], *, grows: int) -> None:
        super().__init__()
        self._side_by_side = list(sizes)
        self._panes, self._upper_min = panes, panes[0].minimumHeight()
        self.splitter = QSplitter(Qt.Orientation.Horizontal, self)
        for pane in panes:
            self.splitter.addWidget(pane)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(Size.GAP)
        self.splitter.setStretchFactor(grows, 1)
        self.splitter.setSizes(self._side_by_side)

    @property
    def is_turned(self) -> bool:
        """Whether the panes are stacked."""
        return self.splitter.orientation() is Qt.Orientation.Vertical

    def sizeHint(self) -> QSize:
        return self.splitter.sizeHint()

    def minimumSizeHint(self) -> QSize:
        hints = self._hints()
        heights = [hint.height() for hint in hints]
        height = sum(heights) + self._gaps(hints) if self.is_turned else max(heights, default=0)
        return QSize(max((hint.width() for hint in hints), default=0), height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            # A pane has other bounds, or was hidden: forwarded as a layout would.
            self._arrange()
            self.updateGeometry()
        return super().event(event)

    def _arrange(self) -> None:
        hints, width = self._hints(), self.width()
        wanted = max(NARROW, sum(hint.width() for hint in hints) + self._gaps(hints))
        is_narrow = width < wanted + (TURN_HYSTERESIS_PX if self.is_turned else 0)
        if is_narrow and not self.is_turned:
            self._side_by_side = self.splitter.sizes()
            self.splitter.setOrientation(Qt.Orientation.Vertical)
            upper = round(self.height() * UPPER_SHARE)
            self.splitter.setSizes([upper, self.height() - upper])
            self.updateGeometry()
        elif not is_narrow and self.is_turned:
            self.splitter.setOrientation(Qt.Orientation.Horizontal)
            self.splitter.setSizes(self._side_by_side)
            self.updateGeometry()
        # Each time, because the restored state of a page may turn the splitter. A set height overrides what the parts of the
        # pane need: they would overlap.
        first = self._panes[0]
        upper_min = max(UPPER_MIN, self._upper_min, first.minimumSizeHint().height()) if self.is_turned else self._upper_min
        first.setMinimumHeight(upper_min)
        self.splitter.setGeometry(self.rect())

    def _hints(self) -> list[QSize]:
        return [pane.minimumSizeHint().expandedTo(pane.minimumSize()) for pane in self._panes if not pane.isHidden()]

    def _gaps(self, hints: Sequence[QSize]) -> int:
        return self.splitter.handleWidth() * max(0, len(hints) - 1)


def splitter(direction: Qt.Orientation, *parts: tuple[QWidget, int, int]) -> QSplitter:
    """Parts with a gap that can be dragged; each with its first size in px and its stretch."""
    made = QSplitter(direction)
    for place, (part, _size, share) in enumerate(parts):
        made.addWidget(part)
        made.setStretchFactor(place, share)
    made.setChildrenCollapsible(False)
    made.setHandleWidth(Size.GAP)
    made.setSizes([size for _part, size, _share in parts])
    return made
