"""Texts of half messages: for a list, and to find transactions by words of key, unique key, tag, topic or producer group.

A search reads the records of all undecided transactions, 100,000 in a second or two, in slices between which the loop runs;
another question ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from broker_core.engine.transaction.messages import HalfMessage
from broker_core.errors import RecordError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.record import check_record

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

ROWS_A_SLICE = 64
"""A millisecond."""

_MARKERS = tuple(props.property_marker(name) for name in (props.KEYS, props.UNIQUE_KEY, props.TAGS))
_R = TypeVar("_R", bound="SearchedRow")


class SearchedRow(Protocol):
    """A row that is searched."""

    @property
    def half(self) -> HalfMessage: ...


class HalfHead(NamedTuple):
    """What a list shows of the message of a transaction."""

    keys: str = ""
    tag: str = ""
    unique_key: str = ""
    body_bytes: int = -1


def half_head(record: memoryview) -> HalfHead:
    """The head of a half message. Raises `RecordError` for a damaged record."""
    parts = check_record(record, 0, len(record), check_crc=False)
    found = props.decode_properties(parts.properties)
    keys, tag, unique_key = (found.get(name, "") for name in (props.KEYS, props.TAGS, props.UNIQUE_KEY))
    return HalfHead(keys, tag, unique_key, parts.head.body_bytes)


def words_of(text: str) -> list[str]:
    """Words of a text, letter case aside."""
    return text.casefold().split()


async def with_words(rows: Iterable[_R], words: Sequence[str], store: MessageStore) -> list[_R]:
    """The rows that have all words, in their order."""
    found = []
    for number, row in enumerate(rows, 1):
        if _has(row.half, words, store):
            found.append(row)
        if number % ROWS_A_SLICE == 0:
            await asyncio.sleep(0)
    return found


def _has(half: HalfMessage, words: Sequence[str], store: MessageStore) -> bool:
    text = f"{half.topic} {half.group}".casefold()
    left = [word for word in words if word not in text]
    if not left:
        return True
    record = store.record_at(half.physical_offset)
    if record is None:
        return False
    try:
        properties = check_record(record, 0, len(record), check_crc=False).properties
    except RecordError:
        return False
    values = [props.find_property_bytes(properties, marker) or b"" for marker in _MARKERS]
    text = b" ".join(values).decode("utf-8", "replace").casefold()
    return all(word in text for word in left)
