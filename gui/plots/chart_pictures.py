"""A `TimePlot` outside the window: a picture with title, time and legend, as SVG and PNG, and its figures as CSV.

The GUI thread records what is painted (`recorded`); `svg_bytes` and `png_bytes` may run on any thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter, QPen, QPicture
from PySide6.QtSvg import QSvgGenerator

from broker_core.api import csv_text
from gui.plots.chart_link import TimePlot
from gui.plots.chart_overlay import span_words
from gui.theme.fonts import text_font
from gui.theme.tokens import Size, Tokens
from gui.words.text import TimeZoneChoice

MARGIN = 14
HEAD, LEGEND = 26, 22
"""Heights of the title line and of the legend, px."""
DASH, GAP = 12, 16
SCALE = 2
"""Pixels of a PNG for one px of the window, so that it is sharp in a document."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a picture paints, its title, and its size in px."""

    picture: QPicture
    title: str
    size: QSize


def recorded(plot: TimePlot, title: str, tokens: Tokens, times: TimeZoneChoice) -> Recorded:
    """Record a plot as it is shown, without cursor and selection."""
    picture = QPicture()
    painter = QPainter(picture)
    _paint(painter, plot, title, tokens, times)
    painter.end()
    return Recorded(picture, title, picture_size(plot))


def figures_csv(plot: TimePlot, times: TimeZoneChoice) -> str:
    """The figures of a plot as it is shown: ``series,time,value``, a gap without a value."""
    rows = [("series", "time", "value")]
    for name, at_s, value in plot.points():
        moment = times.moment(at_s * 1_000).isoformat(timespec="milliseconds")
        rows.append((name, moment, "" if math.isnan(value) else f"{value:.10g}"))
    return csv_text(rows)


def svg_bytes(made: Recorded) -> bytes:
    """A picture as SVG, its texts as text."""
    data = QByteArray()
    out = QBuffer(data)
    generator = QSvgGenerator()
    generator.setOutputDevice(out)
    generator.setSize(made.size)
    generator.setViewBox(QRect(QPoint(), made.size))
    generator.setResolution(made.picture.logicalDpiX())
    generator.setTitle(made.title)
    painter = QPainter(generator)
    made.picture.play(painter)
    painter.end()
    return bytes(data.data())


def image_of(made: Recorded) -> QImage:
    """A picture in pixels."""
    image = QImage(made.size * SCALE, QImage.Format.Format_ARGB32_Premultiplied)
    # The same dots of an inch as the record, because Qt scales a record by their ratio.
    dots = round(made.picture.logicalDpiX() / 0.0254)
    image.setDotsPerMeterX(dots)
    image.setDotsPerMeterY(dots)
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    painter.scale(SCALE, SCALE)
    made.picture.play(painter)
    painter.end()
    return image


def png_bytes(made: Recorded) -> bytes:
    """A picture as PNG, `SCALE` times as large as on screen."""
    data = QByteArray()
    out = QBuffer(data)
    out.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(out, QByteArray(b"PNG")).write(image_of(made))
    return bytes(data.data())


def picture_size(plot: TimePlot) -> QSize:
    """Size of a picture, px."""
    size = plot.surface().size()
    return QSize(size.width() + 2 * MARGIN, size.height() + HEAD + _legend_height(plot) + 2 * MARGIN)


def _legend_height(plot: TimePlot) -> int:
    return LEGEND if plot.legend_lines() else 0


def _paint(painter: QPainter, plot: TimePlot, title: str, tokens: Tokens, times: TimeZoneChoice) -> None:
    size = picture_size(plot)
    painter.fillRect(QRectF(0, 0, size.width(), size.height()), QColor(tokens.panel))
    head = QRectF(MARGIN, MARGIN, size.width() - 2 * MARGIN, HEAD - 6)
    painter.setFont(text_font(Size.SECONDARY))
    painter.setPen(QColor(tokens.text_3))
    words = span_words(times, plot.span_s()) if plot.span_s()[1] else ""
    painter.drawText(head, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
    room = head.width() - painter.fontMetrics().horizontalAdvance(words) - GAP
    painter.setFont(text_font(Size.BODY, text_font().Weight.DemiBold))
    painter.setPen(QColor(tokens.text_1))
    title = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideMiddle, round(room))
    painter.drawText(head, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
    _paint_legend(painter, plot, QRectF(MARGIN, MARGIN + HEAD, head.width(), LEGEND), tokens)
    plot.paint(painter, QPoint(MARGIN, MARGIN + HEAD + _legend_height(plot)))


def _paint_legend(painter: QPainter, plot: TimePlot, box: QRectF, tokens: Tokens) -> None:
    painter.setFont(text_font(Size.SECONDARY))
    left = box.left()
    for name, colour in plot.legend_lines():
        width = painter.fontMetrics().horizontalAdvance(name)
        if left + DASH + 6 + width > box.right():
            break
        painter.setPen(QPen(QColor(colour), 3))
        painter.drawLine(QPointF(left, box.center().y()), QPointF(left + DASH, box.center().y()))
        painter.setPen(QColor(tokens.text_2))
        place = QRectF(left + DASH + 6, box.top(), width + 2, box.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, name)
        left += DASH + 6 + width + GAP
