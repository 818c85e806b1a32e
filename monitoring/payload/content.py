"""Content of a body: JSON, XML, a table, MessagePack, Protobuf, text or bytes, after decompression.

Without a rule the first reading that fits completely is used, from the strictest to the laxest: JSON, XML, MessagePack, text.
Text with tabs or commas in every line is a table as well. With a rule only its reading is tried; if it does not fit, the result
is bytes with the reason. Nothing here changes a message or raises.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from io import StringIO
from itertools import count
from typing import Any, Final
from xml.parsers import expat

from broker_core.api import UsageError, containers_of, json_text, laid_out_json, members_of, object_of, read_document
from monitoring.payload.encodings import decode_text
from monitoring.payload.layers import Layer, Unwrapped, unwrap
from monitoring.payload.rules import DecoderRule
from monitoring.payload.schemas import ProtobufSchema
from monitoring.payload.tables import Table, table_of, table_of_text

STRUCTURE_BYTES_MAX: Final = 8 * 1024 * 1024
"""A larger body is not parsed, but shown as text or bytes."""
CONTAINERS_MAX: Final = 200_000
"""Objects and arrays of a structure. Python's collector of garbage visits each of them, on the window's thread."""
ITEMS_MAX: Final = 1_000_000
"""Of one array or map of MessagePack, whose items may have a byte each."""
DEPTH_MAX: Final = 200
TAG_BYTES_MAX: Final = 512 * 1024
"""Of a tag or comment of XML, because its reader keeps the other threads waiting until the tag ends."""
_PIECE: Final = 64 * 1024
"""Bytes of XML that are read at once; other threads run between two pieces."""
_XML_TOKEN = re.compile(r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>|[^<]++""", re.DOTALL)


TOO_MANY: Final = f"its objects and arrays are more than {CONTAINERS_MAX:,}, so it is not read as a structure"


class BodyKind(Enum):
    """How a body is read. The window translates the values."""

    EMPTY = "Empty"
    JSON = "JSON"
    XML = "XML"
    MSGPACK = "MessagePack"
    PROTOBUF = "Protobuf"
    TABLE = "Table"
    TEXT = "Text"
    BYTES = "Bytes"


@dataclass(frozen=True, slots=True)
class Content:
    """A body after reading.

    Attributes:
        data: The bytes that were read: the innermost layer.
        text: Formatted if it is a structure; empty for bytes.
        value: The structure of JSON, MessagePack and Protobuf.
        table: The same as a table, if it has that form.
        is_cut: Whether the body is longer than the decompressed part.
        refusals: Readings that were tried or announced and do not fit: reading and reason.
    """

    kind: BodyKind
    data: bytes
    text: str = ""
    value: Any = None
    table: Table | None = None
    encoding: str = ""
    layers: tuple[Layer, ...] = ()
    is_cut: bool = False
    refusals: tuple[tuple[str, str], ...] = ()


def read_content(body: bytes, rule: DecoderRule | None = None, schema: ProtobufSchema | None = None) -> Content:
    """Read a body, the broker's own compression undone; without a rule its form is detected. Pure.

    Called off the GUI thread for bodies of more than a few kilobytes.
    """
    unwrapped = unwrap(body) if rule is None or rule.unwraps else Unwrapped(body)
    reading = _ContentReader(unwrapped.data, rule, schema)
    found = reading.read()
    return replace(found, layers=unwrapped.layers, is_cut=unwrapped.is_cut, refusals=(*unwrapped.refusals, *reading.refusals))


