"""Lines of a chart painted in px, for pictures.

The scene of a chart has its lines in seconds since the epoch, of which a file of SVG would keep six digits: all at one place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from gui.plots.chart_link import Span
from gui.plots.chart_series import Floats, lone_points

POINTS_A_PX = 3
DOT = 2.0
"""Radius of an isolated point, px."""


@dataclass(frozen=True, slots=True)
class PaintedLine:
    """A line, and what fills the area down to ``low`` (0 where that is None)."""

    x: Floats
    y: Floats
    pen: QPen
    brush: QBrush | None = None
    low: Floats | None = None


def paint_lines(painter: QPainter, box: QRectF, lines: list[PaintedLine], span: Span, values: Span) -> None:
    """Paint lines into a box that shows a span of time and a span of values."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    most = round(box.width() * POINTS_A_PX)
    for line in lines:
        x, y = thinned(*within(line.x, line.y, span), most)
        low = np.zeros(len(x)) if line.low is None else thinned(*within(line.x, line.low, span), most)[1]
        left = box.left() + (x - span[0]) / (span[1] - span[0]) * box.width()
        top, bottom = (box.bottom() - np.clip((v - values[0]) / (values[1] - values[0]), 0, 1) * box.height() for v in (y, low))
        if line.brush is not None:
            _fill(painter, left, top, bottom, line.brush)
        painter.setPen(line.pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(pg.arrayToQPath(left, top, connect="finite"))
        painter.setBrush(line.pen.color())
        for number in np.flatnonzero(lone_points(top)).tolist():
            painter.drawEllipse(QPointF(left[number], top[number]), DOT, DOT)
    painter.restore()


def paint_grid(painter: QPainter, box: QRectF, values: list[float], span: Span, colour: str) -> None:
    """Paint a horizontal line at each value of a span of values."""
    painter.setPen(QPen(QColor(colour), 1))
    for value in values:
        y = box.bottom() - (value - span[0]) / (span[1] - span[0]) * box.height()
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))


def within(x: Floats, y: Floats, span: Span) -> tuple[Floats, Floats]:
    """The points of a span, with those in which the line crosses its ends."""
    first, last = (int(place) for place in np.searchsorted(x, span))
    xs, ys = [x[first:last]], [y[first:last]]
    for place, at_s in ((first, span[0]), (last, span[1])):
        if 0 < place < len(x):
            crossing = np.array([np.interp(at_s, x[place - 1 : place + 1], y[place - 1 : place + 1])])
            where = 0 if at_s == span[0] else len(xs)
            xs.insert(where, np.array([at_s]))
            ys.insert(where, crossing)
    return np.concatenate(xs), np.concatenate(ys)


def thinned(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """A line of at most so many points: smallest and largest value of equal parts."""
    if len(x) <= most:
        return x, y
    length = -(-len(x) // (most // 2))
    parts = np.resize(y, (-(-len(y) // length), length))
    parts.ravel()[len(y) :] = np.nan
    # Parts without a known value stay a gap.
    low, high = np.fmin.reduce(parts, axis=1), np.fmax.reduce(parts, axis=1)
    return np.repeat(x[::length], 2), np.stack([low, high], axis=1).ravel()


def _fill(painter: QPainter, left: Floats, top: Floats, bottom: Floats, brush: QBrush) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(brush)
    known = np.concatenate(([False], np.isfinite(top) & np.isfinite(bottom), [False]))
    edges = np.flatnonzero(known[1:] != known[:-1])
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        there = zip(left[first:last].tolist(), top[first:last].tolist(), strict=True)
        back = zip(left[first:last][::-1].tolist(), bottom[first:last][::-1].tolist(), strict=True)
        painter.drawPolygon(QPolygonF([QPointF(a, b) for a, b in (*there, *back)]))
