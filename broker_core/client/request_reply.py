"""Requests that a consumer answers with a reply through the broker; the producer sends and receives them.

Source: docs/spec/broker.md §2.7, docs/spec/remoting.md §2.2.11, §2.4.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

from broker_core.client.message import Message, ReceivedMessage
from broker_core.errors import CodecError, NetworkError, UsageError
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.properties import decode_properties
from broker_core.transport.connection import Connection

CORRELATION_ID = "CORRELATION_ID"
REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
TIME_TO_LIVE = "TTL"
MESSAGE_TYPE = "MSG_TYPE"
REPLY = "reply"
REPLY_TOPIC_SUFFIX = "_REPLY_TOPIC"


class Requests:
    """Pending requests of one producer."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[bytes]] = {}

    def prepare(self, message: Message, client_id: str, timeout_ms: int) -> tuple[Message, asyncio.Future[bytes]]:
        """The message with the properties that a reply needs, and the future of its reply; `forget` it at the end."""
        correlation_id = uuid.uuid4().hex
        properties = {
            **message.properties,
            CORRELATION_ID: correlation_id,
            REPLY_TO_CLIENT: client_id,
            TIME_TO_LIVE: str(timeout_ms),
        }
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = reply
        return replace(message, properties=properties), reply

    def forget(self, message: Message) -> None:
        """Expect no reply to this message any more."""
        self._waiting.pop(message.properties[CORRELATION_ID], None)

    def close(self) -> None:
        """Fail all pending requests."""
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(NetworkError("the producer was closed before the reply came"))

    def arrived(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        """Serve PUSH_REPLY_MESSAGE_TO_CLIENT; a late reply is answered and dropped."""
        fields = command.ext_fields
        properties = decode_properties(fields.get("properties", "").encode("utf-8", "replace"))
        reply = self._waiting.get(properties.get(CORRELATION_ID, ""))
        if reply is not None and not reply.done():
            try:
                reply.set_result(decompress_body(int(fields.get("sysFlag", "0")), bytes(command.body)))
            except (CodecError, ValueError) as error:
                reply.set_exception(CodecError(f"a reply came that cannot be read: {error}"))
        return command.reply()


def reply_to(request: ReceivedMessage, body: bytes) -> Message:
    """The message that answers a request, to be sent with `Producer.send_reply`; raises `UsageError` when it is no request."""
    properties = request.properties
    missing = [name for name in (names.CLUSTER, CORRELATION_ID, REPLY_TO_CLIENT) if not properties.get(name)]
    if missing:
        text = (
            f"message {request.message_id} at {request.queue_offset} of {request.queue} is no request: no {', '.join(missing)}"
        )
        raise UsageError(text)
    answer = {
        MESSAGE_TYPE: REPLY,
        CORRELATION_ID: properties[CORRELATION_ID],
        REPLY_TO_CLIENT: properties[REPLY_TO_CLIENT],
        TIME_TO_LIVE: properties.get(TIME_TO_LIVE, "0"),
    }
    return Message(properties[names.CLUSTER] + REPLY_TOPIC_SUFFIX, body, properties=answer)