class _ContentReader:
    def __init__(self, data: bytes, rule: DecoderRule | None, schema: ProtobufSchema | None) -> None:
        self._data = data
        self._rule = rule
        self._schema = schema
        self.refusals: list[tuple[str, str]] = []

    def read(self) -> Content:
        if not self._data:
            return Content(BodyKind.EMPTY, self._data)
        wanted = self._rule.reading if self._rule is not None else ""
        if wanted:
            return self._as_wanted(wanted)
        if len(self._data) > STRUCTURE_BYTES_MAX:
            self.refusals.append(("structure", f"{len(self._data):,} bytes; structures are read up to {STRUCTURE_BYTES_MAX:,}"))
            return self._plain()
        text, encoding = decode_text(self._data, self._encoding)
        if text is None:
            return self._msgpack(is_asked=False) or self._bytes
        return self._structured(text, encoding)

    @property
    def _encoding(self) -> str:
        return self._rule.encoding if self._rule is not None else ""

    def _as_wanted(self, wanted: str) -> Content:
        if wanted == "bytes":
            return self._bytes
        if wanted == "msgpack":
            return self._msgpack(is_asked=True) or self._plain()
        if wanted == "protobuf":
            return self._protobuf() or self._plain()
        text, encoding = decode_text(self._data, self._encoding)
        if text is None:
            self.refusals.append((wanted, f"the bytes are no text in {self._encoding or 'UTF-8, GBK or Latin-1'}"))
            return self._bytes
        readers = {"json": self._json, "xml": self._xml, "table": self._table}
        reader = readers.get(wanted)
        found = reader(text, encoding, is_asked=True) if reader is not None else None
        return found or self._text(text, encoding)

    @property
    def _bytes(self) -> Content:
        return Content(BodyKind.BYTES, self._data)

    def _text(self, text: str, encoding: str) -> Content:
        return Content(BodyKind.TEXT, self._data, text, encoding=encoding)

    def _plain(self) -> Content:
        text, encoding = decode_text(self._data, self._encoding)
        return self._bytes if text is None else self._text(text, encoding)

    def _structured(self, text: str, encoding: str) -> Content:
        start = text.lstrip()[:1]
        if start and start in '{["':
            found = self._json(text, encoding, is_asked=start != '"')
            if found is not None:
                return found
        if start == "<" and (found := self._xml(text, encoding, is_asked=True)) is not None:
            return found
        return self._table(text, encoding, is_asked=False) or self._text(text, encoding)

    def _json(self, text: str, encoding: str, *, is_asked: bool) -> Content | None:
        if containers_of(text, CONTAINERS_MAX) > CONTAINERS_MAX:
            self.refusals.append(("structure", TOO_MANY))
            return None
        try:
            value = read_document(text.lstrip("\ufeff"))
        except ValueError as error:
            if is_asked:
                self.refusals.append(("json", str(error)))
            return None
        return Content(BodyKind.JSON, self._data, laid_out_json(text.lstrip("\ufeff")), value, table_of(value), encoding)

    def _xml(self, text: str, encoding: str, *, is_asked: bool) -> Content | None:
        try:
            laid_out = laid_out_xml(text)
        except (expat.ExpatError, ValueError) as error:
            if is_asked:
                self.refusals.append(("xml", str(error)))
            return None
        return Content(BodyKind.XML, self._data, laid_out, encoding=encoding)

    def _table(self, text: str, encoding: str, *, is_asked: bool) -> Content | None:
        table = table_of_text(text, is_asked=is_asked)
        if table is None:
            if is_asked:
                self.refusals.append(("table", "its lines have not the same number of tabs, commas or semicolons"))
            return None
        return Content(BodyKind.TABLE, self._data, text, table=table, encoding=encoding)

    def _msgpack(self, *, is_asked: bool) -> Content | None:
        import msgpack

        try:
            value = _unpacked(self._data)
        except _TooManyError:
            self.refusals.append(("structure", TOO_MANY))
            return None
        except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
            if is_asked:
                self.refusals.append(("msgpack", str(error) or type(error).__name__))
            return None
        if not is_asked and not (isinstance(value, dict | list) and value):
            return None  # any byte below 128 is a number in MessagePack
        value = _as_json(value)
        return Content(BodyKind.MSGPACK, self._data, laid_out_json(json_text(value)), value, table_of(value))

    def _protobuf(self) -> Content | None:
        if self._schema is None or self._rule is None:
            self.refusals.append(("protobuf", "the rule names no schema, or the schema could not be read"))
            return None
        try:
            value = self._schema.decode(self._rule.message_type, self._data)
        except (UsageError, ValueError) as error:
            self.refusals.append(("protobuf", str(error)))
            return None
        return Content(BodyKind.PROTOBUF, self._data, laid_out_json(json_text(value)), value, table_of(value))


