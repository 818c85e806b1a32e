"""`CompareDialog`: two messages side by side; the second one is chosen by its ID or among the copies of the first.

The functions return the differences of their records, properties and bodies; pure but for the language.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox, QComboBox, QHeaderView, QLineEdit, QWidget

from broker_core.api import OrbitError
from broker_core.outside import whole_of
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage, ReadMessageById
from gui.models.message_words import property_rows, record_facts
from gui.models.messages import KEYS
from gui.models.table import first_word
from gui.operations.background import BackgroundCall
from gui.operations.decoding import DecoderBook, patient
from gui.operations.queries import LatestQuery
from gui.theme.tokens import State, mix
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, fill, label, row
from gui.widgets.containers import Parts
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.inputs import NameBox
from gui.widgets.notice import Notice
from gui.widgets.text_table import TextTable
from gui.words.broker_words import broker_text
from gui.words.error_words import error_text
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, count_text, tr
from monitoring.payload.content import BodyKind
from monitoring.payload.shown import Schemas, ShownBody, read_shown

LINES_MAX = 4_000
"""Further lines of a body are not compared; the result says so."""
HEX_LINE_BYTES = 16


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One value of both messages; empty where one has none."""

    name: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """Matching lines of the bodies; None where one has none. Numbers count from 1."""

    left: str | None
    right: str | None
    left_number: int
    right_number: int

    @property
    def differs(self) -> bool:
        return self.left != self.right


def compared_records(
    left: MessageDetail, right: MessageDetail, times: TimeZoneChoice, queue_text: QueueText
) -> list[ComparedRow]:
    facts, others = (dict(record_facts(one, times, queue_text)) for one in (left, right))
    return [ComparedRow(name, facts.get(name, ""), others.get(name, "")) for name in dict.fromkeys((*facts, *others))]


def compared_properties(left: MessageDetail, right: MessageDetail, one: ShownBody, other: ShownBody) -> list[ComparedRow]:
    """Properties of both, in the order of the table of properties."""
    names = [row.name for row in property_rows({**right.properties, **left.properties})]
    return [
        ComparedRow(
            name,
            one.mask.mask_text(left.properties.get(name, "")),
            other.mask.mask_text(right.properties.get(name, "")),
        )
        for name in names
    ]


def compared_bodies(left: ShownBody, right: ShownBody) -> tuple[list[ComparedLine], str]:
    """Bodies line by line, laid out, bytes in hexadecimal; with a remark, empty where everything was compared."""
    one, other = _lines(left), _lines(right)
    remark = ""
    if max(len(one), len(other)) > LINES_MAX:
        remark = tr("The first {count} lines are compared.", count=count_text(LINES_MAX))
    return _matched(one[:LINES_MAX], other[:LINES_MAX]), remark


def _lines(body: ShownBody) -> list[str]:
    if body.content.kind is BodyKind.BYTES and not body.is_masked:
        data = body.content.data[: (LINES_MAX + 1) * HEX_LINE_BYTES]
        return [data[start : start + HEX_LINE_BYTES].hex(" ") for start in range(0, len(data), HEX_LINE_BYTES)]
    return body.content.text.splitlines()


def _matched(one: Sequence[str], other: Sequence[str]) -> list[ComparedLine]:
    made = []
    for _tag, start, end, other_start, other_end in difflib.SequenceMatcher(None, one, other).get_opcodes():
        pairs = zip_longest(range(start, end), range(other_start, other_end))
        made += [
            ComparedLine(
                None if i is None else one[i],
                None if j is None else other[j],
                -1 if i is None else i + 1,
                -1 if j is None else j + 1,
            )
            for i, j in pairs
        ]
    return made


WIDTH, HEIGHT = 980, 640
TINT_PERCENT = 16

Compared = tuple[list[ComparedRow], list[ComparedRow], list[ComparedLine], str]


