"""`ComposeDialog`: send a new message, or a stored one again."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
    QFrame,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from broker_core.api import MessageDetail, OrbitError, SendReceipt
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
from gui.views.messages.property_editor import PropertyEditor
from gui.widgets.basic import IconButton, column, label, row
from gui.widgets.code_view import CodeView, HexView
from gui.widgets.notice import Notice
from monitoring.payload.encodings import decode_text
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState


class ComposeDialog(QDialog):
    """Asks for a message and sends it; stays open with the receipt so that more can be sent.

    Signals:
        sent: The broker stored the message; carries its topic and `SendReceipt`.
        shown_wanted: The stored message is to be shown; carries the same.
    """

    sent = Signal(str, object)
    shown_wanted = Signal(str, object)

    def __init__(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        *,
        topic: str = "",
        resent: MessageDetail | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            source: Where the message goes.
            theme: Colours.
            state: Topics and queues to choose from.
            topic: Topic that is proposed for a new message.
            resent: The stored message to send again; None for a new one.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._source = source
        self._state = state
        self._resent = resent
        self._query: LatestQuery[SendReceipt] = LatestQuery(self)
        self._receipt: tuple[str, SendReceipt] | None = None
        self._original = b""
        self._original_text = ""
        self._flag = 0
        self.topic_text = QLineEdit()
        self.topic = topic_choice(self.topic_text)
        self.queue = QComboBox()
        self.tag = QLineEdit()
        self.keys = QLineEdit()
        self.properties = PropertyEditor(theme)
        self.body = CodeView(theme, "json", editable=True)
        self.body_bytes = HexView(theme)
        self.body_note = label(role="caption", wrap=True)
        self.effect = Notice(theme)
        self.error = label(role="critical", wrap=True, selectable=True)
        self.receipt = label(role="healthy", wrap=True, selectable=True)
        self.send_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._send)
        self.show_button = QPushButton(tr("Show message"))
        self.copy_button = QPushButton(tr("Copy ID"))
        self.cancel_button = QPushButton(tr("Cancel"))
        self.setWindowTitle(tr("Send message") if resent is None else tr("Resend message"))
        self.setMinimumWidth(620)
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
            properties=self.properties.pairs(),
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
        form.addRow(label(tr("Properties"), "secondary"), self.properties)
        form.addRow(label(tr("Body"), "secondary"), bodies)
        form.addRow("", self.body_note)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(12)
        lines.addWidget(label(self.windowTitle(), "card-title"))
        lines.addWidget(self.effect)
        lines.addLayout(form, 1)
        for text in (self.error, self.receipt):
            text.hide()
            lines.addWidget(text)
        for button in (self.show_button, self.copy_button):
            button.hide()
        lines.addLayout(row(self.show_button, self.copy_button, 1, self.cancel_button, self.send_button))
        self.send_button.setText(tr("Send message") if self._resent is None else tr("Resend 1 message"))

    def _connect(self) -> None:
        self.topic_text.textChanged.connect(self._topic_changed)
        for field in (self.tag, self.keys):
            field.textChanged.connect(self._check)
        self.queue.currentIndexChanged.connect(self._check)
        self.properties.changed.connect(self._check)
        self.body.textChanged.connect(self._check)
        self.cancel_button.clicked.connect(self.reject)
        self.show_button.clicked.connect(self._show_sent)
        self.copy_button.clicked.connect(self._copy_id)
        for button in (self.cancel_button, self.show_button, self.copy_button, self.send_button):
            button.setAutoDefault(False)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self).activated.connect(self._send)

    def _fill(self, draft: Draft) -> None:
        topics = writable_topics(self._state) if self._state is not None else []
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
            self.body.setPlainText(text)
            self._original_text = self.body.toPlainText()
        self._topic_changed()

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
        fault = draft_fault(self.draft)
        refusal = read_only_reason(self._source)
        self.send_button.setEnabled(fault is None and not refusal and not self._query.waiting)
        self.send_button.setToolTip(refusal or (tr(fault.value) if fault is not None else tr("Ctrl+Enter")))
        self._show_body_note()
        self._show_effect()

    def _show_body_note(self) -> None:
        draft = self.draft
        size = tr("{count} bytes", count=count_text(len(draft.body)))
        text = self.body.toPlainText()
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
        draft = self.draft
        if draft_fault(draft) is not None or read_only_reason(self._source) or self._query.waiting:
            return
        self.error.hide()
        self.receipt.hide()
        pending = self._source.send_message(message_to_send(draft))
        self._query.ask(pending, lambda receipt: self._stored(draft.topic, receipt), self._refused)
        self._check()

    def _stored(self, topic: str, receipt: SendReceipt) -> None:
        self._receipt = (topic, receipt)
        place = {"topic": topic, "queue": receipt.queue_id, "offset": count_text(receipt.queue_offset)}
        text = tr("Stored in {topic}, queue {queue}, offset {offset}", **place)
        self.receipt.setText(f"{text}\n{receipt.offset_message_id}")
        for widget in (self.receipt, self.show_button, self.copy_button):
            widget.show()
        self.cancel_button.setText(tr("Close"))
        self.send_button.setText(tr("Send again"))
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
