"""Bytes that a record must have for a comparison to hold, so that most records need not be decoded.

They are necessary, and only with `Needles.is_exact` sufficient too. Text in JSON may be written with escapes, which all begin
with a backslash, so a body with a backslash is never ruled out by missing text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from broker_core.protocol.message.message_id import offset_in_id
from broker_core.protocol.message.properties import DELAY, KEYS, NAME_SEPARATOR, TAGS
from broker_core.tools.search.expression import Comparison, FieldKind, Operator
from broker_core.tools.search.facts import utf8

_REPLACEMENT = "\ufffd"
"""Stands for bytes that are no UTF-8, so its own bytes need not be in the record."""
_CACHED_MAX = 256
_ALTERNATIVES_MAX = 16
"""With more, decoding is faster than single searches."""


_EQUALITY = (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN)
_IN_PROPERTIES = ("tag", "key", "prop", "group")


class Needles(NamedTuple):
    """Bytes to search for.

    Attributes:
        any_of: At least one of them is in the record, or the comparison does not hold.
        in_body: They are searched in the stored body alone, which must not be compressed.
        is_exact: One of them is enough for it to hold.
        is_opposite: They are those of the opposite: the comparison is ``!=``.
        positions: Records at these places in the log are not ruled out either.
    """

    any_of: tuple[bytes, ...]
    in_body: bool = False
    is_exact: bool = False
    is_opposite: bool = False
    positions: tuple[int, ...] = ()


@lru_cache(maxsize=_CACHED_MAX)
def needles_of(comparison: Comparison) -> Needles | None:
    """Bytes to search for; None when there are none that decide anything."""
    found = _body_needles(comparison) if comparison.field.is_body else _property_needles(comparison)
    if found is None or len(found.any_of) > _ALTERNATIVES_MAX:
        return None
    return found


def _body_needles(comparison: Comparison) -> Needles | None:
    operator, texts = comparison.operator, _texts(comparison)
    is_opposite = operator is Operator.NOT_EQUAL
    if comparison.field.kind is FieldKind.BODY:
        if operator is Operator.CONTAINS:
            return Needles((utf8(str(comparison.values[0])),), in_body=True, is_exact=True)
        if operator is Operator.MATCHES or texts is None:
            return None
        return Needles(texts, in_body=True, is_opposite=is_opposite)
    if operator in _EQUALITY and texts is not None and all(texts):
        return Needles((*texts, b"\\"), in_body=True, is_opposite=is_opposite)
    names = [step for step in comparison.field.path if isinstance(step, str) and step]
    if not names or _REPLACEMENT in names[-1]:
        return None
    # Without the name there is no value, and only != holds without a value.
    return Needles((utf8(names[-1]), b"\\"), in_body=True, is_opposite=is_opposite)


def _property_needles(comparison: Comparison) -> Needles | None:
    """Needles of fields in the properties; the texts of a group, a key or an id are in the record unchanged."""
    operator, field, texts = comparison.operator, comparison.field, _texts(comparison)
    is_opposite = operator is Operator.NOT_EQUAL
    if field.name == "id":
        positions = tuple(offset_in_id(str(value)) for value in comparison.values)
        return Needles(texts, is_opposite=is_opposite, positions=positions) if texts and operator in _EQUALITY else None
    if texts is not None and (operator is Operator.CONTAINS or (field.name in ("key", "group") and operator in _EQUALITY)):
        return Needles(texts, is_opposite=is_opposite) if field.name in _IN_PROPERTIES else None
    name = {"tag": TAGS, "key": KEYS, "prop": field.prop, "delay_level": DELAY}.get(field.name)
    if not name or _REPLACEMENT in name:
        return None
    marker = utf8(name + NAME_SEPARATOR)
    if operator in _EQUALITY and texts is not None:
        return Needles(tuple(marker + text for text in texts), is_opposite=is_opposite)
    return Needles((marker,), is_opposite=is_opposite)


def _texts(comparison: Comparison) -> tuple[bytes, ...] | None:
    """The literals as bytes; None when one is no text, or may be written otherwise."""
    texts = [value for value in comparison.values if isinstance(value, str) and _REPLACEMENT not in value]
    return tuple(utf8(text) for text in texts) if len(texts) == len(comparison.values) else None
