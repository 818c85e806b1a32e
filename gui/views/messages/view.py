"""The Messages page: search everything, browse a queue by offset or time, read a message, send and resend."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QSizePolicy, QStackedWidget

from broker_core.api import Marks
from broker_core.worker.questions.stored_messages import MessageDetail, SendReceipt
from gui.models.message_ids import id_filter
from gui.models.messages import ALL_QUEUES, MessageRow, busiest_topic
from gui.operations.decoding import ListMasks
from gui.operations.filter_memory import FilterMemory
from gui.operations.known_names import KnownNames
from gui.views.acting import set_acting, unless_refused
from gui.views.action_dialog import read_only_reason
from gui.views.messages.browse_bar import BrowseBar
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.detail import MessageDetailPane
from gui.views.messages.filter_bar import FilterBar
from gui.views.messages.queue_pages import QueuePages
from gui.views.messages.reading import MessageReading
from gui.views.messages.row_menu import Acting, popup_row_menu
from gui.views.messages.search_panel import SearchPanel
from gui.views.messages.search_panels import SearchPanels
from gui.views.messages.sending import SendDialogs
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import on_key
from gui.widgets.containers import PartBar
from gui.widgets.pane_splitter import splitter
from gui.widgets.said import on_language, said_button, say_tabs
from gui.words.text import tr
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

BROWSE, SEARCH = range(2)
"""Parts of the page, in the order of their tabs."""


class MessagesView(PageView):
    """Browses one topic (all its queues by the newest messages, or one queue from end to end), or searches all of them."""

    page_id = "messages"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self.send_button = said_button(theme, "paper-plane-tilt", "Send message…", role="primary", on_click=self.ask_send)
        self.header.add_action(self.send_button)
        self.names = KnownNames(self)
        self.bar = BrowseBar(theme, context.times, FilterMemory(context.settings), context.queue_text)
        self.bar.filter.use_names(self.names)
        self.detail = MessageDetailPane(context)
        self.reading = MessageReading(context.source, self.detail, self)
        self.sending = SendDialogs(context, self, lambda: self.detail.detail)
        self.masks = ListMasks(self.detail.body.book, self)
        self.pages = QueuePages(context, self.masks)
        self.model, self.grid, self.foot = self.pages.model, self.pages.grid, self.pages.foot
        self.tabs = PartBar()
        self._tops, self._tables = QStackedWidget(), QStackedWidget()
        self.panels = SearchPanels(context, self.names, self.masks, self.bar, self.pages)
        self._is_narrowed = False
        for _part in (BROWSE, SEARCH):
            self.tabs.addTab("")
        say_tabs(self.tabs, "Browse", "Search")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.content.addWidget(self.tabs)
        self._tops.addWidget(self.bar)
        self.content.addWidget(self._tops)
        self._tables.addWidget(self.pages)
        split = splitter(Qt.Orientation.Horizontal, (self._tables, 850, 7), (self.detail, 370, 3))
        self.detail.setMinimumWidth(300)
        self.content.addWidget(split, 1)
        self.set_parts(grid=self.grid, find=self._focus_filter, detail=self.detail)
        self._connect()
        on_language(self, self._write_texts)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    @property
    def search(self) -> SearchPanel:
        return self.panels.search

    @property
    def narrowed(self) -> SearchPanel:
        """The part that browses with a filter."""
        return self.panels.narrowed

    @property
    def _hits(self) -> SearchPanel | None:
        """The shown hits; None while a page of a queue is shown."""
        if self.tabs.currentIndex() == SEARCH:
            return self.search
        return self.narrowed if self._is_narrowed else None

    def tab_title(self) -> str:
        if self.tabs.currentIndex() == SEARCH and self.search.run.text:
            return tr("Messages: {topic}", topic=" ".join(self.search.run.text.split()))
        return tr("Messages: {topic}", topic=self.pages.topic) if self.pages.topic else self.page_title

    def gone(self) -> str:
        topic = self.pages.topic
        is_gone = topic and self._state is not None and self._state.lacks_topic(topic)
        return tr("Topic {topic} is gone.", topic=topic) if is_gone else ""

    def open(self, arguments: PageArguments) -> None:
        topic, queue, offset = arguments.get("topic"), arguments.get("queue"), arguments.get("offset")
        if isinstance(topic, str) and topic:
            queue_id = queue if isinstance(queue, int) else ALL_QUEUES
            self._show_place(topic, queue_id, offset if isinstance(offset, int) and queue_id >= 0 else None)
        message_id = arguments.get("message_id")
        if isinstance(message_id, str) and message_id:
            self.open_by_id(message_id)
        physical_offset = arguments.get("physical_offset")
        if isinstance(physical_offset, int) and physical_offset >= 0:
            self.grid.select_key(None)
            self.reading.read_place(physical_offset)
        is_plan = isinstance(arguments.get("plan"), str)
        filter_text = arguments.get("plan" if is_plan else "filter")
        if isinstance(filter_text, str) or arguments.get("show") == "search":
            self.tabs.setCurrentIndex(SEARCH)
        if isinstance(filter_text, str) and filter_text:
            self._search_for(filter_text, plan_only=is_plan)
        if arguments.get("send"):
            unless_refused(self.context, self.ask_send)()

    def state_changed(self, state: ClusterState) -> None:
        first = self._state is None
        self._state = self.sending.state = state
        self.bar.show_choices(state)
        self.names.take_state(state)
        self.panels.take_state(state)
        self.pages.take_state(state)
        if not self.pages.topic:
            topic = busiest_topic(state)
            if topic:
                self._show_queue(topic, ALL_QUEUES)
        elif first:
            self._show_queue(self.pages.topic, self.pages.queue, self.pages.wanted_offset)
        self._show_facts()

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY and self.pages.topic:
            self.refresh()

    def refresh(self) -> None:
        if self.pages.topic:
            self.pages.load()

    def _focus_filter(self) -> None:
        if self.tabs.currentIndex() == SEARCH:
            self.search.focus()
            return
        self.bar.filter.focus()

    def _write_texts(self) -> None:
        set_acting(self.send_button, read_only_reason(self.context.source))
        self._show_facts()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_send(self) -> ComposeDialog:
        return self.sending.send(self.pages.topic)

    def open_by_id(self, message_id: str) -> None:
        """Read the message of an offset message ID, or find those of a unique ID."""
        self.grid.select_key(None)
        self.reading.read_id(message_id)

    def _search_for(self, filter_text: str, *, plan_only: bool = False) -> None:
        self.tabs.setCurrentIndex(SEARCH)
        self.search.bar.set_text(filter_text)
        self.search.bar.submit(plan_only=plan_only)

    def _message_sent(self, topic: str, _sent: SendReceipt | int) -> None:
        if topic == self.pages.topic and self.pages.follows_end:
            self.pages.show_newest()

    def _show_sent(self, topic: str, receipt: SendReceipt) -> None:
        self._show_place(topic, receipt.queue_id, receipt.queue_offset)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._show_part)
        self.bar.queue_chosen.connect(self._queue_chosen)
        self.bar.window_chosen.connect(self.pages.go_to)
        self.bar.page_wanted.connect(self.pages.turn)
        self.bar.time_chosen.connect(self.pages.go_to_time)
        self.bar.id_chosen.connect(self.open_by_id)
        self.bar.new_wanted.connect(self.pages.show_newest)
        self.bar.filter.submitted.connect(self._narrow)
        self.bar.filter.plan_wanted.connect(partial(self._narrow, plan_only=True))
        self.bar.filter.edited.connect(self._filter_edited)
        self.grid.selected.connect(self._row_selected)
        self.pages.settled.connect(self._page_settled)
        self.pages.window_changed.connect(self.bar.show_window)
        self.pages.span_changed.connect(self.bar.show_span)
        self.pages.newer.connect(self.bar.show_new)
        self.pages.send_wanted.connect(self.ask_send)
        self.grid.menu_asked.connect(self._open_menu)
        self.grid.activated.connect(self._open_life)
        self.detail.resend_button.clicked.connect(self.sending.resend_shown)
        self.panels.search_made.connect(self._tops.addWidget)
        self.panels.made.connect(self._panel_made)
        self.reading.hit_read.connect(self._hit_read)
        self.reading.unique_wanted.connect(lambda message_id: self._search_for(id_filter(message_id)))
        self.sending.sent.connect(self._message_sent)
        self.sending.shown_wanted.connect(self._show_sent)
        on_key(self.grid, "R", unless_refused(self.context, self.sending.resend_shown))
        self.context.times.changed.connect(self._zone_changed)

    def _panel_made(self, panel: SearchPanel) -> None:
        self._tables.addWidget(panel.table)
        panel.grid.selected.connect(self._hit_selected)
        panel.browse_wanted.connect(self._browse_hit)

    def _show_part(self, part: int) -> None:
        if part == SEARCH:
            self._carry(self.bar.filter, self.search.bar)
            self.search.focus()
        elif self.panels.has_search:
            self._carry(self.search.bar, self.bar.filter)
        self._tops.setCurrentIndex(part)
        for place in range(self._tops.count()):
            # A hidden part takes no height.
            policy = QSizePolicy.Policy.Preferred if place == part else QSizePolicy.Policy.Ignored
            widget = self._tops.widget(place)
            if widget is not None:
                widget.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        self._show_table()

    def _show_table(self) -> None:
        """Show the rows of the part, and its selected message."""
        hits = self._hits
        self._tables.setCurrentWidget(self.pages if hits is None else hits.table)
        self.detail.body.set_marks(Marks() if hits is None else hits.marks)
        self._show_facts()
        self._read_selected(self.grid.selected_row if hits is None else hits.grid.selected_row)
        self.title_changed.emit(self.tab_title())

    @staticmethod
    def _carry(left: FilterBar, entered: FilterBar) -> None:
        """Copy the filter of one part into the other, if that is empty."""
        if left.text and not entered.text:
            entered.set_text(left.text)

    def _read_selected(self, message: MessageRow | None) -> None:
        """Show the selected message of the visible part."""
        self.reading.forget()
        if message is None:
            self.detail.show_nothing()
        elif self._hits is not None:
            self._hit_selected(message)
        else:
            self._row_selected(message)

    # ---- which part of which queue -------------------------------------------------------------------------------------

    def _queue_chosen(self, topic: str, queue_id: int) -> None:
        self._show_queue(topic, queue_id)
        if self._is_narrowed:
            self.narrowed.search(self.bar.filter.text)
        self.place_changed.emit({"topic": topic, "queue": queue_id})

    def _show_place(self, topic: str, queue_id: int, offset: int | None) -> None:
        """Browse without a filter, so that the message at the offset is visible."""
        self.bar.filter.set_text("")
        self._narrow("")
        self._show_queue(topic, queue_id, offset)

    def _show_queue(self, topic: str, queue_id: int, offset: int | None = None) -> None:
        if (topic, queue_id) != (self.pages.topic, self.pages.queue):
            self.reading.forget_row()
            self.detail.show_nothing()
        self.bar.choose(self._state, topic, queue_id)
        self.pages.show_queue(topic, queue_id, offset)
        self.title_changed.emit(self.tab_title())
        self._show_facts()

    def _page_settled(self) -> None:
        if self.reading.is_idle:
            self.grid.select_first()

    # ---- one message ---------------------------------------------------------------------------------------------------

    def _row_selected(self, message: MessageRow | None) -> None:
        if message is not None:
            self.reading.read_row(message)

    def _hit_selected(self, hit: MessageRow | None) -> None:
        if hit is not None:
            self.reading.read_hit(hit)
        self.title_changed.emit(self.tab_title())

    def _hit_read(self, detail: MessageDetail) -> None:
        if self._hits is not None:
            self.detail.body.set_marks(self._hits.marks)
        self.names.add_properties(detail.properties)

    def _browse_hit(self, hit: MessageRow) -> None:
        self.tabs.setCurrentIndex(BROWSE)
        self._show_place(hit.topic, hit.queue_id, hit.queue_offset)

    def _open_menu(self, message: MessageRow, at: QPoint) -> None:
        refusal = read_only_reason(self.context.source)
        queue, offset = message.queue_id, message.queue_offset
        browse = tr("Browse queue {queue} from here", queue=self.context.queue_text(queue))
        actions = (
            Acting(tr("Resend…"), self.sending.resend_shown, refusal),
            (tr("Life line"), lambda: self._open_life(message)),
            Acting(tr("Give to one consumer…"), self.sending.hand_shown, refusal),
            (browse, lambda: self._show_queue(self.pages.topic, queue, offset)),
        )
        popup_row_menu(self.grid, message, actions, at)

    def _open_life(self, message: MessageRow) -> None:
        self.context.navigate("message", physical_offset=message.physical_offset)

    # ---- filter and texts ----------------------------------------------------------------------------------------------

    def _narrow(self, text: str, *, plan_only: bool = False) -> None:
        """Browse only what passes a filter; empty: page by page again."""
        if text and not self.pages.topic:
            return
        was_narrowed, self._is_narrowed = self._is_narrowed, bool(text)
        if text:
            self.narrowed.search(text, plan_only=plan_only)
        else:
            self.panels.end_narrowed()
        self.bar.show_search(shown=self._is_narrowed)
        if was_narrowed != self._is_narrowed:
            self._show_table()

    def _filter_edited(self, text: str) -> None:
        if not text and self._is_narrowed:
            self._narrow("")

    def _zone_changed(self) -> None:
        self.model.all_texts_changed()
        if self.detail.detail is not None:
            self.detail.show_message(self.detail.detail)

    def _show_facts(self) -> None:
        if self.tabs.currentIndex() == SEARCH:
            self.header.set_facts(tr("everything that is stored"))
        elif not self.pages.topic:
            self.header.set_facts("")
        elif self.pages.queue == ALL_QUEUES:
            self.header.set_facts(tr("{topic}, all queues", topic=self.pages.topic))
        else:
            queue = self.context.queue_text(self.pages.queue)
            self.header.set_facts(tr("{topic}, queue {queue}", topic=self.pages.topic, queue=queue))
