"""The Live tail page: messages of chosen topics as they arrive."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QSettings
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QWidget

from broker_core.api import FilterError, OrbitError
from broker_core.worker.questions.searches import Followed, StartFollow
from gui.models.filter_text import quoted
from gui.models.messages import busiest_topic
from gui.models.table import CellKind, Column
from gui.models.tail import ROWS_MAX, SECONDS_KEPT, SECONDS_SHOWN, ColourRule, TailBuffer, TailModel
from gui.models.tail_rows import MARKS, TailRow
from gui.operations.decoding import ListMasks
from gui.operations.filter_memory import FilterMemory
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.settings.values import listed
from gui.theme.tokens import Size, State
from gui.views.chart_tools import join_charts
from gui.views.messages.row_menu import add_grid_copies
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.tail.filter_bar import TailBar
from gui.views.tail.session import TailSession
from gui.views.tail.tail_rules_dialog import TailRulesDialog
from gui.views.time_filter import TimeFilter
from gui.widgets.basic import ElidedLabel, IconButton, fill, label, on_key, row
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said_button, said_label, say
from gui.words.error_words import error_text
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, bytes_text, count_text, rate_text, tr
from monitoring.reach import ClusterReach
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

NOTICE_SECONDS = 10
"""How long the notice stays after messages were left out."""
BARS_HEIGHT = 84
HIDDEN_ROWS_MAX = 5_000
"""Rows that are held back while the page is hidden; with more, all go into the ring."""
RULES_KEY = "tail/rules"


def load_rules(settings: QSettings) -> list[ColourRule]:
    """The colour rules used last; none where the setting is unreadable."""
    marks = {mark.value: mark for mark in MARKS}
    kept = listed(str(settings.value(RULES_KEY, "")))
    pairs = [pair for pair in kept if isinstance(pair, list) and len(pair) == 2]
    return [ColourRule(str(text), marks.get(str(mark), State.WARNING)) for text, mark in pairs]


def save_rules(settings: QSettings, rules: Sequence[ColourRule]) -> None:
    """Store the colour rules."""
    settings.setValue(RULES_KEY, json.dumps([[rule.filter, rule.mark.value] for rule in rules], ensure_ascii=False))


def tail_columns(times: TimeZoneChoice, queue_text: QueueText) -> list[Column[TailRow]]:
    """Columns of the table of arrivals."""
    return [
        Column(
            "stored",
            "Stored",
            lambda row: times.clock(row.store_ms),
            tip=lambda row: tr("Stored {stored}, born {born}", stored=times.full(row.store_ms), born=times.full(row.born_ms)),
            width=112,
        ),
        Column("topic", "Topic", lambda row: row.topic, width=198),
        Column("queue", "Queue", lambda row: queue_text(row.queue_id), right=True, width=76),
        Column("offset", "Offset", lambda row: count_text(row.queue_offset), right=True, width=92),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, width=112),
        Column("key", "Key", lambda row: row.keys or UNKNOWN, kind=CellKind.KEYS, width=172),
        Column("body", "Body", lambda row: row.body_text, kind=CellKind.CODE, dim=True),
        Column("bytes", "Bytes", lambda row: count_text(row.body_bytes), right=True, width=76),
    ]


class TailView(PageView):
    """Follows topics. While paused or hidden it holds the rows still and continues to collect.

    A time that is selected in the bars pauses it and bounds the rows; clearing the selection continues it.
    """

    page_id = "tail"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._paused_ms = -1
        self.rules: list[ColourRule] = load_rules(context.settings)
        self.buffer = TailBuffer()
        self.session = TailSession(context.source, self._arrived, self._lost, self)
        self.bar = TailBar(theme, FilterMemory(context.settings), context.queue_text)
        self.search_button = said_button(
            theme,
            "magnifying-glass",
            "Search what is stored",
            on_click=self.search_stored,
            tip="The same topics and filter as a search; Ctrl+Enter in the filter shows its plan first",
        )
        self.rules_button = IconButton(theme, "tag", " ", on_click=self.ask_rules)
        self.clear_button = said_button(theme, "trash", "Clear", on_click=self.clear)
        self.pause_button = IconButton(theme, "pause", " ", role="primary", on_click=self.toggle_pause)
        self.status = Chip(theme)
        self.figures = ElidedLabel("", "secondary")
        self._keys = said_label("Space pauses and continues", "caption")
        self.bars = StackedBars(theme, context.times)
        say(self.bars, "setAccessibleName", "Arrivals of the last {count} seconds", count=SECONDS_SHOWN)
        self.zoom = LocalRange(self, lambda: tr("Back to live"))
        self.link = ChartLink(self.zoom, self)
        [tools] = join_charts(context, self.link, self.bars)
        self._search_selected = tools.offer_messages(context, self._search_text)
        self.time_filter = TimeFilter(self.link, context, self)
        self._is_held_by_selection = False
        self.notice = Notice(theme)
        self.masks = ListMasks(context.decoders, self)
        self.model = TailModel(tail_columns(context.times, context.queue_text), self.masks.of, parent=self)
        self.grid = DataGrid(self.model, theme, several=True)
        self.foot = label(role="caption")
        self._build()
        self.zoom.changed.connect(self._show_bars)
        self.time_filter.changed.connect(self._bound_rows)
        self.set_parts(grid=self.grid, find=self.bar.filter.focus)
        self.bar.changed.connect(self._query_changed)
        self.bar.filter.plan_wanted.connect(lambda _text: self._search(plan_only=True))
        self.grid.activated.connect(self._open_message)
        self.grid.menu_asked.connect(self._open_menu)
        self.grid.view.verticalScrollBar().valueChanged.connect(self._scrolled)
        on_key(self.grid, "Space", self.toggle_pause)
        for changed in (self.context.times.changed, self.masks.changed):
            changed.connect(self.model.all_texts_changed)
        on_language(self, self._write_texts)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def tab_title(self) -> str:
        topics = self.bar.topics
        if not topics:
            return self.page_title
        if len(topics) == 1:
            return tr("Live tail: {topic}", topic=topics[0])
        return tr("Live tail, {count} topics", count=len(topics))

    def open(self, arguments: PageArguments) -> None:
        topics, text = arguments.get("topics"), arguments.get("filter")
        if isinstance(topics, list):
            self.bar.set_topics([str(topic) for topic in topics])
        if isinstance(text, str):
            self.bar.set_filter(text)
        if isinstance(topics, list) or isinstance(text, str):
            self.follow()

    def state_changed(self, state: ClusterState) -> None:
        first = self._state is None
        self._state = state
        self.bar.show_choices(state)
        if first and not self.session.is_running:
            topic = busiest_topic(state)
            if topic and not self.bar.topics and not self.bar.filter_text:
                self.bar.set_topics([topic])
            self.follow()
        self._show_figures()

    def status_changed(self, status: SourceStatus) -> None:
        if status is not SourceStatus.READY:
            self.session.forget()
        elif self._state is not None:
            self.follow()
        self._show_figures()

    def refresh(self) -> None:
        if not self.session.is_running:
            self.follow()

    def _write_texts(self) -> None:
        self._show_rules()
        self._show_figures()
        self.title_changed.emit(self.tab_title())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.masks.refresh()
        self._show_waiting()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Begin again with the present topics, filter and rules, from the end of the newest batch."""
        self.title_changed.emit(self.tab_title())
        if self.context.source.status is SourceStatus.READY:
            self.session.begin(self._query(self.rules), self._follow_begun, self._refused)

    def toggle_pause(self) -> None:
        held = not self.buffer.is_held
        self.link.unselect()
        self._hold(held=held)

    def clear(self) -> None:
        """Forget all rows and counts."""
        self.link.unselect()
        self.buffer.clear()
        self.model.clear()
        self._show_figures()

    def search_stored(self) -> None:
        """Search the stored messages with the followed topics and filter."""
        self._search(plan_only=False)

    def _search(self, *, plan_only: bool) -> None:
        self.context.navigate("messages", **{"plan" if plan_only else "filter": self._search_text()})

    def _search_text(self) -> str:
        topics, text = self.bar.topics, self.bar.filter_text
        among = f"topic in ({', '.join(map(quoted, topics))})" if topics else ""
        return f"{among} and ({text})" if among and text else among or text or "body_bytes >= 0"

    def ask_rules(self) -> TailRulesDialog:
        """Open the dialog of the colour rules."""
        dialog = TailRulesDialog(self.context.theme, self.rules, self)
        dialog.wanted.connect(lambda rules: self._use_rules(dialog, rules))
        return opened(dialog)

    def _use_rules(self, dialog: TailRulesDialog, rules: list[ColourRule]) -> None:
        def used() -> None:
            self.rules = rules
            save_rules(self.context.settings, rules)
            dialog.accept()
            self._follow_begun()

        self.session.begin(self._query(rules), used, dialog.show_error)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.header.add_action(self.search_button, self.rules_button, self.clear_button, self.pause_button)
        self.content.addWidget(self.bar)
        arrivals = Panel()
        arrivals.content.setContentsMargins(12, 8, 12, 6)
        arrivals.content.addLayout(row(self.status, (self.figures, 1), self.time_filter.chip, self._keys))
        self.bars.setFixedHeight(BARS_HEIGHT)
        self.bars.setMinimumHeight(BARS_HEIGHT)
        arrivals.content.addWidget(self.bars)
        fill(self.content, arrivals, self.notice)
        table = Panel(flush=True, spacing=0)
        table.content.addWidget(self.grid, 1)
        foot = QWidget()
        foot.setFixedHeight(Size.ROW)
        foot.setLayout(row(self.foot, 1, margins=(12, 0, 12, 0)))
        table.content.addWidget(foot)
        self.content.addWidget(table, 1)
        self.grid.header.setSectionsClickable(False)

    def _query(self, rules: list[ColourRule]) -> StartFollow:
        filters = [rule.filter for rule in rules]
        return StartFollow(self.bar.topics, self.bar.filter_text, filters, self.session.position)

    # ---- answers of the broker process ---------------------------------------------------------------------------------

    def _query_changed(self) -> None:
        self.follow()
        self.place_changed.emit({"topics": self.bar.topics, "filter": self.bar.filter_text})

    def _follow_begun(self) -> None:
        self.bar.filter.check()
        self.grid.set_error("")
        self._show_rules()
        self._show_figures()

    def _refused(self, error: OrbitError) -> None:
        if not isinstance(error, FilterError):
            self._lost(error)
        elif "rule" in error.context:
            # E.g. a rule of an earlier version of the language: following matters more than the colours.
            self.rules = []
            self.follow()
        else:
            self.bar.filter.show_fault(error)

    def _lost(self, error: OrbitError) -> None:
        said = partial(error_text, error)
        self.grid.set_error(lambda: tr("The live tail has ended."), said, lambda: tr("Retry"), self.follow)
        self._show_figures()

    def _arrived(self, followed: Followed) -> None:
        if not (followed.topic or followed.left_out or followed.skipped_bytes):
            return
        self.buffer.take_in(followed, self.rules, self._now_s())
        self.masks.refresh()
        self.bar.names.add_tags(self.masks.plain(followed.topic, followed.tag))
        if self.isVisible() or len(self.buffer.waiting) >= HIDDEN_ROWS_MAX:
            self._show_waiting()

    def _show_waiting(self) -> None:
        self.model.add(self.buffer.take_out())
        self._show_figures()

    # ---- pause ---------------------------------------------------------------------------------------------------------

    def _hold(self, *, held: bool) -> None:
        self.buffer.hold(held=held)
        self._is_held_by_selection = False
        self._paused_ms = self._now_ms() if held else -1
        if not held:
            self._show_waiting()
            self.grid.view.scrollToTop()
        self._show_figures()

    def _bound_rows(self) -> None:
        """Show the rows of the selected time, those of a pause too; without a selection all of them."""
        span = self.time_filter.span_ms
        if span is None:
            self.model.show_all()
            if self._is_held_by_selection:
                self._hold(held=False)
            self._show_empty()
            return
        is_users, paused_ms = self.buffer.is_held and not self._is_held_by_selection, self._paused_ms
        self._hold(held=False)
        self._hold(held=True)
        self._is_held_by_selection = not is_users
        if is_users:
            self._paused_ms = paused_ms
            self._show_figures()
        self.model.show_between(*span)
        self._show_empty()

    def _scrolled(self, value: int) -> None:
        """Pause when the user scrolls down, because arriving rows would move the read ones away."""
        if value > 0 and not self.buffer.is_held and self.grid.view.verticalScrollBar().isVisible():
            self._hold(held=True)

    # ---- figures -------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return self._state.taken_ms if self._state is not None else 0

    def _now_s(self) -> int:
        return self._now_ms() // 1_000

    def _show_figures(self) -> None:
        held, new = self.buffer.is_held, self.buffer.held_new
        go_on = tr("Continue {count}", count=count_text(new)) if new else tr("Continue")
        self.pause_button.set_glyph("play" if held else "pause")
        self.pause_button.setText(go_on if held else tr("Pause"))
        if held:
            self.status.set(tr("Paused, still collecting"), State.PENDING)
        elif self.session.is_running:
            is_part = self._state is not None and self._state.reach is not ClusterReach.ALL
            # What the broker that does not answer has is not among the messages.
            self.status.set(*(tr("Following in part"), State.WARNING) if is_part else (tr("Following"), State.HEALTHY))
        else:
            self.status.set(tr("Not following"), State.IDLE)
        now_s = self._now_s()
        facts = [
            tr("buffer {count} of {most}", count=count_text(self.model.kept), most=count_text(ROWS_MAX)),
            tr("{rate} arriving", rate=rate_text(self.buffer.arrivals.rate(now_s))),
            tr("{count} left out", count=count_text(self.buffer.left_out)),
        ]
        if held:
            since = self.context.times.seconds(self._paused_ms)
            facts.insert(0, tr("{count} new since {time}", count=count_text(new), time=since))
        self.figures.setText("   ".join(facts))
        self._show_bars()
        self._show_notice(now_s)
        self._show_foot()
        self._show_empty()

    def _show_bars(self) -> None:
        end_s, arrivals = self._now_s() + 1, self.buffer.arrivals
        begin_s = max(min(end_s - SECONDS_SHOWN, arrivals.since_s or end_s), end_s - SECONDS_KEPT)
        self.zoom.set_whole(end_s - SECONDS_SHOWN, end_s, begin_s=begin_s)
        view = self.zoom.span_s
        first_s, last_s = math.floor(view[0]), math.ceil(view[1])
        shown, collected = arrivals.window(first_s, last_s)
        labels = [self.context.times.seconds(second * 1_000) for second in range(first_s, last_s)]
        layers = (BarLayer(tr("Shown"), shown, State.INFO), BarLayer(tr("Came during the pause"), collected, State.IDLE))
        self.bars.set_bars(labels if self._state is not None else (), layers, (first_s, last_s), view)

    def _show_notice(self, now_s: int) -> None:
        buffer = self.buffer
        if buffer.left_out_at_s < 0 or now_s - buffer.left_out_at_s > NOTICE_SECONDS:
            self.notice.set("")
            return
        words = [tr("{count} messages were left out.", count=count_text(buffer.left_out))]
        if buffer.skipped_bytes:
            words.append(tr("{size} of the log were passed over without a look.", size=bytes_text(buffer.skipped_bytes)))
        words.append(tr("Narrow the topics or the filter to see every message; a search finds them all later."))
        self.notice.set(tr("More arrives than can be shown"), " ".join(words), State.WARNING)

    def _show_rules(self) -> None:
        count = len(self.rules)
        self.rules_button.setText(tr("Colour rules {count}", count=count) if count else tr("Colour rules"))

    def _show_foot(self) -> None:
        if not self.rules:
            self.foot.setText(tr("No colour rules"))
            return
        rules = ", ".join(rule.filter for rule in self.rules)
        self.foot.setText(tr("{count} marked in the buffer by {rules}", count=count_text(self.model.marked), rules=rules))

    def _show_empty(self) -> None:
        if self.time_filter.is_active:
            words = tr("No message of the selected time is in the buffer.")
            self.grid.set_empty(words, tr("Search what is stored"), self._search_selected)
        elif self.bar.topics:
            self.grid.set_empty(tr("Nothing has arrived in {topics} yet.", topics=", ".join(self.bar.topics)))
        else:
            self.grid.set_empty(tr("Nothing that the filter takes has arrived yet."))

    # ---- one message ---------------------------------------------------------------------------------------------------

    def _open_message(self, message: TailRow) -> None:
        self.context.navigate("messages", topic=message.topic, queue=message.queue_id, offset=message.queue_offset)

    def _open_menu(self, message: TailRow, at: QPoint) -> None:
        menu = new_menu(self)
        clipboard = QGuiApplication.clipboard()
        menu.addAction(tr("Open message"), lambda: self._open_message(message))
        menu.addSeparator()
        add_grid_copies(menu, self.grid)
        if message.keys:
            menu.addAction(tr("Copy key"), lambda: clipboard.setText(message.keys))
        if message.unique_key:
            menu.addAction(tr("Copy unique ID"), lambda: clipboard.setText(message.unique_key))
        menu.popup(at)
