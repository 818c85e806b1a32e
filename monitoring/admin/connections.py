"""A broker's connections as rows: one for each group of a client, and one for each connection without a group. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from broker_core.api import names as reserved
from broker_core.outside import whole_of
from broker_core.worker.questions.administration import GRPC, ConnectionPage

SILENT_MS = 60_000
"""Clients send a heartbeat every 30 s; after two missed ones something is wrong."""
OLD_BEFORE = (4, 9)
"""Java clients before this version lack fixes of rebalance and of the name server's addresses."""
BROKER, NAME_SERVER, REGISTRATION = "broker", "name server", "registration"
_LANGUAGES = {
    "CPP": "C++", "DOTNET": ".NET", "OTHER": "other", "HTTP": "HTTP", "PHP": "PHP", "OMS": "OMS", "NODE_JS": "Node.js",
}  # fmt: skip
"""Names that are not the capitalized code."""


class Role(Enum):
    PRODUCER = "producer"
    CONSUMER = "consumer"
    OTHER = "other"
    OUT = "out"


class ConnectionNote(Enum):
    NONE = ""
    OLD = "old"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Traffic:
    """Rates of a connection per second; NaN before the second reading."""

    bytes_in: float = math.nan
    bytes_out: float = math.nan
    requests: float = math.nan


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A client in one group, or a connection without a group.

    Attributes:
        client_id: Empty if unknown.
        language: Display name; empty if unknown.
        version: Such as ``4.9.8``; of SDKs of gRPC, their own.
        topics: Topic → filter expression, of consumers.
        traffic: Of the whole connection, which several groups may share.
        heartbeat_ms: Time of the last heartbeat, -1 if there is none or it is unknown.
        connected_ms: Time of connecting, -1 if unknown.
        taken_ms: Time of the reading.
        protocol: ``remoting`` or ``gRPC``; empty if unknown.
        kind: Its type, such as ``push consumer``; empty if unknown.
        streams: Open calls of its connection, of gRPC; else -1.
        leases: Deliveries that the broker keeps invisible for it, of push consumers of gRPC; else -1.
    """

    side: str
    address: str
    local_address: str
    role: Role
    client_id: str
    group: str
    language: str
    version: str
    topics: tuple[tuple[str, str], ...]
    traffic: Traffic
    bytes_in: int
    bytes_out: int
    requests: int
    heartbeat_ms: int
    connected_ms: int
    taken_ms: int
    note: ConnectionNote
    protocol: str = ""
    kind: str = ""
    streams: int = -1
    leases: int = -1

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.side, self.address, self.role.value, self.group

    @property
    def program(self) -> str:
        return f"{self.language} {self.version}".strip()

    @property
    def client(self) -> str:
        """Language and version, and the protocol where that is gRPC."""
        return f"{self.program} {GRPC if self.protocol == GRPC else ''}".strip()


@dataclass(frozen=True, slots=True)
class MixRow:
    """Number of connections of one kind of client, and their ``share`` of all connections whose client is known."""

    client: str
    connections: int
    share: float


def language_text(name: str) -> str:
    """The display name of a language code."""
    return _LANGUAGES.get(name, name.capitalize())


def version_text(name: str) -> str:
    """``V4_9_8`` as ``4.9.8``; other names unchanged."""
    return name[1:].replace("_", ".", 2).replace("_", "-") if name.startswith("V") and name[1:2].isdigit() else name


class ConnectionRates:
    """Traffic computed from the counters of successive readings."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], tuple[int, int, int, int]] = {}

    def add(self, page: ConnectionPage) -> list[Traffic]:
        """Traffic since the previous reading, one for each connection."""
        before, self._before = self._before, {}
        found = []
        columns = zip(page.side, page.address, page.bytes_in, page.bytes_out, page.requests, strict=True)
        for side, address, bytes_in, bytes_out, requests in columns:
            now = (page.taken_ms, bytes_in, bytes_out, requests)
            self._before[side, address] = now
            found.append(_traffic(before.get((side, address)), now))
        return found


def _traffic(before: tuple[int, int, int, int] | None, now: tuple[int, int, int, int]) -> Traffic:
    # A counter that fell belongs to another connection of the same address; one below 0 is unknown.
    if before is None or now[0] <= before[0] or any(new < max(old, 0) for new, old in zip(now, before, strict=True)):
        return Traffic()
    seconds = (now[0] - before[0]) / 1_000
    return Traffic(*((new - old) / seconds for new, old in zip(now[1:], before[1:], strict=True)))


def client_rows(page: ConnectionPage, traffic: list[Traffic]) -> list[ClientRow]:
    """Rows of a reading; ``traffic`` is what `ConnectionRates.add` returned for it.

    The producer inside a Java client has a row only where its connection has no other group.
    """
    members: dict[int, list[int]] = {}
    for member, row in enumerate(page.member_row):
        members.setdefault(row, []).append(member)
    for row, found in members.items():
        members[row] = [one for one in found if page.member_group[one] != reserved.INNER_PRODUCER_GROUP] or found
    rows: list[ClientRow] = []
    for row in range(len(page.side)):
        plain = _plain_row(page, row, traffic[row])
        rows += [_member_row(plain, page, member) for member in members.get(row, ())] or [plain]
    return rows


def mix_of(rows: Iterable[ClientRow]) -> list[MixRow]:
    """Connections by language and version, the most frequent first."""
    known = {(row.side, row.address): row.client for row in rows if row.client and row.role is not Role.OUT}
    counts = Counter(known.values())
    total = max(1, counts.total())
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [MixRow(client, count, count / total) for client, count in ordered]


def _member_row(plain: ClientRow, page: ConnectionPage, member: int) -> ClientRow:
    heartbeat_ms = page.member_heartbeat_ms[member]
    return replace(
        plain,
        role=Role(page.member_role[member]),
        client_id=page.member_client_id[member],
        group=page.member_group[member],
        topics=tuple(sorted(page.member_topics[member].items())),
        heartbeat_ms=heartbeat_ms,
        note=_note(plain, page.taken_ms - heartbeat_ms if heartbeat_ms >= 0 else 0),
        kind=page.member_kind[member] if page.member_kind else "",
    )


def _plain_row(page: ConnectionPage, row: int, traffic: Traffic) -> ClientRow:
    return ClientRow(
        side=page.side[row],
        address=page.address[row],
        local_address=page.local_address[row],
        role=Role.OUT if page.side[row] == REGISTRATION else Role.OTHER,
        client_id="",
        group="",
        language=language_text(page.language[row]) if page.language[row] else "",
        version=version_text(page.version[row]),
        topics=(),
        traffic=traffic,
        bytes_in=page.bytes_in[row],
        bytes_out=page.bytes_out[row],
        requests=page.requests[row],
        heartbeat_ms=-1,
        connected_ms=page.connected_ms[row],
        taken_ms=page.taken_ms,
        note=ConnectionNote.NONE,
        protocol=page.protocol[row] if page.protocol else "",
        streams=page.streams[row] if page.streams else -1,
        leases=page.leases[row] if page.leases else -1,
    )


def _note(client: ClientRow, silent_ms: int) -> ConnectionNote:
    if silent_ms > SILENT_MS:
        return ConnectionNote.SILENT
    numbers = tuple(map(whole_of, client.version.split("-", maxsplit=1)[0].split(".")))
    known = tuple(number for number in numbers if number is not None)
    if client.language == "Java" and client.protocol != GRPC and len(known) == len(numbers) and known < OLD_BEFORE:
        return ConnectionNote.OLD
    return ConnectionNote.NONE
