"""Requests that the broker forwards to a consumer: its state, and the trial of one message.

Source: docs/spec/remoting.md §2.4.
"""

from __future__ import annotations

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import OrbitError, RequestRefusedError
from broker_core.protocol.codes import VERSION_RUNNING_INFO, ResponseCode, version_name
from broker_core.protocol.fields import text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.transport.connection import RequestTimeoutError

FORWARD_TIMEOUT_MS = 10_000

_CREDENTIALS = frozenset({"AccessKey", "Signature", "SecurityToken"})


class ForwardProcessor:
    """Serves GET_CONSUMER_RUNNING_INFO and CONSUME_MESSAGE_DIRECTLY; the consumer's answer becomes the broker's."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state

    def running_info(self, peer: Peer, command: RemotingCommand) -> None:
        """Ask a consumer for its queues, its settings and, on request, its stacks."""
        self._forward(peer, command, RemotingCommand(command.code, _fields(command)))

    def consume_directly(self, peer: Peer, command: RemotingCommand) -> None:
        """Let a consumer's listener consume one message of the store, and return its result."""
        message_id = text_field(command.ext_fields, "msgId")
        _, offset = parse_offset_message_id(message_id)
        record = self._state.store.record_at(offset)
        if record is None:
            remark = f"there is no message {message_id} in this broker; it may have expired"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        fields = _fields(command) | {"brokerName": self._state.config.broker_name}
        self._forward(peer, command, RemotingCommand(command.code, fields, bytes(record)))

    def _forward(self, peer: Peer, command: RemotingCommand, question: RemotingCommand) -> None:
        group, client_id = text_field(command.ext_fields, "consumerGroup"), text_field(command.ext_fields, "clientId")
        consumer = self._find(group, client_id)
        question.serialize_type = consumer.serialize_type

        def answered(answer: RemotingCommand | OrbitError) -> None:
            if isinstance(answer, RemotingCommand):
                response = command.reply(answer.code, answer.remark, answer.ext_fields, answer.body)
            elif isinstance(answer, RequestTimeoutError):
                remark = f"consumer <{group}> <{client_id}> did not answer within {FORWARD_TIMEOUT_MS:,} ms"
                response = command.reply(ResponseCode.CONSUME_MSG_TIMEOUT, remark)
            else:
                response = command.reply(ResponseCode.SYSTEM_ERROR, f"consumer <{group}> <{client_id}>: {answer}")
            if not command.is_oneway:
                peer.send(response)

        consumer.ask(question, FORWARD_TIMEOUT_MS, answered)

    def _find(self, group: str, client_id: str) -> Peer:
        members = self._state.consumers.group(group)
        for peer, client in () if members is None else members.members.items():
            if client.client_id != client_id:
                continue
            if client.version < VERSION_RUNNING_INFO:
                version, needed = version_name(client.version), version_name(VERSION_RUNNING_INFO)
                remark = f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to {needed}"
                raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
            return peer
        raise RequestRefusedError(f"The Consumer <{group}> <{client_id}> not online", code=ResponseCode.SYSTEM_ERROR)


def _fields(command: RemotingCommand) -> dict[str, str]:
    # The consumer must not see the credentials of the requester.
    return {name: value for name, value in command.ext_fields.items() if name not in _CREDENTIALS}
