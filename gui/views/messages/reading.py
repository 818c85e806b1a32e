"""`MessageReading`: reads what is selected in a list, or named by an ID, into the pane that shows one message."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage, ReadMessageById
from gui.models.message_ids import is_message_id
from gui.models.messages import MessageRow
from gui.operations.queries import LatestQuery
from gui.views.messages.detail import MessageDetailPane
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.sources.base import ClusterSource, Pending, SourceStatus


class MessageReading(QObject):
    """What is asked for later makes what is under way void.

    Args:
        source: Where messages are.
        pane: Shows them.
        parent: Qt's owner.

    Signals:
        hit_read: A hit of a search is about to be shown; carries its `MessageDetail`.
        unique_wanted: Nothing lies where an ID would name a place: it may be one that a client gave. Carries the ID.
    """

    hit_read = Signal(object)
    unique_wanted = Signal(str)

    def __init__(self, source: ClusterSource, pane: MessageDetailPane, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._pane = pane
        self._key: tuple[int, int] | None = None
        """Of the row of a queue that is shown or read; None: what is shown is no such row."""
        self._is_alone = False
        """Whether what is read was asked for by its place or its ID; a page that comes meanwhile must not take its turn."""
        self._query: LatestQuery[MessageDetail] = LatestQuery(self)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is shown or read."""
        return self._key is None and self._pane.detail is None and not (self._is_alone and self._query.waiting)

    def forget(self) -> None:
        """Give up what is under way; the pane stays as it is."""
        self._query.cancel()
        self._key = None

    def forget_row(self) -> None:
        """What is shown is no row of a queue any more; what is under way still comes."""
        self._key = None

    def read_row(self, message: MessageRow) -> None:
        """Show a message of a queue, unless it is shown or read already."""
        if message.key == self._key:
            return
        self._key, self._is_alone = message.key, False
        self._pane.show_loading(message)
        self._query.ask(self._source.ask(ReadMessage(message.physical_offset)), self._pane.show_message, self.show_error)

    def read_hit(self, hit: MessageRow) -> None:
        """Show a message that a search found."""
        self._key, self._is_alone = None, False
        self._pane.show_loading(hit)
        self._query.ask(self._source.ask(ReadMessage(hit.physical_offset)), self._show_hit, self.show_error)

    def read_place(self, physical_offset: int) -> None:
        """Show the message at a place of the log."""
        self._read_alone(self._source.ask(ReadMessage(physical_offset)), self.show_error)

    def read_id(self, message_id: str) -> None:
        """Show the message of an offset message ID; `unique_wanted` tells that there is none."""
        self._read_alone(self._source.ask(ReadMessageById(message_id)), lambda error: self._not_there(message_id, error))

    def show_error(self, error: OrbitError) -> None:
        """Say that it was not read, and why."""
        self._key = None
        self._pane.show_error(tr("The message was not read."), error_text(error))

    def _read_alone(self, pending: Pending[MessageDetail], failed: Callable[[OrbitError], None]) -> None:
        self._key, self._is_alone = None, True
        self._pane.show_loading(None)
        self._query.ask(pending, self._pane.show_message, failed)

    def _show_hit(self, detail: MessageDetail) -> None:
        self.hit_read.emit(detail)
        self._pane.show_message(detail)

    def _not_there(self, message_id: str, error: OrbitError) -> None:
        if not is_message_id(message_id) or self._source.status is not SourceStatus.READY:
            self.show_error(error)
            return
        self._pane.show_nothing()
        self.unique_wanted.emit(message_id)
