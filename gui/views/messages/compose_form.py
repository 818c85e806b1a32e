"""`ComposeForm`: the fields of a message to send, with masked parts of a stored one hidden.

`PropertyEditor`: names and values of a message's properties, one line each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QFrame, QLayout, QLineEdit, QSizePolicy, QStackedWidget, QWidget

from gui.models.messages import ALL_QUEUES, MessageDraft, json_fault, writable_topics
from gui.models.queue_window import queue_text, write_queues
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.views.messages.browse_bar import topic_choice
from gui.views.messages.send_options import SendOptions
from gui.widgets.basic import column, form_layout, label, row, show_text, take_out
from gui.widgets.code_view import CodeView, HexView
from gui.widgets.said import on_language, said, said_button, said_label, say
from gui.words.text import bytes_text, count_text, tr
from monitoring.payload.encodings import decode_text
from monitoring.state import ClusterState

LINES_MAX = 40
"""Stored properties that can be edited, because each line takes about a millisecond to make; more are sent as they are."""


class PropertyEditor(QWidget):
    """A list of lines that can grow and shrink.

    Signals:
        changed: A name, a value or the number of lines changed.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._lines: list[_Line] = []
        self._rest: tuple[tuple[str, str], ...] = ()
        """Properties without a line."""
        self.rest_words = label(role="caption", wrap=True)
        self._layout = column(spacing=6)
        self.setLayout(self._layout)
        self.add_button = said_button(theme, "plus", "Add property", role="quiet", on_click=self._add_clicked)
        self._layout.addLayout(row(self.add_button, (self.rest_words, 1), spacing=8))
        on_language(self, self._say_rest)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The entered properties; lines with neither name nor value are left out."""
        entered = ((line.entered_name, line.value.text()) for line in self._lines)
        return (*(pair for pair in entered if any(pair)), *self._rest)

    def set_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Show these properties; of many, the first."""
        with QSignalBlocker(self):
            for line in list(self._lines):
                self._remove(line)
            for name, value in pairs[:LINES_MAX]:
                self.add(name, value)
        self._rest = tuple(pairs[LINES_MAX:])
        self._say_rest()
        self.changed.emit()

    def _say_rest(self) -> None:
        count = count_text(len(self._rest))
        show_text(self.rest_words, tr("Without a line here, sent unchanged: {count}", count=count) if self._rest else "")

    def add(self, name: str = "", value: str = "") -> None:
        line = _Line(self._theme, name, value)
        line.name.textChanged.connect(self.changed)
        line.value.textChanged.connect(self.changed)
        line.remove.clicked.connect(lambda _checked=False: self._remove(line))
        self._lines.append(line)
        self._layout.insertWidget(self._layout.count() - 1, line)
        self.changed.emit()

    def _add_clicked(self) -> None:
        self.add()
        self._lines[-1].name.setFocus()

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        take_out(self._layout, line)
        self.changed.emit()


class _Line(QWidget):
    def __init__(self, theme: ThemeManager, name: str, value: str) -> None:
        super().__init__()
        self.name = QLineEdit(name)
        self.value = QLineEdit(value)
        for field, hint in ((self.name, "Name"), (self.value, "Value")):
            said(field, hint=hint).setFont(mono_font())
        self.remove = said_button(theme, "x", tip="Remove property")
        self.setLayout(row((self.name, 2), (self.value, 3), self.remove, spacing=6))

    @property
    def entered_name(self) -> str:
        """Without surrounding spaces, unless the stored name has them."""
        return self.name.text().strip() if self.name.isModified() else self.name.text()


BODY_HEIGHT, NARROW_BODY_HEIGHT = 170, 72


