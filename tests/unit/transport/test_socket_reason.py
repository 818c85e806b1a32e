"""The words of the system, whatever asyncio puts around them."""

import asyncio
import errno
import socket

import pytest

from broker_core.transport.socket_reason import socket_reason


def test_what_asyncio_says_of_a_refused_connection_is_left_out():
    async def refused():
        with socket.socket() as nobody_listens:
            nobody_listens.bind(("127.0.0.1", 0))
            with pytest.raises(OSError, match="Connect call failed") as caught:
                await asyncio.open_connection(*nobody_listens.getsockname())
        return caught.value

    assert socket_reason(asyncio.run(refused())) == "Connection refused"


def test_several_addresses_give_each_reason_once():
    tried = OSError(
        f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] Connect call failed ('::1', 1, 0, 0), "
        f"[Errno {errno.ECONNREFUSED}] Connect call failed ('127.0.0.1', 1), [Errno {errno.ENETUNREACH}] x"
    )
    assert socket_reason(tried) == "Connection refused, Network is unreachable"


def test_other_errors_keep_their_words():
    assert socket_reason(socket.gaierror(socket.EAI_NONAME, "Name or service not known")) == "Name or service not known"
    assert socket_reason(OSError("no number")) == "no number"
