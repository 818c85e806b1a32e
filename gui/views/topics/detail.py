"""`TopicDetail`: settings, write rate by queue, and groups of the selected topic, beside each other.

`QueueBars`: one bar a queue. Drawn by hand, without pyqtgraph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from gui.models.table import ColumnTableModel
from gui.models.topics import QueueRow, TopicRow, queue_rows, skew, topic_group_rows
from gui.operations.topic_facts import TopicFacts
from gui.plots.value_scale import AXIS_WIDTH, paint_value_axis, round_top
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.views.topics.columns import group_columns, type_text
from gui.views.topics.settings import PERMISSIONS, other_attributes
from gui.widgets.basic import fill, label, row
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import PAIR_HEIGHT, KeyValueList
from gui.widgets.panel import HEAD_HEIGHT, Panel
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language, said, said_button
from gui.words.text import UNKNOWN, QueueText, bytes_text, count_text, duration_text, percent_text, rate_number, rate_text, tr
from monitoring.state import ClusterState

BAR_WIDTH_MAX = 40
BAR_GAP = 5
LABEL_HEIGHT, LABEL_SPACE = 18, 4
VALUE_HEIGHT = 15
"""Above the highest bar, for its rate."""


class QueueBars(Drawn):
    """Rates of the queues of a topic; queues with much more than their share are marked.

    Signals:
        chosen: A bar was clicked; carries the id of its queue.
    """

    chosen = Signal(int)

    def __init__(self, theme: ThemeManager, queue_text: QueueText) -> None:
        super().__init__(theme)
        self._queue_text = queue_text
        self._rates: list[tuple[int, float]] = []
        self._skewed: set[int] = set()
        self.setMinimumHeight(70)
        self.setMouseTracking(True)

    def set_rates(self, rates: Sequence[tuple[int, float]], skewed: Sequence[int] = ()) -> None:
        """Show (queue id, messages/s) pairs; ``skewed`` names the queues to mark."""
        self._rates = list(rates)
        self._skewed = set(skewed)
        self.setAccessibleDescription(", ".join(f"{self._queue_text(queue)}: {rate_text(rate)}" for queue, rate in rates))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, 96)

    def tip_at(self, at: QPointF) -> str:
        hit = self._hit(at)
        return "" if hit is None else tr("Queue {queue}: {rate}", queue=self._queue_text(hit[0]), rate=rate_text(hit[1]))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        is_hit = self._hit(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_hit else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        hit = self._hit(event.position())
        if hit is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(hit[0])

    def bar_rect(self, queue_id: int) -> QRectF:
        """Place of the bar of a queue; null if it has none."""
        places = [self._slot(i) for i, (queue, _rate) in enumerate(self._rates) if queue == queue_id]
        return places[0] if places else QRectF()

    def _hit(self, at: QPointF) -> tuple[int, float] | None:
        return next((pair for i, pair in enumerate(self._rates) if self._slot(i).contains(at)), None)

    @property
    def _step(self) -> float:
        """Px from one bar to the next."""
        room = self.width() - AXIS_WIDTH
        return min((room + BAR_GAP) / max(1, len(self._rates)), (BAR_WIDTH_MAX + BAR_GAP) * 1.0)

    def _slot(self, index: int) -> QRectF:
        step = self._step
        gap = BAR_GAP if step > 3 * BAR_GAP else 1
        return QRectF(
            AXIS_WIDTH + index * step, VALUE_HEIGHT, max(1.0, step - gap), self.height() - LABEL_HEIGHT - VALUE_HEIGHT
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        highest = max((rate for _, rate in self._rates if not math.isnan(rate)), default=0.0)
        top, step = round_top(highest)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(text_font(Size.CAPTION))
        widest = max((QFontMetrics(painter.font()).horizontalAdvance(rate_number(rate)) for _, rate in self._rates), default=0)
        has_values = widest <= self._step  # all or none, because all bars have the same width
        if self._rates:
            slot = self._slot(0)
            plot = QRectF(AXIS_WIDTH, slot.top(), max(1, self.width() - AXIS_WIDTH), slot.height())
            paint_value_axis(painter, plot, top, step, tokens)
        for i, (queue, rate) in enumerate(self._rates):
            slot = self._slot(i)
            if rate > 0:
                height = max(2.0, slot.height() * min(1.0, rate / top))
                colour = tokens.state(State.WARNING) if queue in self._skewed else tokens.accent_fill
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(colour))
                bar = QRectF(slot.left(), slot.bottom() - height, slot.width(), height)
                painter.drawRoundedRect(bar, min(3.0, slot.width() / 4), min(3.0, height / 2))
                if has_values:
                    self._paint_value(painter, bar, rate)
        self._paint_labels(painter)
        painter.end()

    def _paint_value(self, painter: QPainter, bar: QRectF, rate: float) -> None:
        painter.setPen(QColor(self._theme.tokens.text_2))
        box = QRectF(bar.center().x() - 30, bar.top() - VALUE_HEIGHT, 60, VALUE_HEIGHT - 1)
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, rate_number(rate))

    def _paint_labels(self, painter: QPainter) -> None:
        painter.setFont(text_font(Size.CAPTION))
        painter.setPen(QColor(self._theme.tokens.text_3))
        for name, box in self.labels():
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, name)

    def labels(self) -> list[tuple[str, QRectF]]:
        """Names below the bars and their places: of all bars, or of as many as have room."""
        names = [self._queue_text(queue) for queue, _rate in self._rates]
        widest = max(map(QFontMetrics(text_font(Size.CAPTION)).horizontalAdvance, names), default=0) + LABEL_SPACE
        every = max(1, math.ceil(widest / self._step))
        shown = [(name, self._slot(place)) for place, name in enumerate(names) if place % every == 0]
        boxes = [
            (name, QRectF(slot.center().x() - widest / 2, slot.bottom() + 2, widest, LABEL_HEIGHT - 2)) for name, slot in shown
        ]
        # The name of a narrow last bar would be cut.
        return [(name, box) for name, box in boxes if every == 1 or box.right() <= self.width()]


SKEW_WARNING = 1.5
EVEN_UP_TO = 1.2
GROUPS_WIDTH_WITH_CLIENTS = 300
"""Minimum width of the table of groups at which clients are shown."""
PERMISSION_WORDS = {6: "read and write", 4: "read only", 2: "write only", 0: "none"}


def permission_text(permission: int) -> str:
    """A topic's permission in words; the bit for inheriting is left out."""
    return tr(PERMISSION_WORDS.get(permission & 6, "none"))


