"""`QueueBars`: one bar a queue. Drawn by hand, without pyqtgraph."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.repaint import repaint_with
from gui.words.plain_text import tip_text
from gui.words.text import rate_text, tr

BAR_WIDTH_MAX = 40
BAR_GAP = 5
LABEL_HEIGHT = 18


class QueueBars(QWidget):
    """Rates of the queues of a topic; queues with much more than their share are marked.

    Signals:
        chosen: A bar was clicked; carries the id of its queue.
    """

    chosen = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rates: list[tuple[int, float]] = []
        self._skewed: set[int] = set()
        self.setMinimumHeight(70)
        self.setMouseTracking(True)
        repaint_with(self, theme)

    def set_rates(self, rates: Sequence[tuple[int, float]], skewed: Sequence[int] = ()) -> None:
        """Show (queue id, messages/s) pairs; ``skewed`` names the queues to mark."""
        self._rates = list(rates)
        self._skewed = set(skewed)
        self.setAccessibleDescription(", ".join(f"{queue}: {rate_text(rate)}" for queue, rate in rates))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, 96)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            hit = self._hit(event.pos())
            if hit is not None:
                queue, rate = hit
                QToolTip.showText(
                    event.globalPos(), tip_text(tr("Queue {queue}: {rate}", queue=queue, rate=rate_text(rate))), self
                )
                return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        is_hit = self._hit(event.position().toPoint()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_hit else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        hit = self._hit(event.position().toPoint())
        if hit is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(hit[0])

    def bar_rect(self, queue_id: int) -> QRectF:
        """Place of the bar of a queue; null if it has none."""
        places = [self._slot(i) for i, (queue, _rate) in enumerate(self._rates) if queue == queue_id]
        return places[0] if places else QRectF()

    def _hit(self, at: QPoint) -> tuple[int, float] | None:
        return next((pair for i, pair in enumerate(self._rates) if self._slot(i).contains(QPointF(at))), None)

    def _slot(self, index: int) -> QRectF:
        step = min((self.width() + BAR_GAP) / max(1, len(self._rates)), (BAR_WIDTH_MAX + BAR_GAP) * 1.0)
        gap = BAR_GAP if step > 3 * BAR_GAP else 1
        return QRectF(index * step, 0, max(1.0, step - gap), self.height() - LABEL_HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        known = [rate for _, rate in self._rates if not math.isnan(rate)]
        top = max(known, default=0.0) or 1.0
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for i, (queue, rate) in enumerate(self._rates):
            slot = self._slot(i)
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(slot, 3, 3)
            if rate > 0:
                height = max(2.0, slot.height() * min(1.0, rate / (top * 1.08)))
                colour = tokens.state(State.WARNING) if queue in self._skewed else tokens.accent_fill
                painter.setBrush(QColor(colour))
                painter.drawRoundedRect(QRectF(slot.left(), slot.bottom() - height, slot.width(), height), 3, 3)
        self._paint_labels(painter)
        painter.end()

    def _paint_labels(self, painter: QPainter) -> None:
        font = text_font(Size.CAPTION)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.tokens.text_3))
        widest = QFontMetrics(font).horizontalAdvance("000")
        step = self._slot(0).width() + BAR_GAP if self._rates else 1
        every = max(1, math.ceil(widest / step))
        for i, (queue, _) in enumerate(self._rates):
            if i % every == 0:
                slot = self._slot(i)
                box = QRectF(slot.center().x() - 20, slot.bottom() + 2, 40, LABEL_HEIGHT - 2)
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(queue))
