"""`QueuePages`: the messages of one queue by offset, or of all queues of a topic by time, page by page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    BrowseTopic,
    FindOffset,
    FoundOffset,
    MessagePage,
    TopicPage,
)
from gui.models.consumption import Consumption
from gui.models.messages import ALL_QUEUES, message_rows
from gui.models.queue_window import PAGE_MESSAGES, QueueWindow, TopicSpan, end_of_topic, queue_bounds, topic_span
from gui.models.table import ColumnTableModel
from gui.operations.decoding import ListMasks
from gui.operations.demo import may_offer_demo
from gui.operations.queries import LatestQuery
from gui.theme.tokens import Size
from gui.views.action_dialog import read_only_reason
from gui.views.messages.columns import message_columns
from gui.views.page import PageContext
from gui.widgets.basic import fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said_label
from gui.words.broker_words import broker_words
from gui.words.error_words import error_text
from gui.words.text import count_text, tr
from monitoring.state import ClusterState


class QueuePages(Panel):
    """Reads the shown part of a queue, and knows how many messages were stored since.

    Signals:
        settled: A page was read, and no message of it was requested.
        window_changed: Another part is shown, or the queue has changed; carries the `QueueWindow`, None for all queues.
        span_changed: Another part of all queues is shown; carries the `TopicSpan`.
        newer: So many messages were stored since the page was read.
        send_wanted: Send a message, because there is none.
    """

    settled = Signal()
    window_changed = Signal(object)
    span_changed = Signal(object)
    newer = Signal(int)
    send_wanted = Signal()

    def __init__(self, context: PageContext, masks: ListMasks) -> None:
        super().__init__(flush=True)
        self._source = context.source
        self._masks = masks
        self._consumption = Consumption()
        self._state: ClusterState | None = None
        self.topic = ""
        self.queue = ALL_QUEUES
        self._window: QueueWindow | None = None
        self._read_end = -1
        self.wanted_offset: int | None = None
        """Offset to be selected when it is read."""
        self._page: MessagePage | None = None
        self._page_query: LatestQuery[MessagePage] = LatestQuery(self)
        self._topic_query: LatestQuery[TopicPage] = LatestQuery(self)
        self._span: TopicSpan | None = None
        """Of the shown page of all queues; None: not read."""
        self._shown_from: BrowseTopic | None = None
        """How the page of all queues was read."""
        self._offset_query: LatestQuery[FoundOffset] = LatestQuery(self)
        self.model = ColumnTableModel(
            message_columns(context.times, context.queue_text, self._now_ms, self._consumption),
            lambda message: message.key,
            parent=self,
        )
        self.grid = DataGrid(self.model, context.theme)
        self.foot = label(role="caption")
        self.missing = MissingNote()
        self._keys = said_label("R: resend · Ctrl+C: copy", "caption")
        self.content.setSpacing(0)
        self.content.addWidget(self.grid, 1)
        foot = QWidget()
        foot.setFixedHeight(Size.ROW)
        foot.setLayout(row(self.foot, 1, self._keys, margins=(12, 0, 12, 0)))
        fill(self.content, self.missing, foot)
        masks.changed.connect(self._show_rows)
        on_language(self, self._show_empty, self._show_foot)

    @property
    def follows_end(self) -> bool:
        """Whether a new message would be on the shown page."""
        if self._window is None:
            return self._span is None or not self._span.has_newer
        return not self._window.has_newer

    def take_state(self, state: ClusterState) -> None:
        """Use the figures of the broker; the page itself stays unchanged."""
        self._state = state
        self._consumption.take_state(state)
        self.grid.view.viewport().update()
        if not self.topic:
            self._show_empty()
        end = end_of_topic(state, self.topic, self.queue)
        if self._page_query.waiting or self._topic_query.waiting:
            return
        if self._read_end >= 0 and end >= 0:
            self.newer.emit(max(0, end - self._read_end))
        bounds = queue_bounds(state, self.topic, self.queue) if self._window is not None else None
        if self._window is not None and bounds is not None:
            self._window = self._window.grown(*bounds)
            self.window_changed.emit(self._window)

    def show_queue(self, topic: str, queue_id: int, offset: int | None = None) -> None:
        """Show a queue from an offset on, which is selected, or its newest messages."""
        if (topic, queue_id) != (self.topic, self.queue):
            self._page = None
            self._show_rows()
            self.grid.select_key(None)
        self.topic, self.queue, self.wanted_offset = topic, queue_id, offset
        self._window = self._first_window()
        self._span = self._shown_from = None
        if self._state is not None:
            self.load()

    def go_to(self, window: QueueWindow) -> None:
        """Show another part of the queue."""
        self._window = window
        self.load()

    def show_newest(self) -> None:
        """Show the end of the queue."""
        if self._window is not None:
            self._window = self._window.newest()
        self._shown_from = None
        self.load()

    def turn(self, where: str) -> None:
        """Show the ``older``, ``newer``, ``oldest`` or newest messages of all queues."""
        span, part = self._span, BrowseTopic(self.topic, PAGE_MESSAGES)
        if where == "oldest":
            part = replace(part, newer=True)
        elif where == "older" and span is not None:
            part = replace(part, edge_queue=list(span.first), edge_offset=list(span.first.values()))
        elif where == "newer" and span is not None:
            part = replace(part, edge_queue=list(span.end), edge_offset=list(span.end.values()), newer=True)
        self._shown_from = part
        self.load()

    def go_to_time(self, at_ms: int) -> None:
        """Show the queue from the first message that was stored at a time or later."""
        if self._window is None:
            self._shown_from = BrowseTopic(self.topic, PAGE_MESSAGES, at_ms=at_ms)
            self.load()
            return
        self.grid.set_loading(True)
        pending = self._source.ask(FindOffset(self.topic, self.queue, at_ms))
        self._offset_query.ask(pending, self._offset_found, self._failed)

    def load(self) -> None:
        """Read the shown part again."""
        self.grid.set_loading(True)
        if self.queue == ALL_QUEUES:
            self._page_query.cancel()
            self._load_part(self._shown_from or BrowseTopic(self.topic, PAGE_MESSAGES))
            return
        self._topic_query.cancel()
        start = self._window.start if self._window is not None else 0
        pending = self._source.ask(BrowseQueue(self.topic, self.queue, start, PAGE_MESSAGES))
        self._page_query.ask(pending, self._show_page, self._failed)

    def _load_part(self, asked: BrowseTopic) -> None:
        self._topic_query.ask(self._source.ask(asked), self._show_topic_page, self._failed)

    def _first_window(self) -> QueueWindow | None:
        if self.queue == ALL_QUEUES or self._state is None:
            return None
        wanted = self.wanted_offset
        low, high = queue_bounds(self._state, self.topic, self.queue) or (0, 0)
        window = QueueWindow(low, high if wanted is None else max(high, wanted + 1), low)
        return window.newest() if wanted is None else window.at(wanted)

    def _offset_found(self, found: FoundOffset) -> None:
        if self._window is not None:
            self.wanted_offset = found.offset
            self.go_to(self._window.at(found.offset))

    def _now_ms(self) -> int:
        return self._state.taken_ms if self._state is not None else 0

    def _show_topic_page(self, page: TopicPage) -> None:
        self._span = topic_span(self._state, page)
        self.wanted_offset = None
        self._show_page(page.page)
        self.span_changed.emit(self._span)
        if self._shown_from is not None and self._shown_from.at_ms >= 0 and self.model.rows:
            self.grid.select_key(self.model.rows[-1].key)

    def _show_page(self, page: MessagePage) -> None:
        self.grid.set_loading(False)
        self.grid.set_error("")
        if self._window is not None and page.min_offset >= 0 and page.max_offset >= 0:
            self._window = self._window.grown(page.min_offset, page.max_offset)
        self._read_end = end_of_topic(self._state, self.topic, self.queue) if self._state is not None else -1
        self._page = page
        self._masks.refresh()
        self._show_rows()
        self.window_changed.emit(self._window)
        self.newer.emit(0)
        self._show_empty()
        self._show_foot()
        self._select_wanted()

    def _show_rows(self) -> None:
        page = self._page
        self.model.set_rows(message_rows(page, self._masks.of(page.topic)) if page is not None else [])

    def _select_wanted(self) -> None:
        wanted, self.wanted_offset = self.wanted_offset, None
        if wanted is not None:
            hit = next((message for message in self.model.rows if message.queue_offset == wanted), None)
            if hit is not None:
                self.grid.select_key(hit.key)
                return
        self.settled.emit()

    def _failed(self, error: OrbitError) -> None:
        self.grid.set_loading(False)
        self._page = None
        self._show_rows()
        self._show_foot()
        text = tr("The messages of {topic} were not read.", topic=self.topic)
        self.grid.set_error(text, partial(error_text, error), lambda: tr("Retry"), self.load)

    def _show_empty(self) -> None:
        if self.topic:
            words = tr("Nothing is stored in {topic}.", topic=self.topic)
        elif self._state is not None and self._state.is_blank:
            words = tr("No broker has reported its topics.")
        else:
            may_play = may_offer_demo(self._source)
            words = tr("No topics yet. Send a message or play the demo.") if may_play else tr("No topics yet.")
        may_send = not read_only_reason(self._source)
        self.grid.set_empty(words, tr("Send message…") if may_send else "", self.send_wanted.emit)

    def _show_foot(self) -> None:
        self.missing.say(broker_words(self._page.notice) if self._page is not None else "")
        self.foot.setText(tr("{count} messages, newest first", count=count_text(len(self.model.rows))))
