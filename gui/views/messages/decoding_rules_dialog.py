"""`DecodingRulesDialog`: how bodies of topics are decoded, and which parts are masked."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QLineEdit,
    QListWidget,
    QSizePolicy,
    QWidget,
)

from broker_core.api import UsageError
from gui.operations.background import BackgroundCall
from gui.operations.decoding import DecoderBook
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import IconButton, column, fill, form_layout, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.long_text import LongTextEdit
from gui.widgets.notice import Notice
from gui.widgets.popups import ask_file
from gui.widgets.said import push_button
from gui.words.broker_words import broker_text
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.payload.encodings import ENCODINGS
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import READINGS, DecoderRule
from monitoring.payload.shown import Schemas

WIDTH, HEIGHT = 780, 520
BOX_HEIGHT = 66
_READING_NAMES = {
    "": "Find out", "json": "JSON", "xml": "XML", "table": "Table", "msgpack": "MessagePack", "protobuf": "Protobuf",
    "text": "Text", "bytes": "Bytes",
}  # fmt: skip


class DecodingRulesDialog(FittedDialog):
    """Edits a copy of the rules; the first that fits a topic counts. It closes when they are saved."""

    def __init__(self, book: DecoderBook, theme: ThemeManager, topic: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Decoder rules"))
        self.resize(WIDTH, HEIGHT)
        self._book = book
        self._shown = -1
        self._drafts: list[dict[str, object]] = [_draft(rule) for rule in book.rules]
        self._schemas = Schemas()
        self._call = BackgroundCall()
        self._call.done.connect(self._types_read)
        self._call.failed.connect(self._types_failed)
        self.list = QListWidget()
        self.topics, self.schema = QLineEdit(), QLineEdit()
        self.reading, self.encoding, self.message_type = QComboBox(), QComboBox(), QComboBox()
        self.unwraps = QCheckBox(tr("Undo compression (gzip, zlib, LZ4, Zstandard)"))
        self.masked_paths, self.masked_text = LongTextEdit(editable=True), LongTextEdit(editable=True)
        self.error = Notice(theme)
        self.add = IconButton(theme, "plus", tip=tr("Add a rule"), on_click=lambda: self._add(""))
        self.remove = IconButton(theme, "x", tip=tr("Remove the rule"), on_click=self._remove)
        self.up = IconButton(theme, "caret-up", tip=tr("Earlier"), on_click=lambda: self._move(-1))
        self.down = IconButton(theme, "caret-down", tip=tr("Later"), on_click=lambda: self._move(1))
        self.save_button = push_button("Save", self.save, role="primary")
        self._build()
        self.list.currentRowChanged.connect(self._show_rule)
        self.topics.textChanged.connect(self._topics_changed)
        self.reading.currentIndexChanged.connect(lambda _index: self._write_states())
        self.schema.editingFinished.connect(self._read_types)
        self._book.saved.connect(self.accept)
        self._book.refused.connect(self._refused)
        self._fill(topic)

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for name in READINGS:
            self.reading.addItem(tr(_READING_NAMES[name]), name)
        self.encoding.addItem(tr("Any encoding"), "")
        for name in ENCODINGS:
            self.encoding.addItem(name, name)
        self.message_type.setEditable(True)
        self.topics.setPlaceholderText("orders*")
        self.masked_paths.setPlaceholderText("customer.card\nitems.*.iban")
        self.masked_text.setPlaceholderText("[0-9]{16}")
        for box in (self.masked_paths, self.masked_text):
            box.setProperty("role", "code")
            box.setFont(mono_font())
            box.setTabChangesFocus(True)
        self.browse = push_button("Browse…", self._browse)
        self.form = QWidget()
        form = form_layout(self.form)
        schema = QWidget()
        schema.setLayout(row(self.schema, self.browse))
        schema.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        lines_of_form: tuple[tuple[str, QWidget, QWidget], ...] = (
            (tr("Topics"), self.topics, self.topics),
            (tr("Read as"), self.reading, self.reading),
            (tr("Encoding"), self.encoding, self.encoding),
            ("", self.unwraps, self.unwraps),
            (tr("Protobuf schema"), schema, self.schema),
            (tr("Message type"), self.message_type, self.message_type),
            (tr("Masked paths"), _inset(self.masked_paths), self.masked_paths),
            (tr("Masked text"), _inset(self.masked_text), self.masked_text),
        )
        for name, field, entry in lines_of_form:
            form.addRow(label(name), field)
            if name:
                entry.setAccessibleName(name)
        typed = self.message_type.lineEdit()
        assert typed is not None
        typed.setAccessibleName(tr("Message type"))
        left = column(self.list, row(self.add, self.remove, self.up, self.down, 1, spacing=2), spacing=6)
        cancel = push_button("Cancel", self.reject)
        self.list.setAccessibleName(tr("Decoder rules"))
        self.list.setMaximumWidth(220)
        sides = row(left, (self.form, 1), spacing=16)
        lines = self.lay_out()
        hint = tr(
            "The first rule whose pattern fits a topic counts. What is masked is hidden in the message and in its copies."
        )
        fill(lines, label(hint, "secondary", wrap=True), (sides, 1))
        self.set_foot(self.error, row(1, cancel, self.save_button))

    def _fill(self, topic: str) -> None:
        if self._book.fault:
            self.error.set(
                lambda: tr("The rules were not read; saving replaces them."),
                partial(broker_text, self._book.fault),
                State.WARNING,
            )
        self.list.addItems([str(draft["topics"]) for draft in self._drafts])
        fitting = next((number for number, rule in enumerate(self._book.rules) if topic and rule.fits(topic)), -1)
        if fitting < 0 and topic:
            self._add(topic)
        else:
            self.list.setCurrentRow(max(fitting, 0))
        self._write_states()

    # ---- the list --------------------------------------------------------------------------------------------------

    def _add(self, topics: str) -> None:
        self._keep()
        self._drafts.append(_draft(DecoderRule(topics or "*")))
        self.list.addItem(topics or "*")
        self.list.setCurrentRow(len(self._drafts) - 1)

    def _remove(self) -> None:
        number = self.list.currentRow()
        if number >= 0:
            del self._drafts[number]
            self._shown = -1
            self.list.takeItem(number)
            self._show_rule(self.list.currentRow())

    def _move(self, by: int) -> None:
        number = self.list.currentRow()
        target = number + by
        if number < 0 or not 0 <= target < len(self._drafts):
            return
        self._keep()
        self._drafts[number], self._drafts[target] = self._drafts[target], self._drafts[number]
        self._shown = -1
        self.list.insertItem(target, self.list.takeItem(number))
        self.list.setCurrentRow(target)

    def _show_rule(self, number: int) -> None:
        self._keep()
        self._shown = -1
        if 0 <= number < len(self._drafts):
            draft = self._drafts[number]
            self.topics.setText(str(draft["topics"]))
            self.reading.setCurrentIndex(self.reading.findData(draft["reading"]))
            self.encoding.setCurrentIndex(max(self.encoding.findData(draft["encoding"]), 0))
            self.unwraps.setChecked(bool(draft["unwraps"]))
            self.schema.setText(str(draft["schema"]))
            self.message_type.clear()
            self.message_type.setEditText(str(draft["message_type"]))
            self.masked_paths.setPlainText(str(draft["masked_paths"]))
            self.masked_text.setPlainText(str(draft["masked_text"]))
            self._shown = number
            self._read_types()
        self._write_states()

    def _keep(self) -> None:
        """Store the fields in the shown draft."""
        if not 0 <= self._shown < len(self._drafts):
            return
        self._drafts[self._shown] = {
            "topics": self.topics.text().strip(),
            "reading": self.reading.currentData(),
            "encoding": self.encoding.currentData(),
            "unwraps": self.unwraps.isChecked(),
            "schema": self.schema.text().strip(),
            "message_type": self.message_type.currentText().strip(),
            "masked_paths": self.masked_paths.toPlainText(),
            "masked_text": self.masked_text.toPlainText(),
        }

    def _topics_changed(self, text: str) -> None:
        item = self.list.item(self._shown)
        if item is not None:
            item.setText(text)

    def _write_states(self) -> None:
        self.form.setEnabled(bool(self._drafts))
        for widget in (self.schema, self.browse, self.message_type):
            widget.setEnabled(self.reading.currentData() == "protobuf")
        number, count = self.list.currentRow(), len(self._drafts)
        self.remove.setEnabled(number >= 0)
        self.up.setEnabled(number > 0)
        self.down.setEnabled(0 <= number < count - 1)

    # ---- schemas ---------------------------------------------------------------------------------------------------

    def _browse(self) -> None:
        kinds = ["Protobuf (*.proto *.desc *.pb *.protoset *.bin)"]
        ask_file(self, tr("Protobuf schema"), self._use_schema, start=self.schema.text(), kinds=kinds)

    def _use_schema(self, path: str) -> None:
        self.schema.setText(path)
        self._read_types()

    def _read_types(self) -> None:
        path, schemas = self.schema.text().strip(), self._schemas
        if path and self.reading.currentData() == "protobuf":
            self._call.start(lambda: (path, schemas.schema(Path(path)).types))

    def _types_read(self, result: tuple[str, tuple[str, ...]]) -> None:
        path, types = result
        if path != self.schema.text().strip():
            return
        chosen = self.message_type.currentText()
        self.message_type.clear()
        self.message_type.addItems(types)
        self.message_type.setEditText(chosen or (types[0] if types else ""))
        self.error.set("")

    def _types_failed(self, error: Exception) -> None:
        self.error.set(lambda: tr("The schema was not read."), partial(error_text, error), State.WARNING)

    # ---- saving ----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Check all rules and save them; the first fault is shown with its rule."""
        self._keep()
        rules = []
        for number, draft in enumerate(self._drafts):
            try:
                rules.append(_rule(draft))
            except UsageError as error:
                self._shown = -1
                self.list.setCurrentRow(number)
                self._show_rule(number)
                self.error.set(
                    partial(tr, "Rule {number} cannot be used.", number=number + 1), partial(error_text, error), State.WARNING
                )
                return
        self.save_button.setEnabled(False)
        self._book.save(rules)

    def _refused(self, error: UsageError) -> None:
        self.save_button.setEnabled(True)
        self.error.set(lambda: tr("The rules were not saved."), partial(error_text, error), State.CRITICAL)


def _inset(inside: QWidget) -> QFrame:
    frame = QFrame()
    frame.setProperty("role", "inset")
    frame.setLayout(row(inside, margins=(1, 1, 1, 1)))
    frame.setFixedHeight(BOX_HEIGHT)
    return frame


def _draft(rule: DecoderRule) -> dict[str, object]:
    return {
        "topics": rule.topics,
        "reading": rule.reading,
        "encoding": rule.encoding,
        "unwraps": rule.unwraps,
        "schema": rule.schema,
        "message_type": rule.message_type,
        "masked_paths": "\n".join(rule.mask.paths),
        "masked_text": "\n".join(rule.mask.expressions),
    }


def _rule(draft: dict[str, object]) -> DecoderRule:
    mask = MaskRules(_lines(draft["masked_paths"]), _lines(draft["masked_text"]))
    return DecoderRule(
        topics=str(draft["topics"]),
        reading=str(draft["reading"]),
        encoding=str(draft["encoding"]),
        unwraps=bool(draft["unwraps"]),
        schema=str(draft["schema"]),
        message_type=str(draft["message_type"]),
        mask=mask,
    )


def _lines(text: object) -> tuple[str, ...]:
    return tuple(line.strip() for line in str(text).splitlines() if line.strip())