class _TooManyError(ValueError):
    """A value holds more than `CONTAINERS_MAX` arrays and maps."""


def _unpacked(data: bytes) -> object:
    import msgpack

    containers = count()

    def items(found: list[object]) -> list[object]:
        if next(containers) >= CONTAINERS_MAX:
            raise _TooManyError
        return found

    def members(pairs: list[tuple[object, object]]) -> dict[str, object]:
        if next(containers) >= CONTAINERS_MAX:
            raise _TooManyError
        return _members(pairs)

    return msgpack.unpackb(
        data, raw=False, strict_map_key=False, list_hook=items, object_pairs_hook=members, max_array_len=ITEMS_MAX,
        max_map_len=ITEMS_MAX,
    )  # fmt: skip


def _members(pairs: list[tuple[object, object]]) -> dict[str, object]:
    """A map of MessagePack; its keys as text, because they may be values of any kind."""
    return object_of([(name if isinstance(name, str) else _text_of(_as_json(name)), item) for name, item in pairs])


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _as_json(value: object, depth: int = 0) -> object:
    """MessagePack values as JSON: bytes in hexadecimal."""
    if depth > DEPTH_MAX:
        return "…"
    if isinstance(value, dict):
        return object_of([(name, _as_json(item, depth + 1)) for name, item in members_of(value)])
    if isinstance(value, list | tuple):
        return [_as_json(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else _other_text(value)


def _other_text(value: object) -> str:
    """A time as a date if no digit is lost."""
    import msgpack

    if isinstance(value, msgpack.Timestamp) and value.nanoseconds % 1_000 == 0:
        with suppress(OverflowError):
            return str(value.to_datetime())
    return str(value)


def laid_out_xml(text: str) -> str:
    """XML with a line for each element; nothing but the space between elements changes, and nothing is fetched.

    Raises:
        ExpatError: It is no XML.
        ValueError: It declares a document type, whose entities could expand without limit, is nested too deeply, or has a tag
            of more than `TAG_BYTES_MAX`.
    """
    text = text.lstrip("\ufeff").lstrip()
    # The text is decoded already; its declaration names the encoding of the bytes.
    parser = expat.ParserCreate("UTF-8")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    data = text.encode()
    for end in range(_PIECE, len(data) + _PIECE, _PIECE):
        parser.Parse(data[end - _PIECE : end], False)
        if min(end, len(data)) - parser.CurrentByteIndex > TAG_BYTES_MAX:
            raise ValueError(f"it has a tag or comment of more than {TAG_BYTES_MAX:,} bytes")
    parser.Parse(b"", True)
    return _laid_out_tags(text)


def _laid_out_tags(text: str) -> str:
    out = StringIO()
    depth, has_only_text = 0, False
    for found in _XML_TOKEN.finditer(text):
        token, end = found[0], found.end()
        if _is_characters(token):
            if has_only_text and (token.strip() or text.startswith(("</", "<![CDATA["), end)):
                out.write(token)
            elif token.strip():
                out.write(_xml_line(depth) + token.strip())
            continue
        is_end = token.startswith("</")
        depth -= is_end
        out.write(token if is_end and has_only_text else _xml_line(depth) + token)
        has_only_text = token[1] not in "/!?" and not token.endswith("/>")
        depth += has_only_text
        if depth > DEPTH_MAX:
            raise ValueError(f"its elements are nested more than {DEPTH_MAX} deep")
    return out.getvalue().lstrip("\n")


def _refuse_doctype(*_what: object) -> None:
    raise ValueError("it has a DOCTYPE, whose entities are not expanded here")


def _is_characters(token: str) -> bool:
    return not token.startswith("<") or token.startswith("<![CDATA[")


def _xml_line(depth: int) -> str:
    return "\n" + "  " * depth
