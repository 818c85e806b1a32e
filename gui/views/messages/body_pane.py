"""`BodyPane`: a body as tree, text, table and hexadecimal, with its layers, and why other views are not possible.

`marked_spans`: places of filter matches in a text, bounded so that the window stays responsive.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QStackedWidget, QWidget

from broker_core.api import Marks
from broker_core.worker.questions.stored_messages import MessageDetail
from gui.operations.decoding import BodyReader
from gui.views.messages.decoding_rules_dialog import DecodingRulesDialog
from gui.views.messages.json_tree import JsonTree
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column, label, row, show_text
from gui.widgets.code_view import HEX_BYTES_MAX, CodeView, HexView
from gui.widgets.long_text import SHOWN_CHARACTERS_MAX
from gui.widgets.popups import opened
from gui.widgets.said import on_language, said, said_button, say_items, segments
from gui.widgets.text_table import TextTable
from gui.words.broker_words import broker_text
from gui.words.text import KnownTexts, bytes_text, count_text, tr
from monitoring.payload.content import BodyKind, Content
from monitoring.payload.encodings import ENCODINGS
from monitoring.payload.rules import DecoderRule
from monitoring.payload.shown import NO_PATHS, ShownBody
from monitoring.payload.tables import Table

if TYPE_CHECKING:
    from broker_core.api import MarkPattern


SPANS_MAX = 1_000
LITERAL_CHARACTERS_MAX = 1024 * 1024
EXPRESSION_CHARACTERS_MAX = 32 * 1024
EXPRESSION_LINE_MAX = 1_000
"""A regular expression can take the square of a line's length; literals take its length."""


def marked_spans(text: str, pattern: MarkPattern, *, is_literal: bool) -> list[tuple[int, int]]:
    """Start and length of the matches, in characters; of a long text only those at its beginning."""
    if is_literal:
        found = pattern.finditer(text, 0, LITERAL_CHARACTERS_MAX)
        return [(match.start(), len(match[0])) for match in islice(found, SPANS_MAX) if match[0]]
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text[:EXPRESSION_CHARACTERS_MAX].splitlines(keepends=True):
        part = line[:EXPRESSION_LINE_MAX].rstrip("\r\n")
        spans += [(start + match.start(), len(match[0])) for match in pattern.finditer(part) if match[0]]
        start += len(line)
        if len(spans) >= SPANS_MAX:
            break
    return spans[:SPANS_MAX]


TREE, TEXT, TABLE, HEX = "tree", "text", "table", "hex"
VIEWS = {TREE: "Tree", TEXT: "Text", TABLE: "Table", HEX: "Hex"}
TABLE_ROWS_SHOWN, TABLE_COLUMNS_SHOWN, TABLE_CELLS_SHOWN = 2_000, 200, 20_000
"""Limits of the table; the note says how many rows there are."""
STRUCTURED = (BodyKind.JSON, BodyKind.MSGPACK, BodyKind.PROTOBUF)
ENCODING_NAMES = {
    "utf-8": "UTF-8", "utf-8-sig": "UTF-8", "gb18030": "GBK (GB18030)", "utf-16": "UTF-16", "big5": "Big5",
    "shift_jis": "Shift JIS", "euc_kr": "EUC-KR", "latin-1": "Latin-1",
}  # fmt: skip
NOTICES = KnownTexts(
    "{size} bytes; structures are read up to {limit}",
    "its objects and arrays are more than {limit}, so it is not read as a structure",
    NO_PATHS,
)


