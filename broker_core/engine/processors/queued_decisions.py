"""Decisions of producers that arrive while the broker, just started, reads which transactions are undecided."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from broker_core.engine.tables.peer import Peer
from broker_core.engine.transaction.engine import EndRequest
from broker_core.protocol.frame import RemotingCommand

ENDS_MAX = 10_000
"""Pending decisions; a producer whose decision is refused is asked later."""

ENDS_PER_PEER_MAX = 256
"""Of one connection: with texts of this length they take half a mebibyte at most."""

TEXT_CHARS_MAX = 512
"""Of group and message id together; a group's name has 255 at most, an id 32."""


class EarlyEnd(NamedTuple):
    """A decision; ``command`` has the parts of its request that the answer needs."""

    peer: Peer
    command: RemotingCommand
    request: EndRequest


class EarlyEnds:
    """Keeps early decisions, within bounds."""

    def __init__(self) -> None:
        self._ends: list[EarlyEnd] = []
        self._of_peers: Counter[Peer] = Counter()

    def keep(self, peer: Peer, command: RemotingCommand, request: EndRequest) -> bool:
        """Keep a decision; False when there are too many, or it is too long."""
        is_long = len(request.group) + len(request.message_id) > TEXT_CHARS_MAX
        if is_long or len(self._ends) >= ENDS_MAX or self._of_peers[peer] >= ENDS_PER_PEER_MAX:
            return False
        asked = RemotingCommand(command.code, opaque=command.opaque, flag=command.flag, serialize_type=command.serialize_type)
        self._ends.append(EarlyEnd(peer, asked, request))
        self._of_peers[peer] += 1
        return True

    def take(self) -> list[EarlyEnd]:
        """Remove and return all of them, in their order."""
        ends, self._ends = self._ends, []
        self._of_peers.clear()
        return ends
