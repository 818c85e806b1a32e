"""Content of a body: JSON, XML, a table, MessagePack, Protobuf, text or bytes, after decompression.

Without a rule the first reading that fits completely is used, from the strictest to the laxest: JSON, XML, MessagePack, text.
Text with tabs or commas in every line is a table as well. With a rule only its reading is tried; if it does not fit, the result
is bytes with the reason. Nothing here changes a message or raises.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final
from xml.parsers import expat

from broker_core.api import UsageError, json_text, laid_out_json, read_document
from monitoring.payload.encodings import decode_text
from monitoring.payload.layers import Layer, Unwrapped, unwrap
from monitoring.payload.rules import DecoderRule
from monitoring.payload.schemas import ProtobufSchema
from monitoring.payload.tables import Table, table_of, table_of_text

_HEAD_CHARACTERS = 64 * 1024

_ENTITY = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)


STRUCTURE_BYTES_MAX: Final = 8 * 1024 * 1024
"""A larger body is not parsed, but shown as text or bytes."""
DEPTH_MAX: Final = 200


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
            value = msgpack.unpackb(self._data, raw=False, strict_map_key=False, timestamp=3)
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


def _as_json(value: object, depth: int = 0) -> object:
    """MessagePack values as JSON: bytes in hexadecimal, keys as text."""
    if depth > DEPTH_MAX:
        return "…"
    if isinstance(value, dict):
        return {str(_as_json(name, depth + 1)): _as_json(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def laid_out_xml(text: str) -> str:
    """XML with a line for each element; entities are not expanded and nothing is fetched.

    Raises:
        ExpatError: It is no XML.
        ValueError: It declares entities, which could expand without limit.
    """
    if _ENTITY.search(text[:_HEAD_CHARACTERS]):
        raise ValueError("it has a DOCTYPE, whose entities are not expanded here")
    writer = _XmlWriter()
    # The text is decoded already; its declaration names the encoding of the bytes.
    parser = expat.ParserCreate("UTF-8")
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.characters
    parser.CommentHandler = writer.comment
    parser.buffer_text = True
    parser.Parse(text.lstrip("\ufeff").lstrip().encode(), True)
    return writer.text


class _XmlWriter:
    """Writes each element on a line of its own; an element with only text stays on one line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._has_only_text = False

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        words = "".join(f' {key}="{_escaped(value, quote=True)}"' for key, value in attributes.items())
        self._line(f"<{name}{words}>")
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ValueError(f"its elements are nested more than {DEPTH_MAX} deep")
        self._has_only_text = True

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._has_only_text:
            self._lines[-1] += f"</{name}>"
        else:
            self._line(f"</{name}>")
        self._has_only_text = False

    def characters(self, data: str) -> None:
        if not data.strip():
            return
        if self._has_only_text:
            self._lines[-1] += _escaped(data)
        else:
            self._line(_escaped(data.strip()))

    def comment(self, data: str) -> None:
        self._line(f"<!--{data}-->")
        self._has_only_text = False

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._depth + text)


def _escaped(text: str, *, quote: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quote else text
