"""The window's list of connections, and closing them by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from broker_core.clock import wall_clock_ms
from broker_core.engine.grpc.endpoint import ClientFacts
from broker_core.engine.tables.clients import Client
from broker_core.errors import UsageError
from broker_core.protocol.codes import version_name
from broker_core.worker.embedded.engine import EngineView, OpenConnection
from broker_core.worker.questions.administration import (
    CONSUMER,
    CONSUMER_KINDS,
    GRPC,
    PRODUCER,
    REMOTING,
    CloseConnection,
    ConnectionPage,
    ListConnections,
)
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler

CLOSE_REASON = "closed by hand at the console"
_GRPC_SIDE = "grpc"


class _Member(NamedTuple):
    row: int
    role: str
    client: Client
    group: str
    topics: Mapping[str, str]
    kind: str


def connection_handlers(engine: EngineView) -> list[Handler]:
    async def read(_query: ListConnections) -> ConnectionPage:
        return list_connections(engine, now_ms=wall_clock_ms())

    return [ListConnections.answered_by(read), CloseConnection.answered_by(partial(close_connection, engine))]


def list_connections(engine: EngineView, *, now_ms: int) -> ConnectionPage:
    """All connections, those of the broker first, with the groups that their clients are in. On the engine's loop."""
    found = sorted(engine.open_connections(), key=lambda pair: (pair[0], pair[1].connected_at, pair[1].remote_address))
    rows = {connection: number for number, (_side, connection) in enumerate(found)}
    facts: Mapping[OpenConnection, ClientFacts] = {} if engine.grpc is None else engine.grpc.facts()
    members = sorted(_members(engine, rows, facts), key=lambda member: (member.row, member.role, member.group))
    loop_s = asyncio.get_running_loop().time()
    connections = [connection for _side, connection in found]

    def wall_ms(at_s: float) -> int:
        return now_ms - round((loop_s - at_s) * 1_000)

    return ConnectionPage(
        taken_ms=now_ms,
        side=[side for side, _connection in found],
        address=[one.remote_address for one in connections],
        local_address=[one.local_address for one in connections],
        # The first request says what the peer is.
        language=[one.language.name if one.requests_in else "" for one in connections],
        version=[_version(one, facts.get(one)) for one in connections],
        connected_ms=[wall_ms(one.connected_at) for one in connections],
        last_active_ms=[wall_ms(one.last_active) for one in connections],
        bytes_in=[one.bytes_in for one in connections],
        bytes_out=[one.bytes_out for one in connections],
        requests=[one.requests_in for one in connections],
        member_row=[member.row for member in members],
        member_role=[member.role for member in members],
        member_client_id=[member.client.client_id for member in members],
        member_group=[member.group for member in members],
        member_heartbeat_ms=[member.client.last_heartbeat_ms for member in members],
        member_topics=[dict(member.topics) for member in members],
        protocol=[GRPC if side == _GRPC_SIDE else REMOTING for side, _connection in found],
        streams=[facts[one].open_streams if one in facts else -1 for one in connections],
        leases=[facts[one].leases if one in facts else -1 for one in connections],
        member_kind=[member.kind for member in members],
    )


def protocol_of_group(engine: EngineView, name: str) -> str:
    """The protocol of all present members of a group; empty where they differ, or there is none. On the engine's loop."""
    group = engine.consumers.group(name)
    facts: Mapping[OpenConnection, ClientFacts] = {} if engine.grpc is None else engine.grpc.facts()
    spoken = {GRPC if peer in facts else REMOTING for peer in group.members} if group is not None else set()
    return spoken.pop() if len(spoken) == 1 else ""


def _version(connection: OpenConnection, facts: ClientFacts | None) -> str:
    """As an SDK states it, or by the number in the requests of remoting."""
    if facts is not None and facts.sdk_version:
        return facts.sdk_version
    return version_name(connection.version) if connection.version else ""


def _members(
    engine: EngineView, rows: Mapping[OpenConnection, int], facts: Mapping[OpenConnection, ClientFacts]
) -> Iterator[_Member]:
    for name in engine.producers.groups():
        pairs = zip(engine.producers.connections(name), engine.producers.members(name) or [], strict=True)
        yield from (_Member(rows[peer], PRODUCER, client, name, {}, PRODUCER) for peer, client in pairs if peer in rows)
    for group in engine.consumers.groups():
        topics = {topic: subscription.expression for topic, subscription in group.subscriptions.items()}
        for peer, client in group.members.items():
            if peer in rows:
                kind = facts[peer].kind if peer in facts else CONSUMER_KINDS.get(group.consume_type, "")
                yield _Member(rows[peer], CONSUMER, client, group.name, topics, kind)


async def close_connection(engine: EngineView, command: CloseConnection) -> Done:
    """Record the end of a connection in the journal, then close it.

    Raises `UsageError` where it is gone already, `StoreError` where the journal cannot be written; then it stays.
    """
    named = [one for side, one in engine.open_connections() if (side, one.remote_address) == (command.side, command.address)]
    if not named:
        raise UsageError(f"no connection of {command.address} is open at the {command.side} any more")
    await engine.journal.record("connection.close", command.address, side=command.side)
    for connection in named:
        connection.close(CLOSE_REASON)
    return Done()
