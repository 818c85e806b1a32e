"""A raw client of the gRPC port: one method a call, metadata as SDKs send it, no retries."""

from __future__ import annotations

import itertools
import queue
import uuid
from collections.abc import Iterator
from typing import Any, Self

import grpc

from broker_core.protocol.grpc import messaging_pb2 as pb

SERVICE = "/apache.rocketmq.v2.MessagingService/"
_ENDS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
_numbers = itertools.count()


def resource(name: str) -> pb.Resource:
    return pb.Resource(name=name)


class RawClient:
    """Calls of one client id."""

    def __init__(self, port: int, client_id: str = "", *, metadata: dict[str, str] | None = None) -> None:
        self.port = port
        self.client_id = client_id or f"host@1@{next(_numbers)}@raw"
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[*_ENDS, ("grpc.use_local_subchannel_pool", 1)])
        fields = {"x-mq-client-id": self.client_id, "x-mq-language": "JAVA", "x-mq-client-version": "5.2.0"}
        self.metadata = tuple((fields | (metadata or {})).items())
        self._streams: list[Telemetry] = []

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, name: str, request: Any, *, timeout: float = 20, metadata: Any = None) -> Any:
        """The response of a unary call."""
        answer = getattr(pb, f"{name}Response")
        method = self.channel.unary_unary(
            SERVICE + name, request_serializer=lambda value: value.SerializeToString(), response_deserializer=answer.FromString
        )
        return method(request, timeout=timeout, metadata=self.metadata if metadata is None else metadata)

    def start_receive(self, request: pb.ReceiveMessageRequest, *, timeout: float | None = 30) -> Any:
        """The stream of a receive."""
        method = self.channel.unary_stream(
            SERVICE + "ReceiveMessage",
            request_serializer=lambda value: value.SerializeToString(),
            response_deserializer=pb.ReceiveMessageResponse.FromString,
        )
        return method(request, timeout=timeout, metadata=self.metadata)

    def receive(
        self, group: str, topic: str, *, count: int = 16, poll: float = 5, timeout: float | None = 30, **more: Any
    ) -> Received:
        """What a receive gets."""
        request = receive_request(group, topic, count=count, poll=poll, **more)
        return Received(list(self.start_receive(request, timeout=timeout)))

    def send(self, *messages: pb.Message) -> pb.SendMessageResponse:
        response: pb.SendMessageResponse = self.call("SendMessage", pb.SendMessageRequest(messages=messages))
        return response

    def telemetry(self) -> Telemetry:
        """A new stream."""
        stream = Telemetry(self)
        self._streams.append(stream)
        return stream

    def announce_producer(self, *topics: str) -> pb.TelemetryCommand:
        publishing = pb.Publishing(topics=[resource(topic) for topic in topics])
        return self.telemetry().ask(pb.Settings(client_type=pb.PRODUCER, publishing=publishing))

    def announce_consumer(self, group: str, *topics: str, kind: Any = pb.SIMPLE_CONSUMER) -> pb.TelemetryCommand:
        entries = [
            pb.SubscriptionEntry(topic=resource(topic), expression=pb.FilterExpression(expression="*")) for topic in topics
        ]
        subscription = pb.Subscription(group=resource(group), subscriptions=entries)
        return self.telemetry().ask(pb.Settings(client_type=kind, subscription=subscription))


class Received:
    """The responses of a receive."""

    def __init__(self, responses: list[pb.ReceiveMessageResponse]) -> None:
        self.kinds = [response.WhichOneof("content") for response in responses]
        self.status = next(response.status for response in responses if response.HasField("status"))
        self.messages = [response.message for response in responses if response.HasField("message")]

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]


class Telemetry:
    """A telemetry stream."""

    def __init__(self, client: RawClient) -> None:
        self._out: queue.SimpleQueue[pb.TelemetryCommand | None] = queue.SimpleQueue()
        method = client.channel.stream_stream(
            SERVICE + "Telemetry",
            request_serializer=lambda value: value.SerializeToString(),
            response_deserializer=pb.TelemetryCommand.FromString,
        )
        self.stream = method(iter(self._out.get, None), metadata=client.metadata)

    def put(self, command: pb.TelemetryCommand) -> None:
        self._out.put(command)

    def next(self) -> pb.TelemetryCommand:
        """The next command of the broker."""
        command: pb.TelemetryCommand = next(self.stream)
        return command

    def ask(self, settings: pb.Settings) -> pb.TelemetryCommand:
        self.put(pb.TelemetryCommand(settings=settings))
        return self.next()

    def close(self) -> None:
        self._out.put(None)

    def rest(self) -> Iterator[pb.TelemetryCommand]:
        return iter(self.stream)


def receive_request(
    group: str, topic: str, *, count: int = 16, poll: float | None = 5, **more: Any
) -> pb.ReceiveMessageRequest:
    request = pb.ReceiveMessageRequest(
        group=resource(group), message_queue=pb.MessageQueue(topic=resource(topic)), batch_size=count, **more
    )
    if poll is not None:
        request.long_polling_timeout.FromMilliseconds(int(poll * 1000))
    if not request.auto_renew and not request.HasField("invisible_duration"):
        request.invisible_duration.FromSeconds(15)
    return request


def message(topic: str, body: bytes = b"body", **system: Any) -> pb.Message:
    """A message as SDKs make it; ``properties`` are the user's."""
    user = system.pop("properties", {})
    system.setdefault("message_id", f"01{uuid.uuid4().hex.upper()}")
    made = pb.Message(topic=resource(topic), user_properties=user, system_properties=pb.SystemProperties(**system), body=body)
    made.system_properties.born_timestamp.GetCurrentTime()  # a proxy takes a message without it for one of 1970
    return made
