"""The clients of gRPC by their ids: settings, heartbeats, and when a client counts as gone.

Source: docs/spec/grpc.md §3.9, §4.2, §4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.client import Asked, CommandStream, GrpcClient
from broker_core.engine.grpc.names_check import check_pair, checked_group, checked_topic
from broker_core.engine.grpc.outcome import CODES, refuse
from broker_core.engine.grpc.outgoing import duration
from broker_core.engine.processors.client_processor import ClientProcessor
from broker_core.engine.tables.heartbeat import ConsumerData, Heartbeat
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.subscription import Subscription, parse_subscription

SILENCE_MS_MAX: Final = 120_000
GONE_MS: Final = 30_000
"""A client without a telemetry stream counts as gone after this time without a word."""
CLIENTS_MAX: Final = 20_000
RECEIVE_BATCH: Final = 32
POLL_MS: Final = 20_000
_SEND_ATTEMPTS: Final = 3
_SEND_BACKOFF = pb.ExponentialBackoff(initial=duration(10), max=duration(1_000), multiplier=2.0)
_RETRY_SECONDS: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
_RETRY_BACKOFF = pb.CustomizedBackoff(next=[duration(seconds * 1000) for seconds in _RETRY_SECONDS])
_EXPONENTIAL_MS: Final = {"initial": 5_000, "max": 7_200_000, "multiplier": 2}
_CONSUMERS: Final = (pb.PUSH_CONSUMER, pb.SIMPLE_CONSUMER)


class GrpcClients:
    """Clients that announced themselves. For the loop's thread.

    Args:
        state: Tables of the broker.
        processor: Registers clients of both protocols.
        left: Called with a client that is gone.
        asked: Called when a producer is asked about a transaction.
    """

    def __init__(
        self, state: BrokerState, processor: ClientProcessor, *, left: Callable[[GrpcClient], None], asked: Asked
    ) -> None:
        self._state = state
        self._processor = processor
        self._asked = asked
        self._left = left
        self._clients: dict[str, GrpcClient] = {}
        self._awaited: dict[str, list[Callable[[], None]]] = {}

    def __iter__(self) -> Iterator[GrpcClient]:
        return iter(list(self._clients.values()))

    def find(self, client_id: str) -> GrpcClient | None:
        return self._clients.get(client_id)

    def known(self, client_id: str) -> GrpcClient:
        """A client by its id.

        Raises:
            CallRefusedError: It has not announced itself.
        """
        client = self._clients.get(client_id)
        if client is None:
            refuse(pb.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")
        return client

    def when_announced(self, client_id: str, serve: Callable[[], None]) -> Callable[[], None]:
        """Call ``serve`` once a client has announced itself; returns what cancels that."""
        waiting = self._awaited.setdefault(client_id, [])
        waiting.append(serve)

        def cancel() -> None:
            if serve in waiting:
                waiting.remove(serve)
            if not waiting:
                self._awaited.pop(client_id, None)

        return cancel

    # ---- settings ----

    def announce(self, caller: Caller, settings: pb.Settings, stream: CommandStream) -> pb.Settings:
        """Take the settings of a client over; returns them with the broker's fields.

        Raises:
            CallRefusedError: They name no topics and no group, or a name or a filter is illegal.
        """
        if settings.HasField("publishing"):
            for topic in settings.publishing.topics:
                checked_topic(topic)
        elif settings.HasField("subscription"):
            group = checked_group(settings.subscription.group)
            for entry in settings.subscription.subscriptions:
                check_pair(group, checked_topic(entry.topic))
        else:
            refuse(pb.BAD_REQUEST, "there is no publishing or subscription data in settings")
        data = self._consumer_data(settings)
        client = self._clients.get(caller.client_id) or self._added(caller)
        if client.group and client.group != settings.subscription.group.name:
            self._processor.disconnected(client)  # it would stay a member of its former group for as long as it lives
        client.connection, client.stream, client.is_adopted = caller.connection, stream, False
        former = client.topics
        client.settings = self._complete(settings)
        for gone in set(former).difference(client.topics):
            self._state.producers.unregister(client, gone)
        self._register(client, data)
        for serve in tuple(self._awaited.pop(client.client_id, ())):  # each may cancel its own wait
            serve()
        return client.settings

    def _added(self, caller: Caller) -> GrpcClient:
        if len(self._clients) >= CLIENTS_MAX:
            refuse(pb.TOO_MANY_REQUESTS, f"{CLIENTS_MAX:,} clients are connected, the limit")
        client = self._clients[caller.client_id] = GrpcClient(caller, clock=self._state.clock, asked=self._asked)
        return client

    def consumer(self, caller: Caller, request: pb.ReceiveMessageRequest) -> GrpcClient:
        """The client of a receive; one that is unknown here is taken as the receive describes it, if its group exists.

        After a restart of the broker, the SDKs of Go and Python announce themselves again only after five minutes or more. A
        RocketMQ Proxy refuses their receives until then.

        Raises:
            CallRefusedError: It has not announced itself, and its group does not exist either.
        """
        client = self._clients.get(caller.client_id)
        if client is not None and not client.is_adopted:
            return client
        topic = checked_topic(request.message_queue.topic)
        if client is None:
            if self._state.groups.get(request.group.name) is None:
                self.known(caller.client_id)
            kind = pb.PUSH_CONSUMER if request.auto_renew else pb.SIMPLE_CONSUMER
            settings = pb.Settings(client_type=kind, subscription=pb.Subscription(group=request.group))
            client = self._added(caller)
            client.is_adopted, client.settings = True, self._complete(settings)
        entries = client.settings.subscription.subscriptions
        if topic in self._state.topics and all(entry.topic.name != topic for entry in entries):
            entry = pb.SubscriptionEntry(topic=request.message_queue.topic, expression=request.filter_expression)
            data = self._consumer_data(client.settings, _subscription(entry, self._state.clock()))
            entries.append(entry)
            self._register(client, data)
        return client

    def _complete(self, settings: pb.Settings) -> pb.Settings:
        full = pb.Settings()
        full.CopyFrom(settings)
        full.metric.on = False
        if full.HasField("publishing"):
            full.publishing.max_body_size = self._state.config.store.max_message_bytes
            full.publishing.validate_message_type = True
            full.backoff_policy.CopyFrom(pb.RetryPolicy(max_attempts=_SEND_ATTEMPTS, exponential_backoff=_SEND_BACKOFF))
            return full
        group = self._state.groups.get(full.subscription.group.name) or GroupConfig(full.subscription.group.name)
        full.subscription.fifo = group.orderly
        full.subscription.receive_batch_size = RECEIVE_BATCH
        full.subscription.long_polling_timeout.CopyFrom(duration(POLL_MS))
        full.backoff_policy.CopyFrom(_backoff_of(group))
        return full

    def _consumer_data(self, settings: pb.Settings, *more: Subscription) -> tuple[ConsumerData, ...]:
        if not settings.HasField("subscription"):
            return ()
        if settings.client_type not in _CONSUMERS:
            kind = _type_name(settings.client_type)
            refuse(pb.UNRECOGNIZED_CLIENT_TYPE, f"Client type is not consumer, type: {kind}")
        version = self._state.clock()
        return (
            ConsumerData(
                group=settings.subscription.group.name,
                consume_type="CONSUME_ACTIVELY" if settings.client_type == pb.SIMPLE_CONSUMER else "CONSUME_PASSIVELY",
                message_model="CLUSTERING",
                consume_from_where="CONSUME_FROM_LAST_OFFSET",
                subscriptions=(*(_subscription(entry, version) for entry in settings.subscription.subscriptions), *more),
            ),
        )

    def _register(self, client: GrpcClient, consumers: tuple[ConsumerData, ...]) -> None:
        client.last_heard_ms = self._state.clock()
        producers = tuple(dict.fromkeys(client.topics)) if client.is_producer else ()
        heartbeat = Heartbeat(client.client_id, producers, consumers)
        try:
            self._processor.register(client, heartbeat, language=client.language.name, version=client.version)
        except RequestRefusedError as error:
            refuse(CODES.get(error.code, pb.INTERNAL_SERVER_ERROR), error.message)

    # ---- life ----

    def heartbeat(self, caller: Caller, request: pb.HeartbeatRequest) -> None:
        """Note that a client lives.

        Raises:
            CallRefusedError: It has not announced itself, or its group's name is illegal.
        """
        client = self.known(caller.client_id)
        if client.settings.client_type in _CONSUMERS:
            checked_group(request.group if request.HasField("group") else client.settings.subscription.group)
        elif not client.is_producer:
            kind = _type_name(client.settings.client_type)
            refuse(pb.UNRECOGNIZED_CLIENT_TYPE, f"{kind} sends no heartbeats here")
        client.connection = caller.connection
        self._register(client, self._consumer_data(client.settings))

    def produces(self, client: GrpcClient, topic: str) -> None:
        """Have a producer asked about transactions of a topic that it has not announced yet."""
        heartbeat = Heartbeat(client.client_id, (topic,), ())
        self._processor.register(client, heartbeat, language=client.language.name, version=client.version)

    def terminate(self, caller: Caller) -> None:
        """Forget a client that says that it leaves.

        Raises:
            CallRefusedError: It has not announced itself.
        """
        self._remove(self.known(caller.client_id))

    def stream_ended(self, caller: Caller, stream: CommandStream) -> None:
        """Note that a telemetry stream has ended; an older one of the same client changes nothing."""
        client = self._clients.get(caller.client_id)
        if client is not None and client.stream is stream:
            client.stream = None

    def scan(self) -> None:
        """Forget clients that are gone."""
        now_ms = self._state.clock()
        for client in list(self._clients.values()):
            silent_ms = now_ms - client.last_heard_ms
            if silent_ms > SILENCE_MS_MAX or (client.stream is None and silent_ms > GONE_MS):
                self._remove(client)

    def remove_all(self) -> None:
        """Forget all clients: the broker stops."""
        for client in list(self._clients.values()):
            self._remove(client)

    def _remove(self, client: GrpcClient) -> None:
        del self._clients[client.client_id]
        self._processor.disconnected(client)
        client.ended()
        self._left(client)


def attempts_max(group: GroupConfig) -> int:
    """How often a group's messages are delivered at most."""
    return group.retry_times_max + 1


