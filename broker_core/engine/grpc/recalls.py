"""Recalls of delayed messages (Source: docs/spec/grpc.md §3.12)."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.engine.grpc.bridge import Bridge, CallPeer
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.message_types import accepted_types
from broker_core.engine.grpc.names_check import checked_topic
from broker_core.engine.grpc.outcome import OK, refuse
from broker_core.engine.schedule.timer.recall_handle import decode_handle
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb


class Recalls:
    def __init__(self, state: BrokerState, bridge: Bridge) -> None:
        self._state = state
        self._bridge = bridge

    def recall(
        self, caller: Caller, request: pb.RecallMessageRequest, reply: Callable[[pb.RecallMessageResponse], None]
    ) -> None:
        """Cancel a delayed message that is not due yet."""
        name = checked_topic(request.topic)
        topic = self._state.topics.get(name)
        if topic is None:
            refuse(pb.TOPIC_NOT_FOUND, f"topic[{name}] not exist, apply first please!")
        if pb.DELAY not in accepted_types(topic):
            refuse(pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, f"the topic {name} takes no delayed messages")
        handle = decode_handle(request.recall_handle)
        if handle is None:
            refuse(pb.INTERNAL_SERVER_ERROR, "recall handle is invalid")

        def answered(answer: RemotingCommand) -> None:
            if answer.code == ResponseCode.SUCCESS:
                reply(pb.RecallMessageResponse(status=OK, message_id=answer.ext_fields.get("msgId", handle.unique_key)))
            else:
                status = pb.Status(code=pb.INTERNAL_SERVER_ERROR, message=answer.remark or f"the broker answered {answer.code}")
                reply(pb.RecallMessageResponse(status=status))

        fields = {"producerGroup": name, "topic": name, "recallHandle": request.recall_handle}
        peer = CallPeer(caller.address, caller.language, answered)
        self._bridge.ask(peer, RequestCode.RECALL_MESSAGE, fields)
