"""Compression of message bodies, for clients and viewers; a broker never changes a body (Source: docs/spec/store.md §2.4)."""

from __future__ import annotations

import zlib

import lz4.frame

from broker_core import zstandard_frames
from broker_core.errors import CodecError
from broker_core.protocol.message.sys_flag import COMPRESSED, Compression, compression_number

BODY_BYTES_MAX = 64 * 1024 * 1024
"""Bound on a decompressed body, because a small record could fill the memory."""

_ZLIB_LEVEL = 5


def compress_body(body: bytes, compression: Compression = Compression.ZLIB) -> bytes:
    """Compressed form of a body; `sys_flag.with_compression` returns its SYSFLAG."""
    if compression is Compression.LZ4:
        return bytes(lz4.frame.compress(body))
    if compression is Compression.ZSTD:
        return zstandard_frames.compress(body)
    return zlib.compress(body, _ZLIB_LEVEL)


def decompress_body(sys_flag: int, body: bytes | memoryview) -> bytes:
    """Body as the producer sent it, from the stored bytes and the SYSFLAG of the record.

    Raises `CodecError` when the bytes are not what SYSFLAG says, or decompress to more than 64 MiB.
    """
    if not sys_flag & COMPRESSED:
        return bytes(body)
    number = compression_number(sys_flag)
    try:
        compression = Compression(number)
    except ValueError as error:
        raise CodecError(f"compression type {number} is not known (0 and 3 zlib, 1 LZ4, 2 zstd)") from error
    try:
        result = _decompress(compression, bytes(body))
    except (zlib.error, RuntimeError, EOFError, ValueError) as error:
        raise CodecError(f"a body of {len(body)} bytes does not decompress as {compression.name}: {error}") from error
    if len(result) > BODY_BYTES_MAX:
        raise CodecError(f"a body of {len(body)} bytes decompresses to more than {BODY_BYTES_MAX} bytes; it is not shown")
    return result


def _decompress(compression: Compression, body: bytes) -> bytes:
    limit = BODY_BYTES_MAX + 1
    if compression is Compression.LZ4:
        lz4_stream = lz4.frame.LZ4FrameDecompressor()
        result = bytes(lz4_stream.decompress(body, max_length=limit))
        return _whole(result, ended=lz4_stream.eof, limit=limit)
    if compression is Compression.ZSTD:
        return zstandard_frames.decompress(body, limit)
    stream = zlib.decompressobj()
    return _whole(stream.decompress(body, limit), ended=stream.eof, limit=limit)


def _whole(result: bytes, *, ended: bool, limit: int) -> bytes:
    if not ended and len(result) < limit:
        raise EOFError("the stream ends early")
    return result
