"""Whether a send that failed may have put its message into the queue all the same."""

from __future__ import annotations

from broker_core.errors import CodecError, ConnectionLostError, OrbitError, RemoteError, WorkerLostError
from broker_core.protocol.codes import STORED_CODES
from broker_core.transport.connection import RequestTimeoutError


def may_be_stored(error: OrbitError) -> bool:
    """Whether the message may be there: it was sent, and no answer came that says it is not.

    A connection that was not made, and a refusal, are no such cases. A worker process that ended may have sent it.
    """
    if isinstance(error, RemoteError):
        return error.context.get("code") in STORED_CODES
    return isinstance(error, (ConnectionLostError, RequestTimeoutError, CodecError, WorkerLostError))
