"""All calls of gRPC by their methods: who may call, what serves it, how a refusal looks.

Source: docs/spec/grpc.md §1.1, §3.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.acl.accounts import Permission
from broker_core.engine.acl.needs import Need, Needs
from broker_core.engine.grpc.bridge import Bridge
from broker_core.engine.grpc.caller import Caller, header_text, language_of, signature_of
from broker_core.engine.grpc.clients import GrpcClients
from broker_core.engine.grpc.leases import Leases
from broker_core.engine.grpc.outcome import OK, CallRefusedError, refuse
from broker_core.engine.grpc.recalls import Recalls
from broker_core.engine.grpc.receives import Receive, Receives, end_empty
from broker_core.engine.grpc.routes import Routes
from broker_core.engine.grpc.sends import Sends
from broker_core.engine.grpc.telemetry import TelemetryStream
from broker_core.engine.grpc.transactions import Transactions
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.framing import GrpcStatus
from broker_core.transport.grpc_connection import CallHandler, GrpcCall

_SETTINGS_SECONDS: Final = 1.0
"""A receive waits so long for the settings of its client."""
SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
_PUB, _SUB = (Permission.PUB,), (Permission.SUB,)
_ANY = (Permission.PUB, Permission.SUB)

Reply = Callable[[Any], None]
Serve = Callable[[Caller, Any, Reply], None]
NeedsOf = Callable[[Any], Needs]


@dataclass(frozen=True, slots=True)
class _Method:
    """One unary method: its request, its response, what it needs, what serves it."""

    request: type[Message]
    response: Callable[..., Message]
    needs: NeedsOf
    serve: Serve


class GrpcService:
    """Serves the calls of all connections. For the loop's thread.

    Attributes:
        clients: Those that announced themselves.
        leases: Deliveries.
    """

    def __init__(self, state: BrokerState, dispatcher: Dispatcher, access: AccessControl | None) -> None:
        self._dispatcher = dispatcher
        self._access = access
        bridge = Bridge(dispatcher.handle_trusted)
        self.leases = Leases(state, bridge, dispatcher.pop.acks.renewed)
        transactions = Transactions(state, bridge)
        self.clients = GrpcClients(state, dispatcher.clients, left=self.leases.client_left, asked=transactions.asked)
        self._sends = Sends(state, dispatcher.send, self.clients, transactions)
        self._receives = Receives(state, bridge, self.clients, self.leases)
        self._methods = self._table(Routes(state), transactions, Recalls(state, bridge))
        self._clock = state.clock

    def _table(self, routes: Routes, transactions: Transactions, recalls: Recalls) -> Mapping[str, _Method]:
        leases = self.leases
        return {
            "QueryRoute": _Method(pb.QueryRouteRequest, pb.QueryRouteResponse, _topic_any, _at_once(routes.route)),
            "QueryAssignment": _Method(
                pb.QueryAssignmentRequest, pb.QueryAssignmentResponse, _topic_and_group, _at_once(routes.assignment)
            ),
            "SendMessage": _Method(pb.SendMessageRequest, pb.SendMessageResponse, _topics_sent, self._sends.send),
            "AckMessage": _Method(pb.AckMessageRequest, pb.AckMessageResponse, _topic_and_group, _at_once(leases.ack)),
            "ChangeInvisibleDuration": _Method(
                pb.ChangeInvisibleDurationRequest, pb.ChangeInvisibleDurationResponse, _group, leases.change
            ),
            "ForwardMessageToDeadLetterQueue": _Method(
                pb.ForwardMessageToDeadLetterQueueRequest,
                pb.ForwardMessageToDeadLetterQueueResponse,
                _topic_and_group,
                leases.forward,
            ),
            "EndTransaction": _Method(pb.EndTransactionRequest, pb.EndTransactionResponse, _topic_pub, transactions.end),
            "RecallMessage": _Method(pb.RecallMessageRequest, pb.RecallMessageResponse, _topic_pub, recalls.recall),
            "Heartbeat": _Method(pb.HeartbeatRequest, pb.HeartbeatResponse, _own_group, _at_once(self._heartbeat)),
            "NotifyClientTermination": _Method(
                pb.NotifyClientTerminationRequest, pb.NotifyClientTerminationResponse, _own_group, _at_once(self._terminate)
            ),
        }

    def begin(self, call: GrpcCall) -> CallHandler | None:
        """What serves a call; None for a method that is not served."""
        name = call.path.removeprefix(SERVICE) if call.path.startswith(SERVICE) else ""
        if name == "Telemetry":
            return _Telemetry(self, call)
        if name == "ReceiveMessage":
            return _Receive(self, call)
        method = self._methods.get(name)
        return None if method is None else _Unary(self, call, method)

    def tick(self) -> None:
        """Renew deliveries, and forget clients that are gone."""
        self.clients.scan()
        self.leases.renewals.run(self._clock())

    def stop(self) -> None:
        """Forget all clients: the broker stops."""
        self.leases.renewals.stop()
        self.clients.remove_all()

    def forget(self, receive: Receive) -> None:
        """Drop a receive that waits, because its call is cancelled."""
        receive.is_over = True
        self._dispatcher.pop.forget(receive)

    def caller(self, call: GrpcCall) -> Caller:
        """Who makes a call.

        Raises:
            CallRefusedError: Its signature is wrong, or it states no client id.
        """
        metadata = call.metadata
        caller = Caller(
            client_id=header_text(metadata, "x-mq-client-id"),
            connection=call.connection,
            language=language_of(metadata),
            sdk_version=header_text(metadata, "x-mq-client-version"),
        )
        if self._access is not None and not self._access.is_open_to(caller.address):
            signature = signature_of(metadata)
            fault = self._access.fault_of(caller.address, signature.access_key, signature.is_of)
            if fault is not None:
                refuse(pb.UNAUTHORIZED, fault)
            caller = replace(caller, account=signature.access_key)
        if not caller.client_id:
            refuse(pb.CLIENT_ID_REQUIRED, "client id cannot be empty")
        return caller

    def check(self, caller: Caller, needs: Needs) -> None:
        """Check the permissions of an account.

        Raises:
            CallRefusedError: One is missing.
        """
        fault = None if self._access is None or not caller.account else self._access.missing_for(caller.account, needs)
        if fault is not None:
            refuse(pb.UNAUTHORIZED, fault)

    def receive(self, call: GrpcCall, caller: Caller, request: pb.ReceiveMessageRequest) -> Receive | None:
        topic, group = request.message_queue.topic.name, request.group.name
        self.check(caller, (Need(topic, False, _SUB), Need(group, True, _SUB)))
        return self._receives.receive(call, caller, request)

    def refuse_receive(self, call: GrpcCall, status: pb.Status) -> None:
        """End a receive without messages."""
        end_empty(call, status, self._clock())

    def _heartbeat(self, caller: Caller, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
        self.clients.heartbeat(caller, request)
        return pb.HeartbeatResponse(status=OK)

    def _terminate(self, caller: Caller, _request: pb.NotifyClientTerminationRequest) -> pb.NotifyClientTerminationResponse:
        self.clients.terminate(caller)
        return pb.NotifyClientTerminationResponse(status=OK)


class _Unary:
    """A call with one request and one reply."""

    __slots__ = ("_call", "_is_served", "_method", "_service")

    def __init__(self, service: GrpcService, call: GrpcCall, method: _Method) -> None:
        self._service = service
        self._call = call
        self._method = method
        self._is_served = False

    def message(self, data: bytes) -> None:
        if self._is_served:
            self._call.finish(GrpcStatus.INTERNAL, "a unary call has one request")
            return
        self._is_served = True
        try:
            request = self._method.request.FromString(data)
        except DecodeError:
            self._call.finish(GrpcStatus.INTERNAL, "the request cannot be read")
            return
        try:
            caller = self._service.caller(self._call)
            if caller.account:
                self._service.check(caller, self._method.needs(request))
            self._method.serve(caller, request, self._reply)
        except CallRefusedError as error:
            self._reply(self._refusal(request, error.status))

    def _refusal(self, request: Message, status: pb.Status) -> Message:
        if isinstance(request, pb.ChangeInvisibleDurationRequest):
            # SDKs overwrite their handle even on failure.
            return self._method.response(status=status, receipt_handle=request.receipt_handle)
        return self._method.response(status=status)

    def _reply(self, response: Message) -> None:
        self._call.answer(response.SerializeToString())

    def ended(self) -> None:
        if not self._is_served:
            self._call.finish(GrpcStatus.INTERNAL, "the call has no request")

    def cancelled(self) -> None:
        """What was asked for is done nevertheless."""


class _Receive:
    """A receive, which may wait: for the settings of its client, until the client has read, for a message."""

    __slots__ = ("_call", "_has_request", "_service", "_stop_waiting", "_waiting")

    def __init__(self, service: GrpcService, call: GrpcCall) -> None:
        self._service = service
        self._call = call
        self._waiting: Receive | None = None
        self._has_request = False
        self._stop_waiting: Callable[[], None] = _do_nothing

    def message(self, data: bytes) -> None:
        if self._has_request:
            return
        self._has_request = True
        try:
            request = pb.ReceiveMessageRequest.FromString(data)
        except DecodeError:
            self._call.finish(GrpcStatus.INTERNAL, "the request cannot be read")
            return
        client_id = header_text(self._call.metadata, "x-mq-client-id")
        if not client_id or self._service.clients.find(client_id) is not None:
            self._serve(request)
            return
        # The settings of a client travel on another stream, and may arrive after its first receive.
        if not self._call.hold(len(data)):
            self._refuse_waiting()
            return
        serve = partial(self._serve, request)
        cancel = self._service.clients.when_announced(client_id, serve)
        timer = asyncio.get_running_loop().call_later(_SETTINGS_SECONDS, serve)

        def stop() -> None:
            cancel()
            timer.cancel()

        self._stop_waiting = stop

    def _serve(self, request: pb.ReceiveMessageRequest) -> None:
        self._stop_waiting()
        self._stop_waiting = _do_nothing
        if self._call.connection.reads_slowly:
            if self._call.hold(request.ByteSize()):
                self._call.connection.when_read(self._call, partial(self._serve, request))
            else:
                self._refuse_waiting()
            return
        try:
            caller = self._service.caller(self._call)
            self._waiting = self._service.receive(self._call, caller, request)
        except CallRefusedError as error:
            self._service.refuse_receive(self._call, error.status)

    def _refuse_waiting(self) -> None:
        text = "the requests that wait on this connection are too long together"
        self._service.refuse_receive(self._call, pb.Status(code=pb.TOO_MANY_REQUESTS, message=text))

    def ended(self) -> None:
        if not self._has_request:
            self._call.finish(GrpcStatus.INTERNAL, "the call has no request")

    def cancelled(self) -> None:
        self._stop_waiting()
        if self._waiting is not None:
            self._service.forget(self._waiting)


def _do_nothing() -> None:
    """There is nothing to stop."""


class _Telemetry:
    """A telemetry stream, whose every command is signed like a call."""

    __slots__ = ("_call", "_service", "_stream")

    def __init__(self, service: GrpcService, call: GrpcCall) -> None:
        self._service = service
        self._call = call
        self._stream: TelemetryStream | None = None

    def message(self, data: bytes) -> None:
        try:
            caller = self._service.caller(self._call)
            self._service.check(caller, _announced(data))
        except CallRefusedError as error:
            self._call.send(pb.TelemetryCommand(status=error.status).SerializeToString())
            self._call.finish()
            self.cancelled()
            return
        if self._stream is None:
            self._stream = TelemetryStream(self._call, caller, self._service.clients)
        self._stream.message(data)

    def ended(self) -> None:
        if self._stream is None:
            self._call.begin()
            self._call.finish()
        else:
            self._stream.ended()

    def cancelled(self) -> None:
        if self._stream is not None:
            self._stream.cancelled()


def _at_once(serve: Callable[[Caller, Any], Message]) -> Serve:
    return lambda caller, request, reply: reply(serve(caller, request))


# ---- permissions (docs/spec/grpc.md §2.4) ----


def _topic_any(request: pb.QueryRouteRequest) -> Needs:
    return (Need(request.topic.name, False, _ANY),)


def _topic_pub(request: pb.EndTransactionRequest | pb.RecallMessageRequest) -> Needs:
    return (Need(request.topic.name, False, _PUB),)


def _topics_sent(request: pb.SendMessageRequest) -> Needs:
    return tuple(Need(name, False, _PUB) for name in {message.topic.name for message in request.messages})


def _topic_and_group(
    request: pb.QueryAssignmentRequest | pb.AckMessageRequest | pb.ForwardMessageToDeadLetterQueueRequest,
) -> Needs:
    return Need(request.topic.name, False, _SUB), Need(request.group.name, True, _SUB)


def _group(request: pb.ChangeInvisibleDurationRequest) -> Needs:
    return (Need(request.group.name, True, _SUB),)


def _own_group(request: pb.HeartbeatRequest | pb.NotifyClientTerminationRequest) -> Needs:
    return (Need(request.group.name, True, _SUB),) if request.group.name else ()


def _announced(data: bytes) -> Needs:
    """What the settings in a telemetry command need."""
    try:
        settings = pb.TelemetryCommand.FromString(data).settings
    except DecodeError:
        return ()
    topics = [Need(topic.name, False, _PUB) for topic in settings.publishing.topics]
    if settings.HasField("subscription"):
        topics.append(Need(settings.subscription.group.name, True, _SUB))
        topics += [Need(entry.topic.name, False, _SUB) for entry in settings.subscription.subscriptions]
    return tuple(topics)
