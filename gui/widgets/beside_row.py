"""`BesideRow`: three parts side by side, or two; the last one below the others where they would not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLayout, QWidget

from gui.theme.tokens import Size

WIDE_AGAIN = 24
"""So much wider it must be to turn back: a scroll bar that comes with the turn takes width too."""


class BesideRow(QWidget):
    """As narrow as two of its parts may be.

    Args:
        parts: Each with the weight of its width.

    Signals:
        turned: The last part stands below now, or beside again; carries which.
    """

    turned = Signal(bool)

    def __init__(self, *parts: tuple[QWidget, int]) -> None:
        super().__init__()
        self._parts = parts
        self.is_turned = False
        self._has_width = False
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Size.GAP)
        # It would hold the row as wide as all parts side by side.
        self._grid.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._place()

    def leave_out(self, part: QWidget) -> None:
        """Share the width among the others from now on; two at least must be left."""
        self._grid.removeWidget(part)
        part.hide()
        self._grid.setColumnStretch(len(self._parts) - 1, 0)
        self._parts = tuple(one for one in self._parts if one[0] is not part)
        self._place()

    def hasHeightForWidth(self) -> bool:
        """Never: a layout takes the height that such a part would like to have for its least, and cuts its neighbours.

        A part is one as soon as some wrapped words are seen in it, as where a chart says that it has no values.
        """
        return False

    def minimumSizeHint(self) -> QSize:
        *beside, below = self._hints()
        upper = QSize(_sum_of_widths(beside), max(hint.height() for hint in beside))
        if self.is_turned:
            return QSize(max(upper.width(), below.width()), upper.height() + Size.GAP + below.height())
        return QSize(max(upper.width(), below.width()), max(upper.height(), below.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._has_width = True
        self._turn()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self._has_width:
            # A part has other bounds, e.g. in another language. Before the first width it would turn and turn back.
            self._turn()
        return done

    def _turn(self) -> None:
        is_narrow = self.width() < _sum_of_widths(self._hints()) + (WIDE_AGAIN if self.is_turned else 0)
        if is_narrow != self.is_turned:
            self.is_turned = is_narrow
            self._place()
            self.updateGeometry()
            self.turned.emit(is_narrow)

    def _place(self) -> None:
        last = len(self._parts) - 1
        for number, (part, weight) in enumerate(self._parts):
            if number == last and self.is_turned:
                self._grid.addWidget(part, 1, 0, 1, last)
                self._grid.setColumnStretch(last, 0)
            else:
                self._grid.addWidget(part, 0, number)
                self._grid.setColumnStretch(number, weight)

    def _hints(self) -> list[QSize]:
        return [part.minimumSizeHint().expandedTo(part.minimumSize()) for part, _weight in self._parts]


def _sum_of_widths(hints: list[QSize]) -> int:
    return sum(hint.width() for hint in hints) + Size.GAP * (len(hints) - 1)
