"""Parts of pages that are made later, so that opening a page does not wait for all of it.

`LazyTab` is made when it is first looked at, `LaterPart` by itself once its page is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.event_loop.turns import next_turn

W = TypeVar("W", bound=QWidget)


class LazyTab(QWidget, Generic[W]):
    """A place for a widget.

    Args:
        make: Makes the widget, once.
        margin_top: Space above it, px.
        at_top: Whether it keeps its height and stands at the top.
    """

    def __init__(self, make: Callable[[], W], *, margin_top: int = 0, at_top: bool = False) -> None:
        super().__init__()
        self._make = make
        self._at_top = at_top
        self._widget: W | None = None
        self._lines = QVBoxLayout(self)
        self._lines.setContentsMargins(0, margin_top, 0, 0)

    @property
    def made(self) -> W | None:
        """The widget, if it was made."""
        return self._widget

    @property
    def widget(self) -> W:
        """The widget; asking makes it."""
        return self.make()

    def make(self) -> W:
        """Make the widget if it is not made yet, and return it."""
        if self._widget is None:
            self._widget = self._make()
            self._lines.addWidget(self._widget)
            if self._at_top:
                self._lines.addStretch(1)
        return self._widget


class LaterPart(LazyTab[W]):
    """A part that is made some turns of the loop after it was first shown, or when asked for: the page is seen before.

    What fills the page leaves out a part that is not `made`; ``make`` gives it what is known by then. It does not wait for
    its own painting: a part without content may have no height, and is then never painted.

    Args:
        make: Makes the widget, once.
        fill: Shows in it what is known by then, a turn after it was made by itself, at once where it was asked for; once.
        turns: How many; parts of one page that are made in the same turn would be felt.
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
