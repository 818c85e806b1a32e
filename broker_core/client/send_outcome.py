"""Whether a failed send may have stored its message."""

from __future__ import annotations

from broker_core.errors import CodecError, ConnectionLostError, OrbitError, RemoteError, WorkerLostError
from broker_core.protocol.codes import STORED_CODES
from broker_core.transport.connection import RequestTimeoutError


def may_be_stored(error: OrbitError) -> bool:
    """Whether the message may be stored: it was sent, and no answer denies it.

    A failed connect, and a refusal, deny it. A worker process that ended may have sent it.
    """
    if isinstance(error, RemoteError):
        return error.context.get("code") in STORED_CODES
    return isinstance(error, (ConnectionLostError, RequestTimeoutError, CodecError, WorkerLostError))
