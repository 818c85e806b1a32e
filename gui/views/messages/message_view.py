"""The page of one message: life line, events with their evidence, body and properties."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QScrollArea, QStackedWidget

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.stored_messages import (
    Lifeline,
    MessageBody,
    MessageDetail,
    ReadBody,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
)
from gui.models.lifeline import MISSING, LifeEvent, life_chips, life_events
from gui.models.message_words import PropertyWords, level_delay_ms, property_rows, record_facts
from gui.models.messages import UNIQUE_KEY, message_name
from gui.models.table import ColumnTableModel
from gui.operations.background import ClipboardCall, write_file
from gui.operations.queries import LatestQuery
from gui.plots.life_line import LifeLinePicture
from gui.theme.tokens import State
from gui.views.acting import set_acting
from gui.views.action_dialog import read_only_reason
from gui.views.messages.body_pane import BodyPane
from gui.views.messages.columns import life_columns, property_columns
from gui.views.messages.compare_dialog import CompareDialog
from gui.views.messages.copies import popup_copies
from gui.views.messages.life_lanes import LANES_MAX, life_lanes
from gui.views.messages.sending import SendDialogs, show_sent
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import IconButton, fill, label, show_text
from gui.widgets.containers import ScrolledPart
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Placeholder
from gui.widgets.pane_splitter import splitter
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_to_save, new_menu, opened
from gui.widgets.said import on_language, said, said_button, segments
from gui.words.error_words import error_text, kept_line
from gui.words.plain_text import file_name
from gui.words.text import bytes_text, count_text, duration_text, tr
from monitoring.payload.shown import ShownBody
from monitoring.sources.base import Pending, SourceStatus
from monitoring.state import ClusterState

COMPRESSED, TRUE = "compressed", "true"
PROPERTIES, RECORD = "properties", "record"
PICTURE_HEIGHT_MAX = 330
BODY_WIDTH_MIN = 332


class MessageView(PageView):
    """Shows one message. Read again on F5 and when it is opened again."""

    page_id = "message"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._wanted: tuple[str, int | str] | None = None
        self._detail: MessageDetail | None = None
        self._is_gone = False
        """Whether the broker has no such message any more."""
        self._shown: ShownBody | None = None
        self._line: Lifeline | None = None
        self._detail_query: LatestQuery[MessageDetail] = LatestQuery(self)
        self._line_query: LatestQuery[Lifeline] = LatestQuery(self)
        self.sending = SendDialogs(context, self, lambda: self._detail)
        self.sending.sent.connect(lambda _topic, _sent: self.refresh())
        self.sending.shown_wanted.connect(partial(show_sent, context))
        resend, hand = self.sending.resend_shown, self.sending.hand_shown
        self.resend_button = said_button(theme, "paper-plane-tilt", "Resend…", on_click=resend)
        self.hand_button = said_button(theme, "users-three", "Give to one consumer…", on_click=hand)
        self.compare_button = said_button(theme, "arrows-left-right", "Compare", on_click=self.compare)
        self._body_query: LatestQuery[MessageBody] = LatestQuery(self)
        self._copy = ClipboardCall()
        self.download_button = IconButton(theme, "arrow-square-out", tip=" ", on_click=self.ask_download)
        self.copy_button = said_button(theme, "copy", "Copy as", caret=True, on_click=self._open_copy_menu)
        self.picture = said(LifeLinePicture(theme, context.times), name="Life line")
        self.scale = said(segments({COMPRESSED: "Compressed time", TRUE: "True time"}), name="Scale of the life line")
        self.missing = label(role="caption", wrap=True, selectable=True)
        self.events = ColumnTableModel(life_columns(context.times), lambda event: event.index, parent=self)
        self.event_grid = DataGrid(self.events, theme, row_height=24, several=True)
        self.body = BodyPane(context)
        words = PropertyWords(context.times, lambda level: level_delay_ms(context.source.state, level))
        self.properties = ColumnTableModel(property_columns(words, narrow=True), lambda row: row.name, parent=self)
        self.property_grid = DataGrid(self.properties, theme, row_height=24, several=True)
        self.record = KeyValueList()
        self.facts_switch = said(segments({PROPERTIES: "Properties", RECORD: "Record"}), name="Properties or record")
        self.placeholder = Placeholder(theme)
        self._build()
        self.scale.chosen.connect(lambda key: self.picture.set_compressed(key == COMPRESSED))
        self.facts_switch.chosen.connect(lambda key: self._facts.setCurrentIndex((PROPERTIES, RECORD).index(key)))
        self.picture.lane_chosen.connect(self.event_grid.select_key)
        self.event_grid.menu_asked.connect(self._open_event_menu)
        self.event_grid.activated.connect(self._open_record)
        self.body.shown.connect(self._body_shown)
        self.context.times.changed.connect(self._show_texts)
        on_language(self, self._write_texts)
        self._show_nothing()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def tab_title(self) -> str:
        return self._name(self._detail) if self._detail is not None else self.page_title

    def _name(self, detail: MessageDetail) -> str:
        return message_name(detail, self.body.book.mask_of(detail))

    def gone(self) -> str:
        return tr("The message is gone.") if self._is_gone else ""

    def open(self, arguments: PageArguments) -> None:
        physical_offset, message_id = arguments.get("physical_offset"), arguments.get("message_id")
        if isinstance(physical_offset, int) and physical_offset >= 0:
            self._wanted = ("physical_offset", physical_offset)
        elif isinstance(message_id, str) and message_id:
            self._wanted = ("message_id", message_id)
        self.refresh()

    def state_changed(self, state: ClusterState) -> None:
        self._state = self.sending.state = state

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY and self._detail is None:
            self.refresh()

    def refresh(self) -> None:
        if self._wanted is None:
            return
        kind, value = self._wanted
        source = self.context.source
        pending: Pending[MessageDetail]
        pending = source.ask(ReadMessage(int(value))) if kind == "physical_offset" else source.ask(ReadMessageById(str(value)))
        self.event_grid.set_loading(True)
        if self._detail is None:
            self.placeholder.show_empty(tr("Reading…"))
        self._detail_query.ask(pending, self._show_detail, self._failed)

    def _write_texts(self) -> None:
        if self._wanted is None:
            self._show_nothing()
        self._show_texts()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def compare(self) -> CompareDialog | None:
        """Compare the message with one of its copies, or with any other."""
        if self._detail is None:
            return None
        seen = {self._detail.physical_offset}
        others = []
        for event in self.events.rows:
            is_record = event.kind != "produced" and event.evidence in ("stored", "inferred")
            if is_record and event.physical_offset not in seen and event.topic:
                seen.add(event.physical_offset)
                others.append((f"{event.title} · {event.place}", event.physical_offset))
        return opened(CompareDialog(self.context, self.body.book, self._detail, others, self))

    def ask_download(self) -> QFileDialog | None:
        if self._detail is None or not self.download_button.isEnabled():
            return None
        queue = self.context.queue_text(self._detail.queue_id).replace(" ", "-")
        name = f"{file_name(self._detail.topic)}-{file_name(queue)}-{self._detail.queue_offset}.bin"
        return ask_to_save(self, tr("Download body"), name, partial(self.download, self._detail.physical_offset))

    def download(self, place: int, path: Path) -> None:
        """Read the whole body of a message and write its bytes to a file, off the GUI thread."""

        def failed(error: Exception) -> None:
            reason = kept_line(error)
            self.context.notify(
                lambda: tr("The body was not written to {path}: {reason}", path=path, reason=reason()), state=State.CRITICAL
            )

        def take(answer: MessageBody) -> None:
            write_file(self, path, lambda: answer.body, lambda _size: self._body_written(path, answer), failed)

        self._body_query.ask(self.context.source.ask(ReadBody(place)), take, failed)

    def _body_written(self, path: Path, answer: MessageBody) -> None:
        def words() -> str:
            size = bytes_text(len(answer.body))
            if answer.notice:
                return tr("The body is in {path}, {size}, as it is stored: it does not decompress", path=path, size=size)
            return tr("The body is in {path}, {size}", path=path, size=size)

        self.context.notify(words, state=State.WARNING if answer.notice else State.HEALTHY)

    def _open_copy_menu(self) -> None:
        popup_copies(self.copy_button, self.context.source, self._detail, self.body.body, self._copy)

    def _open_event_menu(self, event: LifeEvent, at: QPoint) -> None:
        menu = new_menu(self)
        if event.physical_offset >= 0:
            words = tr("Open its life line") if event.is_other_life else tr("Show this record")
            menu.addAction(words, lambda: self._open_record(event))
        menu.addAction(tr("Copy row"), self.event_grid.copy)
        menu.popup(at)

    def _open_record(self, event: LifeEvent) -> None:
        """Go to the record of the evidence; its life is the same, its place and properties differ."""
        if event.physical_offset >= 0:
            arguments = {"physical_offset": event.physical_offset}
            self.open(arguments)
            self.place_changed.emit(arguments)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.header.add_action(self.resend_button, self.hand_button, self.compare_button, self.copy_button)
        self.life_panel = Panel(" ", flush=True)
        self.life_panel.add_action(self.scale)
        self._scroll = ScrolledPart()
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scroll.setWidget(self.picture)
        self._scroll.viewport().setAutoFillBackground(False)
        self.picture.setAutoFillBackground(False)
        self.life_panel.content.addWidget(self._scroll)
        self.missing.setContentsMargins(13, 0, 13, 8)
        self.life_panel.content.addWidget(self.missing)
        self.event_panel, self.body_panel, self.property_panel = (Panel(" ", flush=True) for _ in range(3))
        self.event_panel.content.addWidget(self.event_grid)
        self.body_panel.add_action(self.download_button)
        self.body_panel.content.addWidget(self.body)
        self._facts = QStackedWidget()
        record = ScrolledPart()
        record.setFrameShape(QScrollArea.Shape.NoFrame)
        record.setWidget(self.record)
        self.record.setContentsMargins(12, 4, 12, 4)
        self._facts.addWidget(self.property_grid)
        self._facts.addWidget(record)
        self.property_panel.add_action(self.facts_switch)
        self.property_panel.content.addWidget(self._facts)
        # Narrower than its views prefer, because the events need the width more.
        self.body_panel.setMinimumWidth(BODY_WIDTH_MIN)
        widths = ((self.event_panel, 620), (self.body_panel, 300), (self.property_panel, 280))
        self._below = below = splitter(Qt.Orientation.Horizontal, *((panel, width, width) for panel, width in widths))
        fill(self.content, (self.placeholder, 1), self.life_panel, (below, 1))

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_parts(self, *, story: bool) -> None:
        self.placeholder.setVisible(not story)
        self.life_panel.setVisible(story)
        self._below.setVisible(story)
        for button in (self.compare_button, self.copy_button):
            button.setEnabled(story)
        for button in (self.resend_button, self.hand_button):
            set_acting(button, read_only_reason(self.context.source), able=story)

    def _show_nothing(self) -> None:
        self._show_parts(story=False)
        text = tr("No message is open. Choose one on the Messages page and press Enter.")
        self.placeholder.show_empty(text, tr("Messages"), lambda: self.context.navigate("messages"))

    def _failed(self, error: OrbitError) -> None:
        self._detail, self._is_gone = None, isinstance(error, UsageError)
        self._show_parts(story=False)
        words, said = partial(tr, "The message was not read."), partial(error_text, error)
        self.placeholder.show_error(words, said, lambda: tr("Retry"), self.refresh)
        self.title_changed.emit(self.tab_title())

    def _show_detail(self, detail: MessageDetail) -> None:
        if self._detail is None or detail.physical_offset != self._detail.physical_offset:
            self._line = None
            self.events.set_rows([])
            self.picture.set_lanes([])
        self._detail, self._shown, self._is_gone = detail, None, False
        self._show_parts(story=True)
        self.title_changed.emit(self.tab_title())
        self.body.show_body(detail)
        self._show_texts()
        pending = self.context.source.ask(ReadLifeline(detail.physical_offset))
        self._line_query.ask(pending, self._show_line, self._line_failed)

    def _body_shown(self, body: ShownBody) -> None:
        if self._detail is not None:
            self._shown = body
            self._show_download()
            self.title_changed.emit(self.tab_title())
            self.header.set_title(self._name(self._detail))
            properties = self._detail.properties
            self.properties.set_rows(property_rows({name: body.mask.mask_text(value) for name, value in properties.items()}))

    def _show_download(self) -> None:
        """Enable the download once no masking rule may hide any byte."""
        is_masked = self._shown is not None and self._shown.is_masked
        self.download_button.setEnabled(self._shown is not None and not is_masked)
        reason = tr("A masking rule holds for this topic, and a file of the bytes would show what it hides.")
        self.download_button.set_tip(reason if is_masked else tr("Download body…"))

    def _show_line(self, line: Lifeline) -> None:
        self._line = line
        self.event_grid.set_loading(False)
        self.event_grid.set_error("")
        self.events.set_rows(life_events(line, self.context.queue_text))
        self._show_texts()

    def _line_failed(self, error: OrbitError) -> None:
        self.event_grid.set_loading(False)
        words, said = partial(tr, "The life line was not read."), partial(error_text, error)
        self.event_grid.set_error(words, said, lambda: tr("Retry"), self.refresh)

    def _show_texts(self) -> None:
        """Write everything that depends on language or time zone."""
        detail, line = self._detail, self._line
        if detail is None:
            self.header.set_title(self.page_title)
            self.header.set_chips(())
            self.header.set_facts("")
            return
        self.header.set_title(self._name(detail))
        self.header.set_facts(detail.properties.get(UNIQUE_KEY, "") or detail.offset_message_id)
        self.body_panel.set_title(tr("Body"))
        self._show_download()
        self.property_panel.set_title(tr("{count} properties", count=len(detail.properties)), "")
        self.record.set_pairs(record_facts(detail, self.context.times, self.context.queue_text))
        self.life_panel.set_title(tr("Life line"), "" if line is None else self._summary())
        events = list(self.events.rows)
        self.event_panel.set_title(tr("Events"), tr("{count}, with the evidence for each", count=count_text(len(events))))
        self.header.set_chips(life_chips(events))
        self._show_picture(events)
        missing = [] if line is None else [MISSING.text(text) for text in line.missing]
        show_text(self.missing, "\n".join(missing))
        self.events.all_texts_changed()

    def _show_picture(self, events: list[LifeEvent]) -> None:
        now_ms = self._state.taken_ms if self._state is not None else max((event.at_ms for event in events), default=0)
        self.picture.set_lanes(life_lanes(events, now_ms))
        height = self.picture.sizeHint().height()
        self._scroll.setFixedHeight(min(height, PICTURE_HEIGHT_MAX))

    def _summary(self) -> str:
        events = self.events.rows
        records = len({event.physical_offset for event in events if event.evidence == "stored" and event.physical_offset >= 0})
        attempts = sum(event.kind == "attempt" for event in events)
        timed = [event.at_ms for event in events if event.at_ms >= 0]
        parts = [tr("{count} stored records", count=count_text(records)), tr("{count} attempts", count=count_text(attempts))]
        if timed:
            length_ms = max(timed) - min(timed)
            parts.append(duration_text(length_ms) if length_ms >= 1_000 else tr("{count} ms", count=length_ms))
        lanes = life_lanes(events, 0)
        if len(lanes) >= LANES_MAX:
            parts.append(tr("the first {count} lanes are drawn", count=LANES_MAX))
        return ", ".join(parts)
