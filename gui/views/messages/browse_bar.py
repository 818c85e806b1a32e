"""`BrowseBar`: the browsed queue, the place in it, and the filter."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QLineEdit, QSlider, QToolTip, QWidget

from broker_core.outside import whole_of
from gui.models.messages import ALL_QUEUES, entered_time, topic_names
from gui.models.queue_window import QueueWindow, TopicSpan, queue_ids
from gui.operations.filter_memory import FilterMemory
from gui.theme.manager import ThemeManager
from gui.theme.style import mark_fault
from gui.views.messages.filter_bar import FilterBar
from gui.widgets.basic import IconButton, column, fill, label, row
from gui.widgets.inputs import NameBox
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.plain_text import tip_text
from gui.words.text import QueueText, TimeZoneChoice, count_text, tr
from monitoring.state import ClusterState

SLIDER_STEPS = 1_000
"""A slider holds 32 bits, an offset 64."""
EXAMPLE = 'tag = "PAID" and body.amount > 100'


class BrowseBar(QWidget):
    """Topic and queue, filter, and the place in the queue.

    Signals:
        queue_chosen: Another topic or queue; carries topic (str) and queue id (int), -1 for all.
        window_chosen: Another part of the queue; carries a `QueueWindow`.
        page_wanted: Another page of all queues: ``oldest``, ``older`` or ``newer``.
        time_chosen: A time to go to; ms since the epoch (object, as it needs 64 bits).
        id_chosen: A message id to open (str).
        new_wanted: Show the newest messages.
    """

    queue_chosen = Signal(str, int)
    window_chosen = Signal(object)
    page_wanted = Signal(str)
    time_chosen = Signal(object)
    id_chosen = Signal(str)
    new_wanted = Signal()

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, memory: FilterMemory, queue_text: QueueText) -> None:
        super().__init__()
        self._times = times
        self._queue_text = queue_text
        self._now_ms = 0
        self._window: QueueWindow | None = None
        self._span: TopicSpan | None = None
        """Of the shown page of all queues."""
        self._revision = -1
        self._names: list[str] = []
        self.topic_text = said(QLineEdit(), hint="Topic")
        self.topic = said(topic_choice(self.topic_text), name="Topic")
        self.queue = said(QComboBox(), name="Queue")
        self.filter = FilterBar(theme, memory, queue_text, example=EXAMPLE)
        self.message_id = said(QLineEdit(), hint="Open by message ID")
        self.oldest = said_button(theme, "skip-back", tip="Oldest", role="icon-box", on_click=lambda: self._go("oldest"))
        self.older = said_button(theme, "caret-left", tip="Older", role="icon-box", on_click=lambda: self._go("older"))
        self.newer = said_button(theme, "caret-right", tip="Newer", role="icon-box", on_click=lambda: self._go("newer"))
        self.newest = said_button(theme, "skip-forward", tip="Newest", role="icon-box", on_click=self.new_wanted.emit)
        self._position = Panel()
        self._search: QWidget | None = None
        self.slider = said(QSlider(Qt.Orientation.Horizontal), name="Position in the queue")
        self.slider.setRange(0, SLIDER_STEPS)
        self.offset = said(QLineEdit(), hint="Go to offset")
        self.time = said(
            QLineEdit(), hint="Go to time", tip="10:15, yesterday 10:15, 2026-11-21 10:15, -2h or epoch milliseconds"
        )
        self.place = label(role="caption")
        self.promise = said_label("Reading does not move any consumer position", "caption")
        self.new_button = IconButton(theme, "arrow-down", role="small", on_click=self.new_wanted.emit)
        self._build()
        self.topic.activated.connect(lambda _index: self._tell_queue(ALL_QUEUES))
        self.topic_text.returnPressed.connect(lambda: self._tell_queue(ALL_QUEUES))
        self.queue.activated.connect(lambda _index: self._tell_queue(self.chosen_queue))
        self.slider.sliderMoved.connect(
            lambda step: self.place.setText(tr("Offset {offset}", offset=count_text(self._offset_at(step))))
        )
        self.slider.sliderReleased.connect(lambda: self._slide(self.slider.value()))
        self.slider.actionTriggered.connect(self._slider_action)
        self.offset.returnPressed.connect(self._offset_entered)
        self.time.returnPressed.connect(self._time_entered)
        self.message_id.returnPressed.connect(self._id_entered)
        self.show_window(None)
        self.show_new(0)
        on_language(self, self._write_texts)

    # ---- what the view calls ---------------------------------------------------------------------------------------

    @property
    def chosen_topic(self) -> str:
        return self.topic.currentText() if self.topic.currentText() in self._names else ""

    @property
    def chosen_queue(self) -> int:
        data = self.queue.currentData()
        return int(data) if data is not None else ALL_QUEUES

    def show_choices(self, state: ClusterState) -> None:
        """Offer the present topics and queues."""
        self._now_ms = state.taken_ms
        if state.catalog.revision == self._revision:
            return
        self._revision = state.catalog.revision
        topic = self.topic.currentText()
        self._names = topic_names(state)
        self.topic.blockSignals(True)
        self.topic.clear()
        self.topic.addItems(self._names)
        self.topic.setCurrentIndex(self._names.index(topic) if topic in self._names else -1)
        if topic not in self._names:
            self.topic.setEditText(topic)
        self.topic.blockSignals(False)
        self._offer_queues(queue_ids(state, topic), self.chosen_queue)

    def choose(self, state: ClusterState | None, topic: str, queue_id: int) -> None:
        """Show a topic and queue as chosen without a signal."""
        self.topic.blockSignals(True)
        self.topic.setCurrentIndex(self._names.index(topic) if topic in self._names else -1)
        self.topic.setEditText(topic)
        self.topic.blockSignals(False)
        self._offer_queues(queue_ids(state, topic) if state is not None else [], queue_id)

    def show_window(self, window: QueueWindow | None) -> None:
        """Show a place in a queue; None while all queues are shown."""
        self._window = window
        if window is not None:
            self._span = None
        has_place = window is not None and window.max_offset > window.min_offset
        for widget in (self.slider, self.offset):
            # There is no common offset of all queues.
            widget.setVisible(window is not None)
            widget.setEnabled(has_place)
        self.time.setEnabled(has_place or window is None)
        self.newest.setEnabled(has_place or window is None)
        self._enable_steps()
        self._place_slider()
        self.place.setText(self._place_text())

    def show_span(self, span: TopicSpan) -> None:
        """Show which part of all queues is on the page."""
        self._span = span
        self._enable_steps()
        self.place.setText(self._place_text())

    def _enable_steps(self) -> None:
        shown = self._window or self._span
        self.oldest.setEnabled(shown is not None and shown.has_older)
        self.older.setEnabled(shown is not None and shown.has_older)
        self.newer.setEnabled(shown is not None and shown.has_newer)

    def add_search(self, search: QWidget) -> None:
        """Add a widget that replaces the position while a filter is used."""
        self._search = search
        layout = self.layout()
        assert layout is not None
        layout.addWidget(search)
        search.hide()

    def show_search(self, *, shown: bool) -> None:
        """Show the progress of a filter, or the position in the queue."""
        self._position.setVisible(not shown)
        if self._search is not None:
            self._search.setVisible(shown)

    def show_new(self, count: int) -> None:
        """Show how many messages were stored since the page was read."""
        self.new_button.setText(tr("{count} new", count=count_text(count)))
        self.new_button.setVisible(count > 0)

    def _write_texts(self) -> None:
        for index in range(self.queue.count()):
            self.queue.setItemText(index, self._queue_name(int(self.queue.itemData(index))))
        self.place.setText(self._place_text())

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        choice = row()
        self.topic.setMinimumWidth(210)
        self.queue.setMinimumWidth(120)
        self.message_id.setFixedWidth(230)
        fill(choice, self.topic, self.queue, (self.filter, 1), self.message_id)
        for part in (self.topic, self.queue, self.message_id):
            choice.setAlignment(part, Qt.AlignmentFlag.AlignTop)
        position = row(self.oldest, self.older, spacing=6)
        position.addSpacing(6)
        position.addWidget(self.slider, 1)
        position.addSpacing(6)
        fill(position, self.newer, self.newest)
        position.addSpacing(6)
        self.offset.setFixedWidth(124)
        self.time.setFixedWidth(164)
        fill(position, self.offset, self.time)
        # Takes the room of the slider while all queues are shown.
        position.addStretch(0)
        policy = self.new_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.new_button.setSizePolicy(policy)
        words = row(self.place, self.new_button, 1, self.promise, spacing=10)
        self._position.content.setContentsMargins(12, 10, 12, 8)
        fill(self._position.content, position, words)
        self.setLayout(column(choice, self._position, spacing=12))

    def _queue_name(self, queue_id: int) -> str:
        return tr("All queues") if queue_id == ALL_QUEUES else tr("Queue {queue}", queue=self._queue_text(queue_id))

    def _offer_queues(self, ids: list[int], chosen: int) -> None:
        self.queue.clear()
        for one in [ALL_QUEUES, *ids]:
            self.queue.addItem(self._queue_name(one), one)
        self.queue.setCurrentIndex(max(0, self.queue.findData(chosen)))

    def _tell_queue(self, queue_id: int) -> None:
        if self.chosen_topic:
            self.queue_chosen.emit(self.chosen_topic, queue_id)

    # ---- the place in the queue --------------------------------------------------------------------------------------

    def _go(self, where: str) -> None:
        if self._window is not None:
            target: QueueWindow = getattr(self._window, where)()
            self.window_chosen.emit(target)
        else:
            self.page_wanted.emit(where)

    def _slider_action(self, action: int) -> None:
        if action != QSlider.SliderAction.SliderMove.value and not self.slider.isSliderDown():
            self._slide(self.slider.sliderPosition())

    def _slide(self, step: int) -> None:
        if self._window is not None:
            self.window_chosen.emit(self._window.at(self._offset_at(step)))

    def _offset_at(self, step: int) -> int:
        window = self._window
        if window is None:
            return 0
        last = max(window.min_offset, window.max_offset - window.count)
        return window.min_offset + (last - window.min_offset) * step // SLIDER_STEPS

    def _place_slider(self) -> None:
        window = self._window
        if self.slider.isSliderDown():
            return
        last = max(1, window.max_offset - window.count - window.min_offset) if window is not None else 1
        start = window.start - window.min_offset if window is not None else last
        self.slider.setValue(min(SLIDER_STEPS, start * SLIDER_STEPS // last))

    def _place_text(self) -> str:
        window = self._window
        if window is None:
            return self._span_text()
        if window.max_offset <= window.min_offset:
            return tr("This queue is empty; its next offset is {offset}.", offset=count_text(window.max_offset))
        return tr(
            "Offsets {first} to {last} of {min} to {max}",
            first=count_text(window.start),
            last=count_text(window.end - 1),
            min=count_text(window.min_offset),
            max=count_text(window.max_offset - 1),
        )

    def _span_text(self) -> str:
        span = self._span
        if span is None or span.from_ms < 0:
            return tr("All queues, by the time of storing")
        begin, end = (self._times.shown(at_ms, self._now_ms) for at_ms in (span.from_ms, span.to_ms))
        return tr("All queues, stored from {begin} to {end}", begin=begin, end=end)

    # ---- entered places ----------------------------------------------------------------------------------------------

    def _offset_entered(self) -> None:
        offset = whole_of(self.offset.text().replace(",", "").strip())
        mark_fault(self.offset, offset is None or self._window is None)
        if offset is not None and self._window is not None:
            self.window_chosen.emit(self._window.at(offset))

    def _time_entered(self) -> None:
        at_ms, unclear = entered_time(self.time.text(), self._now_ms, self._times.zone)
        mark_fault(self.time, at_ms is None)
        if unclear:
            QToolTip.showText(self.time.mapToGlobal(self.time.rect().bottomLeft()), tip_text(unclear), self.time)
        if at_ms is not None:
            self.time_chosen.emit(at_ms)

    def _id_entered(self) -> None:
        text = self.message_id.text().strip()
        if text:
            self.id_chosen.emit(text)


def topic_choice(text: QLineEdit) -> QComboBox:
    """A choice of topics that also finds a topic by any part of its name, entered in ``text``."""
    made = NameBox()
    made.setEditable(True)
    text.setStyleSheet("QLineEdit { padding: 0; }")  # the box around it has its own
    made.setLineEdit(text)
    made.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    completer = QCompleter(made.model(), made)
    completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
    completer.setFilterMode(Qt.MatchFlag.MatchContains)
    completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    made.setCompleter(completer)
    made.setMaxVisibleItems(20)
    return made
