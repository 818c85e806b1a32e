"""`OwnershipStrip`: which client owned which queue when, one colour a client. Drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.plots.chart_link import Span, TimePlot
from gui.plots.heat_map import LABEL_GAP, paint_row_labels
from gui.plots.value_scale import AXIS_HEIGHT, paint_time_axis
from gui.theme.fonts import mono_font, text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, mix
from gui.widgets.repaint import Drawn
from gui.words.text import QueueText, TimeZoneChoice, duration_text, tr

ROW_HEIGHT_MIN, ROW_HEIGHT_MAX = 6, 32
LEGEND_HEIGHT = 20
LEGEND_MAX = 8


@dataclass(frozen=True, slots=True)
class OwnedStretch:
    """A queue, by the number of its row, owned by a client for a time."""

    row: int
    from_ms: int
    to_ms: int
    client: str


@dataclass(frozen=True, slots=True)
class OwnershipPicture:
    """Content of the strip. ``marks`` are the times of rebalances, ms."""

    rows: tuple[str, ...] = ()
    stretches: tuple[OwnedStretch, ...] = ()
    from_ms: int = 0
    to_ms: int = 0
    marks: tuple[int, ...] = ()

    @property
    def clients(self) -> list[str]:
        """In the order of their names."""
        return sorted({stretch.client for stretch in self.stretches})


class OwnershipStrip(TimePlot, Drawn):
    """Rows are queues, time runs to the right; unowned and unrecorded times are empty."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__(theme, times=times)
        self._times = times
        self.picture = OwnershipPicture()
        self.setMinimumHeight(90)

    def set_picture(self, picture: OwnershipPicture) -> None:
        if picture == self.picture:
            return
        self.picture = picture
        now = [
            stretch for stretch in picture.stretches if stretch.to_ms >= picture.to_ms - (picture.to_ms - picture.from_ms) // 50
        ]
        self.setAccessibleDescription("; ".join(f"{picture.rows[one.row]}: {one.client}" for one in now[:60]))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(420, LEGEND_HEIGHT + AXIS_HEIGHT + 14 * max(4, len(self.picture.rows)))

    def colour_of(self, client: str) -> str:
        clients, tokens = self.picture.clients, self._theme.tokens
        number = clients.index(client)
        colour = tokens.series[number % len(tokens.series)]
        # The second round through the colours is paler.
        return mix(colour, tokens.panel, 82 if number < len(tokens.series) else 45)

    def _cells(self) -> QRectF:
        metrics = QFontMetrics(text_font(Size.CAPTION))
        left = max((metrics.horizontalAdvance(text) for text in self.picture.rows), default=0) + LABEL_GAP
        rows = max(1, len(self.picture.rows))
        room = self.height() - LEGEND_HEIGHT - AXIS_HEIGHT
        height = min(room, rows * ROW_HEIGHT_MAX)
        return QRectF(left, LEGEND_HEIGHT, max(1, self.width() - left), max(1, height))

    def _rect(self, stretch: OwnedStretch, cells: QRectF) -> QRectF:
        picture = self.picture
        span, height = max(1, picture.to_ms - picture.from_ms), cells.height() / max(1, len(picture.rows))
        left = cells.left() + (max(stretch.from_ms, picture.from_ms) - picture.from_ms) / span * cells.width()
        right = cells.left() + (min(stretch.to_ms, picture.to_ms) - picture.from_ms) / span * cells.width()
        gap = 1 if height >= ROW_HEIGHT_MIN else 0
        return QRectF(left, cells.top() + stretch.row * height, max(1.0, right - left), max(1.0, height - gap))

    # ---- TimePlot ------------------------------------------------------------------------------------------------------

    def surface(self) -> QWidget:
        return self

    def inside(self) -> QRectF:
        return self._cells()

    def top_right(self) -> QPointF:
        return QPointF(self.width(), 0)  # beside the legend

    def span_s(self) -> Span:
        return self.picture.from_ms / 1_000, self.picture.to_ms / 1_000

    # ---- stretches -----------------------------------------------------------------------------------------------------

    def tip_at(self, at: QPointF) -> str:
        cells = self._cells()
        hit = next((one for one in self.picture.stretches if self._rect(one, cells).contains(at)), None)
        return "" if hit is None else self.stretch_text(hit)

    def stretch_text(self, stretch: OwnedStretch) -> str:
        begin, end = self._times.seconds(stretch.from_ms), self._times.seconds(stretch.to_ms)
        span = duration_text(stretch.to_ms - stretch.from_ms)
        return "\n".join([
            self.picture.rows[stretch.row], stretch.client, tr("{begin} to {end}, {span}", begin=begin, end=end, span=span)
        ])  # fmt: skip

    # ---- paint ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens, picture, cells = self._theme.tokens, self.picture, self._cells()
        painter = QPainter(self)
        painter.fillRect(cells, QColor(tokens.inset))
        colours = {client: QColor(self.colour_of(client)) for client in picture.clients}
        for stretch in picture.stretches:
            painter.fillRect(self._rect(stretch, cells), colours[stretch.client])
        painter.setPen(QPen(QColor(tokens.checking), 1, Qt.PenStyle.DotLine))
        span = max(1, picture.to_ms - picture.from_ms)
        for mark_ms in picture.marks:
            if picture.from_ms <= mark_ms <= picture.to_ms:
                x = cells.left() + (mark_ms - picture.from_ms) / span * cells.width()
                painter.drawLine(QPointF(x, cells.top() - 3), QPointF(x, cells.bottom()))
        paint_row_labels(painter, cells, picture.rows, tokens.text_3)
        self._paint_legend(painter)
        if picture.to_ms:
            paint_time_axis(painter, cells, (picture.from_ms / 1_000, picture.to_ms / 1_000), self._times, tokens.text_3)
        painter.end()

    def _paint_legend(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        painter.setFont(mono_font())
        left = 0.0
        clients = self.picture.clients
        room = self.width() / max(1, min(len(clients), LEGEND_MAX)) - 22
        for client in clients[:LEGEND_MAX]:
            text = painter.fontMetrics().elidedText(client, Qt.TextElideMode.ElideMiddle, int(max(30.0, room)))
            painter.fillRect(QRectF(left, 4, 9, 9), QColor(self.colour_of(client)))
            painter.setPen(QColor(tokens.text_2))
            painter.drawText(QRectF(left + 13, 0, self.width(), 16), Qt.AlignmentFlag.AlignVCenter, text)
            left += 13 + painter.fontMetrics().horizontalAdvance(text) + 14
        if len(clients) > LEGEND_MAX:
            painter.setPen(QColor(tokens.text_3))
            more = tr("and {count} more", count=len(clients) - LEGEND_MAX)
            painter.drawText(QRectF(left, 0, self.width(), 16), Qt.AlignmentFlag.AlignVCenter, more)


def rows_of(places: Sequence[tuple[str, int]], queue_text: QueueText) -> tuple[str, ...]:
    """Names of the rows: the queue alone where all are of one topic."""
    several = len({topic for topic, _ in places}) > 1
    return tuple(f"{topic} {queue_text(queue_id)}" if several else queue_text(queue_id) for topic, queue_id in places)
