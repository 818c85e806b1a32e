"""Header blocks of answers, without a table of the peer's: each name and value is a literal.

Source: RFC 7541, sections 6.1 and 6.2.2; docs/spec/grpc.md §10.3.
"""

from __future__ import annotations

from typing import Final

_STATUS_200: Final = b"\x88"
_CONTENT_TYPE: Final = b"\x0f\x10"
"""Name 31 of the static table, as a literal that is not indexed."""
_LENGTH_MAX: Final = 127


def _length(size: int) -> bytes:
    """A length with a prefix of seven bits (RFC 7541, section 5.1)."""
    if size < _LENGTH_MAX:
        return bytes((size,))
    size -= _LENGTH_MAX
    found = bytearray((_LENGTH_MAX,))
    while size >= 128:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    found.append(size)
    return bytes(found)


def literal(name: bytes, value: bytes) -> bytes:
    """A header that no table keeps."""
    return b"\0" + _length(len(name)) + name + _length(len(value)) + value


RESPONSE: Final = _STATUS_200 + _CONTENT_TYPE + _length(16) + b"application/grpc"
"""``:status 200`` and ``content-type: application/grpc``."""
