"""Rows of a live tail: as bytes while they lie in the ring, as objects when they are shown.

A hundred thousand rows as objects take 110 MiB; as bytes they take a third of it (`gui.models.tail`: a tenth), and most
are never looked at.

    number  queue_id  queue_offset  physical_offset  store_ms  born_ms  body_bytes  mark   lengths of the texts   texts, body
    8       4         8             8                8         8        4           1      4 × 4                  …

Texts are topic, tag, keys and unique key in UTF-8; the body goes up to the end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from broker_core.worker.questions.searches import Followed
from gui.theme.tokens import State
from monitoring.payload.listed import NO_MASK, ListMask, MaskOf

PackedRow = bytes

MARKS = (State.WARNING, State.CRITICAL, State.HEALTHY, State.INFO)
_NO_MARK = -1
_HEAD = struct.Struct("<qiqqqqib4I")
assert _HEAD.size == 65
_NUMBER = _STORED = struct.Struct("<q")
_STORED_AT, _MARK_AT = 28, 48
_TEXTS = ("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class TailRow:
    """Head of one message. ``number`` counts the rows of a tail from 0."""

    number: int
    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    store_ms: int
    born_ms: int
    body_bytes: int
    tag: str
    keys: str
    unique_key: str
    body_start: bytes
    mark: State | None
    mask: ListMask = NO_MASK
    """What may be shown of it."""

    @property
    def body_text(self) -> str:
        """One line of the body; computed when it is shown, because most rows never are."""
        return self.mask.preview(self.body_start, self.body_bytes)


def pack_followed(followed: Followed, first: int, marks: Sequence[State]) -> list[PackedRow]:
    """New rows, oldest first; the number of the first is ``first``, ``marks`` are the colours of the rules."""
    rows = []
    for i in range(len(followed.topic)):
        texts = [text[i].encode(*_TEXTS) for text in (followed.topic, followed.tag, followed.keys, followed.unique_key)]
        mark = MARKS.index(marks[rule]) if 0 <= (rule := followed.rule[i]) < len(marks) else _NO_MARK
        head = _HEAD.pack(
            first + i, followed.queue_id[i], followed.queue_offset[i], followed.physical_offset[i], followed.store_ms[i],
            followed.born_ms[i], followed.body_bytes[i], mark, *map(len, texts),
        )  # fmt: skip
        rows.append(b"".join((head, *texts, followed.body_start[i])))
    return rows


def unpacked(row: PackedRow, mask_of: MaskOf) -> TailRow:
    """A row to be shown, masked."""
    number, queue_id, queue_offset, physical, store_ms, born_ms, body_bytes, mark, *lengths = _HEAD.unpack_from(row)
    texts, place = [], _HEAD.size
    for length in lengths:
        texts.append(row[place : place + length].decode(*_TEXTS))
        place += length
    topic, tag, keys, unique_key = texts
    mask = mask_of(topic)
    return TailRow(
        number, topic, queue_id, queue_offset, physical, store_ms, born_ms, body_bytes, mask.text(tag), mask.text(keys),
        unique_key, row[place:], None if mark == _NO_MARK else MARKS[mark], mask,
    )  # fmt: skip


def number_of(row: PackedRow) -> int:
    """Its number, without unpacking the rest."""
    number: int = _NUMBER.unpack_from(row)[0]
    return number


def stored_ms_of(row: PackedRow) -> int:
    """Its store time, ms since the epoch, without unpacking the rest."""
    stored_ms: int = _STORED.unpack_from(row, _STORED_AT)[0]
    return stored_ms


def is_marked(row: PackedRow) -> bool:
    return row[_MARK_AT] != _NO_MARK & 0xFF


class Unpacked(Sequence[TailRow]):
    """Packed rows as rows, the newest first; each is made when it is read."""

    def __init__(self, packed: Sequence[PackedRow], mask_of: MaskOf) -> None:
        self._packed = packed
        self._mask_of = mask_of

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[TailRow]:
        return (unpacked(row, self._mask_of) for row in reversed(self._packed))

    @overload
    def __getitem__(self, place: int) -> TailRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[TailRow]: ...
    def __getitem__(self, place: int | slice) -> TailRow | list[TailRow]:
        if isinstance(place, slice):
            return list(self)[place]
        return unpacked(self._packed[-1 - place], self._mask_of)
