"""Messages of the channel ↔ bytes: a msgpack array ``[tag, field, field, …]`` in a length-prefixed frame.

The tag is the name of the class. The table of classes, fields and their checks is built once from the dataclasses. An array may
be shorter (missing fields take their defaults) or longer (surplus fields are ignored), so that peers of different age
understand each other. Anything else is a `CodecError`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Union

import msgpack

from broker_core.errors import BugError, CodecError
from broker_core.worker.channel import schema
from broker_core.worker.channel.framing import frame
from broker_core.worker.questions.question import QUESTIONS, Question

_Value = Any  # what msgpack unpacks, before it is checked
_Check = Callable[[_Value], _Value]


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    message: type
    names: tuple[str, ...]
    checks: tuple[_Check, ...]
    required: int


class _MismatchError(Exception):
    """A value does not fit its field; carries what was expected."""


def encode_message(message: schema.WorkerMessage | schema.WindowMessage) -> bytes:
    """One whole frame, ready for the pipe. Raises `CodecError` for a message larger than a frame may be."""
    payload: bytes = msgpack.packb(message, default=_plain, strict_types=True, unicode_errors="surrogatepass")
    return frame(payload)


def decode_worker_message(payload: bytes) -> schema.WorkerMessage:
    """The message of a worker. Raises `CodecError` for any other bytes."""
    message: schema.WorkerMessage = _decode(payload, _WORKER_TAGS)
    return message


def decode_window_message(payload: bytes) -> schema.WindowMessage:
    """The message of a window. Raises `CodecError` for any other bytes."""
    message: schema.WindowMessage = _decode(payload, _WINDOW_TAGS)
    return message


def _plain(value: object) -> object:
    """The value for msgpack: a message as an array, a member of an enum as its number or text."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    return _to_array(value)


def _to_array(message: object) -> list[object]:
    shape = _SHAPES.get(type(message).__name__)
    if shape is None:
        raise BugError(f"{type(message).__name__} is no message of the worker channel")
    return [shape.message.__name__, *(getattr(message, name) for name in shape.names)]


def _decode(payload: bytes, tags: frozenset[str]) -> _Value:
    try:
        array = msgpack.unpackb(payload, raw=False, unicode_errors="surrogatepass")
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        # All that msgpack raises for bytes that are not msgpack: its own exceptions, and these of Python.
        raise CodecError(f"a message of the worker channel is not msgpack: {error or type(error).__name__}") from error
    try:
        return _from_array(array, tags)
    except _MismatchError as error:
        raise CodecError(f"a message of the worker channel cannot be read: {error}") from error


def _from_array(array: _Value, tags: frozenset[str]) -> _Value:
    if type(array) is not list or not array or type(array[0]) is not str or array[0] not in tags:
        raise _MismatchError(f"expected one of {', '.join(sorted(tags))}, got {_brief(array)}")
    shape = _SHAPES[array[0]]
    values = array[1:]
    if len(values) < shape.required:
        raise _MismatchError(f"{array[0]} has at least {shape.required} fields, got {len(values)}")
    fields = []
    for name, check, value in zip(shape.names, shape.checks, values, strict=False):
        try:
            fields.append(check(value))
        except _MismatchError as error:
            raise _MismatchError(f"{array[0]}.{name}: {error}") from error
    return shape.message(*fields)


def _brief(value: _Value) -> str:
    text = repr(value[0]) if type(value) is list and value else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "…"


# ---- checks built from type hints --------------------------------------------------------------------------------------

_SCALARS: dict[type, frozenset[type]] = {
    int: frozenset({int}),  # not bool: a flag is no count
    float: frozenset({float, int}),
    str: frozenset({str}),
    bytes: frozenset({bytes}),
    bool: frozenset({bool}),
    types.NoneType: frozenset({types.NoneType}),
}


