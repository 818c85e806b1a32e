"""Clients of a cluster that its brokers report: members of consumer groups, and producers by their groups.

Only the broker itself knows connections without a group, those of name servers, and the traffic of a connection; they are -1
in the page. Groups are those that the sampling found online.

Source: docs/spec/remoting.md §2.5.6 (203, 328), §4.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from broker_core.cluster.link import ClusterLink, refused_as
from broker_core.errors import RemoteError
from broker_core.protocol.admin.connections import (
    GroupMember,
    read_consume_type,
    read_members,
    read_producers,
    read_subscriptions,
)
from broker_core.protocol.codes import RequestCode, ResponseCode, version_name
from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import LostParts, body_unless
from broker_core.worker.questions.administration import CONSUMER, CONSUMER_KINDS, PRODUCER, ConnectionPage, ListConnections
from broker_core.worker.questions.question import Handler

GROUPS_MAX = 64
"""Consumer groups of one broker whose members are requested."""
KEPT_S = 5.0
"""How long an answer is reused: the page asks every second, and each group is a request."""
_SIDE = "broker"
_UNKNOWN = -1
PARTLY_KNOWN = (
    "Brokers tell of clients in groups only. Connections without a group, those of the name server, and how much goes through "
    "a connection are known inside a broker only"
)


class _Client(NamedTuple):
    broker: str
    address: str
    role: str
    client_id: str
    group: str
    language: str
    version: int | None
    heartbeat_ms: int
    topics: dict[str, str]
    kind: str


class ClusterConnections:
    """Asks the brokers for their clients; ``figures`` knows which groups have members. On one event loop."""

    def __init__(
        self,
        link: ClusterLink,
        figures: ClusterFigures,
        *,
        clock: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._figures = figures
        self._clock = clock
        self._monotonic = monotonic
        self._page: ConnectionPage | None = None
        self._read_s = 0.0
        self._turn = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [ListConnections.answered_by(lambda _query: self.page())]

    async def page(self) -> ConnectionPage:
        """All known clients, broker by broker, with a notice of what is missing and why.

        Raises:
            NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
        """
        async with self._turn:
            if self._page is None or self._monotonic() - self._read_s >= KEPT_S:
                self._page, self._read_s = await self._read(), self._monotonic()
            return self._page

    async def _read(self) -> ConnectionPage:
        lost, notices = LostParts(self._figures), [PARTLY_KNOWN]
        found: list[_Client] = []

        async def ask(broker: str) -> None:
            producers = await self._producers(broker)
            found.extend(producers or [])
            online = sorted(group for group, members in self._figures.of(broker).members.items() if members)
            for group in online[:GROUPS_MAX]:
                found.extend(await self._consumers(broker, group))
            if producers is None:
                notices.append(f"Broker {broker} does not list its producers: that needs a later version")
            if len(online) > GROUPS_MAX:
                notices.append(f"Broker {broker} has {len(online):,} groups online; the first {GROUPS_MAX} are shown")

        await lost.each(self._link.numbers.names, ask, within_ms=self._link.settings.page_ms)
        clients, unknown = await self._behind_proxies()
        found.extend(clients)
        notices += unknown
        told = ". ".join([notices[0], *sorted(notices[1:])])
        return _page(found, self._clock(), " ".join(filter(None, (f"{told}.", lost.notice()))))

    async def _behind_proxies(self) -> tuple[list[_Client], list[str]]:
        """Consumers behind proxies, each under its proxy, and why some may be missing."""
        if not await self._link.proxies.places():
            return [], []
        groups = sorted({group for of in self._figures.brokers.values() for group in of.groups})
        found, unknown = [], dict[str, None]()
        for group in groups[:GROUPS_MAX]:
            behind = await self._link.proxies.members(group)
            unknown |= {behind.unknown: None} if behind.unknown else {}
            topics = {topic: one.expression for topic, one in behind.subscriptions.items()}
            found += [
                _client(f"proxy {place}", CONSUMER, group, member, kind="", topics=topics)
                for place, members in behind.members.items()
                for member in members
            ]
        if len(groups) > GROUPS_MAX:
            unknown[f"There are {len(groups):,} groups; behind proxies the first {GROUPS_MAX} are looked for"] = None
        return found, list(unknown)

    async def _producers(self, broker: str) -> list[_Client] | None:
        """Producers of a broker; None where it is too old to list them."""
        try:
            answer = await self._link.ask(broker, RemotingCommand(RequestCode.GET_ALL_PRODUCER_INFO, {}))
        except RemoteError as error:
            if not refused_as(error, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
                raise
            return None
        return [
            _client(broker, PRODUCER, group, member, {}, kind=PRODUCER)
            for group, members in sorted(read_producers(answer.body).items())
            for member in members
        ]

    async def _consumers(self, broker: str, group: str) -> list[_Client]:
        command = RemotingCommand(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        # All its members may have left since the last look.
        body = await body_unless(self._link.ask(broker, command), ResponseCode.CONSUMER_NOT_ONLINE)
        topics = {topic: one.expression for topic, one in read_subscriptions(body).items()}
        kind = CONSUMER_KINDS.get(read_consume_type(body), "")
        return [_client(broker, CONSUMER, group, member, topics, kind=kind) for member in read_members(body)]


def _client(broker: str, role: str, group: str, member: GroupMember, topics: dict[str, str], *, kind: str = "") -> _Client:
    client_id, version, heartbeat_ms = member.client_id, member.version, member.heartbeat_ms
    return _Client(broker, member.address, role, client_id, group, member.language, version, heartbeat_ms, topics, kind)


def _page(found: Iterable[_Client], now_ms: int, notice: str) -> ConnectionPage:
    clients = sorted(found, key=lambda one: (one.broker, one.address, one.role, one.group))
    rows = {place: row for row, place in enumerate(dict.fromkeys((one.broker, one.address) for one in clients))}
    first: dict[tuple[str, str], _Client] = {}
    for one in clients:
        first.setdefault((one.broker, one.address), one)
    unknown = [_UNKNOWN] * len(rows)
    return ConnectionPage(
        taken_ms=now_ms,
        side=[_SIDE] * len(rows),
        address=[address for _broker, address in rows],
        local_address=[broker for broker, _address in rows],
        language=[first[place].language for place in rows],
        version=["" if (version := first[place].version) is None else version_name(version) for place in rows],
        connected_ms=unknown,
        last_active_ms=unknown,
        bytes_in=unknown,
        bytes_out=unknown,
        requests=unknown,
        member_row=[rows[one.broker, one.address] for one in clients],
        member_role=[one.role for one in clients],
        member_client_id=[one.client_id for one in clients],
        member_group=[one.group for one in clients],
        member_heartbeat_ms=[one.heartbeat_ms for one in clients],
        member_topics=[one.topics for one in clients],
        notice=notice,
        member_kind=[one.kind for one in clients],
    )
