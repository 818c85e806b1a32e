"""Containers of pages: named tabs and scroll areas, parts that are made later, and `BesideRow`, which wraps its last part.

A page opens before all of it exists: `LazyTab` is made when it is first shown, `LaterPart` by itself once its page is shown.
Tabs and scroll areas have names for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QLayout, QScrollArea, QTabBar, QTabWidget, QWidget

from gui.event_loop.turns import next_turn
from gui.theme.tokens import Size
from gui.widgets.basic import column
from gui.widgets.said import said


class PartBar(QTabBar):
    """The parts of a page side by side; their owner shows them."""

    def __init__(self) -> None:
        super().__init__()
        said(self, name="Parts of the page")


class Parts(QTabWidget):
    """The parts of a page as tabs, of which it shows one."""

    def __init__(self) -> None:
        super().__init__()
        self.setTabBar(PartBar())
        self.setDocumentMode(True)
        self.tabBar().setDrawBase(False)  # after the mode, which draws it: a line above the tabs
        said(self, name="Parts of the page")


class ScrolledPart(QScrollArea):
    """A part of a page that scrolls, also by the arrow keys; as wide as its content may be."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        said(self, name="Scrolled part of the page")


class ScrolledColumn(QWidget):
    """Content of a `ScrolledPart`, as high as its parts must be at its width.

    A scroll area uses the preferred height. Where texts wrap and a part has a minimum height, that can be less than the minimum
    height at this width, and the parts would overlap.
    """

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        if layout is None:
            return super().heightForWidth(width)
        return max(layout.totalHeightForWidth(width), layout.totalMinimumHeightForWidth(width))


W = TypeVar("W", bound=QWidget)


class LazyTab(QWidget, Generic[W]):
    """A place for a widget that ``make`` makes once; ``at_top``: it keeps its height and stands at the top."""

    def __init__(self, make: Callable[[], W], *, margin_top: int = 0, at_top: bool = False) -> None:
        super().__init__()
        self._make = make
        self._at_top = at_top
        self.made: W | None = None
        self._lines = column(spacing=-1, margins=(0, margin_top, 0, 0))
        self.setLayout(self._lines)

    def make(self) -> W:
        """Return the widget, made now if necessary."""
        if self.made is None:
            self.made = self._make()
            self._lines.addWidget(self.made)
            if self._at_top:
                self._lines.addStretch(1)
        return self.made


class LaterPart(LazyTab[W]):
    """A part that is made some turns of the loop after it was first shown, or at `make`: the page is visible before.

    Updates of the page skip a part that is not `made`. It does not wait for its own painting, because a part without content
    may have no height and is then never painted.

    Args:
        make: Makes the widget, once.
        fill: Shows the known data in it, once: a turn after it was made by itself, or within `make`.
        turns: How many; several parts of one page made in one turn would be noticeable.
    """

    def __init__(self, make: Callable[[], W], *, fill: Callable[[W], None] | None = None, turns: int = 2) -> None:
        super().__init__(make)
        self._fill = fill
        self._turns = turns
        self._is_due = False

    def make(self) -> W:
        made = super().make()
        self._fill_made()
        return made

    def _fill_made(self) -> None:
        fill, self._fill = self._fill, None
        if fill is not None and self.made is not None:
            fill(self.made)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._is_due:
            self._is_due = True
            self._wait()

    def _wait(self) -> None:
        if self._turns:
            self._turns -= 1
            next_turn(self, self._wait)
        else:
            super().make()
            next_turn(self, self._fill_made)


TURN_HYSTERESIS_PX = 24
"""Of `BesideRow`, before its last part moves up again: a scroll bar that appears with the turn takes width too."""


class BesideRow(QWidget):
    """Parts side by side; the last one is below the others where they do not fit. Each part has a weight for its width.

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
        is_narrow = self.width() < _sum_of_widths(self._hints()) + (TURN_HYSTERESIS_PX if self.is_turned else 0)
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
