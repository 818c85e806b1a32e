"""`ComposeDialog`: send a new message, or a stored one again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
    QFrame,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from broker_core.api import MessageDetail, OrbitError, SendMessage, SendReceipt
from gui.models.compose import DraftTemplate
from gui.models.compose_history import draft_name, drafts_from_text, drafts_to_text, with_draft
from gui.models.messages import (
    ALL_QUEUES,
    Draft,
    draft_fault,
    dropped_properties,
    json_fault,
    message_to_send,
    resend_draft,
    writable_topics,
    write_queue_count,
)
from gui.operations.queries import LatestQuery
from gui.text import bytes_text, count_text, tr
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.messages.browse_bar import topic_choice
from gui.views.messages.burst import Burst
from gui.views.messages.message_import import MessageImport
from gui.views.messages.property_editor import PropertyEditor
from gui.views.messages.send_options import SendOptions
from gui.widgets.basic import IconButton, column, label, row
from gui.widgets.code_view import CodeView, HexView
from gui.widgets.notice import Notice
from gui.widgets.progress_line import ProgressLine
from monitoring.compose.code import LANGUAGES
from monitoring.compose.template import Moment, Template, TemplateError
from monitoring.payload.encodings import decode_text
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

HISTORY_KEY = "compose/history"
_ENDED = {
    "commit": "Half message stored, and committed: consumers get it.",
    "rollback": "Half message stored, and rolled back: nobody gets it.",
    "unknown": "Half message stored and left undecided: the Transactions page shows it.",
}


class ComposeDialog(QDialog):
    """Asks for a message and sends it; stays open with the receipt so that more can be sent.

    Signals:
        sent: The broker stored the message; carries its topic and `SendReceipt`.
        shown_wanted: The stored message is to be shown; carries the same.
        stored_several: A burst is over; carries its topic and how many messages the broker stored.
    """

    sent = Signal(str, object)
    shown_wanted = Signal(str, object)
    stored_several = Signal(str, int)

    def __init__(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        *,
        topic: str = "",
        resent: MessageDetail | None = None,
        settings: QSettings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            source: Where the message goes.
            theme: Colours.
            state: Topics and queues to choose from.
            topic: Topic that is proposed for a new message.
            resent: The stored message to send again; None for a new one.
            settings: Where the history of what was sent is kept; None: there is none.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._source = source
        self._state = state
        self._resent = resent
        self._settings = settings
        self._query: LatestQuery[SendReceipt] = LatestQuery(self)
        self._receipt: tuple[str, SendReceipt] | None = None
        self._original = b""
        self._original_text = ""
        self._flag = 0
        self._chance = random.Random()
        self.topic_text = QLineEdit()
        self.topic = topic_choice(self.topic_text)
        self.queue = QComboBox()
        self.tag = QLineEdit()
        self.keys = QLineEdit()
        self.properties = PropertyEditor(theme)
        self.body = CodeView(theme, "json", editable=True)
        self.body_bytes = HexView(theme)
        self.options = SendOptions(fills=resent is None)
        self.imports = MessageImport(self._import_template, self)
        self.import_button = IconButton(theme, "folder-open", " ", on_click=self._import_clicked)
        self.burst: Burst | None = None
        self.progress = ProgressLine(theme)
        self.copy_as = IconButton(theme, "code", tr("Copy as"), caret=True)
        self.history = IconButton(theme, "clock", tr("History"), caret=True)
        self.body_note = label(role="caption", wrap=True)
        self.effect = Notice(theme)
        self.error = label(role="critical", wrap=True, selectable=True)
        self.receipt = label(role="healthy", wrap=True, selectable=True)
        self.send_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._send)
        self.show_button = QPushButton(tr("Show message"))
        self.copy_button = QPushButton(tr("Copy ID"))
        self.cancel_button = QPushButton(tr("Cancel"))
        self.setWindowTitle(tr("Send message") if resent is None else tr("Resend message"))
        self.setMinimumWidth(660)
        self._build()
        self._connect()
        self._fill(Draft(topic, ALL_QUEUES, "", "", (), b"") if resent is None else resend_draft(resent))

    # ---- state -----------------------------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        """What would be sent now."""
        data = self.queue.currentData()
        return Draft(
            topic=self.topic_text.text().strip(),
            queue_id=int(data) if data is not None else ALL_QUEUES,
            tag=self.tag.text(),
            keys=self.keys.text(),
            properties=(*self.properties.pairs(), *self.options.properties()),
            body=self._body(),
            flag=self._flag,
        )

    def _body(self) -> bytes:
        """The body: as stored until its text is edited, then the text in UTF-8."""
        text = self.body.toPlainText()
        return self._original if self._is_bytes or text == self._original_text else text.encode()

    @property
    def _is_bytes(self) -> bool:
        return self._bodies.currentWidget() is self.body_bytes

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for field in (self.tag, self.keys):
            field.setFont(mono_font())
        self.keys.setPlaceholderText(tr("Several keys apart by spaces"))
        names = ((self.topic, "Topic"), (self.queue, "Queue"), (self.tag, "Tag"), (self.keys, "Keys"), (self.body, "Body"))
        for widget, name in names:
            widget.setAccessibleName(tr(name))
        self._bodies = QStackedWidget()
        self._bodies.addWidget(self.body)
        self._bodies.addWidget(self.body_bytes)
        self._bodies.setMinimumHeight(170)
        self.body_note.setMinimumHeight(2 * self.body_note.sizeHint().height())
        self.body_note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.body.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        bodies = QFrame()
        bodies.setProperty("role", "inset")
        bodies.setLayout(column(self._bodies, margins=(1, 1, 1, 1)))
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        where = row(self.topic, self.queue)
        where.setStretch(0, 1)
        form.addRow(label(tr("Topic"), "secondary"), where)
        form.addRow(label(tr("Tag"), "secondary"), self.tag)
        form.addRow(label(tr("Keys"), "secondary"), self.keys)
        self.options.add_to(form)
        form.addRow(label(tr("Properties"), "secondary"), self.properties)
        form.addRow(label(tr("Body"), "secondary"), bodies)
        form.addRow("", self.body_note)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(12)
        lines.addWidget(label(self.windowTitle(), "card-title"))
        lines.addWidget(self.effect)
        lines.addLayout(form, 1)
        self.progress.hide()
        lines.addWidget(self.progress)
        for text in (self.error, self.receipt):
            text.hide()
            lines.addWidget(text)
        for button in (self.show_button, self.copy_button):
            button.hide()
        lines.addLayout(
            row(
                self.history,
                self.import_button,
                self.copy_as,
                self.show_button,
                self.copy_button,
                1,
                self.cancel_button,
                self.send_button,
            )
        )
        self.import_button.setVisible(self._resent is None)
        self._languages = QMenu(self)
        for language in LANGUAGES:
            self._languages.addAction(language).triggered.connect(lambda _checked=False, name=language: self.copy_code(name))
        self.copy_as.setMenu(self._languages)
        self._past = QMenu(self)
        self._past.aboutToShow.connect(self._list_history)
        self.history.setMenu(self._past)
        self.history.setVisible(self._settings is not None and self._resent is None)
        self._write_verb()

    def _write_verb(self) -> None:
        count = len(self.imports.messages) or self.options.count.value()
        self.import_button.setText(tr("Without the files") if self._has_import else tr("Import…"))
        if count > 1:
            self.send_button.setText(tr("Send {count} messages", count=count_text(count)))
        elif self._receipt is not None:
            self.send_button.setText(tr("Send again"))
        else:
            self.send_button.setText(tr("Send message") if self._resent is None else tr("Resend 1 message"))

    def _connect(self) -> None:
        self.topic_text.textChanged.connect(self._topic_changed)
        for field in (self.tag, self.keys):
            field.textChanged.connect(self._check)
        self.queue.currentIndexChanged.connect(self._check)
        self.properties.changed.connect(self._check)
        self.options.changed.connect(self._check)
        self.body.textChanged.connect(self._check)
        self.imports.changed.connect(self._imports_changed)
        self.cancel_button.clicked.connect(self.reject)
        self.show_button.clicked.connect(self._show_sent)
        self.copy_button.clicked.connect(self._copy_id)
        for button in (self.cancel_button, self.show_button, self.copy_button, self.send_button):
            button.setAutoDefault(False)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self).activated.connect(self._send)

    def _fill(self, draft: Draft) -> None:
        topics = writable_topics(self._state) if self._state is not None else []
        self.topic.clear()
        self.topic.addItems(topics)
        self.topic.setCurrentIndex(topics.index(draft.topic) if draft.topic in topics else -1)
        self.topic_text.setText(draft.topic)
        self.tag.setText(draft.tag)
        self.keys.setText(draft.keys)
        self.properties.set_pairs(draft.properties)
        self._flag = draft.flag
        self._original = draft.body
        text, _encoding = decode_text(draft.body)
        if text is None:
            self.body_bytes.set_bytes(draft.body)
            self._bodies.setCurrentWidget(self.body_bytes)
        else:
            self._bodies.setCurrentWidget(self.body)
            self.body.setPlainText(text)
            self._original_text = self.body.toPlainText()
        self._topic_changed()

    # ---- history ---------------------------------------------------------------------------------------------------

    def past_drafts(self) -> list[Draft]:
        """What was sent last, newest first, as it was entered."""
        return drafts_from_text(str(self._settings.value(HISTORY_KEY, "[]"))) if self._settings is not None else []

    def take_up(self, draft: Draft) -> None:
        """Enter what was sent before."""
        self._fill(draft)
        queue = self.queue.findData(draft.queue_id)
        self.queue.setCurrentIndex(max(queue, 0))

    def _keep(self) -> None:
        if self._settings is not None and self._resent is None:
            self._settings.setValue(HISTORY_KEY, drafts_to_text(with_draft(self.past_drafts(), self.draft)))

    def _list_history(self) -> None:
        self._past.clear()
        drafts = self.past_drafts()
        for draft in drafts:
            # An ampersand would underline what follows it.
            action = self._past.addAction(draft_name(draft).replace("&", "&&"))
            action.triggered.connect(lambda _checked=False, draft=draft: self.take_up(draft))
        if not drafts:
            self._past.addAction(tr("Nothing was sent yet")).setEnabled(False)

    # ---- checks ----------------------------------------------------------------------------------------------------

    def _topic_changed(self) -> None:
        count = write_queue_count(self._state, self.topic_text.text().strip()) if self._state is not None else 0
        if self.queue.count() != count + 1:
            self.queue.clear()
            self.queue.addItem(tr("Any queue"), ALL_QUEUES)
            for queue_id in range(count):
                self.queue.addItem(tr("Queue {queue}", queue=queue_id), queue_id)
        self._check()

    def _check(self) -> None:
        fault, refusal = self._fault(), read_only_reason(self._source)
        self.send_button.setEnabled(not fault and not refusal and not self._is_sending)
        self.send_button.setToolTip(refusal or fault or tr("Ctrl+Enter"))
        self.copy_as.setEnabled(not fault)
        self._write_verb()
        self._show_body_note()
        self._show_effect()

    @property
    def _is_sending(self) -> bool:
        return self._query.waiting or self.burst is not None

    def _fault(self) -> str:
        """Why it cannot be sent; empty when it can."""
        if self._has_import or self.imports.is_reading:
            return self.imports.fault or (tr("The files are being read.") if self.imports.is_reading else self.options.fault)
        fault = draft_fault(self.draft)
        if fault is not None or self.options.fault:
            return tr(fault.value) if fault is not None else self.options.fault
        try:
            self._template()
        except TemplateError as error:
            return error.message
        return ""

    def _template(self) -> DraftTemplate:
        draft = self.draft
        queues = write_queue_count(self._state, draft.topic) if self._state is not None else 0
        return DraftTemplate(draft, queues=queues, fills=self.options.fills.isChecked())

    def _message(self, template: DraftTemplate, number: int) -> SendMessage:
        message = template.message(Moment(number, time.time_ns() // 1_000_000, self._chance))
        return replace(message, transaction=self.options.transaction_end)

    # ---- files -----------------------------------------------------------------------------------------------------

    @property
    def _has_import(self) -> bool:
        """Whether files were chosen, also such as cannot be sent."""
        return bool(self.imports.messages or self.imports.fault)

    def _import_clicked(self) -> None:
        if self._has_import:
            self.imports.forget()
        else:
            self.imports.ask_files()

    def _import_template(self) -> SendMessage:
        """What whole files are sent as: what is entered, without its body."""
        return message_to_send(replace(self.draft, body=b""))

    def _imports_changed(self) -> None:
        has_files = bool(self.imports.messages)
        for field in (self.tag, self.keys, self.properties, self._bodies, self.topic, self.queue):
            field.setEnabled(not has_files)
        self.options.set_several(several=has_files)
        self.error.setText(self.imports.fault)
        self.error.setVisible(bool(self.imports.fault))
        self._check()

    def _import_message(self, number: int) -> SendMessage:
        return replace(self.imports.messages[number - 1], transaction=self.options.transaction_end)

    def _first_text(self) -> str:
        """Text of the body as the first message will have it; as it was written where that cannot be told."""
        text = self.body.toPlainText()
        if self._is_bytes or not self.options.fills.isChecked():
            return text
        try:
            return Template(text).fill(Moment(1, time.time_ns() // 1_000_000, self._chance))
        except TemplateError:
            return text

    def copy_code(self, language: str) -> None:
        """Put a program that sends the message on the clipboard; variables are filled in as for the first."""
        ready = self._source.ready
        if ready is not None and not self._fault():
            code = LANGUAGES[language](self._message(self._template(), 1), ready.name_server, ready.broker_name)
            QGuiApplication.clipboard().setText(code)

    def _show_body_note(self) -> None:
        if self.imports.words:
            self.body_note.setText(self.imports.words)
            set_role(self.body_note, "caption")
            return
        draft = self.draft
        size = tr("{count} bytes", count=count_text(len(draft.body)))
        text = self._first_text()
        looks_like_json = text.lstrip().startswith(("{", "["))
        fault = json_fault(text) if looks_like_json and not self._is_bytes else ""
        if self._is_bytes:
            words = tr("Bytes that are no text, sent as they are, {size}", size=bytes_text(len(draft.body)))
        elif fault:
            words = tr("{size}, no JSON: {fault}. It would be sent as text.", size=size, fault=fault)
        else:
            words = f"JSON, {size}" if looks_like_json else tr("Text, {size}", size=size)
        self.body_note.setText(words)
        set_role(self.body_note, "warning" if fault else "caption")

    def _show_effect(self) -> None:
        if self._resent is None:
            self.effect.set("")
            return
        draft = self.draft
        stays = draft.body == self._resent.body
        facts = [
            tr("The stored message stays where it is; groups that consume {topic} get one more.", topic=draft.topic),
            tr("Body unchanged.") if stays else tr("Body edited."),
            tr("A new unique ID is given."),
        ]
        dropped = dropped_properties(self._resent)
        if dropped:
            facts.append(tr("Not sent again: {names}.", names=", ".join(dropped)))
        set_role(self.effect, "info")
        self.effect.set(tr("Sends 1 message to {topic}", topic=draft.topic), " ".join(facts), State.INFO)

    # ---- send ------------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        if self._fault() or read_only_reason(self._source) or self._is_sending:
            return
        self.error.hide()
        self.receipt.hide()
        if self.imports.messages:
            self._send_burst(self._import_message, len(self.imports.messages), self.imports.messages[0].topic)
            return
        template, topic = self._template(), self.draft.topic
        self._keep()
        if self.options.count.value() > 1:
            self._send_burst(partial(self._message, template), self.options.count.value(), topic)
            return
        message = self._message(template, 1)
        pending = self._source.send_message(message)
        self._query.ask(pending, lambda receipt: self._stored(topic, receipt, message.transaction), self._refused)
        self._check()

    def _send_burst(self, make: Callable[[int], SendMessage], count: int, topic: str) -> None:
        burst = Burst(self._source, make, count=count, rate=self.options.rate.value(), parent=self)
        burst.progressed.connect(lambda stored: self._show_progress(stored, count))
        burst.finished.connect(lambda stored, error: self._burst_over(topic, stored, count, error))
        self.burst = burst
        self.cancel_button.setText(tr("Stop"))
        self.progress.show()
        self._check()
        burst.start()

    def _show_progress(self, stored: int, count: int) -> None:
        self.progress.set_share(stored / count)
        self.receipt.setText(tr("{stored} of {count} stored", stored=count_text(stored), count=count_text(count)))
        self.receipt.show()

    def _burst_over(self, topic: str, stored: int, count: int, error: OrbitError | None) -> None:
        assert self.burst is not None
        self.burst.deleteLater()
        self.burst = None
        self._show_progress(stored, count)
        self.progress.hide()
        self.cancel_button.setText(tr("Close"))
        if error is not None:
            self._refused(error)
        self._check()
        if stored:
            self.stored_several.emit(topic, stored)

    def reject(self) -> None:
        """Stop a burst, and close when none runs."""
        if self.burst is not None:
            self.burst.stop()
        else:
            super().reject()

    def _stored(self, topic: str, receipt: SendReceipt, end: str) -> None:
        self._receipt = (topic, receipt)
        place = {"topic": topic, "queue": receipt.queue_id, "offset": count_text(receipt.queue_offset)}
        text = tr(_ENDED[end]) if end else tr("Stored in {topic}, queue {queue}, offset {offset}", **place)
        self.receipt.setText(f"{text}\n{receipt.offset_message_id}")
        for widget in (self.receipt, self.copy_button):
            widget.show()
        # The receipt of a transaction names its half message, which no queue of the topic has.
        self.show_button.setVisible(not end)
        self.cancel_button.setText(tr("Close"))
        self._check()
        self.sent.emit(topic, receipt)

    def _refused(self, error: OrbitError) -> None:
        self.error.setText(tr("The message was not sent: {reason}", reason=error.message))
        self.error.show()
        self._check()

    def _show_sent(self) -> None:
        if self._receipt is not None:
            self.shown_wanted.emit(*self._receipt)
            self.accept()

    def _copy_id(self) -> None:
        if self._receipt is not None:
            QGuiApplication.clipboard().setText(self._receipt[1].offset_message_id)
