"""`MessageDetailPane`: one message with its body, properties and record facts."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStackedWidget, QWidget

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.message_words import PropertyRow, PropertyWords, level_delay_ms, property_rows, record_facts
from gui.models.messages import MessageRow, message_name
from gui.models.table import ColumnTableModel
from gui.operations.background import ClipboardCall
from gui.views.acting import set_acting
from gui.views.action_dialog import read_only_reason
from gui.views.messages.body_pane import BodyPane
from gui.views.messages.columns import property_columns
from gui.views.messages.compare_dialog import CompareDialog
from gui.views.messages.copies import message_place, popup_copies
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, Line, column, fill, row
from gui.widgets.containers import Parts, ScrolledPart
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Placeholder
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened, popup_below
from gui.widgets.progress_line import ProgressLine
from gui.widgets.said import on_language, said_button
from gui.widgets.saved_menu import menu_text
from gui.words.text import tr
from monitoring.payload.shown import ShownBody


class MessageDetailPane(Panel):
    def __init__(self, context: PageContext) -> None:
        super().__init__(flush=True)
        theme, self._context = context.theme, context
        self._copy = ClipboardCall()
        self.detail: MessageDetail | None = None
        """The shown message."""
        self._remembered: MessageDetail | None = None
        self.words = PropertyWords(context.times, lambda level: level_delay_ms(context.source.state, level))
        self.name = ElidedLabel(role="panel-title", mode=Qt.TextElideMode.ElideMiddle)
        self.place = ElidedLabel(role="caption")
        self.body = BodyPane(context)
        self.properties = ColumnTableModel(property_columns(self.words), lambda property_: property_.name, parent=self)
        self.property_grid = DataGrid(self.properties, theme, row_height=24, several=True)
        self.record = KeyValueList()
        self.tabs = Parts()
        self.life_button = said_button(theme, "lightning", "Life line", on_click=self._open_life)
        self.resend_button = said_button(theme, "paper-plane-tilt", "Resend…")
        self.compare_button = said_button(theme, "arrows-left-right", on_click=self._open_compare_menu, tip="Compare")
        self.copy_button = said_button(theme, "copy", "Copy as", on_click=self._open_copy_menu)
        self.placeholder = Placeholder(theme)
        self.progress = ProgressLine(theme)
        self.progress.hide()
        self._stack = QStackedWidget()
        words = column(self.name, self.place, spacing=2, margins=(12, 10, 12, 4))
        self.tabs.addTab(self.body, "")
        self.tabs.addTab(self.property_grid, "")
        self.tabs.addTab(self._record_page(), "")
        self.tabs.setProperty("role", "indented")  # a sheet of its own would be applied again with each parent
        foot = row(
            self.life_button, self.resend_button, self.copy_button, self.compare_button, 1, spacing=6, margins=(12, 8, 12, 10)
        )
        page = QWidget()
        page.setLayout(column(words, (self.tabs, 1), Line(), foot, spacing=0))
        self._stack.addWidget(self.placeholder)
        self._stack.addWidget(page)
        self.content.setSpacing(0)
        fill(self.content, self.progress, (self._stack, 1))
        self.body.shown.connect(self._body_shown)
        self.property_grid.menu_asked.connect(self._open_property_menu)
        on_language(self, self._write_texts)
        self.show_nothing()

    def show_nothing(self) -> None:
        self.detail = None
        self.progress.hide()
        self.placeholder.show_empty(tr("Select a message to read it."))
        self._stack.setCurrentWidget(self.placeholder)

    def show_loading(self, row: MessageRow | None) -> None:
        """Show that a message is being read; the one before stays until then."""
        self.progress.setVisible(True)
        if self._stack.currentWidget() is self.placeholder:
            self.placeholder.show_empty(tr("Reading…"))
        if row is not None and self._stack.currentIndex() == 1:
            self.name.setText(row.name)

    def show_error(self, text: str, detail: str) -> None:
        """Show that the message was not read."""
        self.detail = None
        self.progress.hide()
        self.placeholder.show_error(text, detail)
        self._stack.setCurrentWidget(self.placeholder)

    def show_message(self, detail: MessageDetail) -> None:
        """Show a whole message; its body may follow a moment later."""
        self.detail = detail
        self.progress.hide()
        self._show_name(detail)
        self.copy_button.setEnabled(False)
        self.record.set_pairs(record_facts(detail, self._context.times, self._context.queue_text))
        self._show_tab_titles()
        self.body.show_body(detail)
        self._stack.setCurrentIndex(1)

    def compare(self, other: MessageDetail | None = None) -> CompareDialog | None:
        """Compare the shown message with another one, or with one chosen in the dialog."""
        if self.detail is None:
            return None
        dialog = CompareDialog(self._context, self.body.book, self.detail, parent=self)
        if other is not None:
            dialog.compare_with(other)
        return opened(dialog)

    def _write_texts(self) -> None:
        set_acting(self.resend_button, read_only_reason(self._context.source))
        self._show_tab_titles()
        if self.detail is not None:
            self.show_message(self.detail)
        elif not self.progress.isVisible():
            self.show_nothing()

    def _record_page(self) -> QWidget:
        # Scrolled, because one line for each fact would need a page higher than a window of 900 px.
        page = ScrolledPart()
        page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.record.setContentsMargins(12, 6, 12, 6)
        page.setWidget(self.record)
        return page

    def _show_name(self, detail: MessageDetail) -> None:
        mask = self.body.book.mask_of(detail)
        self.name.setText(message_name(detail, mask))
        self.place.setText(message_place(detail, mask, self._context.queue_text))

    def _show_tab_titles(self) -> None:
        count = len(self.detail.properties) if self.detail is not None else 0
        self.tabs.setTabText(0, tr("Body"))
        self.tabs.setTabText(1, tr("Properties {count}", count=count))
        self.tabs.setTabText(2, tr("Record"))

    def _body_shown(self, body: ShownBody) -> None:
        detail = self.detail
        if detail is None:
            return
        self._show_name(detail)
        self.properties.set_rows(property_rows({name: body.mask.mask_text(value) for name, value in detail.properties.items()}))
        self.copy_button.setEnabled(True)

    def _open_life(self) -> None:
        if self.detail is not None:
            self._context.navigate("message", physical_offset=self.detail.physical_offset)

    def _open_compare_menu(self) -> None:
        menu = new_menu(self)
        remembered, detail = self._remembered, self.detail
        if remembered is not None and detail is not None and remembered.physical_offset != detail.physical_offset:
            menu.addAction(
                menu_text(tr("With {name}", name=message_name(remembered, self.body.book.mask_of(remembered)))),
                lambda: self.compare(remembered),
            )
        menu.addAction(tr("With another message…"), self.compare)
        menu.addAction(tr("Remember this one for comparison"), self._remember)
        popup_below(menu, self.compare_button, 2)

    def _remember(self) -> None:
        self._remembered = self.detail

    def _open_copy_menu(self) -> None:
        popup_copies(self.copy_button, self._context.source, self.detail, self.body.body, self._copy)

    def _open_property_menu(self, property_: PropertyRow, at: QPoint) -> None:
        menu = new_menu(self)
        menu.addAction(tr("Copy value"), lambda: QGuiApplication.clipboard().setText(property_.value))
        menu.addAction(tr("Copy name and value"), lambda: self.property_grid.copy(CopyFormat.TSV))
        menu.popup(at)
