"""Filter servers of RocketMQ 4.x: they register their address with this broker, and its routes carry it to consumers.

A filter server is a separate program that pulls, filters by classes of consumers, and forwards. Here only its address travels
with the broker's registrations; the broker never connects to it.

Source: docs/spec/remoting.md §2.1 (301), §2.7.1; times and answers of 4.9.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import text_field
from broker_core.protocol.frame import RemotingCommand

SILENCE_MAX_MS = 30_000
"""A filter server is dropped that did not register again for so long."""

SERVERS_MAX = 64
"""Bound on addresses, because each is in the answer to every route request."""

_ADDRESS_CHARS_MAX = 255
_PORT_MAX = 65_535


@dataclass(slots=True)
class _FilterServer:
    address: str
    seen_ms: int


class FilterServers:
    """Serves REGISTER_FILTER_SERVER. A connection stands for one filter server: its first address counts."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._servers: dict[Peer, _FilterServer] = {}

    def register(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Register or refresh a filter server; the answer names the broker. Raises `RequestRefusedError`."""
        address = _checked_address(text_field(command.ext_fields, "filterServerAddr"))
        self._drop_silent()
        known = self._servers.get(peer)
        if known is not None:
            known.seen_ms = self._state.clock()
        elif len(self._servers) >= SERVERS_MAX:
            remark = (
                f"{SERVERS_MAX} filter servers are registered already: end one of them, it is forgotten with its connection"
            )
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        else:
            self._servers[peer] = _FilterServer(address, self._state.clock())
        config = self._state.config
        return command.reply(ext_fields={"brokerName": config.broker_name, "brokerId": str(config.broker_id)})

    def forget(self, peer: Peer) -> None:
        self._servers.pop(peer, None)

    def addresses(self) -> tuple[str, ...]:
        self._drop_silent()
        return tuple(dict.fromkeys(server.address for server in self._servers.values()))

    def _drop_silent(self) -> None:
        oldest_ms = self._state.clock() - SILENCE_MAX_MS
        for peer in [peer for peer, server in self._servers.items() if server.seen_ms < oldest_ms]:
            del self._servers[peer]


def _checked_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= len(str(_PORT_MAX)) and 0 < int(port) <= _PORT_MAX
    is_host = bool(host) and host.isascii() and host.isprintable() and not set(host) & set(" ;,/\\\"'")
    if len(text) > _ADDRESS_CHARS_MAX or not is_port or not is_host:
        remark = f"filterServerAddr is {text[:80]!r}, not HOST:PORT, for example 127.0.0.1:7777"
        raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
    return text
