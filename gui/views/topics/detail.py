"""`TopicDetail`: queues, write rate by queue, and groups of the selected topic, beside each other."""

from __future__ import annotations

import math

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.models.table import ColumnTableModel
from gui.models.topics import QueueRow, TopicGroupRow, TopicRow, queue_rows, skew, topic_group_rows
from gui.plots.queue_bars import QueueBars
from gui.text import UNKNOWN, bytes_text, count_text, percent_text, tr
from gui.theme.style import set_role
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.views.topics.columns import group_columns, queue_columns
from gui.widgets.basic import IconButton, label
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from monitoring.state import ClusterState

SKEW_WARNING = 1.5
EVEN_UP_TO = 1.2
WIDTHS_OF_ALL_COLUMNS = {"min": 520, "messages": 430}
"""Below this width of the queue table a column is left out."""
GROUPS_WIDTH_WITH_CLIENTS = 300
"""Below this width of the table of groups its clients are left out."""
PERMISSION_WORDS = {6: "read and write", 4: "read only", 2: "write only", 0: "none"}


def permission_text(permission: int) -> str:
    """A topic's permission in words; the bit for inheriting is left out."""
    return tr(PERMISSION_WORDS.get(permission & 6, "none"))


class TopicDetail(QWidget):
    """What the page says about one topic.

    Signals:
        queue_wanted: Browse a queue; carries its id.
        messages_wanted: Browse the topic.
        group_wanted: Open a group; carries its name.
        opened: Open the page of the topic.
    """

    queue_wanted = Signal(int)
    messages_wanted = Signal()
    group_wanted = Signal(str)
    opened = Signal()

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        theme = context.theme
        self._now_ms = 0
        self._topic = ""
        self.queues: ColumnTableModel[QueueRow] = ColumnTableModel(
            queue_columns(context.times, lambda: self._now_ms), lambda row: row.queue_id, parent=self
        )
        self.groups: ColumnTableModel[TopicGroupRow] = ColumnTableModel(group_columns(), lambda row: row.name, parent=self)
        self.queue_grid = DataGrid(self.queues, theme, row_height=Size.ROW - 4)
        self.group_grid = DataGrid(self.groups, theme, row_height=Size.ROW - 4)
        self.bars = QueueBars(theme)
        self.skew_chip = Chip(theme)
        self.bars_note = label(role="secondary", wrap=True)
        self._browse = IconButton(theme, "envelope-simple", " ", role="link", on_click=self.messages_wanted.emit)
        self._open = IconButton(theme, "arrow-right", " ", role="link", on_click=self.opened.emit)
        self._queue_panel, self._bars_panel, self._group_panel = self._panels()
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Size.GAP)
        line.addWidget(self._queue_panel, 50)
        line.addWidget(self._bars_panel, 31)
        line.addWidget(self._group_panel, 31)
        self.queue_grid.activated.connect(lambda row: self.queue_wanted.emit(row.queue_id))
        self.group_grid.activated.connect(lambda row: self.group_wanted.emit(row.name))
        context.times.changed.connect(self.queues.all_texts_changed)
        self.retranslate()

    def show_topic(self, topic: TopicRow | None, state: ClusterState | None) -> None:
        """Show a topic as it is in ``state``; None empties the strip."""
        if topic is None or state is None:
            self._topic = ""
            self.queues.set_rows([])
            self.groups.set_rows([])
            self.setVisible(False)
            return
        self.setVisible(True)
        self._now_ms = state.taken_ms
        if topic.name != self._topic:
            self._topic = topic.name
            self.queue_grid.select_key(None)
        queues = queue_rows(state, topic.name)
        self.queues.set_rows(queues)
        self.groups.set_rows(topic_group_rows(state, topic.name))
        self._queue_panel.set_title(topic.name, self._facts(topic))
        self._show_bars(queues)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._leave_out_columns()

    def retranslate(self) -> None:
        """Write all texts anew; figures follow with the next state."""
        self._browse.setText(tr("Browse messages"))
        self._open.setText(tr("Open details"))
        self._bars_panel.set_title(tr("Write rate by queue"), tr("messages/s"))
        self._group_panel.set_title(tr("Groups"))
        self.group_grid.set_empty(tr("No group has a position on this topic."))
        self.queue_grid.set_empty(tr("This topic has no queues on this broker."))

    def _panels(self) -> tuple[Panel, Panel, Panel]:
        queues = Panel(" ", flush=True)
        queues.add_action(self._browse)
        queues.content.addWidget(self.queue_grid)
        bars = Panel(" ")
        bars.add_action(self.skew_chip)
        bars.content.addWidget(self.bars, 1)
        bars.content.addWidget(self.bars_note)
        groups = Panel(" ", flush=True)
        groups.add_action(self._open)
        groups.content.addWidget(self.group_grid)
        return queues, bars, groups

    @staticmethod
    def _facts(topic: TopicRow) -> str:
        facts = [
            _queues_text(topic),
            permission_text(topic.permission),
            tr("{count} kept", count=count_text(topic.kept_messages)),
        ]
        if not math.isnan(topic.average_bytes):
            facts.append(tr("avg {size}", size=bytes_text(topic.average_bytes)))
        return ", ".join(facts)

    def _show_bars(self, queues: list[QueueRow]) -> None:
        ratio = skew(queues)
        fullest = max(queues, key=lambda queue: queue.messages) if ratio >= SKEW_WARNING else None
        self.bars.set_rates([(queue.queue_id, queue.put_rate) for queue in queues], [fullest.queue_id] if fullest else [])
        self.skew_chip.set(tr("Skew {ratio}×", ratio=f"{ratio:.1f}") if fullest else "", State.WARNING)
        self.bars_note.setText(bars_text(queues, ratio))
        set_role(self.bars_note, "warning" if fullest else "secondary")

    def _leave_out_columns(self) -> None:
        """Narrow tables show fewer columns instead of a scroll bar."""
        width = self._queue_panel.width()
        self.queue_grid.set_hidden({key for key, least in WIDTHS_OF_ALL_COLUMNS.items() if width < least})
        self.group_grid.set_hidden({"clients"} if self._group_panel.width() < GROUPS_WIDTH_WITH_CLIENTS else set())


def _queues_text(topic: TopicRow) -> str:
    if topic.write_queues == topic.read_queues:
        return tr("{count} queues", count=topic.write_queues)
    return tr("{write} write, {read} read queues", write=topic.write_queues, read=topic.read_queues)


def bars_text(queues: list[QueueRow], ratio: float) -> str:
    """What the messages of the queues say about skew, in a sentence."""
    rates = [queue.put_rate for queue in queues if not math.isnan(queue.put_rate)]
    if math.isnan(ratio) or (rates and sum(rates) <= 0 and ratio < SKEW_WARNING):
        return _writes_text(queues, rates)
    if ratio < EVEN_UP_TO:
        return tr("The kept messages are spread evenly.")
    fullest = max(queues, key=lambda queue: queue.messages)
    known = [queue.messages for queue in queues if queue.messages >= 0]
    return tr(
        "Queue {queue} holds {share} of the messages against an even share of {even}.",
        queue=fullest.queue_id,
        share=_unbroken(percent_text(fullest.messages / sum(known))),
        even=_unbroken(percent_text(1 / len(known))),
    )


def _writes_text(queues: list[QueueRow], rates: list[float]) -> str:
    if not rates:
        return tr("Write rates are not known yet.") if queues else UNKNOWN
    return tr("Nothing is written now.") if sum(rates) <= 0 else ""


def _unbroken(figure: str) -> str:
    """A figure that keeps its unit on the same line."""
    return figure.replace(" ", "\u00a0")