class BodyPane(QWidget):
    """Shows the body of one message by the decoder rule of its topic.

    Signals:
        shown: The body was read and is on screen, or its masking changed; carries its `ShownBody`.
    """

    shown = Signal(object)

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        theme = context.theme
        self._context = context
        self._detail: MessageDetail | None = None
        self.body: ShownBody | None = None
        """The shown body; None while it is read."""
        self._read_by: DecoderRule | None = None
        self._read_with = ""
        """The rule, and the fault of all rules, by which the body was read."""
        self._is_revealed = False
        self._marks = Marks()
        self._wanted_view = TREE
        self.book = context.decoders
        self.reader = BodyReader(self)
        self.tree = JsonTree(theme, context.times)
        self.text = CodeView(theme, "json")
        self.table = said(TextTable(), name="Body as a table")
        self.hex = HexView()
        self.note = ElidedLabel(role="caption")
        self.layers = label(role="caption", wrap=True)
        self.refusals = label(role="warning", wrap=True, selectable=True)
        self.switch = segments(VIEWS)
        self.encoding = said(QComboBox(), name="Encoding of the text")
        self.rules_button = said_button(theme, "funnel", on_click=self.open_rules, tip="Decoder rules…")
        self.reveal = said_button(theme, "key", "Hold to show", role="small")
        self._views = QStackedWidget()
        self.rules_button.setEnabled(self.book.is_read)
        self._build()
        self.switch.chosen.connect(self.choose_view)
        self.encoding.activated.connect(lambda _index: self._read())
        self.reader.read.connect(self._body_read)
        self.book.changed.connect(self._rules_changed)
        self.book.judged.connect(self._judged)
        self.reveal.pressed.connect(lambda: self._reveal(shown=True))
        self.reveal.released.connect(lambda: self._reveal(shown=False))
        on_language(self, self._show)

    # ---- what its owner calls --------------------------------------------------------------------------------------

    def show_body(self, detail: MessageDetail) -> None:
        if self._detail is None or detail.topic != self._detail.topic:
            self.encoding.setCurrentIndex(0)
        self._detail = detail
        self._read()

    def set_marks(self, marks: Marks) -> None:
        """Mark the matches of a search in this body and the next ones."""
        if marks != self._marks:
            self._marks = marks
            self.tree.set_mark(marks.body)
            self._mark_text()

    def _mark_text(self) -> None:
        pattern, is_literal = self._marks.body, self._marks.is_literal
        text = self.text.toPlainText() if pattern is not None else ""
        self.text.mark([] if pattern is None else marked_spans(text, pattern, is_literal=is_literal))

    def open_rules(self) -> DecodingRulesDialog:
        topic = self._detail.topic if self._detail is not None else ""
        return opened(DecodingRulesDialog(self.book, self._context.theme, topic, self))

    def choose_view(self, key: str) -> None:
        self._wanted_view = key
        self.switch.choose(key)
        self._show()

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.encoding.addItem(" ", "")
        say_items(self.encoding, ["Any encoding"])
        for name in ENCODINGS:
            self.encoding.addItem(ENCODING_NAMES[name], name)
        for view in (self.tree, self.text, self.table, self.hex):
            self._views.addWidget(view)
        self.refusals.setContentsMargins(12, 0, 12, 4)
        self.layers.setContentsMargins(12, 0, 12, 4)
        self.setLayout(
            column(
                row(self.switch, 1, self.reveal, spacing=10, margins=(12, 8, 12, 6)),
                self.layers,
                self.refusals,
                (self._views, 1),
                row((self.note, 1), self.encoding, self.rules_button, margins=(12, 4, 12, 6)),
                spacing=0,
            )
        )

    # ---- reading ---------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        detail = self._detail
        if detail is None:
            return
        self.body, self._is_revealed = None, False
        self.note.setText(tr("Reading the body…"))
        self.book.refresh()
        self._read_by, self._read_with = self._rule(), self.book.fault
        self.reader.read_body(detail.body, self._read_by, str(self.encoding.currentData() or ""))

    def _body_read(self, body: ShownBody) -> None:
        self.body = body
        self.reveal.setVisible(body.is_masked)
        self.switch.choose(self._usable_view(body.plain))
        self._show()
        self.shown.emit(body)

    def _rules_changed(self) -> None:
        self.rules_button.setEnabled(self.book.is_read)
        if self._detail is None:
            return
        if self._rule() != self._read_by or self.book.fault != self._read_with:
            self._read()

    def _judged(self) -> None:
        if self.body is not None and self.body.is_masked:
            self.shown.emit(self.body)

    def _rule(self) -> DecoderRule | None:
        return None if self._detail is None else self.book.rule(self._detail.topic, self._detail.properties)

    def _usable_view(self, content: Content) -> str:
        """The view chosen last, or the next one that can show the body."""
        wanted = self._wanted_view
        if content.kind is BodyKind.BYTES:
            return HEX
        if wanted == TREE and content.kind not in STRUCTURED:
            return TABLE if content.kind is BodyKind.TABLE else TEXT
        if wanted == TABLE and content.table is None:
            return TREE if content.kind in STRUCTURED else TEXT
        return wanted

    def _reveal(self, *, shown: bool) -> None:
        self._is_revealed = shown
        self._show()

    # ---- showing ---------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        detail, body = self._detail, self.body
        if detail is None or body is None:
            return
        content = body.plain if self._is_revealed else body.content
        view = self.switch.current
        if view == HEX:
            self._show_hex(detail, body)
        elif view == TREE and content.kind in STRUCTURED:
            self.tree.set_value(content.value)
            self._views.setCurrentWidget(self.tree)
        elif view == TABLE and content.table is not None:
            self._show_table(content)
        else:
            language = "json" if content.kind in STRUCTURED else "text"
            self.text.set_code(content.text, language)
            self._mark_text()
            self._views.setCurrentWidget(self.text)
        self.note.setText(self._note(detail, body, view))
        self._show_remarks(detail, body)

    def _show_hex(self, detail: MessageDetail, body: ShownBody) -> None:
        if body.is_masked and not self._is_revealed:
            self.hex.setPlainText(self._hidden_words())
        else:
            self.hex.set_bytes(detail.body)
        self._views.setCurrentWidget(self.hex)

    def _hidden_words(self) -> str:
        if self.book.fault:
            return tr("Hidden, as the decoder rules cannot be used. Hold the button above to see the bytes.")
        return tr("Hidden by the masking rule of this topic. Hold the button above to see the bytes.")

    def _show_table(self, content: Content) -> None:
        table = content.table
        assert table is not None
        self.table.set_rows(table.headings[:TABLE_COLUMNS_SHOWN], table.rows[: _rows_shown(table)])
        self._views.setCurrentWidget(self.table)

    def _note(self, detail: MessageDetail, body: ShownBody, view: str) -> str:
        content = body.content
        if detail.notice:
            return detail.notice
        if content.kind is BodyKind.EMPTY:
            return tr("The body is empty")
        parts = [tr(content.kind.value)]
        if content.encoding:
            parts.append(ENCODING_NAMES.get(content.encoding, content.encoding))
        parts.append(self._extent(body, view))
        if view == TEXT and self.text.is_broken:
            parts.append(tr("long lines in parts, copied whole"))
        if view == TREE and content.kind not in STRUCTURED:
            parts.append(tr("no tree"))
        if view == TABLE and content.table is None:
            parts.append(tr("no table"))
        return ", ".join(parts)

    def _extent(self, body: ShownBody, view: str) -> str:
        content, table = body.content, body.content.table
        if view == TABLE and table is not None:
            return self._table_extent(table)
        if view == HEX and body.size_bytes > HEX_BYTES_MAX:
            return tr("first {shown} of {whole} bytes", shown=count_text(HEX_BYTES_MAX), whole=count_text(body.size_bytes))
        if view == TEXT and len(content.text) > SHOWN_CHARACTERS_MAX:
            shown_text, whole = count_text(SHOWN_CHARACTERS_MAX), count_text(len(content.text))
            return tr("first {shown} of {whole} characters", shown=shown_text, whole=whole)
        if content.is_cut:
            return tr("first {size} of what is inside", size=bytes_text(len(body.plain.data)))
        return tr("all {count} bytes", count=count_text(body.size_bytes))

    def _table_extent(self, table: Table) -> str:
        shown, columns = _rows_shown(table), len(table.headings)
        is_cut = shown < len(table.rows) or table.is_cut
        words = tr("first {count} rows", count=count_text(shown)) if is_cut else tr("{count} rows", count=count_text(shown))
        if columns > TABLE_COLUMNS_SHOWN:
            words += ", " + tr("first {shown} of {count} columns", shown=TABLE_COLUMNS_SHOWN, count=count_text(columns))
        return words

    def _show_remarks(self, detail: MessageDetail, body: ShownBody) -> None:
        layers = [
            tr("{name}: {packed} → {unpacked}", name=layer.name, packed=bytes_text(layer.packed_bytes),
               unpacked=bytes_text(layer.unpacked_bytes))
            for layer in body.plain.layers
        ]  # fmt: skip
        if detail.sys_flag & 1 and not detail.notice:
            packed, unpacked = bytes_text(detail.stored_body_bytes), bytes_text(len(detail.body))
            layers.insert(0, tr("Compressed by the producer: {packed} → {unpacked}", packed=packed, unpacked=unpacked))
        show_text(self.layers, " · ".join(layers))
        # The reasons against other views of the body, as the readers report them.
        refusals = [tr("Not read as {name}: {reason}", name=name, reason=_why(why)) for name, why in body.plain.refusals]
        if self.book.fault:
            words = tr(
                "The decoder rules cannot be used, so all bodies are hidden: {reason}", reason=broker_text(self.book.fault)
            )
            refusals.insert(0, words)
        show_text(self.refusals, "\n".join(refusals))


def _why(text: str) -> str:
    """Why a body was not decoded, in the language of the window."""
    told = NOTICES.text(text)
    return broker_text(text) if told == text else told


def _rows_shown(table: Table) -> int:
    columns = max(min(len(table.headings), TABLE_COLUMNS_SHOWN), 1)
    return min(len(table.rows), TABLE_ROWS_SHOWN, TABLE_CELLS_SHOWN // columns)
