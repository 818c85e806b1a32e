"""Reads the wheel's columns of many messages at once; this bounds how many timers a second can be accepted.

Messages near each other in the commit log are copied in one piece and searched there as columns, whatever their sizes and the
order of their properties: 0.5 µs a message instead of 8. An unusual message is read by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from broker_core.engine.schedule.timer.messages import (
    DELETE_MARKER,
    OUT_MARKER,
    TOPIC_MARKER,
    facts_of,
    properties_of,
    topic_hash,
)
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_store import Columns, QueueUnits
from broker_core.engine.store.record_heads import Bools, Bytes, Int64s
from broker_core.protocol.message.record import BODY_LENGTH_POSITION_V4, MAGIC_V1, SMALLEST_RECORD, SYS_FLAG_POSITION
from broker_core.protocol.message.sys_flag import HOST_V6_MASK

NOT_A_TIMER = -1
"""Time of a message that is no timer message, or is missing."""

_COPY_FACTOR = 4
"""Largest copy, as a multiple of the records' bytes."""
_COPY_BYTES_MIN = 64 * 1024
_ALIKE_MIN = 8
"""Fewer messages are as fast one by one."""
_TOPICS_MAX = 32
"""Different topics in one piece that are hashed for all of their messages at once."""

_DIGITS = 13
"""Digits of a time in ms, until the year 2286."""
_POWERS = 10 ** np.arange(_DIGITS - 1, -1, -1, dtype=np.int64)
_NAME_END, _ITEM_END = 1, 2
_WORD = 8


class Intake(NamedTuple):
    """Messages of the wheel topic; ``out_ms`` is the time aligned by the sender's broker, `NOT_A_TIMER` if there is none."""

    out_ms: Int64s
    columns: Columns

    def part(self, rows: Int64s) -> Intake:
        """Some of the rows."""
        return Intake(self.out_ms[rows], self.columns.part(rows))


def take(source: StoreSource, units: QueueUnits) -> Intake:
    """The messages of some units of the wheel topic's queue."""
    count = len(units.physical_offset)
    out_ms = np.full(count, NOT_A_TIMER, np.int64)
    columns = Columns(np.zeros(count, np.int64), np.zeros(count, np.bool_), units.physical_offset, units.record_bytes)
    taken = Intake(out_ms, columns)
    done = _take_columns(source, taken) if count >= _ALIKE_MIN else np.zeros(count, np.bool_)
    for row in np.flatnonzero(~done).tolist():
        record = source.record(int(units.physical_offset[row]), int(units.record_bytes[row]))
        facts = None if record is None else facts_of(properties_of(record))
        if facts is not None:
            out_ms[row], columns.topic_hash[row], columns.is_delete[row] = facts
    return taken


def _take_columns(source: StoreSource, taken: Intake) -> Bools:
    """Fill in the ordinary messages; returns a mask of these."""
    physical, sizes = taken.columns.physical_offset, taken.columns.record_bytes
    start, end = int(physical[0]), int(physical[-1] + sizes[-1])
    wanted = int(sizes.sum())
    none = np.zeros(len(physical), np.bool_)
    if not 0 < wanted <= end - start <= max(_COPY_FACTOR * wanted, _COPY_BYTES_MIN) or sizes.min() < SMALLEST_RECORD:
        return none
    piece = source.bytes_at(start, end - start)
    if piece is None or (physical[1:] < physical[:-1] + sizes[:-1]).any():
        return none
    return _Piece(bytes(piece), physical - start, sizes).fill(taken)


