"""The Messages page: search everything, browse a queue by offset or time, read a message, send and resend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QSizePolicy, QSplitter, QStackedWidget, QWidget

from broker_core.api import FoundOffset, Marks, MessageDetail, MessagePage, OrbitError, SendReceipt
from gui.models.filter_text import quoted
from gui.models.message_ids import id_filter, is_message_id
from gui.models.messages import (
    ALL_QUEUES,
    PAGE_MESSAGES,
    MessageRow,
    QueueWindow,
    busiest_topic,
    end_of_topic,
    message_rows,
    queue_bounds,
)
from gui.models.table import ColumnTableModel
from gui.operations.decoding import ListMasks
from gui.operations.filter_memory import FilterMemory
from gui.operations.known_names import KnownNames
from gui.operations.queries import LatestQuery
from gui.text import count_text, tr
from gui.theme.tokens import Size
from gui.views.messages.browse_bar import BrowseBar
from gui.views.messages.columns import message_columns
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.detail import MessageDetailPane
from gui.views.messages.filter_bar import FilterBar
from gui.views.messages.hand_dialog import HandDialog
from gui.views.messages.search_panel import SearchPanel
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import IconButton, label, row
from gui.widgets.containers import PartBar
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.panel import Panel
from monitoring.sources.base import Pending, SourceStatus
from monitoring.state import ClusterState

TITLE_CHARACTERS_MAX = 40
BROWSE, SEARCH = range(2)
"""Parts of the page, in the order of their tabs."""


class MessagesView(PageView):
    """Browses one topic (all its queues by the newest messages, or one queue from end to end), or searches all of them."""

    page_id = "messages"
    title = "Messages"
    icon = "envelope-simple"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self._state: ClusterState | None = None
        self._topic = ""
        self._queue = ALL_QUEUES
        self._window: QueueWindow | None = None
        self._read_end = -1
        self._wanted_offset: int | None = None
        self._read_key: tuple[int, int] | None = None
        self._page_query: LatestQuery[MessagePage] = LatestQuery(self)
        self._offset_query: LatestQuery[FoundOffset] = LatestQuery(self)
        self._detail_query: LatestQuery[MessageDetail] = LatestQuery(self)
        self.send_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._send_clicked)
        self.header.add_action(self.send_button)
        self.names = KnownNames(self)
        self.bar = BrowseBar(theme, context.times, FilterMemory(context.settings, self))
        self.bar.filter.use_names(self.names)
        self.model: ColumnTableModel[MessageRow] = ColumnTableModel(
            message_columns(context.times, self._now_ms), lambda message: message.key, parent=self
        )
        self.grid = DataGrid(self.model, theme)
        self.foot = label(role="caption")
        self._keys = label(role="caption")
        self.detail = MessageDetailPane(context)
        self.masks = ListMasks(self.detail.body.book, self)
        self._page: MessagePage | None = None
        self.tabs = PartBar()
        self._tops, self._tables = QStackedWidget(), QStackedWidget()
        self._search: SearchPanel | None = None
        self._narrowed: SearchPanel | None = None
        self._is_narrowed = False
        self._browse_table = Panel(flush=True)
        self._build()
        self._connect()
        self.retranslate()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    @property
    def search(self) -> SearchPanel:
        """The part that searches; made when it is first wanted."""
        if self._search is None:
            self._search = self._made(SearchPanel(self.context, self.names, self.masks))
            self._tops.addWidget(self._search)
        return self._search

    @property
    def narrowed(self) -> SearchPanel:
        """What browses with a filter: a search within the queues that are shown; made when it is first wanted."""
        if self._narrowed is None:
            self._narrowed = self._made(
                SearchPanel(self.context, self.names, self.masks, bar=self.bar.filter, within=self._queues_shown)
            )
            self.bar.add_search(self._narrowed)
        return self._narrowed

    def _made(self, panel: SearchPanel) -> SearchPanel:
        self._tables.addWidget(panel.table)
        panel.selected.connect(self._hit_selected)
        panel.browse_wanted.connect(self._browse_hit)
        if self._state is not None:
            panel.show_time(self._state)
        return panel

    def _queues_shown(self) -> str:
        """What is browsed, as a condition."""
        topic = f"topic = {quoted(self._topic)}"
        return topic if self._queue == ALL_QUEUES else f"{topic} and queue = {self._queue}"

    @property
    def _hits(self) -> SearchPanel | None:
        """The hits that are shown; None while a page of a queue is."""
        if self.tabs.currentIndex() == SEARCH:
            return self.search
        return self.narrowed if self._is_narrowed else None

    def tab_title(self) -> str:
        if self.tabs.currentIndex() == SEARCH and self.search.run.text:
            return tr("Messages: {topic}", topic=_shortened(self.search.run.text))
        return tr("Messages: {topic}", topic=self._topic) if self._topic else tr(self.title)

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
            self._read_alone(self.context.source.read_message(physical_offset))
        is_plan = isinstance(arguments.get("plan"), str)
        filter_text = arguments.get("plan" if is_plan else "filter")
        if isinstance(filter_text, str) or arguments.get("show") == "search":
            self.tabs.setCurrentIndex(SEARCH)
        if isinstance(filter_text, str) and filter_text:
            self._search_for(filter_text, plan_only=is_plan)
        if arguments.get("send"):
            self.ask_send()

    def state_changed(self, state: ClusterState) -> None:
        first = self._state is None
        self._state = state
        self.bar.show_choices(state)
        self.names.take_state(state)
        for panel in (self._search, self._narrowed):
            if panel is not None:
                panel.show_time(state)
        if not self._topic:
            topic = busiest_topic(state)
            if topic:
                self._show_queue(topic, ALL_QUEUES)
        elif first:
            self._show_queue(self._topic, self._queue)
        self._follow(state)
        self._show_facts()

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY and self._topic:
            self.refresh()

    def refresh(self) -> None:
        if self._topic:
            self._load()

    def focus_filter(self) -> None:
        if self.tabs.currentIndex() == SEARCH:
            self.search.focus()
            return
        self.bar.filter.focus()

    def detail_pane(self) -> QWidget:
        return self.detail

    def retranslate(self) -> None:
        self.send_button.setText(tr("Send message…"))
        self._keys.setText(tr("R: resend · Ctrl+C: copy"))
        self.tabs.setTabText(BROWSE, tr("Browse by queue"))
        self.tabs.setTabText(SEARCH, tr("Search"))
        self.bar.retranslate()
        for panel in (self._search, self._narrowed):
            if panel is not None:
                panel.retranslate()
        self.detail.retranslate()
        self.model.all_texts_changed()
        self._show_empty()
        self._show_foot()
        self._show_facts()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_send(self) -> ComposeDialog:
        """Open the dialog that sends a new message."""
        context = self.context
        dialog = ComposeDialog(
            context.source, context.theme, self._state, topic=self._topic, settings=context.settings, parent=self
        )
        return self._opened(dialog)

    def ask_resend(self, detail: MessageDetail) -> ComposeDialog:
        """Open the dialog that sends a stored message again."""
        mask = self.detail.body.book.mask_of(detail)
        dialog = ComposeDialog(self.context.source, self.context.theme, self._state, resent=detail, mask=mask, parent=self)
        return self._opened(dialog)

    def open_by_id(self, message_id: str) -> None:
        """Read the message of an offset message ID, or find those of a unique ID."""
        pending = self.context.source.read_message_by_id(message_id)
        self._read_alone(pending, lambda error: self._no_offset_id(message_id, error))

    def _no_offset_id(self, message_id: str, error: OrbitError) -> None:
        """Nothing lies where an ID would name a place: it may be one that a client gave."""
        if not is_message_id(message_id) or self.context.source.status is not SourceStatus.READY:
            self._detail_failed(error)
            return
        self.detail.show_nothing()
        self._search_for(id_filter(message_id))

    def _search_for(self, filter_text: str, *, plan_only: bool = False) -> None:
        self.tabs.setCurrentIndex(SEARCH)
        self.search.bar.set_text(filter_text)
        self.search.bar.submit(plan_only=plan_only)

    def _read_alone(self, pending: Pending[MessageDetail], failed: Callable[[OrbitError], None] | None = None) -> None:
        """Show a message that need not be in the table."""
        self._read_key = None
        self.grid.select_key(None)
        self.detail.show_loading(None)
        self._detail_query.ask(pending, self.detail.show_message, failed or self._detail_failed)

    def _opened(self, dialog: ComposeDialog) -> ComposeDialog:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.sent.connect(self._message_sent)
        dialog.shown_wanted.connect(self._show_sent)
        dialog.stored_several.connect(self._message_sent)
        dialog.open()
        return dialog

    def _send_clicked(self) -> None:
        self.ask_send()

    def _message_sent(self, topic: str, _sent: SendReceipt | int) -> None:
        if topic == self._topic and (self._window is None or not self._window.has_newer):
            self._show_newest()

    def _show_sent(self, topic: str, receipt: SendReceipt) -> None:
        self._show_place(topic, receipt.queue_id, receipt.queue_offset)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for _part in (BROWSE, SEARCH):
            self.tabs.addTab("")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.content.addWidget(self.tabs)
        self._tops.addWidget(self.bar)
        self.content.addWidget(self._tops)
        self._browse_table.content.setSpacing(0)
        self._browse_table.content.addWidget(self.grid, 1)
        foot = QWidget()
        foot.setFixedHeight(Size.ROW)
        foot.setLayout(row(self.foot, 1, self._keys, margins=(12, 0, 12, 0)))
        self._browse_table.content.addWidget(foot)
        split = QSplitter(Qt.Orientation.Horizontal)
        self._tables.addWidget(self._browse_table)
        split.addWidget(self._tables)
        split.addWidget(self.detail)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(Size.GAP)
        split.setStretchFactor(0, 5)
        split.setStretchFactor(1, 3)
        split.setSizes([800, 400])
        self.detail.setMinimumWidth(300)
        self.content.addWidget(split, 1)

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._show_part)
        self.bar.queue_chosen.connect(self._queue_chosen)
        self.bar.window_chosen.connect(self._go_to)
        self.bar.time_chosen.connect(self._go_to_time)
        self.bar.id_chosen.connect(self.open_by_id)
        self.bar.new_wanted.connect(self._show_newest)
        self.bar.filter.submitted.connect(self._narrow)
        self.bar.filter.plan_wanted.connect(partial(self._narrow, plan_only=True))
        self.bar.filter.edited.connect(self._filter_edited)
        self.grid.selected.connect(self._row_selected)
        self.grid.menu_asked.connect(self._open_menu)
        self.grid.activated.connect(self._open_life)
        self.detail.resend_wanted.connect(self.ask_resend)
        self.detail.body.rules_changed.connect(self.masks.refresh)
        self.masks.changed.connect(self._show_rows)
        resend = QShortcut(QKeySequence("R"), self.grid, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        resend.activated.connect(self._resend_selected)
        self.context.times.changed.connect(self._zone_changed)

    def _show_part(self, part: int) -> None:
        if part == SEARCH:
            self._carry(self.bar.filter, self.search.bar)
            self.search.focus()
        elif self._search is not None:
            self._carry(self._search.bar, self.bar.filter)
        self._tops.setCurrentIndex(part)
        for place in range(self._tops.count()):
            # A part that is not shown claims no height.
            policy = QSizePolicy.Policy.Preferred if place == part else QSizePolicy.Policy.Ignored
            widget = self._tops.widget(place)
            if widget is not None:
                widget.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        self._show_table()

    def _show_table(self) -> None:
        """Show the rows of the part, and the message that is selected there."""
        hits = self._hits
        self._tables.setCurrentWidget(self._browse_table if hits is None else hits.table)
        self.detail.body.set_marks(Marks() if hits is None else hits.marks)
        self._show_facts()
        self._read_selected(self.grid.selected_row if hits is None else hits.grid.selected_row)
        self.title_changed.emit(self.tab_title())

    @staticmethod
    def _carry(left: FilterBar, entered: FilterBar) -> None:
        """What was entered in one part stands in the other, if nothing was entered there."""
        if left.text and not entered.text:
            entered.set_text(left.text)

    def _read_selected(self, message: MessageRow | None) -> None:
        """Show the message that is selected in the part that is shown."""
        self._detail_query.cancel()
        self._read_key = None
        if message is None:
            self.detail.show_nothing()
        elif self._hits is not None:
            self._hit_selected(message)
        else:
            self._row_selected(message)

    def _now_ms(self) -> int:
        return self._state.taken_ms if self._state is not None else 0

    # ---- which part of which queue -------------------------------------------------------------------------------------

    def _queue_chosen(self, topic: str, queue_id: int) -> None:
        self._wanted_offset = None
        self._show_queue(topic, queue_id)
        if self._is_narrowed:
            self.narrowed.search(self.bar.filter.text)
        self.place_changed.emit({"topic": topic, "queue": queue_id})

    def _show_place(self, topic: str, queue_id: int, offset: int | None) -> None:
        """Browse without a filter, so that what lies at the offset is seen."""
        self.bar.filter.set_text("")
        self._narrow("")
        self._wanted_offset = offset
        self._show_queue(topic, queue_id)

    def _show_queue(self, topic: str, queue_id: int) -> None:
        if (topic, queue_id) != (self._topic, self._queue):
            self._page = None
            self._show_rows()
            self._read_key = None
            self.grid.select_key(None)
            self.detail.show_nothing()
        self._topic, self._queue, self._window = topic, queue_id, None
        self.bar.choose(self._state, topic, queue_id)
        self.title_changed.emit(self.tab_title())
        self._window = self._first_window()
        self._show_facts()
        if self._state is not None:
            self._load()

    def _first_window(self) -> QueueWindow | None:
        if self._queue == ALL_QUEUES or self._state is None:
            return None
        low, high = queue_bounds(self._state, self._topic, self._queue) or (0, 0)
        window = QueueWindow(low, max(high, (self._wanted_offset or 0) + 1 if self._wanted_offset is not None else high), low)
        return window.at(self._wanted_offset) if self._wanted_offset is not None else window.newest()

    def _go_to(self, window: QueueWindow) -> None:
        self._window = window
        self._load()

    def _show_newest(self) -> None:
        if self._window is not None:
            self._window = self._window.newest()
        self._load()

    def _go_to_time(self, at_ms: int) -> None:
        self.grid.set_loading(True)
        pending = self.context.source.find_offset(self._topic, self._queue, at_ms)
        self._offset_query.ask(pending, self._offset_found, self._page_failed)

    def _offset_found(self, found: FoundOffset) -> None:
        if self._window is not None:
            self._wanted_offset = found.offset
            self._go_to(self._window.at(found.offset))

    # ---- the page of messages ------------------------------------------------------------------------------------------

    def _load(self) -> None:
        self.grid.set_loading(True)
        window = self._window
        start = window.start if window is not None else 0
        pending = self.context.source.browse_queue(self._topic, self._queue, start, PAGE_MESSAGES)
        self._page_query.ask(pending, self._show_page, self._page_failed)

    def _show_page(self, page: MessagePage) -> None:
        self.grid.set_loading(False)
        self.grid.set_error("")
        if self._window is not None and page.min_offset >= 0 and page.max_offset >= 0:
            self._window = self._window.grown(page.min_offset, page.max_offset)
        self._read_end = end_of_topic(self._state, self._topic, self._queue) if self._state is not None else -1
        self._page = page
        self.masks.refresh()
        self._show_rows()
        self.bar.show_window(self._window)
        self.bar.show_new(0)
        self._show_empty()
        self._show_foot(page.notice)
        self._select_wanted()

    def _show_rows(self) -> None:
        page = self._page
        self.model.set_rows(message_rows(page, self.masks.of(page.topic)) if page is not None else [])

    def _select_wanted(self) -> None:
        wanted, self._wanted_offset = self._wanted_offset, None
        if wanted is not None:
            hit = next((message for message in self.model.rows if message.queue_offset == wanted), None)
            if hit is not None:
                self.grid.select_key(hit.key)
                return
        if self._read_key is None and self.detail.detail is None:
            self.grid.select_first()

    def _page_failed(self, error: OrbitError) -> None:
        self.grid.set_loading(False)
        self._page = None
        self._show_rows()
        self._show_foot()
        text = tr("The messages of {topic} were not read.", topic=self._topic)
        self.grid.set_error(text, error.message, tr("Retry"), self.refresh)

    def _follow(self, state: ClusterState) -> None:
        """Show how much is new since the page was read, and the present bounds of the queue."""
        end = end_of_topic(state, self._topic, self._queue)
        if self._read_end >= 0 and end >= 0 and not self._page_query.waiting:
            self.bar.show_new(max(0, end - self._read_end))
        bounds = queue_bounds(state, self._topic, self._queue) if self._window is not None else None
        if self._window is not None and bounds is not None and not self._page_query.waiting:
            self._window = self._window.grown(*bounds)
            self.bar.show_window(self._window)

    # ---- one message ---------------------------------------------------------------------------------------------------

    def _row_selected(self, message: MessageRow | None) -> None:
        if message is None:
            return
        if message.key == self._read_key:
            return
        self._read_key = message.key
        self.detail.show_loading(message)
        pending = self.context.source.read_message(message.physical_offset)
        self._detail_query.ask(pending, self.detail.show_message, self._detail_failed)

    def _hit_selected(self, hit: MessageRow | None) -> None:
        if hit is not None:
            self._read_key = None
            self.detail.show_loading(hit)
            pending = self.context.source.read_message(hit.physical_offset)
            self._detail_query.ask(pending, self._show_hit, self._detail_failed)
        self.title_changed.emit(self.tab_title())

    def _show_hit(self, detail: MessageDetail) -> None:
        if self._hits is not None:
            self.detail.body.set_marks(self._hits.marks)
        self.detail.show_message(detail)
        self.names.add_properties(detail.properties)

    def _browse_hit(self, hit: MessageRow) -> None:
        self.tabs.setCurrentIndex(BROWSE)
        self._show_place(hit.topic, hit.queue_id, hit.queue_offset)

    def _detail_failed(self, error: OrbitError) -> None:
        self._read_key = None
        self.detail.show_error(tr("The message was not read."), error.message)

    def _resend_selected(self) -> None:
        if self.detail.detail is not None:
            self.ask_resend(self.detail.detail)

    def ask_hand(self, detail: MessageDetail) -> HandDialog:
        """Open the dialog that gives a stored message to one consumer."""
        dialog = HandDialog(self.context.source, self.context.theme, self._state, detail, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    def _hand_selected(self) -> None:
        if self.detail.detail is not None:
            self.ask_hand(self.detail.detail)

    def _open_menu(self, message: MessageRow, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def copy(text: str) -> Callable[[], None]:
            return lambda: QGuiApplication.clipboard().setText(text)

        menu.addAction(tr("Resend…"), self._resend_selected)
        menu.addAction(tr("Life line"), lambda: self._open_life(message))
        menu.addAction(tr("Give to one consumer…"), self._hand_selected)
        menu.addAction(tr("Browse queue {queue} from here", queue=message.queue_id), lambda: self._browse_from(message))
        menu.addSeparator()
        if message.keys:
            menu.addAction(tr("Copy keys"), copy(message.keys))
        if message.unique_key:
            menu.addAction(tr("Copy unique ID"), copy(message.unique_key))
        menu.addAction(tr("Copy row"), lambda: self.grid.copy(CopyFormat.TSV))
        menu.addAction(tr("Copy row as JSON"), lambda: self.grid.copy(CopyFormat.JSON))
        menu.popup(at)

    def _open_life(self, message: MessageRow) -> None:
        self.context.navigate("message", physical_offset=message.physical_offset)

    def _browse_from(self, message: MessageRow) -> None:
        self._wanted_offset = message.queue_offset
        self._show_queue(self._topic, message.queue_id)

    # ---- filter and texts ----------------------------------------------------------------------------------------------

    def _narrow(self, text: str, *, plan_only: bool = False) -> None:
        """Browse only what passes a filter; empty: page by page again."""
        if text and not self._topic:
            return
        was_narrowed, self._is_narrowed = self._is_narrowed, bool(text)
        if text:
            self.narrowed.search(text, plan_only=plan_only)
        elif self._narrowed is not None:
            self._narrowed.end()
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

    def _show_empty(self) -> None:
        if self._topic:
            text = tr("Nothing is stored in {topic}.", topic=self._topic)
            self.grid.set_empty(text, tr("Send message…"), self._send_clicked)
        else:
            self.grid.set_empty(tr("No topics yet. Send a message or play the demo."), tr("Send message…"), self._send_clicked)

    def _show_foot(self, notice: str = "") -> None:
        count = count_text(len(self.model.rows))
        self.foot.setText(notice or tr("{count} messages, newest first", count=count))

    def _show_facts(self) -> None:
        if self.tabs.currentIndex() == SEARCH:
            self.header.set_facts(tr("everything that is stored"))
        elif not self._topic:
            self.header.set_facts("")
        elif self._queue == ALL_QUEUES:
            self.header.set_facts(tr("{topic}, newest of all queues", topic=self._topic))
        else:
            self.header.set_facts(tr("{topic}, queue {queue}", topic=self._topic, queue=self._queue))


def _shortened(text: str) -> str:
    return text if len(text) <= TITLE_CHARACTERS_MAX else text[: TITLE_CHARACTERS_MAX - 1] + "…"
