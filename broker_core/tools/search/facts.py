"""Meaning of a comparison: a filter on one message, in plain Python. The reference for every faster way.

A field of a message has no value, one, or several (a key is any of its words, an id any of its two, a group any of those that
the name of a retry topic fits). A comparison holds if it
holds for any value; ``!=`` is the opposite of ``=``, so it holds when there is no value.

* Text is compared by code points; ``contains`` on the body searches for the UTF-8 bytes, ``~`` searches its text.
* A property or a JSON value against a number is compared as a number, digit by digit, against text as text. A number with an
  exponent of ten or more digits, or of more than 4,300 characters, equals none.
* Where names come again in a JSON object, the values of all of them count.
* A body that does not decompress is used as it is stored; `MessageFacts.body_fault` says why.
"""

from __future__ import annotations

import operator as operators
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any

from broker_core.errors import CodecError
from broker_core.json_document import JsonValue, WrittenNumber, exact_number, read_document, values_named
from broker_core.protocol.addresses import host_of
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.properties import DELAY, KEY_SEPARATOR, KEYS, PRODUCER_GROUP, REAL_TOPIC, TAGS, UNIQUE_KEY
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames, RetryOwner, groups_of, owners_of_message
from broker_core.tools.search.expression import (
    AnyCondition,
    AnyItem,
    Comparison,
    EveryCondition,
    Expression,
    Field,
    FieldKind,
    NotCondition,
    Operator,
    PathStep,
    Scalar,
)
from broker_core.tools.search.fields import state_of_topic

_WHOLE = re.compile(r"[-+]?\d{1,18}")

ORDERS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.LESS: operators.lt,
    Operator.LESS_OR_EQUAL: operators.le,
    Operator.GREATER: operators.gt,
    Operator.GREATER_OR_EQUAL: operators.ge,
}


