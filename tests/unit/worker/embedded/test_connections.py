"""Connections as the worker tells them, and their end by hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from broker_core.engine.tables.clients import Client
from broker_core.errors import UsageError
from broker_core.protocol.codes import LanguageCode
from broker_core.worker.embedded.connections import CLOSE_REASON, close_connection, list_connections
from broker_core.worker.questions.administration import CloseConnection
from tests.support.engine import Engine

NOW_MS = 1_700_000_000_000


@dataclass(eq=False)
class Peer:
    remote_address: str
    connected_at: float = 0.0
    requests_in: int = 3
    version: int = 409
    local_address: str = "127.0.0.1:10911"
    language: LanguageCode = LanguageCode.GO
    last_active: float = 0.0
    bytes_in: int = 700
    bytes_out: int = 900
    closed: str = ""

    def close(self, reason: str = "") -> None:
        self.closed = reason


def connected(engine: Engine, *sides_and_peers: tuple[str, Peer]) -> None:
    engine.opened.extend(sides_and_peers)


def listed(engine: Engine):
    async def ask():
        return list_connections(engine, now_ms=NOW_MS)

    return asyncio.run(ask())


def test_a_connection_is_told_with_its_traffic_and_the_groups_of_its_client(engine: Engine):
    peer = Peer("127.0.0.1:5001")
    connected(engine, ("broker", peer))
    engine.producers.register(peer, Client("maker@1", peer.remote_address, "GO", 409, NOW_MS - 5), "makers")  # type: ignore[arg-type]  any token will do

    page = listed(engine)

    assert (page.side, page.address, page.language, page.version) == (["broker"], ["127.0.0.1:5001"], ["GO"], ["V4_9_8"])
    assert (page.bytes_in, page.bytes_out, page.requests) == ([700], [900], [3])
    assert (page.member_row, page.member_role, page.member_group) == ([0], ["producer"], ["makers"])
    assert page.member_heartbeat_ms == [NOW_MS - 5]
    assert page.connected_ms[0] <= NOW_MS


def test_a_connection_that_has_not_asked_anything_has_not_said_what_it_is(engine: Engine):
    connected(engine, ("name server", Peer("127.0.0.1:5002", requests_in=0, version=0)))
    page = listed(engine)
    assert (page.language, page.version, page.member_row) == ([""], [""], [])


def test_closing_a_connection_is_recorded_and_done(engine: Engine):
    one, other = Peer("127.0.0.1:5003"), Peer("127.0.0.1:5004")
    connected(engine, ("broker", one), ("broker", other))

    asyncio.run(close_connection(engine, CloseConnection("broker", "127.0.0.1:5003")))

    assert (one.closed, other.closed) == (CLOSE_REASON, "")
    assert [(entry.action, entry.subject) for entry in engine.journal.last(5)] == [("connection.close", "127.0.0.1:5003")]


def test_a_connection_that_is_gone_cannot_be_closed(engine: Engine):
    connected(engine, ("name server", Peer("127.0.0.1:5005")))
    with pytest.raises(UsageError, match=r"no connection of 127\.0\.0\.1:5005 is open at the broker"):
        asyncio.run(close_connection(engine, CloseConnection("broker", "127.0.0.1:5005")))
    assert engine.journal.last(5) == []
