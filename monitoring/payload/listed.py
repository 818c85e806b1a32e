"""Masked parts of messages for lists, copies and exports: keys, tags, properties, excerpts of bodies.

A list knows only the beginning of a body, and expressions may need the rest. An excerpt is therefore shown only of a body that
is available as a whole, or if the rule masks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_core.api import FilterKind, json_text, parse_field, read_document
from monitoring.payload.encodings import decode_text
from monitoring.payload.judging import MASK
from monitoring.payload.layers import announced
from monitoring.payload.masking import MaskRules

if TYPE_CHECKING:
    from monitoring.payload.rules import DecoderRule
    from monitoring.payload.shown import ShownBody

_HEX_BYTES: Final = 32
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))
"""Possible first bytes of a character that is cut."""
_JUDGED_BYTES_MAX: Final = 16 * 1024
_FIELD_CHARACTERS_MAX: Final = 1_000
"""A field value of this length was cut (`broker_core.worker.field_views`)."""
_CUT: Final = "…"
_parsed = lru_cache(maxsize=256)(parse_field)


@dataclass(frozen=True, slots=True)
class ListMask:
    """Masks the messages of one topic, or one message, by a rule; None masks nothing."""

    rule: DecoderRule | None = None

    def __bool__(self) -> bool:
        return self.rule is not None and bool(self.rule.mask)

    @property
    def _encoding(self) -> str:
        return self.rule.encoding if self.rule is not None else ""

    @property
    def mask(self) -> MaskRules:
        return MaskRules() if self.rule is None else self.rule.mask

    def text(self, value: str) -> str:
        """The masked text of a key, a tag or a property."""
        return self.mask.mask_text(value) if self else value

    def properties(self, properties: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in properties.items()}

    def preview(self, start: bytes, body_bytes: int) -> str:
        """One line of text for the first bytes of a body, or for a part of it that begins with an ellipsis.

        Args:
            start: At most a few hundred bytes.
            body_bytes: Size of the whole body.
        """
        is_part = len(start) < body_bytes or start.startswith(_CUT.encode())
        if not self:
            return body_preview(start, self._encoding, is_whole=not is_part)
        if is_part or self._is_elsewhere(start):
            return MASK
        return self._line(start)

    def beginning(self, body: bytes, characters: int) -> str:
        """The first characters of a whole body; one that is too long to be masked here is hidden."""
        if not self:
            start = body[:characters]
            text = _text_of_start(start, self._encoding, is_whole=len(body) <= characters)
            return start.decode("utf-8", "replace") if text is None else text
        return self._text(body)[:characters] if len(body) <= _JUDGED_BYTES_MAX and not self._is_elsewhere(body) else MASK

    def without_hidden(self, body: bytes) -> bytes:
        """A whole body unchanged if nothing in it is masked; else its masked text."""
        if not self:
            return body
        if len(body) > _JUDGED_BYTES_MAX or self._is_elsewhere(body):
            return MASK.encode()
        shown = self._read(body)
        return (shown.content.text or MASK).encode("utf-8", "replace") if shown.hides else body

    def _is_elsewhere(self, body: bytes) -> bool:
        """Whether reading the body takes more time than a list has."""
        return bool(announced(body)) or (self.rule is not None and self.rule.reading == "protobuf")

    def _line(self, body: bytes) -> str:
        return " ".join(self._text(body).split())

    def _text(self, body: bytes) -> str:
        return self._read(body).content.text or (MASK if body else "")

    def _read(self, body: bytes) -> ShownBody:
        from monitoring.payload.shown import Schemas, read_shown

        return read_shown(body, self.rule, Schemas())

    def field(self, field: str, value: str) -> str:
        """The masked value of a field of the filter language in a column of a list.

        Args:
            field: As in the language: ``prop.region``, ``body.items[0].sku``.
            value: All its values, separated by commas.
        """
        if not self or not value:
            return value
        known = _parsed(field)
        if known.kind in (FilterKind.TEXT, FilterKind.PROPERTY) and known.name not in ("topic", "id", "host"):
            return MASK if self._is_cut(value) and self.mask.expressions else self.text(value)
        if known.kind is FilterKind.BODY:
            return MASK if self._is_cut(value) else self._line(value.encode("utf-8", "surrogatepass"))
        if known.kind is FilterKind.JSON:
            return self._json(tuple(step if isinstance(step, str) else _place(step) for step in known.path), value)
        return value

    def _json(self, path: tuple[str, ...], value: str) -> str:
        """A value inside of a body; several values cannot be separated once they are one text."""
        inside = self.mask.within(path)
        is_several = "*" in path and bool(self.mask.expressions)
        if inside is None or is_several or self._is_cut(value) or (self.rule and self.rule.reading not in ("", "json")):
            return MASK
        if not value.startswith(("{", "[")):
            return inside.mask_text(value)
        try:
            return json_text(inside.mask_value(read_document(value)))
        except ValueError:
            return MASK

    @staticmethod
    def _is_cut(value: str) -> bool:
        return len(value) >= _FIELD_CHARACTERS_MAX and value.endswith(_CUT)


NO_MASK: Final = ListMask()


MaskOf = Callable[[str], ListMask]
"""Returns the mask of a topic."""


def _place(step: object) -> str:
    return str(step) if isinstance(step, int) else "*"


def body_preview(start: bytes, encoding: str = "", *, is_whole: bool = False) -> str:
    """One line of text for the first bytes of a body; bytes that are no text as hexadecimal pairs.

    Unless they are the whole body, they may end within a character. Without an encoding it is detected.
    """
    text = _text_of_start(start, encoding, is_whole=is_whole)
    return start[:_HEX_BYTES].hex(" ") if text is None else " ".join(text.split())


def _text_of_start(start: bytes, encoding: str, *, is_whole: bool) -> str | None:
    # UTF-8 is tried first with any cut: a part of it that ends within a character looks like Chinese in GBK.
    begun = 0 if is_whole else min(3, len(start) - 1, len(start) - len(start.rstrip(_HIGH_BYTES)))
    for name in (encoding,) if encoding else ("utf-8", ""):
        for cut in range(max(begun, 0) + 1):
            text, _encoding = decode_text(start[: len(start) - cut], name)
            if text is not None:
                return text
    return None
