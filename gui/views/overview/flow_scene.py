"""`FlowScene`: cards joined by bands whose width is a rate.

It has no cluster, no texts and no timer of its own. It repaints only after the data changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from gui.theme.fonts import text_font
from gui.theme.tokens import Size, State, Tokens, mix
from gui.widgets.card_area import CardArea
from gui.widgets.paint import paint_line

CARD_WIDTH = 158.0
CARD_HEIGHT_MIN, CARD_HEIGHT = 43.0, 50.0
CARD_GAP = 8.0
ROWS_MAX = 3
"""Cards in a column."""
STRIPE_WIDTH = 3.0
BAND_WIDTH_MIN = 2.0
BAND_WIDTH_MAX = 20.0
RATE_OF_WIDEST = 10_000.0
PADDING, SPACE = 10.0, 8.0
"""Beside all cards; above and below them together."""
LABEL_AT = 0.32
"""Place of a label along its band, as a share."""
LABEL_PADDING, LABEL_HEIGHT, LABEL_GROUND = 4.0, 15.0, 0.8
"""Ground under a label: px, px, opacity."""


class FlowRole(Enum):
    """Meaning of a card or band, which chooses its colour."""

    NORMAL = "normal"
    DELAYED = "delayed"
    HALF = "half"
    WAITING = "waiting"
    DONE = "done"
    RETRY = "retry"
    DEAD = "dead"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class FlowCard:
    """A stage: title, one figure, one fact."""

    key: str
    title: str
    value: str
    fact: str
    role: FlowRole


@dataclass(frozen=True, slots=True)
class FlowBand:
    """A stream between two cards. ``rate`` in messages/s, NaN unknown."""

    source: str
    target: str
    rate: float
    role: FlowRole
    label: str = ""


@dataclass(frozen=True, slots=True)
class FlowPicture:
    """Cards by column from left to right, and the bands between them."""

    columns: tuple[tuple[FlowCard, ...], ...]
    bands: tuple[FlowBand, ...]

    def cards(self) -> list[FlowCard]:
        """All cards, column by column."""
        return [card for column in self.columns for card in column]


def band_width(rate: float) -> float:
    """Width in px of a stream: logarithmic, 2 px from 1/s down, 20 px from 10,000/s up; 0 for none or unknown."""
    if math.isnan(rate) or rate <= 0:
        return 0.0
    share = math.log10(max(1.0, rate)) / math.log10(RATE_OF_WIDEST)
    return BAND_WIDTH_MIN + (BAND_WIDTH_MAX - BAND_WIDTH_MIN) * min(1.0, share)


class FlowScene(CardArea):
    """Draws a `FlowPicture`."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(lambda: self._rects)
        self._tokens = tokens
        self.picture = FlowPicture((), ())
        self._rects: dict[str, QRectF] = {}
        # Lower on a low page, never higher, because cards have three figures and no more.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMaximumHeight(_height(CARD_HEIGHT))

    def set_tokens(self, tokens: Tokens) -> None:
        """Use the colours of another theme."""
        self._tokens = tokens
        self.update()

    def set_picture(self, picture: FlowPicture) -> None:
        """Show other figures; nothing is repainted when they are the same."""
        if picture == self.picture:
            return
        self.picture = picture
        self.setAccessibleDescription("; ".join(f"{c.title}: {c.value}, {c.fact}" for c in picture.cards()))
        self._place()
        self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(640, _height(CARD_HEIGHT_MIN))

    def sizeHint(self) -> QSize:
        return QSize(1160, _height(CARD_HEIGHT))

    @property
    def _card_height(self) -> float:
        """Height of each card, px."""
        free = self.height() - SPACE - (ROWS_MAX - 1) * CARD_GAP
        return min(CARD_HEIGHT, max(CARD_HEIGHT_MIN, free / ROWS_MAX))

    # ---- events --------------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        starts, ends = self._ports()
        placed = [band for band in enumerate(self.picture.bands) if band[0] in starts and band[0] in ends]
        ways = [(band, _way(starts[number], ends[number])) for number, band in placed]
        for band, way in ways:
            self._paint_band(painter, band, way)
        for band, way in ways:
            # After all bands, because bands that cross would cover each other's labels.
            if band.label:
                self._paint_label(painter, band, way)
        for card in self.picture.cards():
            self._paint_card(painter, card, self._rects[card.key])
        painter.end()

    # ---- layout --------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        self._rects = {}
        columns = self.picture.columns
        if not columns:
            return
        width = min(CARD_WIDTH, (self.width() - 2 * PADDING) / (len(columns) * 1.3))
        step = (self.width() - 2 * PADDING - width) / max(1, len(columns) - 1)
        each = self._card_height
        for number, column in enumerate(columns):
            height = len(column) * each + (len(column) - 1) * CARD_GAP
            top = (self.height() - height) / 2
            for row, card in enumerate(column):
                y = top + row * (each + CARD_GAP)
                self._rects[card.key] = QRectF(PADDING + number * step, y, width, each)

    def _ports(self) -> tuple[dict[int, QPointF], dict[int, QPointF]]:
        """Start and end of each band; bands on one side of a card are placed beside each other."""
        starts: dict[int, QPointF] = {}
        ends: dict[int, QPointF] = {}
        for key, rect in self._rects.items():
            leaving = [n for n, band in enumerate(self.picture.bands) if band.source == key]
            entering = [n for n, band in enumerate(self.picture.bands) if band.target == key]
            starts.update(self._spread(leaving, rect.right(), rect.center().y()))
            ends.update(self._spread(entering, rect.left(), rect.center().y()))
        return starts, ends

    def _spread(self, bands: list[int], x: float, middle: float) -> dict[int, QPointF]:
        widths = [max(BAND_WIDTH_MIN, band_width(self.picture.bands[n].rate)) for n in bands]
        scale = min(1.0, (self._card_height - 12) / max(1.0, sum(widths)))
        y = middle - sum(widths) * scale / 2
        ports = {}
        for number, width in zip(bands, widths, strict=True):
            ports[number] = QPointF(x, y + width * scale / 2)
            y += width * scale
        return ports

    # ---- paint ---------------------------------------------------------------------------------------------------------

    def _colour(self, role: FlowRole) -> str:
        tokens = self._tokens
        roles = {
            FlowRole.NORMAL: tokens.series[0],
            FlowRole.DELAYED: tokens.state(State.DELAYED),
            FlowRole.HALF: tokens.state(State.PENDING),
            FlowRole.WAITING: tokens.state(State.CHECKING),
            FlowRole.DONE: tokens.state(State.COMMITTED),
            FlowRole.RETRY: tokens.state(State.RETRY),
            FlowRole.DEAD: tokens.state(State.CRITICAL),
            FlowRole.IDLE: tokens.state(State.IDLE),
        }
        return roles[role]

    def _paint_band(self, painter: QPainter, band: FlowBand, way: QPainterPath) -> None:
        width = band_width(band.rate)
        colour = mix(self._colour(band.role), self._tokens.panel, 42) if width else self._tokens.border_strong
        pen = QPen(QColor(colour), width or 1.0)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if math.isnan(band.rate):
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(way)

    def _paint_label(self, painter: QPainter, band: FlowBand, way: QPainterPath) -> None:
        """Paint the label of a band above it; omitted where there is no room between the cards."""
        font = text_font(Size.CAPTION)
        metrics = QFontMetricsF(font)
        width = metrics.horizontalAdvance(band.label) + 2 * LABEL_PADDING
        left, right = way.pointAtPercent(0), way.pointAtPercent(1)
        if width > right.x() - left.x():
            return
        # Nearer to the begin of the band, because bands to one card meet at their ends.
        middle = way.pointAtPercent(LABEL_AT)
        begin = min(max(middle.x() - width / 2, left.x()), right.x() - width)
        box = QRectF(begin, middle.y() - band_width(band.rate) / 2 - LABEL_HEIGHT - 1, width, LABEL_HEIGHT)
        ground = QColor(self._tokens.panel)
        ground.setAlphaF(LABEL_GROUND)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, Size.RADIUS_CHIP, Size.RADIUS_CHIP)
        painter.setFont(font)
        painter.setPen(QColor(self._tokens.text_2))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, band.label)

    def _paint_card(self, painter: QPainter, card: FlowCard, rect: QRectF) -> None:
        painter.setPen(QPen(QColor(self._tokens.accent if self.is_marked(card.key) else self._tokens.border_strong), 1))
        painter.setBrush(QColor(self._tokens.raised))
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        painter.fillRect(QRectF(rect.left(), rect.top() + 6, STRIPE_WIDTH, rect.height() - 12), QColor(self._colour(card.role)))
        air = 6 if rect.height() >= CARD_HEIGHT else 3
        inner = rect.adjusted(12, air, -10, -air)
        tokens, top, bottom = self._tokens, Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignBottom
        middle, small = Qt.TextElideMode.ElideMiddle, text_font(Size.CAPTION)
        paint_line(painter, card.title, inner, text_font(Size.SECONDARY), tokens.text_2, height=top, cut=middle)
        bold = text_font(16, QFont.Weight.DemiBold)
        width = paint_line(painter, card.value, inner, bold, tokens.text_1, height=bottom, cut=middle)
        fact = inner.adjusted(width + 6, 0, 0, -2)
        if QFontMetricsF(small).horizontalAdvance(card.fact) <= fact.width():  # a part of it says nothing
            paint_line(painter, card.fact, fact, small, tokens.text_3, side=Qt.AlignmentFlag.AlignRight, height=bottom)


def _height(card: float) -> int:
    return round(ROWS_MAX * card + (ROWS_MAX - 1) * CARD_GAP + SPACE)


def _way(start: QPointF, end: QPointF) -> QPainterPath:
    """A curve from card to card, level at both ends."""
    bend = (end.x() - start.x()) * 0.5
    way = QPainterPath(start)
    way.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end)
    return way
