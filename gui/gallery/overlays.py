"""Overlays for the gallery: palette, key sheet, menus, explanations and dialogs.

Each is opened again in each look, by the same call as by a click or a key, because it does not survive a change of language.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QPoint
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from shiboken6 import isValid

from gui.app.console import Console
from gui.views.action_dialog import ActionDialog
from gui.views.clients.view import ClientsView
from gui.views.connections.asking import ask_for_cluster
from gui.views.consumers.reset_dialog import ResetDialog
from gui.views.consumers.view import ConsumersView
from gui.views.dead_letters.view import DeadLettersView
from gui.views.store.view import StoreView
from gui.views.tail.view import TailView
from gui.views.topics.view import TopicsView
from gui.views.transactions.actions import COMMIT
from gui.views.transactions.view import TransactionsView

OPENED_MAX = 5
P = TypeVar("P", bound=QWidget)
Open = Callable[[], QWidget | None]
Take = Callable[[str, Open], None]
"""Takes the picture of this name of what is opened; None where there is nothing to open."""


class Overlays:
    """Opens one after the other: ``take`` takes a picture in each look and closes it, ``settle`` waits for an opened page."""

    def __init__(self, console: Console, take: Take, settle: Callable[[], None], topic: str, group: str) -> None:
        self._window = console.window
        self._take = take
        self._settle = settle
        self._topic, self._group = topic, group

    def take_all(self) -> None:
        """Take those that can always be opened, then those of each page; `tasks` and `notices` need content first."""
        self._of_the_frame()
        self._of_consumers()
        self._of_topics()
        self._of_messages()
        self._of_the_cluster()

    def tasks(self) -> None:
        self._take("tasks", self._popup(self._window.status_bar.tasks_button.click))

    def notices(self) -> None:
        self._take("notices", self._popup(self._window.tool_bar.bell.click))

    # ---- by page -----------------------------------------------------------------------------------------------------

    def _of_the_frame(self) -> None:
        window = self._window
        self._go("overview")
        for name, words in (("palette", ""), ("palette-found", "pay"), ("palette-nothing", "zzzz")):
            self._take(name, partial(self._palette, words))
        self._take("keys", self._popup(window.commands.show_shortcuts))
        self._take("menu", self._popup(window.tool_bar.menu_button.click))
        self._take("clusters", self._popup(window.tool_bar.cluster_button.click))
        self._take("time-range", self._popup(window.tool_bar.range_button.click))
        self._take("dialog-time-range", window.tool_bar.ask_range)
        services = window.services
        self._take("dialog-connect", self._popup(lambda: ask_for_cluster(services.clusters, services.theme, window)))

    def _of_consumers(self) -> None:
        self._go("consumers", tab="members", group=self._group)
        page = self._shown(ConsumersView)
        self._take("explanation", self._popup(lambda: page.explain_part(page.group_grid, _below_column(page, "lag"))))
        self._take("dialog-reset", lambda: _typed(page.dialogs.reset(page.group_grid.selected_row)))
        self._take("dialog-delete-group", lambda: page.dialogs.delete(page.group_grid.selected_row))
        if page.members.rows:
            self._take("dialog-client", lambda: page.dialogs.client(self._group, page.members.rows[0]))

    def _of_topics(self) -> None:
        self._go("topics", topic=self._topic)
        page = self._shown(TopicsView)
        at = page.grid.header.mapToGlobal(QPoint(400, 10))
        self._take("columns", self._popup(lambda: page.grid.header.menu_asked.emit(at)))
        self._take("dialog-new-topic", page.ask_new_topic)
        self._take("dialog-send", page.ask_send)
        self._take("dialog-delete-topic", lambda: _typed(page.ask_delete()))

    def _of_messages(self) -> None:
        self._go("tail")
        self._take("dialog-rules", self._shown(TailView).ask_rules)
        self._go("dead_letters")
        self._take("dialog-resend", self._shown(DeadLettersView).ask_resend)
        self._go("transactions", show="open")
        self._take("dialog-commit", lambda: self._shown(TransactionsView).ask(COMMIT))

    def _of_the_cluster(self) -> None:
        self._go("clients")
        self._take("dialog-close", self._shown(ClientsView).ask_close)
        self._go("store")
        self._take("dialog-clean", self._shown(StoreView).ask_clean)

    # ---- opening -----------------------------------------------------------------------------------------------------

    def _go(self, page_id: str, **place: object) -> None:
        self._window.navigate(page_id, **place)
        self._settle()

    def _shown(self, kind: type[P]) -> P:
        page = self._window.area.current
        assert isinstance(page, kind)
        return page

    def _palette(self, words: str) -> QWidget:
        self._window.commands.show_palette(words)
        return self._window.commands.palette

    @staticmethod
    def _popup(ask: Callable[[], object]) -> Open:
        """Opens a menu, a card or a dialog that the call does not return."""

        def opened() -> QWidget | None:
            ask()
            return QApplication.activePopupWidget() or QApplication.activeModalWidget()

        return opened


def opened_for_a_picture(open_it: Open, settle: Callable[[], None]) -> QWidget | None:
    """What is opened, once it has settled; None where there is nothing to open, or it does not stay.

    A menu is closed, and deleted, by an event that comes late on a busy machine, and is then opened again.
    """
    for _ in range(OPENED_MAX):
        widget = open_it()
        if widget is None:
            return None
        settle()
        if isValid(widget) and widget.isVisible():
            return widget
    return None


def picture_of(widget: QWidget, window: QWidget) -> QPixmap:
    """A dialog alone; anything else as it lies over the window."""
    if isinstance(widget, QDialog):
        return widget.grab()
    picture = window.grab()
    if widget.isWindow():
        painter = QPainter(picture)
        painter.drawPixmap(window.mapFromGlobal(widget.mapToGlobal(QPoint())), widget.grab())
        painter.end()
    return picture


def _typed(dialog: ActionDialog | ResetDialog | None) -> QWidget | None:
    """An action dialog before its last click."""
    if dialog is not None:
        dialog.typed.setText(dialog.typed.placeholderText())
    return dialog


def _below_column(page: ConsumersView, key: str) -> QPoint:
    grid = page.group_grid
    place = next(place for place, column in enumerate(grid.model.columns) if column.key == key)
    return grid.header.viewport().mapToGlobal(QPoint(grid.header.sectionViewportPosition(place) + 1, grid.header.height()))
