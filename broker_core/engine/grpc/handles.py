"""Receipt handles as gRPC clients echo them: those of remoting, and the place of the message in the log.

Source: docs/spec/grpc.md §3.10.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.engine.grpc.outcome import refuse
from broker_core.errors import CodecError
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.receipt_handle import ReceiptHandle, parse_handle, real_topic

_WORDS = 8
"""Of a handle of remoting."""


def handle_text(handle: ReceiptHandle, physical_offset: int) -> str:
    return f"{handle} {physical_offset}"


def parsed_handle(text: str) -> ReceiptHandle:
    """A handle of a client.

    Raises:
        CallRefusedError: It is none.
    """
    try:
        handle = parse_handle(" ".join(text.split(" ")[:_WORDS]))
    except CodecError as error:
        refuse(pb.INVALID_RECEIPT_HANDLE, error.message)
    if handle.queue_id > INT32_MAX:
        refuse(pb.INVALID_RECEIPT_HANDLE, f"there is no queue {handle.queue_id}")
    return handle


def changed_text(handle: ReceiptHandle, former: str) -> str:
    """The handle of a delivery after a change; what a client wrote behind the words of a handle stays there."""
    return " ".join([str(handle), *former.split(" ")[_WORDS:]])


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of a message to a group; ``topic`` is that of the consumer."""

    group: str
    topic: str
    handle: ReceiptHandle

    @property
    def fields(self) -> dict[str, str]:
        """Header fields of a request of remoting about it."""
        return {
            "consumerGroup": self.group,
            "topic": self.real_topic,
            "queueId": str(self.handle.queue_id),
            "offset": str(self.handle.offset),
            "extraInfo": str(self.handle),
        }

    @property
    def real_topic(self) -> str:
        """The topic that holds the message."""
        return real_topic(self.group, self.topic, self.handle.flag)

    @property
    def visible_ms(self) -> int:
        """When the message becomes visible again."""
        return self.handle.pop_time_ms + self.handle.invisible_ms
