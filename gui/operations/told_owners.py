"""`ToldOwners`: who owns the queues of a group, as its clients say; brokers of an attached cluster do not tell."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal

from broker_core.worker.questions.administration import ListMembers, Members
from gui.models.consumers import told_owners
from gui.operations.group_facts import ClientInfos
from gui.operations.queries import LatestQuery
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

MEMBERS_AGAIN_MS = 30_000


class ToldOwners(QObject):
    """Asks for the clients of one group, then each client; again after half a minute.

    Signals:
        arrived: Another client has answered.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[Members] = LatestQuery(self)
        self._infos = ClientInfos(source, self)
        self._infos.arrived.connect(self.arrived)
        self._asked: tuple[str, int] = ("", 0)
        self._now_ms = 0

    def of(self, group: str, state: ClusterState) -> Mapping[tuple[str, int], str]:
        """Topic and queue → client, as far as it is known; asks for what is missing."""
        self._now_ms = state.taken_ms
        wanted = (group, state.taken_ms // MEMBERS_AGAIN_MS)
        if wanted != self._asked:
            self._asked = wanted
            # Without members there is nobody to ask, and the next turn asks again.
            self._query.ask(self._source.ask(ListMembers(group)), self._take_members, lambda _error: None)
        return told_owners(state.catalog.brokers, self._infos.infos) if self._infos.group == group else {}

    def _take_members(self, members: Members) -> None:
        self._infos.show(self._asked[0], members.client_id, self._now_ms)
