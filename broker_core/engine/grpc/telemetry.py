"""The telemetry stream of a client: settings both ways, commands out, answers in (Source: docs/spec/grpc.md §4)."""

from __future__ import annotations

import asyncio
from typing import Final

from google.protobuf.message import DecodeError

from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.clients import GrpcClients
from broker_core.engine.grpc.outcome import OK, CallRefusedError
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.framing import GrpcStatus
from broker_core.transport.grpc_connection import GrpcCall

_AGAIN_SECONDS: Final = 1.0
"""A Node client can lose the first settings of a stream; it gets them again (docs/spec/grpc.md §6.1)."""
_TIMES_HELD, _ENTRY_BYTES = 4, 512
"""Settings take so many times their encoded size, and so many bytes for each topic, with the entries that they make."""


class TelemetryStream:
    def __init__(self, call: GrpcCall, caller: Caller, clients: GrpcClients) -> None:
        self._call = call
        self._caller = caller
        self._clients = clients
        self._has_settings = False
        self._held_bytes = 0
        """That its settings take."""
        self._again: asyncio.TimerHandle | None = None

    def command(self, command: pb.TelemetryCommand) -> bool:
        """Send a command; False when the stream has ended, or its client reads slowly."""
        return not self._call.connection.reads_slowly and self._call.send(command.SerializeToString())

    def message(self, data: bytes) -> None:
        try:
            command = pb.TelemetryCommand.FromString(data)
        except DecodeError:
            self._call.finish(GrpcStatus.INTERNAL, "the command cannot be read")
            self._ended()
            return
        kind = command.WhichOneof("command")
        client = self._clients.find(self._caller.client_id)
        if kind == "settings":
            self._take_settings(command.settings)
        elif kind == "thread_stack_trace" and client is not None:
            client.stacks(command.status, command.thread_stack_trace)
        elif kind == "verify_message_result" and client is not None:
            client.verified(command.status, command.verify_message_result)

    def _take_settings(self, settings: pb.Settings) -> None:
        entries = len(settings.publishing.topics) + len(settings.subscription.subscriptions)
        held_bytes = settings.ByteSize() * _TIMES_HELD + entries * _ENTRY_BYTES
        if not self._call.hold(held_bytes - self._held_bytes):
            self._call.finish(GrpcStatus.RESOURCE_EXHAUSTED, "the settings name more topics than a connection has room for")
            self._ended()
            return
        self._held_bytes = held_bytes
        try:
            reply = self._clients.announce(self._caller, settings, self)
        except CallRefusedError as error:
            is_type = error.status.code == pb.UNRECOGNIZED_CLIENT_TYPE
            status = GrpcStatus.INTERNAL if is_type else GrpcStatus.INVALID_ARGUMENT
            self._call.finish(status, f"process client telemetryCommand failed. {error.message}")
            self._ended()
            return
        answer = pb.TelemetryCommand(status=OK, settings=reply)
        self.command(answer)
        if not self._has_settings and self._call.metadata.get("user-agent", "").startswith("grpc-node"):
            self._again = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self.command, answer)
        self._has_settings = True

    def ended(self) -> None:
        """The client closes the stream."""
        self._call.begin()
        self._call.finish()
        self._ended()

    def cancelled(self) -> None:
        """The stream is gone."""
        self._ended()

    def _ended(self) -> None:
        if self._again is not None:
            self._again.cancel()
        self._clients.stream_ended(self._caller, self)
