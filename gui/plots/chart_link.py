"""`ChartLink`: the charts of a page that share a time axis: one cursor, one selection, one zoom.

`TimePlot` is what a chart offers to its link, `ShownRange` the owner of the shown time. Times are float64 seconds since the
epoch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from PySide6.QtCore import QObject, QPoint, QPointF, QRectF, QTimer, Signal
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

Span = tuple[float, float]
TipLine = tuple[str, str, str]
"""Name, value and colour (``#rrggbb``) of a line of a tip."""
Point = tuple[str, float, float]
"""Name of a line, seconds since the epoch, and value, NaN in a gap."""

SHORTEST_S = 3.0
"""Minimum span of a zoom."""
SETTLES_MS = 120
"""After the last step of a gesture the figures of the new span are read. Until then a chart stretches those that it has."""
NEAR_S = 0.001
"""A span that ends so near to the whole one ends with it."""
WHEEL_FACTOR = 0.8
"""Span after one step of a wheel, as a share of the span before."""
NO_TIME = math.nan


def span_ms(span: Span) -> tuple[int, int]:
    """First and last whole ms of a span, ms since the epoch; both are within it."""
    return math.ceil(span[0] * 1_000), math.floor(span[1] * 1_000)


class ShownRange(Protocol):
    """Owns the shown time of some charts.

    Attributes:
        changed: Signal: another span is shown.
    """

    changed: Any

    def whole_s(self) -> Span:
        """The span to which `show_whole` returns."""
        ...

    def begin_s(self) -> float:
        """Begin of what can be shown; -inf where that is not known."""
        ...

    @property
    def is_part(self) -> bool:
        """Whether another span is shown than the live or whole one."""
        ...

    @property
    def is_zoomed(self) -> bool:
        """Whether a part of the chosen span is shown; false for two chosen moments themselves."""
        ...

    def whole_words(self) -> str:
        """Name of `show_whole`, in the language of the window."""
        ...

    def show(self, from_s: float, to_s: float, *, joins: bool = False) -> None:
        """Show a span; with ``joins`` in place of the last one, because both are steps of one gesture."""
        ...

    def show_whole(self) -> None:
        """Show the live or whole span again."""
        ...

    def back(self) -> None:
        """Show the span before the last `show`."""
        ...


class TimePlot:
    """A chart over time, mixed into a widget."""

    has_own_keys = False
    """Whether arrows, Home, End and Enter already have a meaning here."""
    is_joined = False
    """Whether a link shows the values under the mouse; no longer when the surface is deleted."""

    @abstractmethod
    def surface(self) -> QWidget:
        """The widget that gets the mouse and has the overlay."""

    def focused(self) -> QWidget:
        """The widget that gets the keys."""
        return self.surface()

    @abstractmethod
    def inside(self) -> QRectF:
        """The place between the axes, px of the surface."""

    @abstractmethod
    def span_s(self) -> Span:
        """The shown span; an empty one while nothing is shown."""

    def preview(self, span: Span | None) -> None:
        """Keep this span with the present figures, whatever is set meanwhile; None: no longer."""

    def legend_lines(self) -> list[tuple[str, str]]:
        """Names and colours (``#rrggbb``) of the lines, in the language of the window; empty where the plot itself has them."""
        return []

    def tip_lines(self, at_s: float) -> list[TipLine]:  # noqa: ARG002  for subclasses
        """The values at a time."""
        return []

    def show_cursor(self, at_s: float) -> None:
        """Show the values at a time outside the plot too; NaN: the newest ones."""

    def top_right(self) -> QPointF | None:
        """Where the way back and the words of the selection end; None: another plot of the page shows them."""
        return self.inside().topRight()

    def keep_above(self, height: int, corner: int = 0) -> None:
        """Keep so many px at the top free of lines, and the last ``corner`` px of them also of names."""

    def is_grip(self, at: QPointF) -> bool:  # noqa: ARG002  for subclasses
        """Whether something at this place of the surface is dragged itself."""
        return False

    def points(self) -> Iterator[Point]:
        """The figures of the visible lines or bars in the shown time, in the language of the window; none where it has none."""
        return iter(())

    @property
    def has_figures(self) -> bool:
        """Whether `points` has any; of a chart with lines also while they have none."""
        return next(self.points(), None) is not None

    def paint(self, painter: QPainter, at: QPoint) -> None:
        """Paint what the surface shows, without cursor and selection, for a picture."""
        self.surface().render(painter, at, QRegion(), QWidget.RenderFlag(0))

    # ---- places --------------------------------------------------------------------------------------------------------

    def seconds_at(self, x: float) -> float:
        """Time at a place of the surface, within the shown span."""
        inside, (from_s, to_s) = self.inside(), self.span_s()
        share = (x - inside.left()) / max(1.0, inside.width())
        return from_s + min(max(share, 0.0), 1.0) * (to_s - from_s)

    def x_of(self, at_s: float) -> float:
        """Place of a time on the surface."""
        inside, (from_s, to_s) = self.inside(), self.span_s()
        return inside.left() + (at_s - from_s) / max(1e-9, to_s - from_s) * inside.width()


class ChartLink(QObject):
    """See the module. Lives as long as its page.

    Signals:
        cursor_moved: The cursor is at another time (NaN: none).
        selecting: Another span is selected, maybe not the last one of a drag.
        selected: A span was selected; carries begin and end.
        unselected: No span is selected any more.
        range_changed: The owner of the shown time shows another span.
    """

    cursor_moved = Signal(float)
    selecting = Signal()
    selected = Signal(float, float)
    unselected = Signal()
    range_changed = Signal()

    def __init__(self, shown: ShownRange, parent: QObject) -> None:
        super().__init__(parent)
        self.shown = shown
        self.cursor_s = NO_TIME
        self.pointed: TimePlot | None = None
        """The plot under the mouse, or with the cursor of the keyboard."""
        self.pointed_at = QPointF()
        """Place of the mouse there; null for the keyboard."""
        self.selection: Span | None = None
        self.brushed: TimePlot | None = None
        """The plot that shows the words of the selection: the one in which it was made, or another."""
        self._plots: list[TimePlot] = []
        self._wanted: Span | None = None
        """Span of a gesture that has not settled."""
        self._wants_whole = False
        self._joins = False
        self._settle = QTimer(self, interval=SETTLES_MS, singleShot=True)
        self._settle.timeout.connect(self._end_of_gesture)
        shown.changed.connect(self._range_changed)

    # ---- plots ---------------------------------------------------------------------------------------------------------

    def join(self, plot: TimePlot) -> None:
        """Add a plot; it leaves when its surface is deleted."""
        plot.is_joined = True
        self._plots.append(plot)
        plot.surface().destroyed.connect(lambda _gone=None: self._leave(plot))

    def _leave(self, plot: TimePlot) -> None:
        plot.is_joined = False
        self._plots = [one for one in self._plots if one is not plot]
        if not isValid(self):
            return
        if self.pointed is plot:
            self.move_cursor(NO_TIME)
        if self.brushed is plot:
            self.unselect()

    # ---- cursor --------------------------------------------------------------------------------------------------------

    def move_cursor(self, at_s: float, plot: TimePlot | None = None, at: QPointF | None = None) -> None:
        """Show the cursor and the values at a time in all plots; NaN hides it."""
        self.cursor_s, self.pointed, self.pointed_at = at_s, plot, at or QPointF()
        for one in self._plots:
            one.show_cursor(at_s)
        self.cursor_moved.emit(at_s)

    # ---- zoom ----------------------------------------------------------------------------------------------------------

    def span_of(self, plot: TimePlot) -> Span:
        """The span that a plot shows, or will show after the gesture; without a forecast."""
        from_s, to_s = self._wanted or plot.span_s()
        end_s = self.shown.whole_s()[1]
        return from_s, min(to_s, end_s) if end_s > from_s else to_s

    def zoom_about(self, plot: TimePlot, at_s: float, factor: float) -> None:
        """Multiply the span by a factor; the time ``at_s`` stays where it is. As wide as the whole span: show that again."""
        from_s, to_s = self.span_of(plot)
        whole = self.shown.whole_s()
        length = max(SHORTEST_S, (to_s - from_s) * factor)
        if factor >= 1 and length >= whole[1] - whole[0]:
            self._step(whole)
            return
        share = min(1.0, (at_s - from_s) / max(1e-9, to_s - from_s))
        at_s = min(at_s, to_s)
        self._step(self._bounded(at_s - share * length, length))

    def pan(self, plot: TimePlot, by_s: float) -> None:
        """Move the span later by some seconds, at most up to its bounds."""
        from_s, to_s = self.span_of(plot)
        self._step(self._bounded(from_s + by_s, to_s - from_s))

    def zoom_to_selection(self) -> None:
        """Show the selected span and nothing else."""
        if self.selection is not None:
            from_s, to_s = self.selection
            self.unselect()
            self.begin_gesture()
            length = max(SHORTEST_S, to_s - from_s)
            self._step(self._bounded((from_s + to_s - length) / 2, length))
            self.begin_gesture()

    def show_whole(self) -> None:
        """Go back to the live or whole span."""
        self._forget_gesture()
        self.shown.show_whole()

    def back(self) -> None:
        """Go back to the span before the last zoom."""
        self._forget_gesture()
        self.shown.back()

    def settle(self) -> None:
        """End a gesture now."""
        if self._settle.isActive():
            self._settle.stop()
            self._end_of_gesture()

    def _bounded(self, from_s: float, length: float) -> Span:
        end_s = self.shown.whole_s()[1]
        from_s = max(min(from_s, end_s - length), min(self.shown.begin_s(), end_s - length))
        return from_s, from_s + length

    def _step(self, span: Span) -> None:
        whole = self.shown.whole_s()
        self._wanted = span
        # Asked now: the end of a live span moves on before the gesture settles.
        self._wants_whole = span[1] >= whole[1] - NEAR_S and span[1] - span[0] >= whole[1] - whole[0] - NEAR_S
        for plot in self._plots:
            plot.preview(span)
        self._settle.start()

    def _end_of_gesture(self) -> None:
        span, joins = self._wanted, self._joins
        if span is None:
            return
        self._forget_gesture()
        if self._wants_whole:
            # The whole of two chosen moments is shown already, and `show_whole` would go back to live from there.
            if self.shown.is_zoomed:
                self.shown.show_whole()
        else:
            self.shown.show(*span, joins=joins)
            self._joins = True  # also the next wheel: Backspace leads back to before all of them

    def begin_gesture(self) -> None:
        """End the gesture; the next steps have a way back of their own."""
        self.settle()
        self._joins = False

    def _forget_gesture(self) -> None:
        self._settle.stop()
        self._wanted = None
        self._joins = False
        for plot in self._plots:
            plot.preview(None)

    def _range_changed(self) -> None:
        self._joins = False
        self.range_changed.emit()

    # ---- selection -----------------------------------------------------------------------------------------------------

    def drag_selection(self, plot: TimePlot, from_s: float, to_s: float) -> None:
        """Show a span as selected while it still changes."""
        able = [one for one in (plot, *self._plots) if one.top_right() is not None and one.surface().isVisible()]
        self.brushed = next(iter(able), plot)
        self.selection = (min(from_s, to_s), max(from_s, to_s))
        self.selecting.emit()

    def select(self, plot: TimePlot, from_s: float, to_s: float) -> None:
        """Select a span."""
        self.drag_selection(plot, from_s, to_s)
        self.selected.emit(min(from_s, to_s), max(from_s, to_s))

    def unselect(self) -> None:
        """Select nothing."""
        if self.selection is not None:
            self.selection, self.brushed = None, None
            self.selecting.emit()
            self.unselected.emit()


class LocalRange(QObject):
    """The shown time of charts that do not follow the time range of the window.

    Signals:
        changed: Another span is shown.
    """

    changed = Signal()

    def __init__(self, parent: QObject, words: Callable[[], str]) -> None:
        super().__init__(parent)
        self._whole: Span = (0.0, 0.0)
        self._begin_s = 0.0
        self._words = words
        self._shown: list[Span] = []
        """The zooms, the last one is shown."""

    def set_whole(self, from_s: float, to_s: float, *, begin_s: float | None = None) -> None:
        """Set the whole span, and from when on figures are known (None: its begin); a zoom stays."""
        self._whole = (from_s, to_s)
        self._begin_s = from_s if begin_s is None else begin_s

    def forget(self) -> None:
        """Show the whole span, without a signal: other figures are shown."""
        self._shown = []

    @property
    def span_s(self) -> Span:
        """The span to show."""
        return self._shown[-1] if self._shown else self._whole

    # ---- ShownRange ----------------------------------------------------------------------------------------------------

    def whole_s(self) -> Span:
        return self._whole

    def begin_s(self) -> float:
        return self._begin_s

    @property
    def is_part(self) -> bool:
        return bool(self._shown)

    @property
    def is_zoomed(self) -> bool:
        return self.is_part

    def whole_words(self) -> str:
        return self._words()

    def show(self, from_s: float, to_s: float, *, joins: bool = False) -> None:
        if joins and self._shown:
            self._shown.pop()
        self._shown.append((from_s, to_s))
        self.changed.emit()

    def show_whole(self) -> None:
        self._shown = []
        self.changed.emit()

    def back(self) -> None:
        if self._shown:
            self._shown.pop()
            self.changed.emit()
