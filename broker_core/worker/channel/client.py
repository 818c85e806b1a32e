"""The window's end of the worker channel, without the pipe: request ids, matching, version, bounds."""

from __future__ import annotations

from typing import Any

from broker_core.errors import WorkerError
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import PROTOCOL_VERSION, Cancel, Failure, Reply, Request, WorkerMessage
from broker_core.worker.questions.lifecycle import Hello
from broker_core.worker.questions.question import Question

OUTSTANDING_REQUESTS_MAX = 256
"""Requests without an answer; a page sends a handful at a time, so more means that the worker does not answer."""


class WorkerClient:
    """Turns questions into bytes and bytes into messages. Not thread-safe; one per worker process."""

    def __init__(self, *, outstanding_max: int = OUTSTANDING_REQUESTS_MAX) -> None:
        self._outstanding_max = outstanding_max
        self._outstanding: set[int] = set()
        self._last_id = 0
        self._reader = FrameReader()

    @property
    def outstanding(self) -> frozenset[int]:
        """Ids of the pending requests."""
        return frozenset(self._outstanding)

    @property
    def pending_bytes(self) -> int:
        """Bytes of an incomplete message; above 0 at the end of the stream the message was torn."""
        return self._reader.pending_bytes

    def request(self, body: Question[Any]) -> tuple[int, bytes]:
        """The id of a question, which its answer will carry, and the bytes to send.

        Raises `WorkerError` where too many requests are pending, `CodecError` where the question is larger than a frame may be.
        """
        if len(self._outstanding) >= self._outstanding_max:
            raise WorkerError(
                f"the broker process has not answered {len(self._outstanding)} requests; wait, or restart it",
                outstanding=len(self._outstanding),
            )
        request_id = self._last_id + 1
        data = encode_message(Request(request_id=request_id, body=body))
        self._last_id = request_id
        self._outstanding.add(request_id)
        return request_id, data

    def cancel(self, request_id: int) -> bytes:
        """The bytes that cancel a request; empty when it is no longer pending. A later answer is dropped."""
        if request_id not in self._outstanding:
            return b""
        self._outstanding.discard(request_id)
        return encode_message(Cancel(request_id=request_id))

    def receive(self, data: bytes) -> list[WorkerMessage]:
        """The messages completed by ``data``, in order, without answers to cancelled requests.

        Raises `CodecError` for bytes that are no messages, after which nothing can be read, and `WorkerError` for another
        version of the protocol.
        """
        messages = (decode_worker_message(payload) for payload in self._reader.feed(data))
        return [message for message in messages if self._wanted(message)]

    def _wanted(self, message: WorkerMessage) -> bool:
        if isinstance(message, Hello):
            _check_version(message)
        if not isinstance(message, Reply | Failure):
            return True
        awaited = message.request_id in self._outstanding
        self._outstanding.discard(message.request_id)
        return awaited


def _check_version(hello: Hello) -> None:
    if hello.protocol_version != PROTOCOL_VERSION:
        raise WorkerError(
            f"the broker process {hello.pid} (Orbit {hello.orbit_version}) speaks version {hello.protocol_version} of the "
            f"worker channel, this window speaks {PROTOCOL_VERSION}; close Orbit and start it again",
            pid=hello.pid,
            protocol_version=hello.protocol_version,
        )
