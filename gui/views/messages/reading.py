"""`MessageReading`: reads a selected message, or one named by an ID, into the pane."""

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
    """A later request cancels the one in progress.

    Signals:
        hit_read: A hit of a search is about to be shown; carries its `MessageDetail`.
        unique_wanted: No message is at the place that an ID names: a client may have created the ID. Carries the ID.
    """

    hit_read = Signal(object)
    unique_wanted = Signal(str)

    def __init__(self, source: ClusterSource, pane: MessageDetailPane, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._pane = pane
        self._key: tuple[int, int] | None = None
        """Key of the shown or read row of a queue; None: it is no such row."""
        self._is_alone = False
        """Whether the read was requested by place or ID; a page that arrives meanwhile must not replace it."""
        self._query: LatestQuery[MessageDetail] = LatestQuery(self)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is shown or read."""
        return self._key is None and self._pane.detail is None and not (self._is_alone and self._query.waiting)

    def forget(self) -> None:
        """Cancel the read; the pane stays unchanged."""
        self._query.cancel()
        self._key = None

    def forget_row(self) -> None:
        """The shown message is no row of a queue any more; a read in progress continues."""
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
        """Show the message of an offset message ID; `unique_wanted` reports that there is none."""
        self._read_alone(self._source.ask(ReadMessageById(message_id)), lambda error: self._not_there(message_id, error))

    def show_error(self, error: OrbitError) -> None:
        """Show why it was not read."""
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
