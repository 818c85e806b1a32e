"""Parts of pages that are made later, so that a page opens before all of it exists.

`LazyTab` is made when it is first shown, `LaterPart` by itself once its page is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from gui.event_loop.turns import next_turn
from gui.widgets.basic import column

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