def _check_for(hint: _Value) -> _Check:
    origin: object = typing.get_origin(hint)
    if origin is list:
        return _list_check(_item_check(typing.get_args(hint)[0]))
    if origin is dict:
        key, value = typing.get_args(hint)
        return _dict_check(_item_check(key), _item_check(value))
    if origin is Question:
        return _message_check(_QUESTION_TAGS)
    if hint is object:
        return _message_check(_ANSWER_TAGS)
    if dataclasses.is_dataclass(hint) or (_is_union(hint) and dataclasses.is_dataclass(typing.get_args(hint)[0])):
        return _message_check(_tags(hint))
    return _scalar_check(_scalar_types(hint))


def _is_union(hint: _Value) -> bool:
    origin: object = typing.get_origin(hint)
    return origin is types.UnionType or origin is Union


def _scalar_types(hint: _Value) -> frozenset[type]:
    members = typing.get_args(hint) if _is_union(hint) else (hint,)
    return frozenset().union(*(_SCALARS[member] for member in members))


def _scalar_check(allowed: frozenset[type]) -> _Check:
    def check(value: _Value) -> _Value:
        if type(value) not in allowed:
            raise _MismatchError(f"expected {_names(allowed)}, got {type(value).__name__}")
        return value

    return check


def _item_check(hint: _Value) -> Callable[[Iterable[_Value]], None]:
    """A check over many items at once: a set of their types, as long lists of plain values are the common case."""
    if typing.get_origin(hint) is None or _is_union(hint):
        allowed = _scalar_types(hint)

        def check_types(items: Iterable[_Value]) -> None:
            found = set(map(type, items))
            if not found <= allowed:
                raise _MismatchError(f"expected items of {_names(allowed)}, got {_names(found - allowed)}")

        return check_types
    check_one = _check_for(hint)

    def check_each(items: Iterable[_Value]) -> None:
        for item in items:
            check_one(item)

    return check_each


def _list_check(check_items: Callable[[Iterable[_Value]], None]) -> _Check:
    def check(value: _Value) -> _Value:
        if type(value) is not list:
            raise _MismatchError(f"expected a list, got {type(value).__name__}")
        check_items(value)
        return value

    return check


def _dict_check(check_keys: Callable[[Iterable[_Value]], None], check_values: Callable[[Iterable[_Value]], None]) -> _Check:
    def check(value: _Value) -> _Value:
        if type(value) is not dict:
            raise _MismatchError(f"expected a map, got {type(value).__name__}")
        check_keys(value)
        check_values(value.values())
        return value

    return check


def _message_check(tags: frozenset[str]) -> _Check:
    def check(value: _Value) -> _Value:
        return _from_array(value, tags)

    return check


def _names(kinds: Iterable[type]) -> str:
    return " or ".join(sorted(kind.__name__ for kind in kinds))


def _tags(hint: _Value) -> frozenset[str]:
    members = typing.get_args(hint) if _is_union(hint) else (hint,)
    return frozenset(member.__name__ for member in members)


def _shape(message: type) -> _Shape:
    hints = typing.get_type_hints(message)
    fields = dataclasses.fields(message)
    missing = dataclasses.MISSING
    required = sum(1 for f in fields if f.default is missing and f.default_factory is missing)
    checks = tuple(_check_for(hints[f.name]) for f in fields)
    return _Shape(message, tuple(f.name for f in fields), checks, required)


_QUESTION_TAGS = frozenset(QUESTIONS)
_ANSWERS = {question.answer_type for question in QUESTIONS.values()}
_ANSWER_TAGS = frozenset(answer.__name__ for answer in _ANSWERS)


def _message_classes() -> Iterable[type]:
    yield from typing.get_args(schema.WorkerMessage)
    yield from typing.get_args(schema.WindowMessage)
    yield from QUESTIONS.values()
    yield from _ANSWERS


_SHAPES: dict[str, _Shape] = {message.__name__: _shape(message) for message in _message_classes()}
_WORKER_TAGS = _tags(schema.WorkerMessage)
_WINDOW_TAGS = _tags(schema.WindowMessage)
