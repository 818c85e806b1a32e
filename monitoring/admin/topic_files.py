"""Topic settings in files: read from JSON or CSV, written as either. Pure.

JSON is a broker's ``config/topics.json`` (one config a topic, under RocketMQ's keys) or a list of such configs. The head of a
CSV has the same keys; attributes are ``key=value;key=value``.

Source: docs/spec/store.md §7.3.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from broker_core.api import CodecError, TopicConfig, UsageError, csv_bytes, read_csv
from broker_core.outside import read_json
from monitoring.admin.topics import QUEUES_MAX

TOPICS_MAX = 10_000
FILE_BYTES_MAX = 16 * 1024 * 1024
TABLE_KEY = "topicConfigTable"
PERMISSION_BITS = 7
"""Read, write, and a bit that the broker sets itself."""
_NAME_KEYS = ("topicName", "topic", "name")
_FIELDS = {
    "readQueueNums": "read_queues",
    "writeQueueNums": "write_queues",
    "perm": "permission",
    "order": "order",
    "topicFilterType": "filter_type",
    "topicSysFlag": "sys_flag",
    "attributes": "attributes",
}
"""Key of a config → field of `TopicConfig`."""
_QUEUES = ("read_queues", "write_queues")
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no", ""})
_SEPARATORS = (",", ";", "\t")

Given = int | bool | str | dict[str, str]


class EntryFault(Enum):
    NAME = "name"
    NUMBER = "number"
    PERMISSION = "permission"
    TRUTH = "truth"
    ATTRIBUTES = "attributes"
    TWICE = "twice"


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic in a file.

    Attributes:
        name: Empty if the entry has none.
        given: Values by field of `TopicConfig`; other fields keep their value.
        word: The wrong key and value.
    """

    name: str
    given: Mapping[str, Given] = field(default_factory=dict)
    fault: EntryFault | None = None
    word: str = ""

    def merged(self, before: TopicConfig) -> TopicConfig:
        values: Mapping[str, Any] = self.given
        return replace(before, **values)


def read_topic_file(data: bytes) -> list[TopicEntry]:
    """Topics of a file, in its order; a faulty entry carries its fault.

    Raises:
        UsageError: The file is neither JSON nor CSV of topics, or has more than `TOPICS_MAX`.
    """
    try:
        text = data.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UsageError("the file is no text in UTF-8") from error
    rows = _json_rows(text) if text.lstrip().startswith(("{", "[")) else _csv_rows(text)
    if not rows:
        raise UsageError("there is no topic in the file")
    if len(rows) > TOPICS_MAX:
        raise UsageError(f"the file has {len(rows):,} topics; {TOPICS_MAX:,} can be imported at once")
    return _without_repeats(map(_entry, rows))


def topics_json(topics: Iterable[TopicConfig]) -> bytes:
    """Settings in the format of ``config/topics.json``."""
    table = {one.name: _config(one) for one in sorted(topics, key=lambda one: one.name)}
    return json.dumps({TABLE_KEY: table}, ensure_ascii=False, indent=2).encode() + b"\n"


def topics_csv(topics: Iterable[TopicConfig]) -> bytes:
    return csv_bytes([(_NAME_KEYS[0], *_FIELDS), *map(_cells, sorted(topics, key=lambda one: one.name))])


def _cells(one: TopicConfig) -> list[object]:
    attributes = ";".join(f"{key}={value}" for key, value in sorted(one.attributes.items()))
    cells = {**_config(one), "order": str(one.order).lower(), "attributes": attributes}
    return [cells[key] for key in (_NAME_KEYS[0], *_FIELDS)]


def _config(one: TopicConfig) -> dict[str, object]:
    config = {_NAME_KEYS[0]: one.name, **{key: getattr(one, attribute) for key, attribute in _FIELDS.items()}}
    return {**config, "attributes": dict(one.attributes)}


# ---- rows --------------------------------------------------------------------------------------------------------------


def _json_rows(text: str) -> list[dict[str, object]]:
    try:
        found = read_json(text)
    except ValueError as error:
        raise UsageError(f"the file is no JSON: {error}") from error
    if isinstance(found, dict):
        table = found.get(TABLE_KEY)
        if not isinstance(table, dict):
            raise UsageError(f"the JSON has no {TABLE_KEY}, and is no list of topics")
        found = [{"topicName": name, **one} if isinstance(one, dict) else one for name, one in table.items()]
    return [one if isinstance(one, dict) else {} for one in found]


def _csv_rows(text: str) -> list[dict[str, object]]:
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    try:
        head, *rows = [row for _line, row in read_csv(io.StringIO(text, newline=""), separator) if row] or [[]]
    except CodecError as error:
        raise UsageError(f"the table cannot be read: {error}") from error
    names = [name.strip() for name in head]
    if not any(name in _NAME_KEYS for name in names):
        raise UsageError(f"the first line has no column {_NAME_KEYS[0]}: it is no table of topics")
    # An empty cell means "no value".
    return [{name: cell.strip() for name, cell in zip(names, row, strict=False) if cell.strip()} for row in rows]


# ---- entries -----------------------------------------------------------------------------------------------------------


def _entry(config: Mapping[str, object]) -> TopicEntry:
    name = next((str(config[key]).strip() for key in _NAME_KEYS if config.get(key)), "")
    if not name:
        return TopicEntry("", fault=EntryFault.NAME)
    given: dict[str, Given] = {}
    for key, attribute in _FIELDS.items():
        value = config.get(key)
        if value is None:
            continue
        found = _read(attribute, value)
        if isinstance(found, EntryFault):
            return TopicEntry(name, fault=found, word=f"{key}={value}")
        given[attribute] = found
    return TopicEntry(name, given)


def _read(attribute: str, value: object) -> Given | EntryFault:
    if attribute == "attributes":
        return _attributes(value)
    if attribute == "order":
        word = str(value).lower()
        return True if word in _TRUE else False if word in _FALSE else EntryFault.TRUTH
    if attribute == "filter_type":
        return str(value)
    try:
        number = int(str(value))
    except ValueError:
        return EntryFault.NUMBER
    if attribute == "permission":
        return number if 0 <= number <= PERMISSION_BITS else EntryFault.PERMISSION
    low, high = (1, QUEUES_MAX) if attribute in _QUEUES else (0, 2**31 - 1)
    return number if low <= number <= high else EntryFault.NUMBER


def _attributes(value: object) -> dict[str, str] | EntryFault:
    if isinstance(value, dict):
        return {str(key).removeprefix("+"): str(one) for key, one in value.items()}
    pairs = [part.partition("=") for part in str(value).replace(",", ";").split(";") if part.strip()]
    if not all(key.strip() and equals and one.strip() for key, equals, one in pairs):
        return EntryFault.ATTRIBUTES
    return {key.strip().removeprefix("+"): one.strip() for key, _equals, one in pairs}


def _without_repeats(entries: Iterable[TopicEntry]) -> list[TopicEntry]:
    """A repeated topic is a fault because neither entry is known to be the right one."""
    found: list[TopicEntry] = []
    names: set[str] = set()
    for one in entries:
        is_twice = bool(one.name) and one.name in names
        found.append(replace(one, fault=EntryFault.TWICE, word=one.name) if is_twice else one)
        names.add(one.name)
    return found