def _backoff_of(group: GroupConfig) -> pb.RetryPolicy:
    policy = group.others.get("groupRetryPolicy")
    attempts = attempts_max(group)
    if not isinstance(policy, dict) or policy.get("type") != "EXPONENTIAL":
        return pb.RetryPolicy(max_attempts=attempts, customized_backoff=_RETRY_BACKOFF)
    given = policy.get("exponentialRetryPolicy")
    figures = _EXPONENTIAL_MS | (given if isinstance(given, dict) else {})
    backoff = pb.ExponentialBackoff(
        initial=duration(int(figures["initial"])), max=duration(int(figures["max"])), multiplier=float(figures["multiplier"])
    )
    return pb.RetryPolicy(max_attempts=attempts, exponential_backoff=backoff)


def _type_name(number: int) -> str:
    """Name of a client type; the number of one that this version of the protocol does not know."""
    return pb.ClientType.Name(number) if number in pb.ClientType.values() else str(number)


def _subscription(entry: pb.SubscriptionEntry, version: int) -> Subscription:
    topic, expression = checked_topic(entry.topic), entry.expression
    kind = "SQL92" if expression.type == pb.SQL else "TAG"
    try:
        return parse_subscription(topic, expression.expression or "*", expression_type=kind, version=version)
    except CodecError as error:
        refuse(pb.ILLEGAL_FILTER_EXPRESSION, error.message)
