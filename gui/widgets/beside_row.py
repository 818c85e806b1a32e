"""`BesideRow`: two or three parts side by side; the last one moves below the others where it does not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLayout, QWidget

from gui.theme.tokens import Size

WIDE_AGAIN = 24
"""Hysteresis in px before the row turns back: a scroll bar that appears with the turn takes width too."""


class BesideRow(QWidget):
    """As narrow as two of its parts may be; each part has the weight of its width.

    Signals:
        turned: The last part moved below, or beside again; carries which.
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
        # The constraint would keep the row as wide as all parts side by side.
        self._grid.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._place()

    def leave_out(self, part: QWidget) -> None:
        """Share the width among the other parts from now on; at least two must remain."""
        self._grid.removeWidget(part)
        part.hide()
        self._grid.setColumnStretch(len(self._parts) - 1, 0)
        self._parts = tuple(one for one in self._parts if one[0] is not part)
        self._place()

    def hasHeightForWidth(self) -> bool:
        """False, because a layout would use the preferred height of such a part as its minimum, and cut its neighbours.

        Any visible wrapped text makes a part one, such as the note of a chart without values.
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
            # A part has other bounds, e.g. in another language. Before the first width the row would turn and turn back.
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
