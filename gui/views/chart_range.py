"""`WindowRange`: the time range of the window, for the charts of a page."""

from __future__ import annotations

import math

from PySide6.QtCore import QObject, Signal

from gui.plots.chart_link import Span
from gui.views.page import PageContext
from gui.words.text import tr


class WindowRange(QObject):
    """A `gui.plots.chart_link.ShownRange`.

    Signals:
        changed: Another span is shown.
    """

    changed = Signal()

    def __init__(self, context: PageContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._range = context.time_range
        self._range.changed.connect(self.changed)

    def whole_s(self) -> Span:
        state = self._context.source.state
        from_ms, to_ms = self._range.whole_ms(state.taken_ms if state is not None else 0)
        return from_ms / 1_000, to_ms / 1_000

    def begin_s(self) -> float:
        begin_ms = self._range.begin_ms
        return -math.inf if begin_ms is None else begin_ms / 1_000

    @property
    def is_part(self) -> bool:
        return self._range.between is not None

    @property
    def is_zoomed(self) -> bool:
        return self._range.is_zoomed

    def whole_words(self) -> str:
        ready = self._context.source.ready
        is_opened = ready is not None and not ready.runs_broker
        return tr("Whole range") if is_opened or self._range.is_part_of_own_range else tr("Back to live")

    def show(self, from_s: float, to_s: float, *, joins: bool = False) -> None:
        self._range.zoom(round(from_s * 1_000), round(to_s * 1_000), joins=joins)

    def show_whole(self) -> None:
        self._range.show_whole()

    def back(self) -> None:
        self._range.zoom_out()
