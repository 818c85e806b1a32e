"""`LazyTab`: the page of a tab that is made when it is first looked at, so that opening a page does not wait for all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

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
        if self._widget is None:
            self._widget = self._make()
            self._lines.addWidget(self._widget)
            if self._at_top:
                self._lines.addStretch(1)
        return self._widget
