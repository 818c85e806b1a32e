"""Checks of the rows of queues: against themselves, and against the files and the log of their store."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.engine.store.consume_queue import UNIT, UNIT_BYTES, ConsumeQueue
from broker_core.engine.store.message_store import MessageStore
from broker_core.native import queue_rows as r
from broker_core.native.blocks import SMALLEST_BYTES, SMALLEST_UNITS
from broker_core.native.queue_rows import QueueRows
from broker_core.protocol.message.record import decode_record


def check_rows(rows: QueueRows, in_use: Iterable[int]) -> None:
    """Fail where rows contradict themselves or each other; ``in_use`` are those of queues."""
    table = rows.table
    touched = rows.touched[: table[r.TOUCHED]].tolist()
    assert len(touched) == len(set(touched))
    blocks = {place: SMALLEST_BYTES << level for place, level in rows.free_blocks().items()}
    for row in in_use:
        assert table[row + r.TAIL_START] <= table[row + r.MAX_OFFSET]
        assert 0 <= table[row + r.MIN_OFFSET] <= table[row + r.MAX_OFFSET]
        assert table[row + r.MAX_OFFSET] - table[row + r.TAIL_START] <= table[row + r.TAIL_ROOM]
        assert bool(table[row + r.LISTED] & r.IN_TOUCHED) == (row in touched)
        taken = [(table[row + r.TAIL_AT], table[row + r.TAIL_ROOM] // SMALLEST_UNITS * SMALLEST_BYTES)]
        if table[row + r.WINDOW_COUNT]:
            taken.append((table[row + r.WINDOW_AT], r.WINDOW_UNITS * UNIT_BYTES))
        for place, size in taken:
            if size:
                assert place not in blocks
                blocks[place] = size
    end = 0
    for place, size in sorted(blocks.items()):  # each byte belongs to one block
        assert place == end
        end = place + size
    assert end == len(rows.tails)


def check_rows_of(store: MessageStore) -> None:
    """Fail where the rows of an open store differ from its files and its log."""
    parts = store._parts
    rows, queues = parts.queues.rows, list(parts.queues)
    with parts.writer.write_lock, parts.lock:
        check_rows(rows, [queue.row for queue in queues])
        touched = set(rows.touched[: rows.table[r.TOUCHED]].tolist())
        for queue in queues:
            assert queue.tail_start <= queue.written_offset <= queue.max_offset
            assert queue.written_offset == queue.max_offset or queue.row in touched
            _check_against_files(queue)
            _check_against_log(store, queue)


def _check_against_files(queue: ConsumeQueue) -> None:
    for offset in range(queue.min_offset, queue.written_offset):
        assert queue._files.read(offset * UNIT_BYTES, UNIT_BYTES) == queue.units(offset, 1)


def _check_against_log(store: MessageStore, queue: ConsumeQueue) -> None:
    for offset in range(queue.min_offset, queue.max_offset):
        physical, size, _ = UNIT.unpack(queue.units(offset, 1))
        record = store.bytes_at(physical, size)
        if record is None:
            continue  # a blank of a message that was lost
        stored = decode_record(record)
        assert (stored.topic, stored.queue_id, stored.queue_offset) == (queue.topic, queue.queue_id, offset)
        if offset == queue.max_offset - 1:
            assert queue.last_store_ms == stored.store_timestamp_ms
