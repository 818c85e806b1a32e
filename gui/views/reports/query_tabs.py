"""`QueryTabs`: several queries at once, one in each tab, kept over a restart of the window."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QMenu, QStackedWidget, QTabBar, QWidget

from gui.models.queries import OpenQuery
from gui.operations.query_memory import TABS_MAX, QueryMemory
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.reports.own_fields import EXAMPLE
from gui.widgets.basic import column, row
from gui.widgets.long_text import LongTextEdit
from gui.widgets.popups import ask_name, new_menu
from gui.widgets.said import on_language, said, said_button
from gui.words.plain_text import button_text, tip_text
from gui.words.text import tr

KEEP_DELAY_MS = 500
"""A text is kept when typing pauses."""
TITLE_CHARACTERS_MAX = 40
CLOSED_MAX = 10
WIDTH_MIN = 60
"""Qt's own minimum has room for arrows, which would keep the plus away from a single tab."""


class QueryTabBar(QTabBar):
    """The strip: the middle button closes, a double click or F2 renames.

    Signals:
        rename_wanted: Carries the place of the tab.
    """

    rename_wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("queryTabs")
        self.setTabsClosable(True)
        self.setMovable(True)
        self.setExpanding(False)
        self.setDrawBase(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setMinimumWidth(WIDTH_MIN)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        place = self.tabAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.MiddleButton and place >= 0:
            self.tabCloseRequested.emit(place)
            return
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self.tabAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self.rename_wanted.emit(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F2 and self.currentIndex() >= 0:
            self.rename_wanted.emit(self.currentIndex())
            return
        super().keyPressEvent(event)


class QueryTabs(QWidget):
    """Each tab has an editor of its own, with its cursor and what can be undone.

    Signals:
        edited: The query in front is another; carries it.
        made: An editor was made; carries it.
        full: A query found no tab, because there are too many.
    """

    edited = Signal(str)
    made = Signal(object)
    full = Signal()

    def __init__(self, theme: ThemeManager, memory: QueryMemory) -> None:
        super().__init__()
        self._memory = memory
        self._queries: list[OpenQuery] = []
        self._closed: list[OpenQuery] = []
        self._kept: tuple[list[OpenQuery], int] = ([], -1)
        self.bar = said(QueryTabBar(), name="Open queries")
        self.plus = said_button(theme, "plus", role="icon", on_click=self.add, tip="New query")
        self._editors = QStackedWidget()
        self._keeping = QTimer(self, singleShot=True, interval=KEEP_DELAY_MS)
        self._keeping.timeout.connect(self.keep)
        self.setLayout(column(row(self.bar, self.plus, 1, spacing=4), (self._editors, 1), spacing=6))
        self.bar.currentChanged.connect(self._chosen)
        self.bar.tabCloseRequested.connect(self.close_query)
        self.bar.tabMoved.connect(self._moved)
        self.bar.rename_wanted.connect(self.ask_name)
        self.bar.customContextMenuRequested.connect(self._ask_menu)
        on_language(self, self._write_titles)

    # ---- what is open ----------------------------------------------------------------------------------------------

    @property
    def queries(self) -> list[OpenQuery]:
        """The open queries as they are now, in the order of their tabs."""
        return [replace(one, text=self._editor(place).toPlainText()) for place, one in enumerate(self._queries)]

    @property
    def editor(self) -> LongTextEdit:
        return self._editor(self.bar.currentIndex())

    @property
    def text(self) -> str:
        """The query in front, without surrounding blanks."""
        return self.editor.toPlainText().strip()

    def load(self) -> None:
        """Open the queries that are kept; one without a text if there is none."""
        tabs, current = self._memory.tabs, self._memory.current
        if self._queries and (tabs, current) == self._kept:
            return
        with QSignalBlocker(self.bar):
            while self._queries:
                self._take_out(len(self._queries) - 1)
            for one in tabs or [OpenQuery(1)]:
                self._insert(one)
            self.bar.setCurrentIndex(current if 0 <= current < len(self._queries) else 0)
        self._kept = (tabs, current)
        self._chosen(self.bar.currentIndex())

    def take(self, text: str, name: str = "") -> None:
        """Bring a query to the front: in the tab that has it, in the one in front if that is empty, else in a new one."""
        texts = [one.text.strip() for one in self.queries]
        if text.strip() in texts:
            self.bar.setCurrentIndex(texts.index(text.strip()))
        elif not self.text:
            self._rename(self.bar.currentIndex(), name or self._queries[self.bar.currentIndex()].name)
            self.editor.setPlainText(text)
        else:
            self.add(text, name)
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def add(self, text: str = "", name: str = "") -> None:
        """Open a query in a new tab, in front."""
        if len(self._queries) >= TABS_MAX:
            self.full.emit()
            return
        taken = {one.number for one in self._queries}
        self._insert(OpenQuery(next(number for number in range(1, TABS_MAX + 1) if number not in taken), text, name))
        self.bar.setCurrentIndex(len(self._queries) - 1)
        self.keep()
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def replace_text(self, text: str) -> None:
        """Change the query in front, unless it is that already; `edited` is not sent."""
        if text != self.text:
            with QSignalBlocker(self):
                self.editor.setPlainText(text)

    def close_query(self, place: int) -> None:
        """Close a tab; the last one is replaced by an empty one."""
        closed = self.queries[place]
        if closed.text.strip():
            self._closed = [*self._closed, closed][-CLOSED_MAX:]
        if len(self._queries) == 1:
            self._insert(OpenQuery(2 if closed.number == 1 else 1))
        self._take_out(place)
        self.keep()

    def close_others(self, kept: OpenQuery) -> None:
        for place in reversed(range(len(self._queries))):
            if self._queries[place].number != kept.number:
                self.close_query(place)

    def reopen(self) -> None:
        """Open the query that was closed last."""
        if self._closed:
            last = self._closed.pop()
            self.add(last.text, last.name)

    def ask_name(self, place: int) -> None:
        one = self._queries[place]
        ask_name(self, tr("Rename…"), tr("Name of the query"), one.title, partial(self._named, one.number))

    def _named(self, number: int, name: str) -> None:
        place = next((at for at, one in enumerate(self._queries) if one.number == number), -1)
        if place >= 0:
            self._rename(place, name)
            self.keep()

    def _rename(self, place: int, name: str) -> None:
        self._queries[place] = replace(self._queries[place], name=name[:TITLE_CHARACTERS_MAX])
        self._write_titles()

    def keep(self) -> None:
        """Keep the tabs as they are now."""
        self._keeping.stop()
        kept = (self._memory.kept(self.queries), self.bar.currentIndex())
        if self._queries and kept != self._kept:
            self._memory.keep_tabs(*kept)
            self._kept = kept

    def menu_of(self, place: int) -> QMenu:
        one = self._queries[place]
        menu = new_menu(self)
        menu.addAction(tr("New query"), self.add)
        menu.addAction(tr("Rename…"), lambda: self.ask_name(place))
        menu.addSeparator()
        menu.addAction(tr("Close the tab"), lambda: self.close_query(place))
        menu.addAction(tr("Close the other tabs"), lambda: self.close_others(one)).setEnabled(len(self._queries) > 1)
        menu.addAction(tr("Reopen the closed query"), self.reopen).setEnabled(bool(self._closed))
        return menu

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _editor(self, place: int) -> LongTextEdit:
        editor = self._editors.widget(place)
        assert isinstance(editor, LongTextEdit)
        return editor

    def _insert(self, one: OpenQuery) -> None:
        editor = LongTextEdit(editable=True)
        editor.setFont(mono_font(Size.BODY))
        editor.setProperty("role", "filter")
        editor.setPlaceholderText(EXAMPLE)
        editor.setAccessibleName("SQL")
        editor.setPlainText(one.text)
        editor.textChanged.connect(partial(self._text_changed, editor))
        self._queries.append(one)
        self._editors.addWidget(editor)
        self.bar.addTab("")
        self._write_titles()
        self.made.emit(editor)

    def _take_out(self, place: int) -> None:
        editor = self._editor(place)
        self._queries.pop(place)
        self._editors.removeWidget(editor)
        editor.deleteLater()
        self.bar.removeTab(place)

    def _text_changed(self, editor: LongTextEdit) -> None:
        self._keeping.start()
        if editor is self._editors.currentWidget():
            self.edited.emit(self.text)

    def _chosen(self, place: int) -> None:
        if 0 <= place < len(self._queries) and self.bar.count() == len(self._queries):
            self._editors.setCurrentIndex(place)
            self._keeping.start()
            self.edited.emit(self.text)

    def _moved(self, before: int, now: int) -> None:
        self._queries.insert(now, self._queries.pop(before))
        editor = self._editor(before)
        self._editors.removeWidget(editor)
        self._editors.insertWidget(now, editor)
        self._editors.setCurrentIndex(self.bar.currentIndex())
        self._keeping.start()

    def _ask_menu(self, at: QPoint) -> None:
        place = self.bar.tabAt(at)
        if place >= 0:
            self.menu_of(place).popup(self.bar.mapToGlobal(at))

    def _write_titles(self) -> None:
        for place, one in enumerate(self._queries):
            self.bar.setTabText(place, button_text(one.title))
            self.bar.setTabToolTip(place, tip_text(one.title))
        for button in self.bar.children():  # not by `tabButton`, which leaks (see `gui.main_window.page_area`)
            if isinstance(button, QAbstractButton):
                button.setToolTip(tr("Close the tab"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.load()  # another page or window may have changed them

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.keep()
