"""Rules for reading bodies of topics, set by the user, and their file.

    {"version": 1, "rules": [{"topics": "orders*", "reading": "protobuf", "schema": "/…/order.proto",
                              "message_type": "shop.Order", "encoding": "", "unwraps": true,
                              "masked_paths": ["card"], "masked_text": ["[0-9]{16}"]}]}

The first rule that matches a topic applies. A message in a topic of the broker belongs to the topic it was sent to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from broker_core.api import UsageError, replace_file, state_of_topic
from broker_core.api import names as reserved
from broker_core.outside import read_json
from monitoring.payload.masking import MaskRules, united

READINGS: Final = ("", "json", "xml", "table", "msgpack", "protobuf", "text", "bytes")
"""Readings of a rule; empty: detect."""

VERSION: Final = 1
_TYPES: Final = {"topics": str, "reading": str, "encoding": str, "unwraps": bool, "schema": str, "message_type": str}
_MASK_NAMES: Final = ("masked_paths", "masked_text")
_ORIGINS: Final = ("RETRY_TOPIC", "DLQ_ORIGIN_TOPIC", "REAL_TOPIC")
"""Properties with the topic to which a message was sent, if it is stored in another."""


@dataclass(frozen=True, slots=True)
class DecoderRule:
    """How bodies of some topics are read and masked.

    Attributes:
        topics: Name or pattern: ``*`` any characters, ``?`` one.
        reading: One of `READINGS`.
        encoding: Of text; empty: detect.
        schema: File or folder with the Protobuf schema.

    Raises:
        UsageError: A value is invalid.
    """

    topics: str
    reading: str = ""
    encoding: str = ""
    unwraps: bool = True
    schema: str = ""
    message_type: str = ""
    mask: MaskRules = field(default_factory=MaskRules)

    def __post_init__(self) -> None:
        if not self.topics:
            raise UsageError("a rule needs a topic or a pattern such as orders*")
        if self.reading not in READINGS:
            raise UsageError(f"“{self.reading}” is no way to read a body; there are {', '.join(READINGS[1:])}")
        if self.reading == "protobuf" and not (self.schema and self.message_type):
            raise UsageError("a rule for Protobuf needs a schema and the full name of a message")
        if self.encoding:
            try:
                "?".encode(self.encoding)
            except (LookupError, UnicodeError) as error:
                raise UsageError(f"there is no encoding “{self.encoding}”") from error

    def fits(self, topic: str) -> bool:
        return fnmatchcase(topic, self.topics)


def rule_for(rules: Iterable[DecoderRule], topic: str) -> DecoderRule | None:
    return next((rule for rule in rules if rule.fits(topic)), None)


def rule_of_message(rules: Sequence[DecoderRule], topic: str, properties: Mapping[str, str]) -> DecoderRule | None:
    """The rule of a message in any topic: a dead letter is read by the rule of the topic it was sent to.

    It masks whatever the rules of any of its topics mask. If a message in a topic of the broker does not name its origin, it
    may be of any topic, so its rule masks whatever any rule masks. Unknown properties are empty.
    """
    named = (properties.get(name, "") for name in _ORIGINS)
    # A dead letter of a pop may name the retry topic of the pop, which is of no certain topic.
    origins = [name for name in named if name and not _is_passage(name)]
    found = [rule for one in (topic, *origins) if (rule := rule_for(rules, one)) is not None]
    masks = [rule.mask for rule in (rules if _is_passage(topic) and not origins else found)]
    mask = united(masks)
    if found:
        return replace(found[0], mask=mask)
    return DecoderRule("*", mask=mask) if mask else None


def rule_at(rules: Sequence[DecoderRule], topics: Sequence[str]) -> DecoderRule | None:
    """The rule of a message of which only its topics are known: it is stored in the first and came from the others."""
    sources = [topic for topic in topics[1:] if topic != topics[0] and not _is_passage(topic)]
    return rule_of_message(rules, topics[0], dict(zip(_ORIGINS, sources, strict=False)))


def _is_passage(topic: str) -> bool:
    """Whether a topic temporarily stores messages of other topics."""
    return state_of_topic(topic) != "normal" or topic == reserved.DISCARD_TOPIC


def read_rules(path: Path) -> tuple[DecoderRule, ...]:
    """Rules of a file; none if there is no file.

    Raises:
        UsageError: It cannot be read or has another form. The file is not changed.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the rules in {path} cannot be read: {error}", path=str(path)) from error
    try:
        content = read_json(text)
        if content["version"] != VERSION:
            raise UsageError(f"the rules in {path} are of version {content['version']}, this program knows {VERSION}")
        return tuple(_rule(item) for item in _list(content, "rules", dict))
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"the rules in {path} are not of the form this program writes: {error}", path=str(path)) from error


def write_rules(path: Path, rules: Iterable[DecoderRule]) -> None:
    """Replace the file atomically; raises `UsageError` if it cannot be written."""
    items = []
    for rule in rules:
        item = asdict(rule)
        mask = item.pop("mask")
        items.append(item | {"masked_paths": list(mask["paths"]), "masked_text": list(mask["expressions"])})
    text = json.dumps({"version": VERSION, "rules": items}, ensure_ascii=False, indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"the rules cannot be written to {path}: {error.strerror}", path=str(path)) from error


def _rule(item: dict[str, Any]) -> DecoderRule:
    """A rule of the file. Unknown names and forms are refused, because they may have been meant to mask something."""
    for name, value in item.items():
        if name in _MASK_NAMES:
            continue
        if not isinstance(value, _TYPES[name]):
            raise TypeError(f"“{name}” cannot be {value!r}")
    paths, expressions = (tuple(_list({name: []} | item, name, str)) for name in _MASK_NAMES)
    fields = {name: value for name, value in item.items() if name in _TYPES}
    return DecoderRule(**fields, mask=MaskRules(paths, expressions))


def _list(item: dict[str, Any], name: str, kind: type) -> list[Any]:
    values = item[name]
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise TypeError(f"“{name}” is no list of {'texts' if kind is str else 'rules'}")
    return values