class MessageFacts:
    """A message with the values of its fields, computed on demand.

    ``known`` tells groups apart whose retry topics have one name.
    """

    def __init__(self, message: StoredMessage, known: KnownNames = NOTHING_KNOWN) -> None:
        self.message = message
        self._known = known
        self.body_fault = ""
        """Why the body could not be decompressed; known after the first use of `body`."""

    @cached_property
    def body(self) -> bytes:
        try:
            return decompress_body(self.message.sys_flag, self.message.body)
        except CodecError as error:
            self.body_fault = error.message
            return self.message.body

    @cached_property
    def body_text(self) -> str:
        """Body as UTF-8; other bytes become replacement characters."""
        return self.body.decode("utf-8", "replace")

    @cached_property
    def json(self) -> tuple[JsonValue, ...]:
        """The body's JSON value; empty when it is none."""
        try:
            return (read_document(self.body.decode("utf-8-sig")),)
        except ValueError:
            return ()

    @cached_property
    def owners(self) -> tuple[RetryOwner, ...]:
        """Possible consumer groups of a retry, dead letter or delayed message; several where its topic is ambiguous."""
        topic, properties = self.message.topic, self.message.properties
        return owners_of_message(topic, properties, self._known) or owners_of_message(
            properties.get(REAL_TOPIC, ""), properties, self._known
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """Possible groups of a retry, dead letter or delayed message, else that of the producer if it is stored."""
        return groups_of(self.owners) or _present(self.message.properties.get(PRODUCER_GROUP))

    def values(self, field: Field) -> tuple[Any, ...]:
        if field.kind is FieldKind.JSON:
            return tuple(_at_path(self.json[0], field.path)) if self.json else ()
        if field.name == "prop":
            return _present(self.message.properties.get(field.prop))
        return _VALUES[field.name](self)


def _present(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _ids(facts: MessageFacts) -> tuple[str, ...]:
    message = facts.message
    return (
        offset_message_id(message.store_host, message.physical_offset),
        *_present(message.properties.get(UNIQUE_KEY)),
    )


def _hosts(facts: MessageFacts) -> tuple[str, ...]:
    address = str(facts.message.born_host)
    return address, host_of(address)


def _delay_level(facts: MessageFacts) -> tuple[int, ...]:
    text = facts.message.properties.get(DELAY, "")
    return (int(text),) if _WHOLE.fullmatch(text) else ()


_VALUES: dict[str, Callable[[MessageFacts], tuple[Any, ...]]] = {
    "topic": lambda facts: (facts.message.topic,),
    "queue": lambda facts: (facts.message.queue_id,),
    "offset": lambda facts: (facts.message.queue_offset,),
    "position": lambda facts: (facts.message.physical_offset,),
    "id": _ids,
    "key": lambda facts: tuple(key for key in facts.message.properties.get(KEYS, "").split(KEY_SEPARATOR) if key),
    "tag": lambda facts: _present(facts.message.properties.get(TAGS)),
    "body": lambda facts: (facts.body_text,),
    "body_bytes": lambda facts: (len(facts.body),),
    "size": lambda facts: (facts.message.store_size,),
    "host": _hosts,
    "born": lambda facts: (facts.message.born_timestamp_ms,),
    "stored": lambda facts: (facts.message.store_timestamp_ms,),
    "group": lambda facts: facts.groups,
    "state": lambda facts: (state_of_topic(facts.message.topic),),
    "reconsume": lambda facts: (facts.message.reconsume_times,),
    "delay_level": _delay_level,
}


def matches(expression: Expression, facts: MessageFacts) -> bool:
    match expression:
        case Comparison():
            return holds(expression, facts)
        case NotCondition(item):
            return not matches(item, facts)
        case EveryCondition(items):
            return all(matches(item, facts) for item in items)
        case AnyCondition(items):
            return any(matches(item, facts) for item in items)


def holds(comparison: Comparison, facts: MessageFacts) -> bool:
    """Whether a comparison holds for any value that a message has."""
    operator = comparison.operator
    if operator is Operator.CONTAINS and comparison.field.kind is FieldKind.BODY:
        return utf8(str(comparison.values[0])) in facts.body
    return compare(comparison, facts.values(comparison.field))


def compare(comparison: Comparison, values: tuple[Any, ...]) -> bool:
    """Whether a comparison holds for any of some values."""
    operator, literals, kind = comparison.operator, comparison.values, comparison.field.kind
    match operator:
        case Operator.EQUAL | Operator.IN:
            return any(_equal(kind, value, literal) for value in values for literal in literals)
        case Operator.NOT_EQUAL:
            return not any(_equal(kind, value, literal) for value in values for literal in literals)
        case Operator.CONTAINS:
            return any(str(literals[0]) in text for text in map(_as_text, values) if text is not None)
        case Operator.MATCHES:
            pattern = comparison.pattern
            assert pattern is not None
            return any(pattern.search(text) is not None for text in map(_as_text, values) if text is not None)
        case _:
            return any(_in_order(operator, kind, value, literals[0]) for value in values)


def utf8(text: str) -> bytes:
    """UTF-8 bytes of a text; half of a surrogate pair, which a body cannot hold, stays one."""
    return text.encode("utf-8", "surrogatepass")


def _equal(kind: FieldKind, value: object, literal: Scalar) -> bool:
    if isinstance(literal, bool) or literal is None:
        return value is literal
    if isinstance(literal, int | Decimal):
        number = _as_number(kind, value)
        return number is not None and number == literal
    return isinstance(value, str) and value == literal


def _in_order(operator: Operator, kind: FieldKind, value: object, literal: Scalar) -> bool:
    if isinstance(literal, str):
        return isinstance(value, str) and bool(ORDERS[operator](value, literal))
    number = _as_number(kind, value)
    return number is not None and bool(ORDERS[operator](number, literal))


def _as_number(kind: FieldKind, value: object) -> int | Decimal | None:
    """The exact number; a text is one only as a property."""
    return None if isinstance(value, str) and kind is not FieldKind.PROPERTY else exact_number(value)


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | WrittenNumber) and not isinstance(value, bool) else None


def _at_path(value: JsonValue, path: tuple[PathStep, ...]) -> Iterator[JsonValue]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(step, AnyItem):
        if isinstance(value, list):
            for item in value:
                yield from _at_path(item, rest)
    elif isinstance(step, int):
        if isinstance(value, list) and step < len(value):
            yield from _at_path(value[step], rest)
    elif isinstance(value, dict):
        for item in values_named(value, step):
            yield from _at_path(item, rest)
