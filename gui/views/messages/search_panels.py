"""`SearchPanels`: the two lists of hits of the Messages page, each made on demand."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from broker_core.api import names as reserved
from gui.models.filter_text import quoted
from gui.models.messages import ALL_QUEUES
from gui.operations.decoding import ListMasks
from gui.operations.known_names import KnownNames
from gui.views.messages.browse_bar import BrowseBar
from gui.views.messages.queue_pages import QueuePages
from gui.views.messages.search_panel import SearchPanel
from gui.views.page import PageContext
from monitoring.state import ClusterState


class SearchPanels(QObject):
    """One searches everything; the other browses with a filter: a search within the shown queues.

    Signals:
        made: A panel was made and needs a place; carries the `SearchPanel`.
        search_made: The panel that searches everything was made; carries it.
    """

    made = Signal(object)
    search_made = Signal(object)

    def __init__(self, context: PageContext, names: KnownNames, masks: ListMasks, bar: BrowseBar, pages: QueuePages) -> None:
        super().__init__(pages)
        self._context = context
        self._names = names
        self._masks = masks
        self._bar = bar
        self._pages = pages
        self._state: ClusterState | None = None
        self._search: SearchPanel | None = None
        self._narrowed: SearchPanel | None = None

    @property
    def has_search(self) -> bool:
        """Whether the search of everything was made."""
        return self._search is not None

    @property
    def search(self) -> SearchPanel:
        """The part that searches everything."""
        if self._search is None:
            self._search = self._made(SearchPanel(self._context, self._names, self._masks))
            self.search_made.emit(self._search)
        return self._search

    @property
    def narrowed(self) -> SearchPanel:
        """The part that browses with a filter."""
        if self._narrowed is None:
            panel = SearchPanel(self._context, self._names, self._masks, bar=self._bar.filter, within=self._queues_shown)
            self._narrowed = self._made(panel)
            self._bar.add_search(panel)
        return self._narrowed

    def end_narrowed(self) -> None:
        """Browse without a filter again."""
        if self._narrowed is not None:
            self._narrowed.end()

    def take_state(self, state: ClusterState) -> None:
        """Use the broker's time and offsets."""
        self._state = state
        for panel in (self._search, self._narrowed):
            if panel is not None:
                panel.show_time(state)

    def _made(self, panel: SearchPanel) -> SearchPanel:
        self.made.emit(panel)
        if self._state is not None:
            panel.show_time(self._state)
        return panel

    def _queues_shown(self) -> str:
        """The browsed queues, as a condition."""
        topic = f"topic = {quoted(self._pages.topic)}"
        # A light topic has one queue; its messages have the queue numbers of other topics.
        is_whole = self._pages.queue == ALL_QUEUES or self._pages.topic.startswith(reserved.LMQ_PREFIX)
        return topic if is_whole else f"{topic} and queue = {self._pages.queue}"
