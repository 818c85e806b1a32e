"""One call to a gRPC port, to see whether SDKs of RocketMQ 5 are served there. It announces no client and changes nothing.

Source: RFC 9113; docs/spec/grpc.md §2.2, §3.1.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from ssl import SSLContext, SSLError
from typing import Final

from hpack import Decoder
from hpack.exceptions import HPACKError

from broker_core.config import RemotingLimits
from broker_core.errors import CodecError, NetworkError
from broker_core.outside import whole_of
from broker_core.protocol.grpc.framing import GrpcStatus, prefixed
from broker_core.protocol.http2.frames import HEAD_BYTES, PREFACE, Flag, FrameType, frame, head_at, settings_frame
from broker_core.protocol.http2.header_blocks import literal
from broker_core.transport.client import parse_address
from broker_core.transport.own_certificate import ALPN
from broker_core.transport.proxies import Dialer
from broker_core.transport.socket_reason import socket_reason
from broker_core.transport.tls import own_client_tls

METHOD: Final = "/apache.rocketmq.v2.MessagingService/QueryRoute"
BYTES_MAX: Final = 64 * 1024
"""Of an answer; what comes beyond is not read."""
_STREAM: Final = 1
_PADDING_OR_PRIORITY: Final = Flag.PADDED | Flag.PRIORITY


@dataclass(frozen=True, slots=True)
class GrpcAnswer:
    """What the port said.

    Attributes:
        status: Of the call; -1 where it ended without one.
        text: Its explanation.
    """

    status: int
    text: str

    @property
    def serves_rocketmq(self) -> bool:
        """Whether the method is known there; the empty request itself is refused by a result inside the reply."""
        return self.status == GrpcStatus.OK


async def probe_grpc(address: str, *, encrypted: bool, limits: RemotingLimits, dialer: Dialer | None = None) -> GrpcAnswer:
    """Make a call without content; TLS accepts any certificate, as SDKs do.

    Raises:
        NetworkError: The address cannot be reached, does not speak TLS, or gives no answer in time.
        CodecError: What answers speaks no gRPC.
    """
    tls: SSLContext | None = None
    if encrypted:
        tls = own_client_tls()
        tls.set_alpn_protocols(ALPN)
    try:
        async with asyncio.timeout(limits.connect_timeout_ms / 1_000):
            reader, writer = await _opened(address, tls, dialer)
    except TimeoutError as error:
        text = f"{address} did not take the connection within {limits.connect_timeout_ms:,} ms: is it the right address?"
        raise NetworkError(text, address=address) from error
    except SSLError as error:
        raise NetworkError(f"the TLS handshake with {address} failed ({error.reason})", address=address) from error
    except OSError as error:
        text = f"cannot connect to {address} ({socket_reason(error)}): is a server running there?"
        raise NetworkError(text, address=address) from error
    try:
        writer.write(_request(address, "https" if encrypted else "http"))
        async with asyncio.timeout(limits.request_timeout_ms / 1_000):
            return await _answer(reader, address)
    except TimeoutError as error:
        text = f"{address} gave no answer within {limits.request_timeout_ms:,} ms"
        raise NetworkError(text, address=address) from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise NetworkError(f"{address} ended the connection without an answer", address=address) from error
    finally:
        writer.transport.abort()


async def _opened(
    address: str, tls: SSLContext | None, dialer: Dialer | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = parse_address(address)
    name = host if tls is not None else None
    if dialer is None:
        return await asyncio.open_connection(host, port, ssl=tls, server_hostname=name)
    return await asyncio.open_connection(sock=await dialer.dial(host, port), ssl=tls, server_hostname=name)


def _request(address: str, scheme: str) -> bytes:
    fields = {
        b":method": b"POST",
        b":scheme": scheme.encode(),
        b":path": METHOD.encode(),
        b":authority": address.encode(),
        b"content-type": b"application/grpc",
        b"te": b"trailers",
    }
    block = b"".join(literal(name, value) for name, value in fields.items())
    begun = frame(FrameType.HEADERS, Flag.END_HEADERS, _STREAM, block)
    return PREFACE + settings_frame({}) + begun + frame(FrameType.DATA, Flag.END_STREAM, _STREAM, prefixed(b""))


async def _answer(reader: asyncio.StreamReader, address: str) -> GrpcAnswer:
    headers: dict[str, str] = {}
    decoder, block, read = Decoder(), b"", 0
    first = True
    while True:
        size, kind, flags, stream_id = head_at(await reader.readexactly(HEAD_BYTES), 0)
        read += HEAD_BYTES + size
        if read > BYTES_MAX or (first and kind != FrameType.SETTINGS):
            raise CodecError(f"what answers at {address} speaks no HTTP/2, as gRPC does", address=address)
        first, payload = False, await reader.readexactly(size)
        if kind == FrameType.GOAWAY:
            raise CodecError(f"{address} ends the connection by HTTP/2: it serves no gRPC", address=address)
        if stream_id != _STREAM:
            continue
        if kind == FrameType.RST_STREAM:
            raise CodecError(f"{address} resets the call: it serves no gRPC", address=address)
        if kind in (FrameType.HEADERS, FrameType.CONTINUATION):
            block += payload if not flags & _PADDING_OR_PRIORITY else _bare(payload, flags)
            if flags & Flag.END_HEADERS:
                headers |= _decoded(decoder, block, address)
                block = b""
        if flags & Flag.END_STREAM and kind in (FrameType.HEADERS, FrameType.DATA) and not block:
            return _told(headers, address)


def _bare(payload: bytes, flags: int) -> bytes:
    """A header block without the padding and the priority around it."""
    padding = payload[0] if flags & Flag.PADDED else 0
    begin = (1 if flags & Flag.PADDED else 0) + (5 if flags & Flag.PRIORITY else 0)
    return payload[begin : len(payload) - padding]


def _decoded(decoder: Decoder, block: bytes, address: str) -> dict[str, str]:
    try:
        pairs = decoder.decode(block, raw=True)
    except HPACKError as error:
        raise CodecError(f"the headers of the answer of {address} cannot be read", address=address) from error
    return {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in pairs}


def _told(headers: dict[str, str], address: str) -> GrpcAnswer:
    if not headers.get("content-type", "").startswith("application/grpc"):
        status = headers.get(":status", "none")
        raise CodecError(f"{address} serves HTTP/2 and no gRPC (status {status})", address=address)
    status = headers.get("grpc-status", "")
    code = whole_of(status)
    return GrpcAnswer(-1 if code is None else code, headers.get("grpc-message", "")[:200])
