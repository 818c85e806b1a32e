"""Header blocks of requests, decoded with the table that both ends of a connection keep.

Names and values are text of one character a byte (Latin-1), so that lengths are those of the wire.

    1xxxxxxx  header of a table       01xxxxxx  literal that enters the table
    001xxxxx  new size of the table   000xxxxx  literal that does not

It replaces ``hpack.Decoder`` because that took a third of the processor time of a call; the code tables are hpack's.

Source: RFC 7541.
"""

from __future__ import annotations

from typing import Final

from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.table import HeaderTable

from broker_core.errors import CodecError

Header = tuple[str, str]

TABLE_BYTES: Final = 4_096
"""Size of the table, which we leave at the protocol's default."""
ENTRY_BYTES: Final = 32
"""What an entry counts beside its texts (RFC 7541, section 4.1)."""
_STATIC: Final[tuple[Header, ...]] = tuple(
    (name.decode("latin-1"), value.decode("latin-1")) for name, value in HeaderTable.STATIC_TABLE
)
_STATIC_COUNT: Final = len(_STATIC)
_NUMBER_BYTES_MAX: Final = 4
"""Bytes of a number after its prefix; more could only be a wrong length."""

# ---- Huffman code (RFC 7541, section 5.2 and appendix B) ----

_EOS: Final = 256
_PADDING_BITS_MAX: Final = 7


def _code_tree() -> tuple[list[list[int]], frozenset[int]]:
    """The code as a tree: two children for each node, ``~symbol`` for a leaf; and the nodes where a text may end."""
    tree = [[0, 0]]
    for symbol, (code, length) in enumerate(zip(REQUEST_CODES, REQUEST_CODES_LENGTH, strict=True)):
        node = 0
        for bit in range(length - 1, 0, -1):
            side = code >> bit & 1
            if not tree[node][side]:
                tree.append([0, 0])
                tree[node][side] = len(tree) - 1
            node = tree[node][side]
        tree[node][code & 1] = ~symbol
    ends, node = {0}, 0
    for _ in range(_PADDING_BITS_MAX):
        node = tree[node][1]
        ends.add(node)
    return tree, frozenset(ends)


_TREE, _ENDS = _code_tree()
_STEPS_MAX: Final = 16_384
_steps: dict[int, tuple[str, int]] = {}
"""Characters and next node by ``node << 8 | byte``, made as they occur: 4 MiB at most. Texts of SDKs need some thousands."""


def _step(key: int) -> tuple[str, int]:
    node, text = key >> 8, ""
    for bit in range(7, -1, -1):
        node = _TREE[node][key >> bit & 1]
        if node == ~_EOS:
            raise CodecError("a Huffman code contains its end mark")
        if node < 0:
            text += chr(~node)
            node = 0
    if len(_steps) < _STEPS_MAX:
        _steps[key] = text, node
    return text, node


def huffman_text(data: bytes) -> str:
    """The text of a Huffman code; raises `CodecError`."""
    node, parts, steps = 0, [], _steps
    for byte in data:
        key = node << 8 | byte
        text, node = steps[key] if key in steps else _step(key)
        parts.append(text)
    if node not in _ENDS:
        raise CodecError("a Huffman code ends within a character")
    return "".join(parts)


# ---- blocks ----


class HeaderDecoder:
    """Decodes the header blocks of one connection, in order; ``list_bytes_max`` bounds the headers of one block."""

    def __init__(self, list_bytes_max: int) -> None:
        self._list_bytes_max = list_bytes_max
        self._entries: list[Header] = []
        """The table, newest last."""
        self._bytes = 0
        self._bytes_max = TABLE_BYTES

    def decode(self, block: bytes) -> list[Header]:
        """Names and values of a block; raises `CodecError`, after which the connection cannot go on."""
        found: list[Header] = []
        try:
            size = self._decode(block, found)
        except IndexError as error:
            raise CodecError("a header block ends within a header") from error
        if size > self._list_bytes_max:
            raise CodecError(f"headers of {size:,} bytes; {self._list_bytes_max:,} are allowed")
        return found

    def _decode(self, block: bytes, found: list[Header]) -> int:
        """Append the headers of a block; returns their size. Headers of the table cost no memory and count as entries."""
        position, end, literals = 0, len(block), 0
        entries, static = self._entries, _STATIC
        while position < end:
            first = block[position]
            if first & 0x80:
                position += 1
                index = first & 0x7F
                if 0 < index <= _STATIC_COUNT:
                    found.append(static[index - 1])
                    continue
                if index == 0x7F:
                    index, position = _long_number(block, position, 0x7F)
                found.append(self._entry(index))
                continue
            if first & 0x60 == 0x20:
                if found:
                    raise CodecError("a header table changes its size within a block")
                position = self._resize(block, position)
                continue
            header, position = self._literal(block, position, 0x3F if first & 0x40 else 0x0F)
            size = len(header[0]) + len(header[1])
            literals += size
            if literals > self._list_bytes_max:
                break
            if first & 0x40:
                entries.append(header)
                self._bytes += size + ENTRY_BYTES
                if self._bytes > self._bytes_max:
                    self._evict()
            found.append(header)
        return literals + len(found) * ENTRY_BYTES

    def _entry(self, index: int) -> Header:
        if 0 < index <= _STATIC_COUNT:
            return _STATIC[index - 1]
        place = index - _STATIC_COUNT
        if not 0 < place <= len(self._entries):
            raise CodecError(f"a header block names entry {index}, which its table does not have")
        return self._entries[-place]

    def _literal(self, block: bytes, position: int, mask: int) -> tuple[Header, int]:
        index = block[position] & mask
        position += 1
        if index == mask:
            index, position = _long_number(block, position, mask)
        if index:
            name = self._entry(index)[0]
        else:
            name, position = _text(block, position)
        value, position = _text(block, position)
        return (name, value), position

    def _resize(self, block: bytes, position: int) -> int:
        size = block[position] & 0x1F
        position += 1
        if size == 0x1F:
            size, position = _long_number(block, position, 0x1F)
        if size > TABLE_BYTES:
            raise CodecError(f"a header table of {size:,} bytes; {TABLE_BYTES:,} are allowed")
        self._bytes_max = size
        self._evict()
        return position

    def _evict(self) -> None:
        entries, count = self._entries, 0
        while self._bytes > self._bytes_max:
            name, value = entries[count]
            self._bytes -= len(name) + len(value) + ENTRY_BYTES
            count += 1
        del entries[:count]


def _long_number(block: bytes, position: int, prefix: int) -> tuple[int, int]:
    """A number that does not fit its prefix, and where it ends (RFC 7541, section 5.1)."""
    number = prefix
    for place in range(_NUMBER_BYTES_MAX):
        byte = block[position + place]
        number += (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position + place + 1
    raise CodecError("a number in a header block is too long")


def _text(block: bytes, position: int) -> tuple[str, int]:
    first = block[position]
    size = first & 0x7F
    position += 1
    if size == 0x7F:
        size, position = _long_number(block, position, 0x7F)
    end = position + size
    if end > len(block):
        raise CodecError("a header block ends within a text")
    data = block[position:end]
    return (huffman_text(data) if first & 0x80 else data.decode("latin-1")), end
