"""`Board`: transactions by state as cards, with the ways between them. A card filters the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy

from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import STATE_GLYPHS, Size, State
from gui.widgets.card_area import CardArea
from gui.widgets.paint import paint_line
from gui.widgets.repaint import repaint_with

HEIGHT = 78
CARD_SHARE, WIDE_CARD_SHARE = 0.172, 0.222
STRIPE = 3.0
GAP = 6.0
ARROW = 6.0
GLYPH_ROOM, BETWEEN = 22.0, 8.0
"""Within a low card, px."""


@dataclass(frozen=True, slots=True)
class BoardCard:
    """One state. Texts are in the language of the window."""

    key: str
    title: str
    value: str
    fact: str
    state: State


@dataclass(frozen=True, slots=True)
class BoardPicture:
    """Columns of cards, left to right, and the words above the way from each column to the next."""

    columns: tuple[tuple[BoardCard, ...], ...] = ()
    ways: tuple[str, ...] = ()

    def cards(self) -> list[BoardCard]:
        return [card for column in self.columns for card in column]


class Board(CardArea):
    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(self.card_rects)
        self._theme = theme
        self.picture = BoardPicture()
        self._marked = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)
        repaint_with(self, theme)

    def set_picture(self, picture: BoardPicture, marked: str = "") -> None:
        """Show other figures; ``marked`` is the key of the card whose rows are listed."""
        if (picture, marked) == (self.picture, self._marked):
            return
        self.picture, self._marked = picture, marked
        self.setAccessibleDescription("; ".join(f"{card.title}: {card.value}, {card.fact}" for card in picture.cards()))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1100, HEIGHT)

    def _column_rects(self) -> list[QRectF]:
        columns = self.picture.columns
        shares = [WIDE_CARD_SHARE if len(column) > 1 else CARD_SHARE for column in columns]
        way = (1 - sum(shares)) / max(1, len(columns) - 1) * self.width()
        rects, left = [], 0.0
        for share in shares:
            rects.append(QRectF(left, 0, share * self.width(), HEIGHT))
            left += share * self.width() + way
        return rects

    def card_rects(self) -> Mapping[str, QRectF]:
        """Rectangles of the cards, by key, column by column."""
        made = {}
        for box, column in zip(self._column_rects(), self.picture.columns, strict=True):
            height = (box.height() - GAP * (len(column) - 1)) / len(column)
            for number, card in enumerate(column):
                made[card.key] = QRectF(box.left(), number * (height + GAP), box.width(), height)
        return made

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes, rects = self._column_rects(), self.card_rects()
        for number, text in enumerate(self.picture.ways):
            target = self.picture.columns[number + 1][0]
            self._paint_way(painter, boxes[number].right() + 8, boxes[number + 1].left() - 8, text, target.state)
        for column in self.picture.columns:
            for card in column:
                (self._paint_low if len(column) > 1 else self._paint_high)(painter, card, rects[card.key])
        painter.end()

    def _paint_way(self, painter: QPainter, left: float, right: float, text: str, state: State) -> None:
        colour, y = QColor(self._theme.tokens.state(state)), HEIGHT / 2 + 4
        painter.setPen(QPen(colour, 1.4))
        painter.drawLine(QPointF(left, y), QPointF(right - ARROW, y))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        head = [QPointF(right, y), QPointF(right - ARROW - 2, y - 4), QPointF(right - ARROW - 2, y + 4)]
        painter.drawPolygon(QPolygonF(head))
        box, side = QRectF(left, y - 22, right - left, 18), Qt.AlignmentFlag.AlignHCenter
        paint_line(painter, text, box, text_font(Size.CAPTION), self._theme.tokens.text_2, side=side)

    def _paint_box(self, painter: QPainter, card: BoardCard, rect: QRectF) -> None:
        tokens = self._theme.tokens
        marked = self.is_marked(card.key) or card.key == self._marked
        painter.setPen(QPen(QColor(tokens.accent if marked else tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.selected if card.key == self._marked else tokens.raised))
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)

    def _paint_glyph(self, painter: QPainter, card: BoardCard, left: float, middle: float) -> None:
        size = Size.ICON_BUTTON
        pixmap = icon_pixmap(STATE_GLYPHS[card.state], self._theme.tokens.state(card.state), size, self.devicePixelRatioF())
        painter.drawPixmap(QPointF(left, middle - size / 2), pixmap)

    def _paint_high(self, painter: QPainter, card: BoardCard, rect: QRectF) -> None:
        tokens = self._theme.tokens
        self._paint_box(painter, card, rect)
        stripe = QRectF(rect.left() + 4, rect.top(), rect.width() - 8, STRIPE)
        painter.fillRect(stripe, QColor(tokens.state(card.state)))
        inner = rect.adjusted(12, 10, -10, -8)
        self._paint_glyph(painter, card, inner.left(), inner.top() + 8)
        title = QRectF(inner.left() + 21, inner.top(), inner.width() - 21, 17)
        paint_line(painter, card.title, title, text_font(Size.SECONDARY), tokens.text_2)
        value = QRectF(inner.left(), inner.top() + 18, inner.width(), 24)
        paint_line(painter, card.value, value, text_font(17, QFont.Weight.DemiBold), tokens.text_1)
        fact = QRectF(inner.left(), inner.bottom() - 16, inner.width(), 17)
        paint_line(painter, card.fact, fact, text_font(Size.CAPTION), tokens.text_3)

    def _paint_low(self, painter: QPainter, card: BoardCard, rect: QRectF) -> None:
        tokens, side = self._theme.tokens, Qt.AlignmentFlag.AlignRight
        self._paint_box(painter, card, rect)
        stripe = QRectF(rect.left(), rect.top() + 4, STRIPE, rect.height() - 8)
        painter.fillRect(stripe, QColor(tokens.state(card.state)))
        inner = rect.adjusted(14, 0, -12, 0)
        self._paint_glyph(painter, card, inner.left(), inner.center().y())
        words = inner.adjusted(GLYPH_ROOM, 0, 0, 0)
        title, value, fact = text_font(Size.SECONDARY), text_font(Size.BODY, QFont.Weight.DemiBold), text_font(Size.CAPTION)
        texts = ((title, card.title), (value, card.value), (fact, card.fact))
        # Without room for all three, the fact is left out, because the title is needed to read the figure.
        needed = sum(QFontMetricsF(font).horizontalAdvance(text) for font, text in texts) + 2 * BETWEEN
        if needed <= words.width():
            used = paint_line(painter, card.fact, words, fact, tokens.text_3, side=side)
            words = words.adjusted(0, 0, -used - BETWEEN, 0)
        used = paint_line(painter, card.value, words, value, tokens.text_1, side=side)
        paint_line(painter, card.title, words.adjusted(0, 0, -used - BETWEEN, 0), title, tokens.text_2)
