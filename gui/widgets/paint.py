"""Parts painted the same way in widgets and table cells: chips, dots, bars, sparklines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.tokens import STATE_GLYPHS, Size, State, Tokens, mix

CHIP_PADDING = 6
TAG_FRAME_PERCENT = 60
DOT_DIAMETER = 8
SPARKLINE_POINTS_MAX = 120


def chip_width(text: str, state: State) -> int:
    glyph = Size.ICON_CHIP + 3 if STATE_GLYPHS[state] else 0
    return QFontMetrics(_chip_font()).horizontalAdvance(text) + glyph + 2 * CHIP_PADDING


def paint_chip(painter: QPainter, at: QPointF, text: str, state: State, tokens: Tokens) -> int:
    """Paint a chip whose left edge has its middle at ``at``; returns its width in px.

    A state chip is its glyph and word on a tint of the state's colour; a plain chip is a word in a frame.
    """
    left, middle = at.x(), at.y()
    width = chip_width(text, state)
    box = QRectF(left, middle - Size.CHIP / 2, width, Size.CHIP)
    colour = tokens.state(state)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if state is State.PLAIN:
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.panel))
        box.adjust(0.5, 0.5, -0.5, -0.5)
    else:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mix(colour, tokens.panel, tokens.tint_percent)))
    painter.drawRoundedRect(box, Size.RADIUS_CHIP, Size.RADIUS_CHIP)
    text_left = left + CHIP_PADDING
    if glyph := STATE_GLYPHS[state]:
        _paint_glyph(painter, text_left, middle, glyph, colour)
        text_left += Size.ICON_CHIP + 3
    painter.setPen(QColor(colour))
    painter.setFont(_chip_font())
    painter.drawText(QRectF(text_left, box.top(), width, box.height()), Qt.AlignmentFlag.AlignVCenter, text)
    painter.restore()
    return width


def tag_width(text: str) -> int:
    return chip_width(text, State.PLAIN)


def paint_tag(painter: QPainter, at: QPointF, text: str, state: State, tokens: Tokens) -> None:
    """Paint a kind as a word in a frame of its colour, without a glyph; its left edge has its middle at ``at``."""
    colour = tokens.state(state)
    frame = tokens.border_strong if state is State.PLAIN else mix(colour, tokens.panel, TAG_FRAME_PERCENT)
    box = QRectF(at.x(), at.y() - Size.CHIP / 2, tag_width(text), Size.CHIP).adjusted(0.5, 0.5, -0.5, -0.5)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(frame), 1))
    painter.setBrush(QColor(tokens.panel))
    painter.drawRoundedRect(box, Size.RADIUS_CHIP, Size.RADIUS_CHIP)
    painter.setPen(QColor(colour))
    painter.setFont(_chip_font())
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()


def _chip_font() -> QFont:
    return text_font(Size.SECONDARY, QFont.Weight.Medium)


def _paint_glyph(painter: QPainter, left: float, middle: float, glyph: str, colour: str) -> None:
    size = Size.ICON_CHIP
    pixmap = icon_pixmap(glyph, colour, size, painter.device().devicePixelRatioF())
    painter.drawPixmap(QPointF(left, middle - size / 2), pixmap)


def paint_line(
    painter: QPainter,
    text: str,
    box: QRectF,
    font: QFont,
    colour: str,
    *,
    side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    height: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignVCenter,
    cut: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> float:
    """Paint one line of text, cut where it does not fit, by default at its end; returns its width in px."""
    metrics = QFontMetricsF(font)
    shown = metrics.elidedText(text, cut, max(0.0, box.width()))
    painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(box, side | height | Qt.TextFlag.TextSingleLine, shown)
    return metrics.horizontalAdvance(shown)


def paint_dot(painter: QPainter, left: float, middle: float, colour: str) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QRectF(left, middle - DOT_DIAMETER / 2, DOT_DIAMETER, DOT_DIAMETER))
    painter.restore()


def paint_bar(painter: QPainter, box: QRectF, share: float, colour: str, tokens: Tokens) -> None:
    """Paint a horizontal meter filled to ``share`` (0…1)."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    radius = box.height() / 2
    painter.setBrush(QColor(mix(tokens.text_3, tokens.panel, 16)))
    painter.drawRoundedRect(box, radius, radius)
    if share > 0:
        filled = QRectF(box)
        filled.setWidth(max(2.0, box.width() * min(1.0, share)))
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(filled, min(radius, filled.width() / 2), radius)
    painter.restore()


def paint_sparkline(painter: QPainter, box: QRect | QRectF, values: Sequence[float], colour: str) -> None:
    """Paint a line over a light fill, from 0 up; NaN leaves a gap. With fewer than two known values nothing is painted."""
    area = QRectF(box)
    points = [float(value) for value in values]
    if len(points) > SPARKLINE_POINTS_MAX:
        points = _thinned(points)
    known = [value for value in points if not math.isnan(value)]
    if len(known) < 2:
        return
    top = max(known) or 1.0
    step = area.width() / (len(points) - 1)
    height = area.height() - 2
    zero = area.bottom() - 0.5  # the middle of the lowest row: a line of zeros is not cut in half
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    fill = QColor(colour)
    fill.setAlpha(46)
    for start, run in _known_runs(points):
        line = QPolygonF(
            [QPointF(area.left() + (start + i) * step, zero - value / top * height) for i, value in enumerate(run)]
        )
        _fill_under(painter, line, area.bottom(), fill)
        painter.setPen(QPen(QColor(colour), 1.2))
        painter.drawPolyline(line)
    painter.restore()


def _fill_under(painter: QPainter, line: QPolygonF, bottom: float, colour: QColor) -> None:
    path = QPainterPath()
    path.addPolygon(line)
    path.lineTo(line.last().x(), bottom)
    path.lineTo(line.first().x(), bottom)
    path.closeSubpath()
    painter.fillPath(path, colour)


def _thinned(points: list[float]) -> list[float]:
    """The mean of each of `SPARKLINE_POINTS_MAX` buckets; NaN where a bucket has no known value."""
    count = SPARKLINE_POINTS_MAX
    made = []
    for i in range(count):
        bucket = [v for v in points[i * len(points) // count : (i + 1) * len(points) // count] if not math.isnan(v)]
        made.append(sum(bucket) / len(bucket) if bucket else math.nan)
    return made


def _known_runs(points: list[float]) -> list[tuple[int, list[float]]]:
    runs: list[tuple[int, list[float]]] = []
    run: list[float] = []
    for i, value in enumerate([*points, math.nan]):
        if not math.isnan(value):
            run.append(value)
        elif run:
            runs.append((i - len(run), run))
            run = []
    return runs
