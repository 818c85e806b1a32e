"""Deliveries and what becomes of them: acks, other invisible times, dead letters, renewals.

Source: docs/spec/grpc.md §3.6, §3.7, §3.8, §8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from broker_core.engine.grpc.bridge import Bridge, CallPeer
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.client import GrpcClient
from broker_core.engine.grpc.handles import Delivery, changed_text, parsed_handle
from broker_core.engine.grpc.incoming import ms_of
from broker_core.engine.grpc.names_check import checked_group, checked_topic
from broker_core.engine.grpc.outcome import OK, CallRefusedError, common_status, refuse, status_of
from broker_core.engine.grpc.renewals import GIVEN_BACK_MS, Renewal, Renewals
from broker_core.engine.processors.pop.ack_processor import RENEWAL
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.popped import changed_handle
from broker_core.protocol.message.receipt_handle import ReceiptHandle
from broker_core.protocol.message.record import read_head

INVISIBLE_MS_MAX: Final = 43_200_000
ENTRIES_MAX: Final = 1_024
FORWARD_MS: Final = 10_000
"""A message whose dead letter cannot be stored comes again after this time."""

Answered = Callable[[RemotingCommand], None]
Renewed = Callable[[str, str, ReceiptHandle], ReceiptHandle | None]
"""As `AckProcessor.renewed`."""


class Leases:
    """Serves AckMessage, ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue. For the loop's thread."""

    def __init__(self, state: BrokerState, bridge: Bridge, renewed: Renewed) -> None:
        self._state = state
        self._renewed_handle = renewed
        self._bridge = bridge
        self.renewals = Renewals(self._renew)

    # ---- calls ----

    def ack(self, caller: Caller, request: pb.AckMessageRequest) -> pb.AckMessageResponse:
        """Note that messages are consumed; the reply has a result for each, in order."""
        topic, group = checked_topic(request.topic), checked_group(request.group)
        if not request.entries:
            refuse(pb.INTERNAL_SERVER_ERROR, "ack message result is empty")
        if len(request.entries) > ENTRIES_MAX:
            refuse(pb.BAD_REQUEST, f"{len(request.entries):,} entries in one request, allowed are {ENTRIES_MAX:,}")
        results = [
            pb.AckMessageResultEntry(
                message_id=entry.message_id,
                receipt_handle=entry.receipt_handle,
                status=self._ack_one(caller, group, topic, entry.receipt_handle),
            )
            for entry in request.entries
        ]
        return pb.AckMessageResponse(status=common_status(result.status for result in results), entries=results)

    def _ack_one(self, caller: Caller, group: str, topic: str, text: str) -> pb.Status:
        try:
            delivery = self._delivery(group, topic, text)
        except CallRefusedError as error:
            return error.status
        found: list[pb.Status] = []
        self._ask(caller, RequestCode.ACK_MESSAGE, delivery.fields, lambda answer: found.append(_status(answer)))
        return found[0] if found else OK

    def _delivery(self, group: str, topic: str, text: str) -> Delivery:
        """The delivery of a handle, whose renewal ends.

        Raises:
            CallRefusedError: It is no handle, its time is over, or its topic is deleted.
        """
        handle = self.renewals.take(group, text)
        if handle is None:  # renewed by an earlier process, or not at all
            first = parsed_handle(text)
            handle = self._renewed_handle(group, topic, first) or first
        delivery = Delivery(group, topic, handle)
        if delivery.visible_ms <= self._state.clock():
            refuse(pb.INVALID_RECEIPT_HANDLE, "receipt handle is expired")
        if delivery.real_topic not in self._state.topics:
            refuse(pb.INVALID_RECEIPT_HANDLE, f"the topic {delivery.real_topic} of the handle does not exist")
        return delivery

    def change(
        self,
        caller: Caller,
        request: pb.ChangeInvisibleDurationRequest,
        reply: Callable[[pb.ChangeInvisibleDurationResponse], None],
    ) -> None:
        """Change when a message becomes visible again; errors keep the client's handle."""
        topic, group = checked_topic(request.topic), checked_group(request.group)
        invisible_ms = ms_of(request.invisible_duration)
        if invisible_ms < 0:
            refuse(pb.ILLEGAL_INVISIBLE_TIME, "the invisibleTime is too small. min is 0")
        if invisible_ms > INVISIBLE_MS_MAX:
            refuse(pb.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {INVISIBLE_MS_MAX}")
        text = request.receipt_handle
        delivery = self._delivery(group, topic, text)

        def answered(answer: RemotingCommand) -> None:
            changed = _changed(delivery.handle, answer)
            new = text if changed is None else changed_text(changed, text)
            reply(pb.ChangeInvisibleDurationResponse(status=_status(answer), receipt_handle=new))

        self._change(caller, delivery, invisible_ms, answered)

    def forward(
        self,
        caller: Caller,
        request: pb.ForwardMessageToDeadLetterQueueRequest,
        reply: Callable[[pb.ForwardMessageToDeadLetterQueueResponse], None],
    ) -> None:
        """Make a message a dead letter, once.

        A handle whose delivery is settled has nothing left to forward. That is a success like a second ack, because SDKs
        repeat a forward for ever on any other answer.
        """
        topic, group = checked_topic(request.topic), checked_group(request.group)
        delivery = self._delivery(group, topic, request.receipt_handle)
        handle = delivery.handle
        records = self._state.store.get_messages(delivery.real_topic, handle.queue_id, handle.offset, 1).records
        if not records:
            refuse(pb.INVALID_RECEIPT_HANDLE, "the message of the handle is not in the store any more")
        offset = read_head(records[0], 0).physical_offset

        def answer_call(status: pb.Status) -> None:
            reply(pb.ForwardMessageToDeadLetterQueueResponse(status=status))

        def taken(answer: RemotingCommand) -> None:
            changed = _changed(handle, answer)
            if changed is not None:
                self.bury(caller, replace(delivery, handle=changed), offset, lambda stored: answer_call(_status(stored)))
            else:
                answer_call(OK if answer.code == ResponseCode.NO_MESSAGE else _status(answer))

        # Only the holder of a delivery can change it, and the change voids the handle for a second forward.
        self._change(caller, delivery, FORWARD_MS, taken)

    # ---- for receives ----

    def settle(self, caller: Caller, delivery: Delivery) -> None:
        """Ack a message that its consumer does not want."""
        self._ask(caller, RequestCode.ACK_MESSAGE, delivery.fields, _forget)

    def give_back(self, caller: Caller, delivery: Delivery) -> None:
        """Make a message visible again soon, because its consumer is gone."""
        self._change(caller, delivery, GIVEN_BACK_MS, _forget)

    def unread(self, caller: Caller, group: str, topic: str, handles: Sequence[str], unsent: int) -> None:
        """Give the last ``unsent`` deliveries of an answer back. No other is renewed, as its client may not have read it."""
        for number, text in enumerate(handles):
            if number < len(handles) - unsent:
                self.renewals.leave(group, text)
            else:
                handle = self.renewals.take(group, text) or parsed_handle(text)
                self.give_back(caller, Delivery(group, topic, handle))

    def bury(self, caller: Caller, delivery: Delivery, physical_offset: int, answered: Answered | None = None) -> None:
        """Store a message as a dead letter, then ack it."""
        fields = {"group": delivery.group, "offset": str(physical_offset), "delayLevel": "-1", "maxReconsumeTimes": "0"}

        def stored(answer: RemotingCommand) -> None:
            if answer.code == ResponseCode.SUCCESS:
                self.settle(caller, delivery)
            (answered or _forget)(answer)

        self._ask(caller, RequestCode.CONSUMER_SEND_MSG_BACK, fields, stored)

    def keep(self, renewal: Renewal) -> None:
        """Keep a delivery invisible while its client works on it."""
        self.renewals.add(renewal)

    # ---- renewals ----

    def _renew(self, renewal: Renewal, invisible_ms: int) -> None:
        client = renewal.client
        fields = renewal.delivery.fields | {"invisibleTime": str(invisible_ms), RENEWAL: "true"}
        peer = CallPeer(client.remote_address, client.language, partial(self._renewed, renewal))
        self._bridge.ask(peer, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields)

    def _renewed(self, renewal: Renewal, answer: RemotingCommand) -> None:
        self.renewals.changed(renewal, _changed(renewal.delivery.handle, answer))

    def client_left(self, client: GrpcClient) -> None:
        """Give back what a client has."""
        self.renewals.give_back(client)

    def _change(self, caller: Caller, delivery: Delivery, invisible_ms: int, answered: Answered) -> None:
        fields = delivery.fields | {"invisibleTime": str(invisible_ms)}
        self._ask(caller, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields, answered)

    def _ask(self, caller: Caller, code: RequestCode, fields: dict[str, str], answered: Answered) -> None:
        self._bridge.ask(CallPeer(caller.address, caller.language, answered), code, fields)


def _status(answer: RemotingCommand) -> pb.Status:
    """The status of an answer about a delivery. A handle of no place in the store is none: SDKs repeat on other codes."""
    if answer.code == ResponseCode.MESSAGE_ILLEGAL:
        return pb.Status(code=pb.INVALID_RECEIPT_HANDLE, message=answer.remark or "")
    return status_of(answer)


def _changed(handle: ReceiptHandle, answer: RemotingCommand) -> ReceiptHandle | None:
    if answer.code != ResponseCode.SUCCESS:
        return None
    try:
        return changed_handle(handle, answer.ext_fields)
    except CodecError:
        return None


def _forget(_answer: RemotingCommand) -> None:
    """Nobody waits for the answer."""
