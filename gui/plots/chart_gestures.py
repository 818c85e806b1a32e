"""`ChartGestures`: mouse, wheel and keys of one `TimePlot`.

A wheel without a key zooms, as in other tools for charts; Ctrl and a wheel do the same. It scrolls the page instead

- beside the plot: over axes, titles, legends and tables;
- while a plot came under a mouse that stands still because the page was scrolled.

So a page is scrolled across its charts by one movement of the wheel.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea
from shiboken6 import isValid

from gui.plots.chart_link import WHEEL_FACTOR, ChartLink, TimePlot

DRAG_PIXELS_MIN = 6
"""A shorter drag is a click."""
WHEEL_STEP = 120
"""Of `QWheelEvent.angleDelta`, for one step."""
KEY_PARTS = 100
"""Steps of the cursor from one end of the plot to the other."""
PAN_PARTS = 10
"""Part of the span by which a key moves it."""
PLUS = (Qt.Key.Key_Plus, Qt.Key.Key_Equal)
MINUS = (Qt.Key.Key_Minus, Qt.Key.Key_Underscore)
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_CONTROL, _SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
_OTHERS = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


class ChartGestures(QObject):
    """Lives as long as the surface of its plot."""

    def __init__(self, plot: TimePlot, link: ChartLink) -> None:
        super().__init__(plot.surface())
        self._plot, self._link, self._focused, self._surface = plot, link, plot.focused(), plot.surface()
        self._brush_from: QPointF | None = None
        self._pan_from: QPointF | None = None
        self._is_drag = False
        self._anchor_s = math.nan
        """Fixed end of a selection by keys."""
        self._moved: tuple[QPointF, int] | None = None
        """Where the mouse was moved last, on the screen, and how far the page was scrolled then."""
        self._surface.setMouseTracking(True)
        self._focused.setFocusPolicy(self._focused.focusPolicy() | Qt.FocusPolicy.StrongFocus)
        self._surface.installEventFilter(self)
        if self._focused is not self._surface:
            self._focused.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self._plot.is_joined or not isValid(self._surface) or not isValid(self._link):
            return False  # a chart that is deleted while it has the keyboard still loses the focus
        if isinstance(event, QKeyEvent) and watched is self._focused:
            return event.type() == QEvent.Type.KeyPress and self._key(event)
        if watched is not self._surface:
            return False
        if isinstance(event, QWheelEvent):
            return self._wheel(event)
        if isinstance(event, QMouseEvent):
            return self._mouse(event)
        if event.type() == QEvent.Type.Leave:
            self._link.move_cursor(math.nan)
        return False

    # ---- wheel ---------------------------------------------------------------------------------------------------------

    def _wheel(self, event: QWheelEvent) -> bool:
        at, delta = event.position(), event.angleDelta()
        if not self._plot.inside().contains(at) or self._is_scrolling(event.globalPosition()) or not self._has_span():
            return False
        from_s, to_s = self._link.span_of(self._plot)
        along = delta.x() or (delta.y() if event.modifiers() & _SHIFT else 0)
        if along:
            self._link.pan(self._plot, -along / WHEEL_STEP * (to_s - from_s) / PAN_PARTS)
        elif delta.y():
            self._link.zoom_about(self._plot, self._plot.seconds_at(at.x()), WHEEL_FACTOR ** (delta.y() / WHEEL_STEP))
            self._link.move_cursor(self._plot.seconds_at(at.x()), self._plot, at)
        event.accept()
        return True

    def _is_scrolling(self, at: QPointF) -> bool:
        """Whether the page can be scrolled, and was since the mouse was moved over this plot."""
        area = self._scrolled_around()
        if area is None:
            return False
        bar = area.verticalScrollBar()
        return bar.maximum() > bar.minimum() and self._moved != (at, bar.value())

    def _scrolled_around(self) -> QAbstractScrollArea | None:
        around = self._focused.parentWidget()
        while around is not None and not isinstance(around, QAbstractScrollArea):
            around = around.parentWidget()
        return around

    # ---- mouse ---------------------------------------------------------------------------------------------------------

    def _mouse(self, event: QMouseEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.MouseMove:
            return self._move(event)
        if kind == QEvent.Type.MouseButtonPress:
            return self._press(event)
        if kind == QEvent.Type.MouseButtonRelease:
            return self._release(event)
        if kind == QEvent.Type.MouseButtonDblClick and event.button() == Qt.MouseButton.LeftButton:
            self._link.unselect()
            self._link.show_whole()
            return True
        return False

    def _press(self, event: QMouseEvent) -> bool:
        at, button = event.position(), event.button()
        if not self._plot.inside().contains(at) or self._plot.is_grip(at) or not self._has_span():
            return False
        pans = button == Qt.MouseButton.MiddleButton or (button == Qt.MouseButton.LeftButton and event.modifiers() & _SHIFT)
        self._is_drag = False
        if pans:
            self._pan_from = at
            self._surface.setCursor(Qt.CursorShape.ClosedHandCursor)
            return True
        if button == Qt.MouseButton.LeftButton:
            self._brush_from = at
            # A drag begins with a click, which gives the keys to the plot.
            self._focused.setFocus(Qt.FocusReason.MouseFocusReason)
        return False

    def _move(self, event: QMouseEvent) -> bool:
        at = event.position()
        area = self._scrolled_around()
        self._moved = (event.globalPosition(), area.verticalScrollBar().value()) if area is not None else None
        if self._pan_from is not None:
            from_s, to_s = self._link.span_of(self._plot)
            per_px = (to_s - from_s) / max(1.0, self._plot.inside().width())
            self._link.pan(self._plot, (self._pan_from.x() - at.x()) * per_px)
            self._pan_from = at
            return True
        if self._brush_from is not None and abs(at.x() - self._brush_from.x()) >= DRAG_PIXELS_MIN:
            self._is_drag = True
        if self._is_drag and self._brush_from is not None:
            self._link.drag_selection(self._plot, *self._seconds(self._brush_from, at))
        if self._plot.inside().contains(at) and self._has_span():
            self._link.move_cursor(self._plot.seconds_at(at.x()), self._plot, at)
        elif self._link.pointed is self._plot:
            self._link.move_cursor(math.nan)
        return False

    def _release(self, event: QMouseEvent) -> bool:
        began, self._brush_from = self._brush_from, None
        if self._pan_from is not None:
            self._pan_from = None
            self._surface.unsetCursor()
            self._link.settle()
            return True
        if began is None:
            return False
        if self._is_drag:
            self._is_drag = False
            self._link.select(self._plot, *self._seconds(began, event.position()))
            return True
        if self._link.selection is not None:
            self._link.unselect()  # a click beside it
        return False

    def _seconds(self, begin: QPointF, end: QPointF) -> tuple[float, float]:
        return self._plot.seconds_at(begin.x()), self._plot.seconds_at(end.x())

    # ---- keys ----------------------------------------------------------------------------------------------------------

    def _key(self, event: QKeyEvent) -> bool:
        key, modifiers, link = event.key(), event.modifiers(), self._link
        if modifiers & _OTHERS:
            return False
        if key == Qt.Key.Key_Escape:
            if link.selection is not None:
                link.unselect()
            else:
                link.show_whole()
            return True
        if key == Qt.Key.Key_Backspace:
            link.back()
            return True
        if not self._has_span():
            return False
        if key in PLUS or key in MINUS:
            if modifiers & _CONTROL:
                return False  # the size of the text
            factor = WHEEL_FACTOR if key in PLUS else 1 / WHEEL_FACTOR
            link.zoom_about(self._plot, self._cursor_or_middle(), factor)
            return True
        return not self._plot.has_own_keys and self._key_along(key, modifiers)

    def _key_along(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """Move the cursor or the span, select, zoom to the selection."""
        link = self._link
        if key == Qt.Key.Key_Home:
            link.unselect()
            link.show_whole()
        elif key in ENTER and link.selection is not None:
            link.zoom_to_selection()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            sign = -1 if key == Qt.Key.Key_Left else 1
            from_s, to_s = link.span_of(self._plot)
            if modifiers & _CONTROL:
                link.pan(self._plot, sign * (to_s - from_s) / PAN_PARTS)
            else:
                self._step_cursor(sign * (to_s - from_s) / KEY_PARTS, selects=bool(modifiers & _SHIFT))
        else:
            return False
        return True

    def _step_cursor(self, by_s: float, *, selects: bool) -> None:
        link, (from_s, to_s) = self._link, self._plot.span_s()
        at_s = self._cursor_or_middle()
        if not selects:
            self._anchor_s = math.nan
        elif math.isnan(self._anchor_s) or link.selection is None:
            self._anchor_s = at_s
        at_s = min(max(at_s + by_s, from_s), to_s)
        link.move_cursor(at_s, self._plot)
        if selects and at_s != self._anchor_s:
            link.select(self._plot, self._anchor_s, at_s)

    def _cursor_or_middle(self) -> float:
        (from_s, to_s), at_s = self._plot.span_s(), self._link.cursor_s
        return at_s if from_s <= at_s <= to_s else (from_s + to_s) / 2

    def _has_span(self) -> bool:
        from_s, to_s = self._plot.span_s()
        return to_s > from_s