class CompareDialog(FittedDialog):
    """Compares a message with another one.

    Signals:
        compared: Both were read and are shown.
    """

    compared = Signal()

    def __init__(
        self,
        context: PageContext,
        book: DecoderBook,
        left: MessageDetail,
        others: Sequence[tuple[str, int]] = (),
        parent: QWidget | None = None,
    ) -> None:
        """Create it; ``others`` are messages to choose from: names and physical offsets."""
        super().__init__(parent)
        self.setWindowTitle(tr("Compare messages"))
        self.resize(WIDTH, HEIGHT)
        self._context = context
        self._book = book
        self._left = left
        self._right: MessageDetail | None = None
        self._query: LatestQuery[MessageDetail] = LatestQuery(self)
        self._call = BackgroundCall()
        self._call.done.connect(self._show)
        self._shown: Compared | None = None
        self.other = NameBox()
        self.entry = QLineEdit()
        self.other.setEditable(True)
        self.other.setLineEdit(self.entry)
        self.only_differences = QCheckBox(tr("Differences only"))
        self.error = Notice(context.theme)
        self.summary = label(role="caption")
        self.tabs = Parts()
        self.properties, self.record, self.body = (_table() for _ in range(3))
        self._build(others)
        self.entry.returnPressed.connect(self._entered)
        self.other.activated.connect(self._chosen)
        self.only_differences.toggled.connect(lambda _on: self._fill())
        if others:
            self.other.setCurrentIndex(0)
            self._chosen(0)

    def compare_with(self, right: MessageDetail) -> None:
        """Show the differences to a message."""
        self._right = right
        left, book, schemas = self._left, self._book, Schemas()
        records = compared_records(left, right, self._context.times, self._context.queue_text)
        rules = [patient(book.rule(detail.topic, detail.properties)) for detail in (left, right)]
        hidden = "The decoder rules cannot be used, so both bodies are hidden."
        self.error.set(partial(tr, hidden) if book.fault else "", partial(broker_text, book.fault), State.WARNING)

        def work() -> tuple[MessageDetail, Compared]:
            one, other = read_shown(left.body, rules[0], schemas), read_shown(right.body, rules[1], schemas)
            return right, _compared(left, right, one, other, records)

        self._call.start(work)

    def _build(self, others: Sequence[tuple[str, int]]) -> None:
        self.other.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.other.setAccessibleName(tr("Other message"))
        self.entry.setPlaceholderText(tr("Offset message ID or physical offset, then Enter"))
        for name, physical_offset in others:
            self.other.addItem(name, physical_offset)
        self.other.setCurrentIndex(-1)
        self.error.set("")
        lines = self.lay_out(spacing=10)
        left = ElidedLabel(self._name(self._left), "strong", mode=Qt.TextElideMode.ElideMiddle)
        fill(lines, row(left, label(tr("with"), "caption"), (self.other, 1), self.only_differences), self.summary, self.error)
        for table, title in ((self.body, tr("Body")), (self.properties, tr("Properties")), (self.record, tr("Record"))):
            self.tabs.addTab(table, title)
            table.setAccessibleName(title)
        lines.addWidget(self.tabs, 1)

    def _chosen(self, index: int) -> None:
        physical_offset = self.other.itemData(index)
        if isinstance(physical_offset, int):
            self._ask(physical_offset)

    def _entered(self) -> None:
        text = self.other.currentText().strip()
        physical_offset = whole_of(text.replace(",", ""))
        if physical_offset is not None:
            self._ask(physical_offset)
        elif text:
            self._query.ask(self._context.source.ask(ReadMessageById(text)), self.compare_with, self._failed)

    def _ask(self, physical_offset: int) -> None:
        self._query.ask(self._context.source.ask(ReadMessage(physical_offset)), self.compare_with, self._failed)

    def _failed(self, error: OrbitError) -> None:
        self.error.set(lambda: tr("The other message was not read."), partial(error_text, error), State.CRITICAL)

    def _show(self, result: tuple[MessageDetail, Compared]) -> None:
        if result[0] is self._right:
            self._shown = result[1]
            self._fill()
            self.compared.emit()

    def _fill(self) -> None:
        if self._shown is None or self._right is None:
            return
        properties, record, body, remark = self._shown
        heads = [tr("Name"), self._name(self._left), self._name(self._right)]
        self._fill_rows(self.properties, properties, heads)
        self._fill_rows(self.record, record, heads)
        self._fill_body(body)
        differing = [sum(item.differs for item in items) for items in (body, properties, record)]
        words = tr(
            "{body} lines of the body, {properties} properties and {record} facts of the record differ.",
            body=differing[0], properties=differing[1], record=differing[2],
        )  # fmt: skip
        self.summary.setText(f"{words} {remark}".strip())

    def _fill_rows(self, table: TextTable, rows: Sequence[ComparedRow], heads: list[str]) -> None:
        shown = [item for item in rows if item.differs or not self.only_differences.isChecked()]
        cells = [((item.name, item.left or UNKNOWN, item.right or UNKNOWN), item.differs) for item in shown]
        self._fill_table(table, heads, cells)

    def _fill_body(self, lines: Sequence[ComparedLine]) -> None:
        shown = [line for line in lines if line.differs or not self.only_differences.isChecked()]
        cells = [
            ((_number(line.left_number), line.left or "", _number(line.right_number), line.right or ""), line.differs)
            for line in shown
        ]
        assert self._right is not None
        self._fill_table(self.body, ["", self._name(self._left), "", self._name(self._right)], cells)

    def _name(self, detail: MessageDetail) -> str:
        keys = first_word(self._book.mask_of(detail).text(detail.properties.get(KEYS, "")))
        place = f"{detail.topic} · {self._context.queue_text(detail.queue_id)} · {count_text(detail.queue_offset)}"
        return f"{keys} ({place})" if keys else place

    def _fill_table(self, table: TextTable, heads: list[str], rows: Sequence[tuple[tuple[str, ...], bool]]) -> None:
        tokens = self._context.theme.tokens
        marked = {number for number, (_texts, differs) in enumerate(rows) if differs}
        table.set_rows(heads, [texts for texts, _differs in rows], marked, QColor(mix(tokens.mark, tokens.panel, TINT_PERCENT)))
        header = table.horizontalHeader()
        for place, head in enumerate(heads):
            narrow = place == 0 or not head
            mode = QHeaderView.ResizeMode.ResizeToContents if narrow else QHeaderView.ResizeMode.Stretch
            header.setSectionResizeMode(place, mode)


def _compared(
    left: MessageDetail, right: MessageDetail, one: ShownBody, other: ShownBody, records: list[ComparedRow]
) -> Compared:
    lines, remark = compared_bodies(one, other)
    return compared_properties(left, right, one, other), records, lines, remark


def _table() -> TextTable:
    table = TextTable()
    table.verticalHeader().hide()
    table.setShowGrid(False)
    table.setWordWrap(False)
    return table


def _number(number: int) -> str:
    return "" if number < 0 else str(number)
