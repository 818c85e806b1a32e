"""Which units a record adds to which queues (Source: docs/spec/store.md §4.2, §8.3, §9, §14.2)."""

from __future__ import annotations

from collections.abc import Iterator

from broker_core.engine.store.paths import is_topic_name
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.properties import (
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    ITEM_SEPARATOR,
    TAGS,
    find_property,
    find_property_bytes,
    number_of,
    property_marker,
)
from broker_core.protocol.message.tags import tags_code
from broker_core.protocol.names import LMQ_PREFIX, SCHEDULE_TOPIC

_TAGS = property_marker(TAGS)
_ITEM_END = ITEM_SEPARATOR.encode()
_ENDS_LEARNT_MAX = 16
_DELAY = property_marker(DELAY)
_MULTI_DISPATCH = INNER_MULTI_DISPATCH.encode()
_OFFSET_DIGITS_MAX = 18


def unit_tags_code(topic: str, properties: bytes, store_timestamp_ms: int, levels: DelayLevels) -> int:
    """Third field of the consume queue unit: hash of the tag, or due time of a delayed message."""
    if topic == SCHEDULE_TOPIC:
        level = number_of(find_property_bytes(properties, _DELAY))
        if level > 0:
            return store_timestamp_ms + levels.delay_ms(level)
    return tags_code(find_property_bytes(properties, _TAGS))


class TagsOfPuts:
    """Tags codes of consecutive messages, most of which end alike, because they are of one producer: ``… TAGS Name [more]``.

    Properties with the same end from their TAGS on have the same tags, whatever comes before: 0.1 µs instead of 0.5.
    """

    __slots__ = ("_learnt", "end", "last_code")

    def __init__(self) -> None:
        self.end: bytes | tuple[()] = ()
        """End of properties with ``last_code``."""
        self.last_code = 0
        self._learnt = 0

    def code(self, properties: bytes) -> int:
        """Hash of the tags in encoded properties; 0 without tags."""
        if properties.endswith(self.end):
            return self.last_code
        tags = find_property_bytes(properties, _TAGS)
        if tags is None:
            return 0
        code = tags_code(tags)
        if self._learnt < _ENDS_LEARNT_MAX:
            # Bounded: if each message ends differently, learning costs more than the search.
            self._learnt += 1
            start = properties.rfind(_ITEM_END + _TAGS + tags)
            if start >= 0 and find_property_bytes(properties[start:], _TAGS) == tags:
                self.end, self.last_code = properties[start:], code
        return code


def further_queues(queue_id: int, properties: bytes, *, light_only: bool = False) -> Iterator[tuple[str, int, int]]:
    """Topic, queue id and queue offset of a multi-dispatch record in further queues.

    With ``light_only`` only queues named ``%LMQ%…``: any client can set these properties, so without multi-dispatch they must
    not lead into the queues of other topics.
    """
    if _MULTI_DISPATCH not in properties:
        return
    names = (find_property(properties, INNER_MULTI_DISPATCH) or "").split(",")
    offsets = (find_property(properties, INNER_MULTI_QUEUE_OFFSET) or "").split(",")
    for name, offset in zip(names, offsets, strict=False):
        is_light = name.startswith(LMQ_PREFIX)
        if is_topic_name(name) and offset.isdecimal() and len(offset) <= _OFFSET_DIGITS_MAX and (is_light or not light_only):
            yield name, 0 if is_light else queue_id, int(offset)
