"""Lanes for the kernel of sends, from what the codec of plain sends has learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker_core.engine.processors.plain.send_codec import SendCodec
from broker_core.engine.processors.plain.send_lanes import BinaryLane, JsonEnd, JsonLane, SendLane
from broker_core.native import lanes as k
from broker_core.native import send_columns as s
from broker_core.native.lane_table import KEY_BYTES_MAX, LaneTable
from broker_core.protocol.message.record import TopicField, topic_field

_ENDS = {
    k.BINARY_SEND: k.BINARY_SEND_END, k.JSON_SEND: k.JSON_SEND_END,
    k.BATCHES + k.BINARY_SEND: k.BATCHES + k.BINARY_SEND_END, k.BATCHES + k.JSON_SEND: k.BATCHES + k.JSON_SEND_END,
}  # fmt: skip
"""Kind of a lane → kind of the lane of its ends."""


AnyLane = BinaryLane | JsonLane


class LanePlace(NamedTuple):
    """Where the messages of a lane are stored.

    Attributes:
        queue_row: Of the consume queue.
        open_as: Its serial number.
        topic: In the form of records.
        sys_flag: As it is stored.
        own: The broker's own properties with messages of clients before 5.0, and of others.
    """

    queue_row: int
    open_as: int
    topic: TopicField
    sys_flag: int
    own: tuple[bytes, bytes]


class SendTeacher:
    """Adds lanes to the table of the kernel.

    A lane is made at the second send of its kind, when the codec knows it, at the first batch, and again after it was closed.

    Args:
        table: The lanes.
        codec: Reads the parts of headers.
        place_of: Where the messages of a lane are stored; None where that depends on more than the lane.
    """

    def __init__(self, table: LaneTable, codec: SendCodec, place_of: Callable[[SendLane], LanePlace | None]) -> None:
        self._table = table
        self._codec = codec
        self._place_of = place_of

    def learn(self, source: bytes) -> bool:
        """Add the lanes that the frame needs in front of which the kernel stopped; False where it stays Python's."""
        state = self._table.state
        kind = state[k.KIND]
        key = _cut(source, state[k.KEY_AT], state[k.KEY_BYTES])
        end, last = _cut(source, state[s.END_AT], state[s.END_BYTES]), _cut(source, state[s.LAST_AT], state[s.LAST_BYTES])
        if len(key) > KEY_BYTES_MAX or len(end) + len(last) > KEY_BYTES_MAX:
            return False
        is_batch = bool(state[s.IS_BATCH])
        lane = self._codec.batch_lane(kind, key) if is_batch else self._codec.known_lane(kind, key)
        client = self._codec.batch_end(kind, end, last) if is_batch else self._codec.known_end(kind, end, last)
        place = None if lane is None else self._place_of(lane)
        if lane is None or client is None or place is None:
            return False
        lane_kind = kind + k.BATCHES * is_batch
        is_added = self._add(lane_kind, key, lane, place, ends_bytes=len(end) + len(last))
        if is_added:
            self._add_end(_ENDS[lane_kind], end, last, client)
        if is_added and not is_batch:
            self._codec.forget_lane(kind, key)
        return is_added

    def close(self, topic: str) -> None:
        """Close the lanes of a topic: its sends are Python's until they are taught again."""
        place = self._table.place_of(topic_field(topic.encode()).field)
        if place is not None:
            self._table.close(_ENDS, s.L_TOPIC_AT, place)

    def _add(self, kind: int, key: bytes, lane: AnyLane, place: LanePlace, *, ends_bytes: int) -> bool:
        parts = lane.parts()
        own = sum(map(len, place.own))
        if sum(map(len, parts.texts)) + 64 > s.ANSWER_BYTES_MAX:
            return False
        text_bytes = len(key) + ends_bytes + sum(map(len, parts.texts)) + own + len(place.topic.field)
        if not self._table.has_room(text_bytes, lanes=2):
            self._table.forget()
        row = self._table.find(kind, key)
        if row < 0:
            row = self._table.add(kind, key, b"", {})
        self._set(row, place, parts.fields_at, parts.fields_bytes)
        for number, text in enumerate(parts.texts):
            self._table.part(row, number, text)
        return True

    def _add_end(self, kind: int, end: bytes, last: bytes, client: JsonEnd) -> None:
        if self._table.find(kind, end, last) < 0:
            columns = {k.L_IS_OPEN: 1, s.L_VERSION: client.version, s.L_LANGUAGE: int(client.language)}
            self._table.add(kind, end, last, columns)

    def _set(self, row: int, place: LanePlace, fields_at: int, fields_bytes: int) -> None:
        text, topic = self._table.text, place.topic
        columns = {
            k.L_IS_OPEN: 1, k.L_QUEUE: place.queue_row, s.L_OPEN_AS: place.open_as, k.L_FIELDS_AT: fields_at,
            k.L_FIELDS_BYTES: fields_bytes, s.L_SYS_FLAG: place.sys_flag, s.L_MAGIC: topic.magic_code,
            s.L_TOPIC_AT: text(topic.field), s.L_TOPIC_BYTES: len(topic.field),
        }  # fmt: skip
        for number, own in enumerate(place.own):
            columns[s.L_OWN_AT + 2 * number], columns[s.L_OWN_BYTES + 2 * number] = text(own), len(own)
        for column, value in columns.items():
            self._table.lanes[row + column] = value


def _cut(source: bytes, at: int, count: int) -> bytes:
    return source[at : at + count]
