"""Drags of the mouse, between two places of a widget or two shares of the width of a plot."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from gui.plots.chart_link import TimePlot

LEFT, NO_KEY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def drag(
    surface: QWidget,
    begin: QPoint,
    end: QPoint,
    *,
    button: Qt.MouseButton = LEFT,
    modifier: Qt.KeyboardModifier = NO_KEY,
) -> None:
    """Press at a place, move over the middle to another, and release there."""
    QTest.mousePress(surface, button, modifier, begin)
    QTest.mouseMove(surface, QPoint((begin.x() + end.x()) // 2, (begin.y() + end.y()) // 2))
    QTest.mouseMove(surface, end)
    QTest.mouseRelease(surface, button, modifier, end)


def drag_over(
    plot: TimePlot,
    begin: float,
    end: float,
    *,
    button: Qt.MouseButton = LEFT,
    modifier: Qt.KeyboardModifier = NO_KEY,
) -> None:
    """Drag at half the height of a plot, from one share of its width to another."""
    places = (place(plot, begin).toPoint(), place(plot, end).toPoint())
    drag(plot.surface(), *places, button=button, modifier=modifier)


def place(plot: TimePlot, share: float, from_top: float = 0.5) -> QPointF:
    """A place of a plot, at shares of its width and height."""
    inside = plot.inside()
    return QPointF(inside.left() + share * inside.width(), inside.top() + from_top * inside.height())