class TopicDetail(QWidget):
    """The facts of one topic.

    Signals:
        group_wanted: Open a group; carries its name.
    """

    group_wanted = Signal(str)

    def __init__(self, context: PageContext, facts: TopicFacts) -> None:
        super().__init__()
        theme = context.theme
        self._times = context.times
        self._queue_text = context.queue_text
        self._facts = facts
        self._now_ms = 0
        self._is_outside = False
        """Whether the cluster is attached: its brokers report no sizes."""
        self._topic: TopicRow | None = None
        self.settings = KeyValueList()
        self.groups = ColumnTableModel(group_columns(), lambda row: row.name, parent=self)
        self.group_grid = said(
            DataGrid(self.groups, theme, row_height=Size.ROW - 4), empty="No group has a position on this topic."
        )
        self.bars = said(QueueBars(theme, context.queue_text), name="Write rate by queue")
        self.skew_chip = Chip(theme)
        self.bars_note = label(role="secondary", wrap=True)
        self.change_button = said_button(
            theme, "sliders-horizontal", "Change…", role="link", name="Change the settings of the topic"
        )
        self.open_button = said_button(theme, "arrow-right", "Open details", role="link")
        self.settings_panel, self._bars_panel, self._group_panel = self._panels()
        self.setLayout(row((self.settings_panel, 32), (self._bars_panel, 44), (self._group_panel, 34), spacing=Size.GAP))
        self.group_grid.activated.connect(lambda row: self.group_wanted.emit(row.name))
        context.times.changed.connect(self._show_settings)
        facts.changed.connect(self._show_settings)
        said(self._bars_panel, title="Write rate by queue", subtitle="messages/s; a bar opens its messages")
        said(self._group_panel, title="Groups")
        on_language(self, self._show_settings)

    def show_topic(self, topic: TopicRow | None, state: ClusterState | None) -> None:
        """Show a topic of ``state``; None empties the strip."""
        self._topic = None if state is None else topic
        self.setVisible(self._topic is not None)
        if topic is None or state is None:
            self.groups.set_rows([])
            return
        self._now_ms, self._is_outside = state.taken_ms, state.is_from_outside
        self.groups.set_rows(topic_group_rows(state, topic.name))
        self._show_settings()
        self._show_bars(queue_rows(state, topic.name))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.group_grid.set_hidden({"clients"} if self._group_panel.width() < GROUPS_WIDTH_WITH_CLIENTS else set())
        self._show_settings()

    def _panels(self) -> tuple[Panel, Panel, Panel]:
        settings = Panel(" ")
        settings.add_action(self.change_button)
        settings.content.setContentsMargins(12, 0, 12, 4)
        settings.content.addWidget(self.settings)
        bars = Panel(" ")
        bars.add_action(self.skew_chip)
        fill(bars.content, (self.bars, 1), self.bars_note)
        groups = Panel(" ", flush=True)
        groups.add_action(self.open_button)
        groups.content.addWidget(self.group_grid)
        return settings, bars, groups

    def _show_settings(self) -> None:
        """Show the pairs that fit, most important first; the page of the topic has all."""
        topic = self._topic
        if topic is None:
            return
        self.settings_panel.set_title(topic.name, "")
        margins = self.settings_panel.content.contentsMargins()
        room = self.height() - HEAD_HEIGHT - margins.top() - margins.bottom() - 2
        self.settings.set_pairs(self._pairs(topic)[: max(1, room // (PAIR_HEIGHT + 1))])

    def _pairs(self, topic: TopicRow) -> list[tuple[str, str]]:
        settings = self._facts.settings_of(topic.name)
        kind = type_text(self._facts.type_of(topic.name, is_system=topic.is_system))
        others = other_attributes(settings) if settings is not None else ""
        return [
            (tr("Type"), tr("{type}, ordered", type=kind) if settings is not None and settings.order else kind),
            (tr("Queues"), _queues_text(topic)),
            (tr("Permission"), tr(dict(PERMISSIONS).get(topic.permission & 6, ""))),
            *([] if self._is_outside else [(tr("Kept since"), self._kept_since(topic))]),
            (tr("Messages kept"), count_text(topic.kept_messages)),
            *([] if self._is_outside else [(tr("Avg size"), bytes_text(topic.average_bytes))]),
            *([(tr("Other attributes"), others)] if others else []),
        ]

    def _kept_since(self, topic: TopicRow) -> str:
        measure = self._facts.measure_of(topic.name)
        if measure is None or measure.oldest_ms < 0:
            return UNKNOWN
        since, age = self._times.minutes_near(measure.oldest_ms, self._now_ms), duration_text(self._now_ms - measure.oldest_ms)
        return f"{since} ({age})"

    def _show_bars(self, queues: list[QueueRow]) -> None:
        ratio = skew(queues)
        fullest = max(queues, key=lambda queue: queue.messages) if ratio >= SKEW_WARNING else None
        self.bars.set_rates([(queue.queue_id, queue.put_rate) for queue in queues], [fullest.queue_id] if fullest else [])
        self.skew_chip.set(tr("Skew {ratio}×", ratio=f"{ratio:.1f}") if fullest else "", State.WARNING)
        self.bars_note.setText(bars_text(queues, ratio, self._queue_text))
        set_role(self.bars_note, "warning" if fullest else "secondary")


def _queues_text(topic: TopicRow) -> str:
    if topic.write_queues == topic.read_queues:
        return tr("{count} queues", count=count_text(topic.write_queues))
    return tr("{write} write, {read} read queues", write=topic.write_queues, read=topic.read_queues)


def bars_text(queues: list[QueueRow], ratio: float, queue_text: QueueText) -> str:
    """Distribution of the kept messages over the queues, in a sentence."""
    rates = [queue.put_rate for queue in queues if not math.isnan(queue.put_rate)]
    if any(queue.messages < 0 for queue in queues):
        return tr("Not all queues are known, so neither is their balance.")
    if math.isnan(ratio) or (rates and sum(rates) <= 0 and ratio < SKEW_WARNING):
        return _writes_text(queues, rates)
    if ratio < EVEN_UP_TO:
        return tr("The kept messages are spread evenly; the rates are of the last 4 s.")
    fullest = max(queues, key=lambda queue: queue.messages)
    known = [queue.messages for queue in queues if queue.messages >= 0]
    return tr(
        "Queue {queue} holds {share} of the messages against an even share of {even}.",
        queue=queue_text(fullest.queue_id),
        share=_unbroken(percent_text(fullest.messages / sum(known))),
        even=_unbroken(percent_text(1 / len(known))),
    )


def _writes_text(queues: list[QueueRow], rates: list[float]) -> str:
    if not rates:
        return tr("Write rates are not known yet.") if queues else UNKNOWN
    return tr("Nothing is written now.") if sum(rates) <= 0 else ""


def _unbroken(figure: str) -> str:
    """A figure that stays on one line with its unit."""
    return figure.replace(" ", "\u00a0")
