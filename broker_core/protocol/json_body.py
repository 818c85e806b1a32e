"""JSON bodies as RocketMQ's fastjson writes and reads them.

Writing: compact, keys in order, message queues as object keys. Reading: standard JSON first, then a tolerant reader for
bare keys, object keys and single quotes. It does not know which body belongs to which request.

Source: docs/spec/remoting.md §4.1 to §4.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final, NamedTuple

from broker_core.errors import CodecError

JsonValue = Any  # callers parse it into types at once
_DEPTH_MAX: Final = 64
_NUMBER_KEY: Final = re.compile(r"[{,]-?\d+:")
_NUMBER_KEY_OR_TEXT: Final = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|(?<=[{,])(-?\d+)(?=:)', re.DOTALL)
"""A text without an end is the rest: looked for again at each of its quotes, it would take the square of its length."""
_SPACE = re.compile(r"[ \t\r\n]*")
_BARE = re.compile(r"[^\s,:\[\]{}\"']+")
_STRING = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL),
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}


class MessageQueue(NamedTuple):
    """One queue of a topic on one broker; sorts as clients sort (Source: docs/spec/broker.md §7.2)."""

    topic: str
    broker_name: str
    queue_id: int


class JsonBodyError(CodecError):
    """A body is neither JSON nor the dialect of fastjson."""


def emit(value: JsonValue, *, bare_int_keys: bool = False, ascii_only: bool = False) -> bytes:
    """Write a body: compact, keys sorted, None members left out.

    Args:
        value: dicts with ``str``, ``int`` or `MessageQueue` keys, lists, tuples, text, numbers, booleans.
        bare_int_keys: Write ``{0:…}``, for clients before 4.9.4, not ``{"0":…}``.
        ascii_only: Escape all other characters, as in routes for 4.9.4 and later.
    """
    parts: list[str] = []
    quote = encode_basestring_ascii if ascii_only else encode_basestring
    _Writer(parts, quote, bare_int_keys=bare_int_keys).write(value)
    return "".join(parts).encode("utf-8", "replace")


class _Writer:
    def __init__(self, parts: list[str], quote: Callable[[str], str], *, bare_int_keys: bool) -> None:
        self._parts = parts
        self._quote = quote
        self._bare_int_keys = bare_int_keys

    def write(self, value: JsonValue) -> None:
        if isinstance(value, str):
            self._parts.append(self._quote(value))
        elif value is None or isinstance(value, bool | int | float):
            self._parts.append(json.dumps(value))
        elif isinstance(value, MessageQueue):
            self.write(_queue_members(value))
        elif isinstance(value, Mapping):
            self._write_object(value)
        else:
            self._write_list(value)

    def _write_object(self, members: Mapping[Any, JsonValue]) -> None:
        separator = "{"
        for key in sorted(members):
            if members[key] is None:
                continue
            self._parts.append(separator)
            self._write_key(key)
            self._parts.append(":")
            self.write(members[key])
            separator = ","
        self._parts.append("{}" if separator == "{" else "}")

    def _write_key(self, key: object) -> None:
        if isinstance(key, MessageQueue):
            self.write(_queue_members(key))
        elif isinstance(key, int):
            self._parts.append(str(int(key)) if self._bare_int_keys else f'"{int(key)}"')
        else:
            self._parts.append(self._quote(str(key)))

    def _write_list(self, items: JsonValue) -> None:
        separator = "["
        for item in items:
            self._parts.append(separator)
            self.write(item)
            separator = ","
        self._parts.append("[]" if separator == "[" else "]")


def _queue_members(queue: MessageQueue) -> dict[str, str | int]:
    return {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}


def parse(body: bytes | bytearray | memoryview) -> JsonValue:
    """Read a body; raises `JsonBodyError` when it is neither JSON nor the dialect of fastjson.

    An object key becomes a `MessageQueue` if it is one, else its JSON text; number keys become text, as in standard JSON.
    ``$ref`` members stay unchanged.
    """
    try:
        text = bytes(body).decode()
    except UnicodeDecodeError as error:
        raise JsonBodyError(f"a body of {len(body):,} bytes is not UTF-8 text ({error})") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if _NUMBER_KEY.search(text) is not None:
        # Tables of offsets have thousands of number keys and no other trait of the dialect; a quarter of the reader's time.
        try:
            return json.loads(_NUMBER_KEY_OR_TEXT.sub(_quoted, text))
        except (ValueError, RecursionError):
            pass
    return _Reader(text).read_all()


def _quoted(match: re.Match[str]) -> str:
    return f'"{match[1]}"' if match[1] else match[0]


def parse_object(body: bytes | bytearray | memoryview) -> dict[Any, JsonValue]:
    """Read a body that must be an object, or is empty; raises `JsonBodyError` for another value."""
    value = parse(body) if len(body) else {}
    if not isinstance(value, dict):
        raise JsonBodyError(f"the body is {type(value).__name__}, not an object: {bytes(body[:80])!r}")
    return value


def as_message_queue(value: JsonValue) -> MessageQueue | None:
    """Read ``{"brokerName","queueId","topic"}``, also as JSON text; None for any other value."""
    if isinstance(value, MessageQueue):
        return value
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = parse(value.encode())
        except JsonBodyError:
            return None
    if not isinstance(value, dict) or not {"topic", "brokerName", "queueId"} <= value.keys():
        return None
    try:
        return MessageQueue(str(value["topic"]), str(value["brokerName"]), int(value["queueId"]))
    except (TypeError, ValueError, OverflowError):
        return None


class _Reader:
    """Recursive descent over the dialect; bounded in depth, linear in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_all(self) -> JsonValue:
        value = self._value(0)
        self._skip_space()
        if self._at != len(self._text):
            raise self._error("the end")
        return value

    def _value(self, depth: int) -> JsonValue:
        if depth > _DEPTH_MAX:
            raise self._error(f"at most {_DEPTH_MAX} levels")
        start = self._peek()
        if start == "{":
            return self._object(depth)
        if start == "[":
            return self._list(depth)
        if start in ("'", '"'):
            return self._string()
        return _bare_value(self._bare())

    def _object(self, depth: int) -> dict[Any, JsonValue]:
        members: dict[Any, JsonValue] = {}
        self._at += 1
        while self._peek() != "}":
            key = self._key(depth + 1)
            self._expect(":")
            members[key] = self._value(depth + 1)
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != "}":
                raise self._error("a comma or }")
        self._at += 1
        return members

    def _key(self, depth: int) -> str | MessageQueue:
        start = self._peek()
        if start in ("'", '"'):
            return self._string()
        if start != "{":
            return self._bare()
        if depth > _DEPTH_MAX:
            raise self._error(f"at most {_DEPTH_MAX} levels")
        key = self._object(depth)
        return as_message_queue(key) or emit(key).decode()

    def _list(self, depth: int) -> list[JsonValue]:
        items: list[JsonValue] = []
        self._at += 1
        while self._peek() != "]":
            items.append(self._value(depth + 1))
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != "]":
                raise self._error("a comma or ]")
        self._at += 1
        return items

    def _string(self) -> str:
        match = _STRING[self._text[self._at]].match(self._text, self._at)
        if match is None:
            raise self._error("the end of a text")
        self._at = match.end()
        return _ESCAPE.sub(_unescape, match[1]) if "\\" in match[1] else match[1]

    def _bare(self) -> str:
        match = _BARE.match(self._text, self._at)
        if match is None:
            raise self._error("a value")
        self._at = match.end()
        return match[0]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._error(character)
        self._at += 1

    def _peek(self) -> str:
        self._skip_space()
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _error(self, wanted: str) -> JsonBodyError:
        near = self._text[max(0, self._at - 20) : self._at + 20]
        return JsonBodyError(f"the body is not JSON: {wanted} expected at character {self._at}, near {near!r}")


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def _bare_value(word: str) -> JsonValue:
    try:
        return {"true": True, "false": False, "null": None}[word]
    except KeyError:
        pass
    try:
        return float(word) if any(mark in word for mark in ".eE") else int(word)
    except ValueError as error:
        raise JsonBodyError(f"the body is not JSON: {word[:40]!r} is neither a number nor true, false or null") from error
