"""Facts of groups that states lack: versions of their clients, the clients' own reports, and who owns the queues by these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError, RunningInfo, read_running_info
from broker_core.worker.questions.administration import GRPC, ListMembers, Members
from gui.models.consumers import GroupRow, reported_owners
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from gui.words.error_words import error_line
from monitoring.admin.clients import ask_running_info
from monitoring.admin.connections import version_text
from monitoring.sources.base import ClusterSource, SourceStatus
from monitoring.state import ClusterState

CLIENTS_MAX = 64
"""Most clients of a group that are asked; each answers for itself, and may take seconds."""
ASKED_FOR_MS = 30_000


class GroupVersions(QObject):
    """Client versions of displayed groups, one request at a time.

    Signals:
        changed: The versions of a group are known now.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[Members] = LatestQuery(self)
        self._known: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._over_grpc: dict[str, int] = {}
        self._wanted: dict[str, int] = {}

    def of(self, group: GroupRow) -> tuple[str, ...]:
        """Versions of a group's clients, as far as known; the call requests unknown ones."""
        if group.offline:
            return ()
        known = self._known.get(group.name)
        if known is None or known[0] != group.members:
            self._wanted[group.name] = group.members
        return known[1] if known is not None else ()

    def over_grpc(self, group: GroupRow) -> int:
        """How many of a group's clients speak gRPC, as far as known."""
        return 0 if group.offline else self._over_grpc.get(group.name, 0)

    def tend(self) -> None:
        """Send the request for the next wanted group."""
        if not self._wanted or self._query.waiting or self._source.status is not SourceStatus.READY:
            return
        name, members = self._wanted.popitem()

        def take(found: Members) -> None:
            versions = sorted({version for version in found.version if version}, key=version_text)
            self._known[name] = (members, tuple(versions))
            self._over_grpc[name] = found.protocol.count(GRPC)
            self.changed.emit()
            self.tend()

        self._query.ask(self._source.ask(ListMembers(name)), take, self._ignore)

    def _ignore(self, _error: OrbitError) -> None:
        """Leave the versions unknown; the next `of` requests them again."""


class ClientInfos(QObject):
    """Reports of the clients of one group, requested one after another.

    Signals:
        arrived: Another client answered or failed.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[RunningInfo] = LatestQuery(self)
        self.group = ""
        self._clients: tuple[str, ...] = ()
        self._left: list[str] = []
        self._asked_ms = 0
        self.infos: dict[str, RunningInfo] = {}
        self._errors: dict[str, OrbitError] = {}

    @property
    def faults(self) -> dict[str, str]:
        """Client → why it did not answer, in the language of the window."""
        return {client: error_line(error) for client, error in self._errors.items()}

    @property
    def is_complete(self) -> bool:
        """Whether all clients have answered or failed."""
        return not self._left and not self._query.waiting

    @property
    def told(self) -> list[RunningInfo]:
        """Known reports, by client id."""
        return [self.infos[client] for client in sorted(self.infos)]

    def show(self, group: str, clients: Sequence[str], now_ms: int) -> None:
        """Request the reports of these clients, unless they are known and recent."""
        wanted = tuple(sorted(clients)[:CLIENTS_MAX])
        is_new = (group, wanted) != (self.group, self._clients)
        is_old = self.is_complete and abs(now_ms - self._asked_ms) >= ASKED_FOR_MS
        if not is_new and not is_old:
            return
        if group != self.group:
            self.infos, self._errors = {}, {}
        self.group, self._clients, self._asked_ms = group, wanted, now_ms
        self.infos = {client: info for client, info in self.infos.items() if client in wanted}
        self._errors = {client: error for client, error in self._errors.items() if client in wanted}
        self._left = list(wanted)
        self._query.cancel()
        self._next()

    def refresh(self) -> None:
        """Request all again with the next `show`."""
        self._asked_ms = -ASKED_FOR_MS

    def _next(self) -> None:
        if not self._left:
            return
        client = self._left.pop(0)
        asked = self._source.ask(ask_running_info(self.group, client))
        read = ReadAnswer(asked, lambda answer: read_running_info(client, answer.body))
        self._query.ask(read, partial(self._take, client), partial(self._refuse, client))

    def _take(self, client: str, info: RunningInfo) -> None:
        self._errors.pop(client, None)
        self.infos[client] = info
        self._go_on()

    def _refuse(self, client: str, error: OrbitError) -> None:
        self.infos.pop(client, None)
        self._errors[client] = error
        self._go_on()

    def _go_on(self) -> None:
        self._next()
        self.arrived.emit()


MEMBERS_AGAIN_MS = 30_000


class ReportedOwners(QObject):
    """Owners of the queues of one group by the reports of its clients, requested again after `MEMBERS_AGAIN_MS`.

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
        """Topic and queue → client, as far as it is known; the call requests the missing reports."""
        self._now_ms = state.taken_ms
        wanted = (group, state.taken_ms // MEMBERS_AGAIN_MS)
        if wanted != self._asked:
            self._asked = wanted
            # Without members there is nobody to ask, and the next turn asks again.
            self._query.ask(self._source.ask(ListMembers(group)), self._take_members, lambda _error: None)
        return reported_owners(state.catalog.brokers, self._infos.infos) if self._infos.group == group else {}

    def _take_members(self, members: Members) -> None:
        self._infos.show(self._asked[0], members.client_id, self._now_ms)
