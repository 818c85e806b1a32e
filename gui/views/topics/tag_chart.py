"""`TagChart`: messages into a topic by tag, as stacked bars over time.

`LayerLegend`: names, colours and values of the layers of a bar chart, in one line. Drawn by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.models.tag_parts import NO_TAG, OTHERS, TagLayer, mean_rates, part_length_ms, part_starts, tag_layers
from gui.models.topics import queue_rows
from gui.operations.history import ChartHistory
from gui.operations.tag_looks import MESSAGES_A_LOOK, QUEUES_A_PART, TagLooks
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column
from gui.widgets.panel import TERM
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language, said
from gui.words.plain_text import tip_text
from gui.words.text import count_text, rate_text, tr
from monitoring.state import ClusterState

DASH, DASH_GAP, VALUE_GAP, ENTRY_GAP = 8, 6, 6, 14
NAME_WIDTH_MAX = 110


class LayerLegend(Drawn):
    """Shows the first entries that fit; its tip has all of them."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self._entries: Sequence[tuple[str, str, str]] = ()
        self._name_font = text_font(Size.SECONDARY)
        self._value_font = text_font(Size.SECONDARY, QFont.Weight.DemiBold)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def set_entries(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Show entries: name, value, and colour as ``#rrggbb``."""
        if list(entries) != list(self._entries):
            self._entries = list(entries)
            words = "\n".join(f"{name}: {value}" for name, value, _colour in entries)
            self.setToolTip(tip_text(words))
            self.setAccessibleDescription(words.replace("\n", ", "))
            self.updateGeometry()
            self.update()

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Names and values, also those without room."""
        return [(name, value) for name, value, _colour in self._entries]

    def sizeHint(self) -> QSize:
        width = sum(self._width(name, value) for name, value, _colour in self._entries)
        return QSize(width + ENTRY_GAP * max(0, len(self._entries) - 1), 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 20)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        left = 0
        for name, value, colour in self._entries:
            width = self._width(name, value)
            if left + width > self.width():
                break
            painter.fillRect(QRectF(left, self.height() / 2 - 1.5, DASH, 3), QColor(colour))
            at = left + DASH + DASH_GAP
            at += self._paint(painter, at, self._shown(name), self._name_font, tokens.text_2) + VALUE_GAP
            self._paint(painter, at, value, self._value_font, tokens.text_1)
            left += width + ENTRY_GAP
        painter.end()

    def _paint(self, painter: QPainter, left: int, text: str, font: QFont, colour: str) -> int:
        width = QFontMetrics(font).horizontalAdvance(text)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(QRectF(left, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, text)
        return width

    def _shown(self, name: str) -> str:
        return QFontMetrics(self._name_font).elidedText(name, Qt.TextElideMode.ElideMiddle, NAME_WIDTH_MAX)

    def _width(self, name: str, value: str) -> int:
        names = QFontMetrics(self._name_font).horizontalAdvance(self._shown(name))
        return DASH + DASH_GAP + names + VALUE_GAP + QFontMetrics(self._value_font).horizontalAdvance(value)


OTHERS_SERIES = 6
"""The colour that is always "other"."""


class TagChart(QWidget):
    """Bars, and below them the basis of the estimate."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context = context
        self._shown: tuple[str, ClusterState, int, int] | None = None
        self._starts: list[int] = []
        self._step_ms = 0
        self.looks = TagLooks(context.source, self)
        self._lines = ChartHistory(context.source, context.history, self)
        self.bars = said(StackedBars(context.theme, context.times, value_text=rate_text), name="Messages in by tag")
        self.setProperty(TERM, "Messages in by tag")
        self.legend = LayerLegend(context.theme)
        self.note = ElidedLabel(role="caption")
        self.setLayout(column((self.bars, 1), self.note, spacing=4))
        self.looks.arrived.connect(self._draw)
        self._lines.arrived.connect(self._draw)
        context.times.changed.connect(self._draw)
        context.theme.changed.connect(self._restyle)
        on_language(self, self._draw)

    def show_topic(self, topic: str, state: ClusterState, from_ms: int, to_ms: int) -> None:
        """Show a time of a topic; unknown parts are read."""
        if self._shown is not None and self._shown[0] != topic:
            self.legend.set_entries([])
        self._shown = (topic, state, from_ms, to_ms)
        self._step_ms, self._starts = part_length_ms(from_ms, to_ms), part_starts(from_ms, to_ms)
        queues = [queue.queue_id for queue in queue_rows(state, topic) if queue.messages]
        self.looks.show(topic, queues, self._starts, self._step_ms, state.taken_ms)
        self._draw()

    @property
    def layers(self) -> list[TagLayer]:
        if self._shown is None:
            return []
        topic, _state, from_ms, to_ms = self._shown
        name = f"topic:{topic}.put_rate"
        seconds, values = self._lines.lines([name], from_ms, to_ms)[name]
        return tag_layers(self.looks.looks, self._starts, mean_rates(seconds, values, self._starts, self._step_ms))

    def _draw(self) -> None:
        if self._shown is None:
            return
        layers, times = self.layers, self._context.times
        form = "%m-%d %H:%M" if self._step_ms >= 3_600_000 else "%H:%M" if self._step_ms >= 60_000 else "%H:%M:%S"
        labels = [times.moment(start).strftime(form) for start in self._starts]
        places = [OTHERS_SERIES if layer.tag == OTHERS else place for place, layer in enumerate(layers)]
        bars = [BarLayer(_name(layer.tag), layer.rates, series=place) for place, layer in zip(places, layers, strict=True)]
        begin_ms, end_ms = (self._starts[0], self._starts[-1] + self._step_ms) if self._starts else (0, 0)
        self.bars.set_bars(labels, bars, (begin_ms / 1_000, end_ms / 1_000))
        tokens = self._context.theme.tokens
        self.legend.set_entries([
            (bar.title, rate_text(_newest(layer)), bar.colour(tokens)) for bar, layer in zip(bars, layers, strict=True)
        ])  # fmt: skip
        self.note.setText(self._words())

    def _words(self) -> str:
        if self.looks.fault:
            return tr("The messages were not read: {reason}", reason=self.looks.fault.replace("\n", " "))
        if self._lines.fault:
            return self._lines.fault
        if self.looks.is_busy and not self.looks.looks:
            return tr("Reading…")
        return tr(
            "Estimated from the first {count} messages of up to {queues} queues in each bar; no broker counts tags.",
            count=count_text(MESSAGES_A_LOOK),
            queues=QUEUES_A_PART,
        )

    def _restyle(self, _tokens: object) -> None:
        self._draw()


def _name(tag: str) -> str:
    return {NO_TAG: tr("no tag"), OTHERS: tr("other tags")}.get(tag, tag)


def _newest(layer: TagLayer) -> float:
    """The last known rate."""
    return next((rate for rate in reversed(layer.rates) if not math.isnan(rate)), math.nan)
