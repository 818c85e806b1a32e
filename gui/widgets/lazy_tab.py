"""Parts of pages that are made later, so that opening a page does not wait for all of it.

`LazyTab` is made when it is first looked at, `LaterPart` by itself once its page is on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

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
    """A part that is made in a turn of the loop of its own after the page around it was painted, or when asked for.

    What fills the page leaves out a part that is not `made`; ``make`` gives it what is known by then.
    """

    _is_due = False

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_due:
            self._is_due = True
            QTimer.singleShot(0, self, self.make)