class _Piece:
    """A copied part of the commit log, with the places of its records, which ascend and do not overlap."""

    def __init__(self, data: bytes, starts: Int64s, sizes: Int64s) -> None:
        self._data = data
        self._bytes: Bytes = np.frombuffer(data, np.uint8)
        self._starts = starts
        self._ends = starts + sizes
        self._is_ordinary, self._properties = self._heads(sizes)

    def _heads(self, sizes: Int64s) -> tuple[Bools, Int64s]:
        """A mask of the records with the usual layout and two IPv4 hosts, and where their properties begin."""
        numbers = np.ndarray((len(self._data) - 3,), ">i4", self._data, strides=(1,))
        starts = self._starts
        body_bytes = numbers[starts + BODY_LENGTH_POSITION_V4].astype(np.int64)
        topic = starts + BODY_LENGTH_POSITION_V4 + 4 + body_bytes
        good = (numbers[starts] == sizes) & (numbers[starts + 4] == MAGIC_V1)
        good &= (self._bytes[starts + SYS_FLAG_POSITION + 3] & HOST_V6_MASK) == 0
        good &= (body_bytes >= 0) & (topic < self._ends)
        return good, topic + 3 + self._bytes[np.where(good, topic, 0)]

    def fill(self, taken: Intake) -> Bools:
        """Fill in the ordinary records; returns a mask of these."""
        ends_of_names = np.flatnonzero(self._bytes == _NAME_END)
        out, has_out = self._places(ends_of_names, OUT_MARKER)
        topic, has_topic = self._places(ends_of_names, TOPIC_MARKER)
        rows = np.flatnonzero(self._is_ordinary & has_out & has_topic)
        times, are_times = self._times(out[rows], self._ends[rows])
        hashes, are_hashed = self._hashes(topic[rows], self._value_ends(topic[rows], self._ends[rows]))
        good = are_times & are_hashed
        taken.out_ms[rows[good]] = times[good]
        taken.columns.topic_hash[rows[good]] = hashes[good]
        deletes, keys = self._owners(self._marked(ends_of_names, DELETE_MARKER), DELETE_MARKER)
        taken.columns.is_delete[deletes[self._value_ends(keys, self._ends[deletes]) > keys]] = True
        done = np.zeros(len(self._starts), np.bool_)
        done[rows[good]] = True
        return done

    def _marked(self, ends_of_names: Int64s, marker: bytes) -> Int64s:
        """Places of the last byte of a marker."""
        found = ends_of_names[ends_of_names >= len(marker)]
        words = np.ndarray((len(self._data) - _WORD + 1,), "<u8", self._data, strides=(1,))
        length = len(marker)
        for position in (length - _WORD, *range(0, length - _WORD, _WORD)):
            word = int.from_bytes(marker[position : position + _WORD], "little")
            found = found[words[found - (length - 1 - position)] == word]
        return found

    def _owners(self, found: Int64s, marker: bytes) -> tuple[Int64s, Int64s]:
        """Rows whose properties have an item that begins with a marker, and where its value starts."""
        rows = np.searchsorted(self._starts, found, "right") - 1
        starts = found + 1 - len(marker)
        inside = (starts >= self._properties[rows]) & (found < self._ends[rows]) & self._is_ordinary[rows]
        inside &= (starts == self._properties[rows]) | (self._bytes[starts - 1] == _ITEM_END)
        return rows[inside], found[inside] + 1

    def _places(self, ends_of_names: Int64s, marker: bytes) -> tuple[Int64s, Bools]:
        """Where the value of an item starts in each record, and a mask of the records that have it exactly once."""
        rows, values = self._owners(self._marked(ends_of_names, marker), marker)
        places = np.zeros(len(self._starts), np.int64)
        places[rows] = values
        return places, np.bincount(rows, minlength=len(places)) == 1

    def _times(self, values: Int64s, ends: Int64s) -> tuple[Int64s, Bools]:
        """Numbers of thirteen digits, and a mask of these."""
        fits = values + _DIGITS <= ends
        places = np.where(fits, values, 0)[:, None] + np.arange(_DIGITS)
        digits = self._bytes[places] - ord("0")  # other characters wrap around and are no digits either
        behind = np.minimum(values + _DIGITS, len(self._data) - 1)
        ended = (values + _DIGITS == ends) | (self._bytes[behind] == _ITEM_END)
        return digits @ _POWERS, fits & ended & (digits <= 9).all(axis=1)

    def _value_ends(self, values: Int64s, ends: Int64s) -> Int64s:
        if not len(values):
            return values
        separators = np.concatenate((np.flatnonzero(self._bytes == _ITEM_END), [len(self._data)]))
        return np.minimum(separators[np.searchsorted(separators, values)], ends)

    def _hashes(self, values: Int64s, ends: Int64s) -> tuple[Int64s, Bools]:
        """Hashes of topics, and a mask of those made; the others are empty, or of too many topics."""
        hashes = np.zeros(len(values), np.int64)
        left = np.flatnonzero(ends > values)
        done = np.zeros(len(values), np.bool_)
        for _ in range(_TOPICS_MAX):
            if not len(left):
                break
            start, end = int(values[left[0]]), int(ends[left[0]])
            same = ends[left] - values[left] == end - start
            rows = left[same]
            alike = (self._bytes[values[rows][:, None] + np.arange(end - start)] == self._bytes[start:end]).all(axis=1)
            hashes[rows[alike]] = topic_hash(self._data[start:end])
            done[rows[alike]] = True
            left = left[~done[left]]
        return hashes, done