class ComposeForm(QWidget):
    """Fields of a `MessageDraft`. A binary body is shown as bytes and stays unchanged.

    Where a stored message is masked, its fields cannot be edited and the original is sent, until `show_original` is called.

    Signals:
        changed: Another message would be sent.
    """

    changed = Signal()

    def __init__(
        self, theme: ThemeManager, state: Callable[[], ClusterState | None], *, is_new: bool, is_narrow: bool = False
    ) -> None:
        """Create it.

        Args:
            theme: Colours.
            state: Returns the present topics and queues to choose from.
            is_new: Whether the message is new, with variables to fill in.
            is_narrow: Whether the fields are side by side; then the owner sets the topic (`set_topic`).
        """
        super().__init__()
        self._state = state
        self._original = b""
        self._original_text = ""
        self._flag = 0
        self._veiled: MessageDraft | None = None
        """What is sent in place of the shown fields."""
        self.topic_text = QLineEdit()
        self.topic = topic_choice(self.topic_text)
        self.queue = QComboBox()
        self.tag = QLineEdit()
        self.keys = QLineEdit()
        self.properties = PropertyEditor(theme)
        self.body = CodeView(theme, "json", editable=True)
        self.body_bytes = HexView()
        self.options = SendOptions(fills=is_new)
        self.body_note = label(role="caption", wrap=True)
        self.original_button = said_button(theme, "key", "Show and edit the original", on_click=self.show_original)
        self._bodies = QStackedWidget()
        self._is_narrow = is_narrow
        self._build()
        self._connect()
        names = (
            (self.topic, "Topic"), (self.topic_text, "Topic"), (self.queue, "Queue"), (self.tag, "Tag"), (self.keys, "Keys"),
            (self.body, "Body"),
        )  # fmt: skip
        for widget, name in names:
            said(widget, name=name)
        keys = "Keys, apart by spaces" if is_narrow else "Several keys apart by spaces"
        say(self.keys, "setPlaceholderText", keys)
        say(self.tag, "setPlaceholderText", "Tag" if is_narrow else "")
        on_language(self, self._write_texts)

    # ---- what is entered -------------------------------------------------------------------------------------------

    @property
    def draft(self) -> MessageDraft:
        """The message that would be sent now."""
        shown = self.shown_draft
        if self._veiled is None:
            return shown
        properties = (*self._veiled.properties, *self.options.properties())
        return replace(self._veiled, topic=shown.topic, queue_id=shown.queue_id, properties=properties)

    @property
    def shown_draft(self) -> MessageDraft:
        """The shown fields, without masked parts."""
        data = self.queue.currentData()
        return MessageDraft(
            topic=self.topic_text.text().strip(),
            queue_id=int(data) if data is not None else ALL_QUEUES,
            # The values of a stored message stay unchanged, with their blanks, until they are edited.
            tag=self.tag.text().strip() if self.tag.isModified() else self.tag.text(),
            keys=" ".join(self.keys.text().split()) if self.keys.isModified() else self.keys.text(),
            properties=(*self.properties.pairs(), *self.options.properties()),
            body=self._body(),
            flag=self._flag,
        )

    def _body(self) -> bytes:
        """The stored body until its text is edited, then the text in UTF-8."""
        is_stored = self.is_bytes or self.body.toPlainText() == self._original_text
        return self._original if is_stored else self.body.written_text().encode()

    @property
    def is_bytes(self) -> bool:
        """Whether the body is binary."""
        return self._bodies.currentWidget() is self.body_bytes

    @property
    def is_veiled(self) -> bool:
        """Whether a part that is sent is hidden here."""
        return self._veiled is not None

    def fill(self, draft: MessageDraft, shown: MessageDraft | None = None) -> None:
        """Show a draft; ``shown`` is the same without masked parts."""
        self._veiled = draft if shown is not None and shown != draft else None
        self._fill(draft if shown is None else shown)

    def set_topic(self, topic: str) -> None:
        """Send to another topic; the other fields stay."""
        if topic != self.topic_text.text():
            self.topic_text.setText(topic)

    def show_original(self) -> None:
        """Show the hidden parts, and enable editing."""
        if self._veiled is not None:
            self.fill(self.draft)

    def set_for_files(self, *, has_files: bool) -> None:
        """Disable the fields whose content messages of files bring."""
        self._enable(has_fields=not has_files)
        for field in (self.topic, self.queue):
            field.setEnabled(not has_files)
        self.options.set_several(several=has_files)

    def _enable(self, *, has_fields: bool) -> None:
        for field in (self.tag, self.keys, self.properties, self._bodies):
            field.setEnabled(has_fields and self._veiled is None)
        self.original_button.setVisible(self._veiled is not None)

    def _fill(self, draft: MessageDraft) -> None:
        state = self._state()
        topics = writable_topics(state) if state is not None else []
        self.topic.clear()
        self.topic.addItems(topics)
        self.topic.setCurrentIndex(topics.index(draft.topic) if draft.topic in topics else -1)
        self.topic_text.setText(draft.topic)
        self.tag.setText(draft.tag)
        self.keys.setText(draft.keys)
        # Hidden properties are sent unchanged; the fields of the options add to them.
        self.properties.set_pairs(draft.properties if self.is_veiled else self.options.take(draft.properties))
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
        self._enable(has_fields=True)
        self._list_queues()
        self.queue.setCurrentIndex(max(self.queue.findData(draft.queue_id), 0))

    def _write_texts(self) -> None:
        for place in range(self.queue.count()):
            self.queue.setItemText(place, self._queue_text(self.queue.itemData(place)))

    # ---- words under the body --------------------------------------------------------------------------------------

    def show_note(self, files: str, first_text: str) -> None:
        is_json = first_text.lstrip().startswith(("{", "[")) and not self.body.is_held
        fault = json_fault(first_text) if is_json and not self.is_bytes and not files else ""
        self.body_note.setText(files or self._note(first_text, fault))
        set_role(self.body_note, "warning" if fault else "caption")

    def _note(self, text: str, fault: str) -> str:
        body = self.draft.body
        size = tr("{count} bytes", count=count_text(len(body)))
        if self._veiled is not None:
            return tr("What the masking rules hide is hidden here; the original is sent, {size}", size=size)
        if self.is_bytes:
            return tr("Bytes that are no text, sent as they are, {size}", size=bytes_text(len(body)))
        if self.body.is_held:
            return tr(
                "Text, {size}, too long to be edited here, or with line breaks of several kinds. "
                "Delete removes it, and pasting replaces it.",
                size=size,
            )
        if fault:
            return tr("{size}, no JSON: {fault}. It would be sent as text.", size=size, fault=fault)
        return f"JSON, {size}" if text.lstrip().startswith(("{", "[")) else tr("Text, {size}", size=size)

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        is_narrow = self._is_narrow
        for field in (self.tag, self.keys):
            field.setFont(mono_font())
        self._bodies.addWidget(self.body)
        self._bodies.addWidget(self.body_bytes)
        self._bodies.setMinimumHeight(NARROW_BODY_HEIGHT if is_narrow else BODY_HEIGHT)
        self.body_note.setMinimumHeight((1 if is_narrow else 2) * self.body_note.sizeHint().height())
        self.body_note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.body.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        bodies = QFrame()
        bodies.setProperty("role", "inset")
        bodies.setLayout(column(self._bodies, margins=(1, 1, 1, 1)))
        form = form_layout(self, across=16, down=8 if is_narrow else 10, grow="expanding")
        note = row((self.body_note, 1), self.original_button)
        if is_narrow:
            self._fill_narrow(form, bodies, note)
        else:
            self._fill_wide(form, bodies, note)

    def _fill_wide(self, form: QFormLayout, bodies: QWidget, note: QLayout) -> None:
        form.addRow(said_label("Topic"), row((self.topic, 1), self.queue))
        form.addRow(said_label("Tag"), self.tag)
        form.addRow(said_label("Keys"), self.keys)
        self.options.add_to(form)
        form.addRow(said_label("Properties"), self.properties)
        form.addRow(said_label("Body"), bodies)
        form.addRow("", note)

    def _fill_narrow(self, form: QFormLayout, bodies: QWidget, note: QLayout) -> None:
        """Short fields side by side, the body in the middle, without the topic."""
        for part in (self.topic, self.topic_text):
            part.setParent(self)
            part.hide()
        # In one line: with a wrapped note the fields would have their preferred height, and scroll.
        self.body_note.setWordWrap(False)
        self.body_note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        form.addRow(said_label("Tag, keys"), row((self.tag, 2), (self.keys, 3), self.queue))
        self.options.add_delivery(form)
        form.addRow(said_label("Body"), bodies)
        form.addRow("", note)
        form.addRow(said_label("Properties"), self.properties)
        self.options.add_order_and_repeat(form)

    def _connect(self) -> None:
        self.topic_text.textChanged.connect(self._list_queues)
        for field in (self.tag, self.keys):
            field.textChanged.connect(self.changed)
        self.queue.currentIndexChanged.connect(self.changed)
        self.properties.changed.connect(self.changed)
        self.options.changed.connect(self.changed)
        self.body.textChanged.connect(self.changed)

    def _list_queues(self) -> None:
        queues = self.queues
        if [self.queue.itemData(place) for place in range(self.queue.count())] != [ALL_QUEUES, *queues]:
            self.queue.clear()
            for queue_id in (ALL_QUEUES, *queues):
                self.queue.addItem(self._queue_text(queue_id), queue_id)
        self.changed.emit()

    @property
    def queues(self) -> list[int]:
        """Numbers of the queues of the topic that take messages; empty where that is not known."""
        return write_queues(self._state(), self.topic_text.text().strip())

    def _queue_text(self, queue_id: int) -> str:
        return tr("Any queue") if queue_id == ALL_QUEUES else tr("Queue {queue}", queue=queue_text(self._state(), queue_id))
