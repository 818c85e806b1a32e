"""`MessageDetailPane`: one message with its body, properties and record facts."""

from __future__ import annotations

import json
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from broker_core.api import MessageDetail
from gui.models.messages import (
    KEYS,
    TAGS,
    TEXT_BYTES_MAX,
    UNIQUE_KEY,
    Body,
    BodyKind,
    MessageRow,
    PropertyRow,
    property_rows,
    read_body,
)
from gui.models.table import ColumnTableModel
from gui.text import UNKNOWN, TimeZoneChoice, bytes_text, count_text, tr
from gui.theme.manager import ThemeManager
from gui.views.messages.columns import property_columns
from gui.views.messages.json_tree import JsonTree
from gui.widgets.basic import ElidedLabel, IconButton, Line
from gui.widgets.code_view import CodeView, HexView
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SegmentedControl
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Placeholder
from gui.widgets.panel import Panel
from gui.widgets.progress_line import ProgressLine

TREE, TEXT, HEX = "tree", "text", "hex"


class MessageDetailPane(Panel):
    """Shows the selected message.

    Signals:
        resend_wanted: The shown message is to be sent again; carries its `MessageDetail`.
    """

    resend_wanted = Signal(object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget | None = None) -> None:
        super().__init__(flush=True, parent=parent)
        self._times = times
        self._detail: MessageDetail | None = None
        self._body: Body | None = None
        self._body_view = TREE
        self.name = ElidedLabel(role="panel-title", mode=Qt.TextElideMode.ElideMiddle)
        self.place = ElidedLabel(role="caption")
        self.tree = JsonTree(theme, times)
        self.text = CodeView(theme, "json")
        self.hex = HexView(theme)
        self.body_note = ElidedLabel(role="caption")
        self.body_switch = SegmentedControl(((TREE, " "), (TEXT, " "), (HEX, " ")))
        self.properties: ColumnTableModel[PropertyRow] = ColumnTableModel(
            property_columns(), lambda property_: property_.name, parent=self
        )
        self.property_grid = DataGrid(self.properties, theme, row_height=24, several=True)
        self.record = KeyValueList()
        self.tabs = QTabWidget()
        self.resend_button = IconButton(theme, "paper-plane-tilt", " ", on_click=self._ask_resend)
        self.copy_button = IconButton(theme, "copy", " ", on_click=self._open_copy_menu)
        self.placeholder = Placeholder(theme)
        self.progress = ProgressLine(theme)
        self.progress.hide()
        self._stack = QStackedWidget()
        self._build()
        self.body_switch.chosen.connect(self._choose_body_view)
        self.property_grid.menu_asked.connect(self._open_property_menu)
        self.retranslate()
        self.show_nothing()

    # ---- what the view calls ---------------------------------------------------------------------------------------

    @property
    def detail(self) -> MessageDetail | None:
        """The shown message."""
        return self._detail

    def show_nothing(self) -> None:
        """No message is selected."""
        self._detail = None
        self.progress.hide()
        self.placeholder.show_empty(tr("Select a message to read it."))
        self._stack.setCurrentWidget(self.placeholder)

    def show_loading(self, row: MessageRow | None) -> None:
        """A message is being read; the one before stays until it is there."""
        self.progress.setVisible(True)
        if row is not None and self._stack.currentIndex() == 1:
            self.name.setText(row.name)

    def show_error(self, text: str, detail: str) -> None:
        """The message could not be read."""
        self._detail = None
        self.progress.hide()
        self.placeholder.show_error(text, detail)
        self._stack.setCurrentWidget(self.placeholder)

    def show_message(self, detail: MessageDetail) -> None:
        """Show a whole message."""
        self._detail = detail
        self._body = read_body(detail.body)
        self.progress.hide()
        self.name.setText(_name(detail))
        self.place.setText(_place(detail))
        self.properties.set_rows(property_rows(detail.properties))
        self._show_tab_titles()
        self._show_record(detail)
        self.body_switch.choose(self._usable_view())
        self._show_body()
        self._stack.setCurrentIndex(1)

    def retranslate(self) -> None:
        """Write all texts anew."""
        for key, text in ((TREE, "Tree"), (TEXT, "Text"), (HEX, "Hex")):
            self.body_switch.set_text(key, tr(text))
        self.resend_button.setText(tr("Resend…"))
        self.copy_button.setText(tr("Copy as"))
        self._show_tab_titles()
        if self._detail is not None:
            self.show_message(self._detail)
        elif not self.progress.isVisible():
            self.show_nothing()

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        words = QVBoxLayout()
        words.setContentsMargins(12, 10, 12, 4)
        words.setSpacing(2)
        words.addWidget(self.name)
        words.addWidget(self.place)
        self.tabs.addTab(self._body_page(), "")
        self.tabs.addTab(self.property_grid, "")
        self.tabs.addTab(self._record_page(), "")
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setDocumentMode(True)
        self.tabs.setStyleSheet("QTabWidget::tab-bar { left: 12px; }")
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 8, 12, 10)
        foot.setSpacing(8)
        foot.addWidget(self.resend_button)
        foot.addWidget(self.copy_button)
        foot.addStretch(1)
        page = QWidget()
        lines = QVBoxLayout(page)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addLayout(words)
        lines.addWidget(self.tabs, 1)
        lines.addWidget(Line())
        lines.addLayout(foot)
        self._stack.addWidget(self.placeholder)
        self._stack.addWidget(page)
        self.content.setSpacing(0)
        self.content.addWidget(self.progress)
        self.content.addWidget(self._stack, 1)

    def _body_page(self) -> QWidget:
        self._bodies = QStackedWidget()
        for view in (self.tree, self.text, self.hex):
            self._bodies.addWidget(view)
        line = QHBoxLayout()
        line.setContentsMargins(12, 8, 12, 6)
        line.setSpacing(10)
        line.addWidget(self.body_note, 1)
        line.addWidget(self.body_switch)
        page = QWidget()
        lines = QVBoxLayout(page)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addLayout(line)
        lines.addWidget(self._bodies, 1)
        return page

    def _record_page(self) -> QWidget:
        page = QWidget()
        lines = QVBoxLayout(page)
        lines.setContentsMargins(12, 6, 12, 6)
        lines.addWidget(self.record)
        return page

    def _show_tab_titles(self) -> None:
        count = len(self._detail.properties) if self._detail is not None else 0
        self.tabs.setTabText(0, tr("Body"))
        self.tabs.setTabText(1, tr("Properties {count}", count=count))
        self.tabs.setTabText(2, tr("Record"))

    # ---- body ------------------------------------------------------------------------------------------------------

    def _choose_body_view(self, key: str) -> None:
        self._body_view = key
        self._show_body()

    def _usable_view(self) -> str:
        """The view that was chosen last, or the next one that can show the body."""
        kind = self._body.kind if self._body is not None else BodyKind.EMPTY
        if kind is BodyKind.BYTES:
            return HEX
        if self._body_view == TREE and kind is not BodyKind.JSON:
            return TEXT
        return self._body_view

    def _show_body(self) -> None:
        detail, body = self._detail, self._body
        if detail is None or body is None:
            return
        view = self.body_switch.current
        self.body_note.setText(self._note(detail, body, view))
        if view == HEX:
            self.hex.set_bytes(detail.body)
            self._bodies.setCurrentWidget(self.hex)
        elif view == TREE and body.kind is BodyKind.JSON:
            self.tree.set_value(body.value)
            self._bodies.setCurrentWidget(self.tree)
        else:
            language = "json" if body.kind is BodyKind.JSON else "text"
            self.text.set_code(body.pretty[:TEXT_BYTES_MAX], language)
            self._bodies.setCurrentWidget(self.text)

    def _note(self, detail: MessageDetail, body: Body, view: str) -> str:
        if detail.notice:
            return detail.notice
        if body.kind is BodyKind.EMPTY:
            return tr("The body is empty")
        kind = tr(body.kind.value) if body.kind is not BodyKind.JSON else "JSON"
        parts = [kind, body.encoding] if body.encoding else [kind]
        if view == TEXT and len(body.pretty) > TEXT_BYTES_MAX:
            parts.append(tr("first {shown} of {whole}", shown=bytes_text(TEXT_BYTES_MAX), whole=bytes_text(len(detail.body))))
        else:
            parts.append(tr("all {count} bytes", count=count_text(len(detail.body))))
        if view == TREE and body.kind is not BodyKind.JSON:
            parts.append(body.note or tr("no JSON"))
        return ", ".join(parts)

    # ---- record ----------------------------------------------------------------------------------------------------

    def _show_record(self, detail: MessageDetail) -> None:
        self.record.set_pairs(record_facts(detail, self._times))

    # ---- copies ----------------------------------------------------------------------------------------------------

    def _ask_resend(self) -> None:
        if self._detail is not None:
            self.resend_wanted.emit(self._detail)

    def _open_copy_menu(self) -> None:
        detail, body = self._detail, self._body
        if detail is None or body is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        entries = (
            ("Body", body.text if body.kind is not BodyKind.BYTES else detail.body.hex()),
            ("Message as JSON", message_json(detail, body)),
            ("Offset message ID", detail.offset_message_id),
            ("Unique ID", detail.properties.get(UNIQUE_KEY, "")),
            ("Keys", detail.properties.get(KEYS, "")),
        )
        for title, text in entries:
            if text:
                menu.addAction(tr(title), partial(QGuiApplication.clipboard().setText, text))
        menu.popup(self.copy_button.mapToGlobal(QPoint(0, self.copy_button.height() + 2)))

    def _open_property_menu(self, property_: PropertyRow, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Copy value"), lambda: QGuiApplication.clipboard().setText(property_.value))
        menu.addAction(tr("Copy name and value"), lambda: self.property_grid.copy(CopyFormat.TSV))
        menu.popup(at)


def _name(detail: MessageDetail) -> str:
    keys = detail.properties.get(KEYS, "").split(" ")
    return keys[0] or detail.properties.get(UNIQUE_KEY) or detail.offset_message_id


def _place(detail: MessageDetail) -> str:
    place = tr("{topic}, queue {queue}, offset {offset}", topic=detail.topic, queue=detail.queue_id,
               offset=count_text(detail.queue_offset))  # fmt: skip
    tag = detail.properties.get(TAGS, "")
    return f"{place} · {tag}" if tag else place


def record_facts(detail: MessageDetail, times: TimeZoneChoice) -> list[tuple[str, str]]:
    """What the record of a message says, name and value."""
    return [
        (tr("Offset message ID"), detail.offset_message_id),
        (tr("Unique ID"), detail.properties.get(UNIQUE_KEY, "") or UNKNOWN),
        (tr("Stored"), times.full(detail.store_ms)),
        (tr("Born"), times.full(detail.born_ms)),
        (tr("Producer"), detail.born_host),
        (tr("Broker"), detail.store_host),
        (tr("Physical offset"), count_text(detail.physical_offset)),
        (tr("On disk"), tr("{count} bytes", count=count_text(detail.store_bytes))),
        (tr("Body on disk"), tr("{count} bytes", count=count_text(detail.stored_body_bytes))),
        (tr("Body CRC"), f"{detail.body_crc & 0xFFFFFFFF:08x}"),
        (tr("Flag"), str(detail.flag)),
        (tr("System flag"), f"0x{detail.sys_flag:x}"),
        (tr("Given back by consumers"), count_text(detail.reconsume_times)),
    ]


def message_json(detail: MessageDetail, body: Body) -> str:
    """A message as JSON; a body that is no text in hexadecimal."""
    fields = {
        "topic": detail.topic,
        "queueId": detail.queue_id,
        "queueOffset": detail.queue_offset,
        "offsetMsgId": detail.offset_message_id,
        "bornTimestamp": detail.born_ms,
        "storeTimestamp": detail.store_ms,
        "properties": detail.properties,
        "body": body.value if body.kind is BodyKind.JSON else body.text,
    }
    if body.kind is BodyKind.BYTES:
        del fields["body"]
        fields["bodyHex"] = detail.body.hex()
    return json.dumps(fields, ensure_ascii=False, indent=2)
