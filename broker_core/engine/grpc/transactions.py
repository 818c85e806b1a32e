"""Ends of transactions: from the id that a client knows to the half message (Source: docs/spec/grpc.md §3.11)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from broker_core.engine.grpc.bridge import Bridge, CallPeer
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.names_check import checked_topic
from broker_core.engine.grpc.outcome import OK, refuse, status_of
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.transaction.engine import Decision
from broker_core.errors import StoreError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.record import read_head
from broker_core.protocol.names import HALF_TOPIC

HALVES_MAX: Final = 100_000
"""Half messages whose place is remembered; the index finds others."""
_FAR_FUTURE_MS: Final = 1 << 62
_DECISIONS: Final = {pb.COMMIT: Decision.COMMIT, pb.ROLLBACK: Decision.ROLLBACK}

Place = tuple[int, int]
"""Queue offset and physical offset of a half message."""


class Transactions:
    """Serves EndTransaction. For the loop's thread."""

    def __init__(self, state: BrokerState, bridge: Bridge) -> None:
        self._state = state
        self._bridge = bridge
        self._places: OrderedDict[str, Place] = OrderedDict()

    def began(self, transaction_id: str, place: Place) -> None:
        """Remember where a half message lies."""
        self._places[transaction_id] = place
        if len(self._places) > HALVES_MAX:
            self._places.popitem(last=False)

    def asked(self, transaction_id: str, place: Place) -> None:
        """Remember where a half message lies whose producer is asked about it: the index may be off."""
        if transaction_id not in self._places:
            self.began(transaction_id, place)

    def end(
        self, caller: Caller, request: pb.EndTransactionRequest, reply: Callable[[pb.EndTransactionResponse], None]
    ) -> None:
        """Commit or roll back."""
        topic = checked_topic(request.topic)
        if not request.transaction_id.strip():
            refuse(pb.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        decision = _DECISIONS.get(request.resolution)
        if decision is None:
            reply(pb.EndTransactionResponse(status=OK))
            return
        place = self._places.get(request.transaction_id) or self._find(request.transaction_id)
        if place is None:
            refuse(pb.INVALID_TRANSACTION_ID, "cannot found transaction data: it has no half message in this broker")
        fields = {
            "producerGroup": topic,
            "tranStateTableOffset": str(place[0]),
            "commitLogOffset": str(place[1]),
            "commitOrRollback": str(int(decision)),
            "fromTransactionCheck": str(request.source == pb.SOURCE_SERVER_CHECK).lower(),
            "msgId": request.message_id,
            "transactionId": request.transaction_id,
        }
        peer = CallPeer(
            caller.address, caller.language, lambda answer: reply(pb.EndTransactionResponse(status=status_of(answer)))
        )
        self._bridge.ask(peer, RequestCode.END_TRANSACTION, fields)

    def _find(self, transaction_id: str) -> Place | None:
        """The place of a half message that an earlier process stored, by the index."""
        try:
            found = self._state.store.query(
                HALF_TOPIC, transaction_id, max_count=1, from_ms=0, to_ms=_FAR_FUTURE_MS, unique=True
            )
        except StoreError:
            return None
        if not found:
            return None
        head = read_head(found[0], 0)
        return head.queue_offset, head.physical_offset
