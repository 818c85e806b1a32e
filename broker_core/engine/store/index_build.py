"""Adds many keys at a time to index files; `index_keys` finds the keys (Source: docs/spec/store.md §5.3, §5.4)."""

from __future__ import annotations

from array import array
from dataclasses import replace

from broker_core.engine.store.index_file import HEADER_BYTES, ROOM_BYTES, SLOT_BYTES, IndexFile, IndexHeader
from broker_core.engine.store.index_keys import KeyBatch
from broker_core.native import items as k
from broker_core.native.calls import call
from broker_core.native.keys import KEY_COLUMNS, OFFSET, STORE_MS
from broker_core.native.library import Library


class IndexBuilder:
    """Writes slots and items of index files. For one thread at a time.

    Args:
        library: The machine code; None: there is none.
    """

    def __init__(self, library: Library | None) -> None:
        self._library = library
        self._state = array("q", bytes(8 * k.STATE_COLUMNS))

    def add_keys(self, file: IndexFile, batch: KeyBatch, start: int) -> int:
        """Add keys of a batch from number ``start`` on, as many as the file has room for; returns the number.

        Raises:
            OSError: There is no room on the disk; nothing has changed.
        """
        header, state = file.header, self._state
        count = min(len(batch) - start, file.geometry.items - header.next_item)
        file.take_item_room(header.next_item, count)
        self._describe(file, header)
        state[k.KEY], state[k.KEYS] = start, start + count
        while call(self._library, k.add_items, batch.table, state, file.roomy, file.buffer) == k.NO_ROOM:
            file.take_room([state[k.WANTED]])
        rows, first, last = batch.table, start * KEY_COLUMNS, (start + count - 1) * KEY_COLUMNS
        file.set_header(
            IndexHeader(
                begin_ms=state[k.BEGIN_MS],
                end_ms=rows[last + STORE_MS],
                begin_offset=rows[first + OFFSET] if header.next_item == 1 else header.begin_offset,
                end_offset=rows[last + OFFSET],
                used_slots=state[k.USED_SLOTS],
                next_item=state[k.NEXT],
            )
        )
        return count

    def restore(self, file: IndexFile, header: IndexHeader) -> None:
        """End a file at ``header``: the slots are built again from the items, which a crash cannot have mixed up.

        Raises:
            OSError: There is no room on the disk.
        """
        end = HEADER_BYTES + file.geometry.slots * SLOT_BYTES
        file.take_room([*range(0, end, ROOM_BYTES), end - 1])
        file.buffer[HEADER_BYTES:end] = bytes(end - HEADER_BYTES)
        self._describe(file, header)
        file.set_header(replace(header, used_slots=call(self._library, k.fill_slots, self._state, file.buffer)))

    def _describe(self, file: IndexFile, header: IndexHeader) -> None:
        state = self._state
        state[k.SLOTS], state[k.ITEMS] = file.geometry
        state[k.NEXT], state[k.USED_SLOTS], state[k.BEGIN_MS] = header.next_item, header.used_slots, header.begin_ms
