"""The kernel that serves plain pulls. It runs as it is, or as machine code.

It takes pulls of known lanes that find messages, in memory, and whose answer is nothing but those. In front of any other frame,
or when something is full, it stops and says why; the caller helps, or serves that frame in Python, and calls again. The filter
of a lane is a list of tags codes; the client compares tags.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3; docs/spec/store.md §4, §11.1.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.native.access import Bytes, Table, copy, i32, i64, put8, put32
from broker_core.native.lanes import digits_of, find_lane, put_digits
from broker_core.native.pull_frames import BINARY_HEAD_BYTES, BINARY_OPAQUE_BYTES, HEADER_AT, LENGTH_BYTES, read_frame
from broker_core.native.records import UNIT_BYTES
from broker_core.protocol.message.record import MAGIC_POSITION, MAGIC_V1, MAGIC_V2, PHYSICAL_OFFSET_POSITION, SMALLEST_RECORD

_SIZE_AT: Final = 8
_CODE_AT: Final = 12


def units_from(state: Table, lane: int, lanes_: Table, queues: Table) -> tuple[int, int]:
    """Where the units of a pull begin, and how many it may look at; -1 where they are not in memory."""
    row, offset = lanes_[lane + k.L_QUEUE], state[p.OFFSET]
    file_end = (offset // state[p.UNITS_IN_FILE] + 1) * state[p.UNITS_IN_FILE]
    end = min(offset + lanes_[lane + p.P_SCAN_MAX], queues[row + q.MAX_OFFSET], file_end)
    if queues[row + q.TAIL_ROOM] and offset >= queues[row + q.TAIL_START]:
        return queues[row + q.TAIL_AT] + UNIT_BYTES * (offset - queues[row + q.TAIL_START]), end - offset
    start = queues[row + q.WINDOW_START]
    if offset < start or end > start + queues[row + q.WINDOW_COUNT]:
        return -1, 0
    return queues[row + q.WINDOW_AT] + UNIT_BYTES * (offset - start), end - offset


def is_wanted(code: int, lane: int, lanes_: Table, codes: Table) -> bool:
    """Whether the filter of a lane accepts a tags code."""
    at, left = lanes_[lane + p.P_CODES_AT], lanes_[lane + p.P_CODES]
    if left == 0:
        return True
    while left and codes[at] != code:
        at, left = at + 1, left - 1
    return left > 0


def reason_not_read(state: Table, log: Bytes, seen: Table, physical: int, size: int) -> int:
    """Why the record of a unit cannot be read; `ALL` where it can."""
    place = physical - state[p.BASE]
    if place < 0 or physical >= state[p.LOG_END]:
        return p.OTHER_FILE
    if size < SMALLEST_RECORD or physical + size > state[p.LOG_END]:
        return p.NOT_PLAIN
    if physical < state[p.NEAR_FROM]:
        for piece in range(physical // p.PIECE_BYTES, (physical + size - 1) // p.PIECE_BYTES + 1):
            row = piece % p.SEEN_PIECES * 2
            if seen[row] != piece or seen[row + 1] <= state[p.NOW]:
                state[p.WANTED] = max(piece * p.PIECE_BYTES, state[p.BASE])
                return p.NOT_SEEN
    magic = i32(log, place + MAGIC_POSITION)
    if i32(log, place) != size or i64(log, place + PHYSICAL_OFFSET_POSITION) != physical:
        return p.NOT_PLAIN
    return p.ALL if magic in (MAGIC_V1, MAGIC_V2) else p.NOT_PLAIN


def list_piece(state: Table, pieces: Table, place: int, size: int) -> None:
    """Add the place of a record to the pieces of an answer, or to the last one of them if that ends there."""
    last = 2 * state[p.PIECES] - 2
    if last >= 0 and pieces[last] + pieces[last + 1] == place:
        pieces[last + 1] += size
    else:
        pieces[last + 2], pieces[last + 3] = place, size
        state[p.PIECES] += 1


def find_records(
    state: Table, lane: int, lanes_: Table, units: Bytes, first: int, count: int, codes: Table, log: Bytes, seen: Table,
    pieces: Table,
) -> int:  # fmt: skip
    """Find the records of a pull in some units, and list their pieces; returns why not, or `ALL`.

    The bounds and the order of checks are those of `broker_core.engine.store.reading.scan`.
    """
    state[p.PIECES] = state[p.FOUND] = state[p.FOUND_BYTES] = state[p.CONSUMED] = 0
    found = found_bytes = 0
    for number in range(count):
        unit = first + number * UNIT_BYTES
        physical, size, code = i64(units, unit), i32(units, unit + _SIZE_AT), i64(units, unit + _CODE_AT)
        if physical < state[p.REACH_FROM]:
            return p.NOT_PLAIN
        if found and (found >= lanes_[lane + p.P_COUNT_MAX] or found_bytes + size > state[p.BYTES_MAX]):
            break
        state[p.CONSUMED] = number + 1
        if not is_wanted(code, lane, lanes_, codes):
            if code <= p.ADDRESS_MAX:
                return p.NOT_PLAIN
            continue
        reason = reason_not_read(state, log, seen, physical, size)
        if reason != p.ALL:
            if reason == p.OTHER_FILE:
                state[p.WANTED] = physical
                return p.NOT_PLAIN if found else p.OTHER_FILE
            return reason
        list_piece(state, pieces, physical - state[p.BASE], size)
        found += 1
        found_bytes += size
    state[p.FOUND], state[p.FOUND_BYTES] = found, found_bytes
    return p.ALL if found else p.NOT_PLAIN


# ---- the answer ----


def put_part(out: Bytes, at: int, texts: Bytes, part_at: int, part_bytes: int) -> int:
    """Copy a part of an answer; returns where it ends."""
    copy(out, at, texts, part_at, part_bytes)
    return at + part_bytes


def put_number(out: Bytes, at: int, value: int, is_binary: bool) -> int:
    """Write an offset, in a binary header also the last byte of the length before it; returns where it ends."""
    digits = digits_of(value)
    if is_binary:
        put8(out, at - 1, digits)
    put_digits(out, at, value, digits)
    return at + digits


def write_head(
    state: Table, data: Bytes, lane: int, lanes_: Table, texts: Bytes, out: Bytes, low: int, high: int
) -> int:  # fmt: skip
    """Write the start of the answer, up to the body; returns where it ends."""
    start, parts, is_binary = state[k.OUT_AT], lane + k.L_PARTS, state[k.KIND] == k.BINARY_PULL
    at = put_part(out, start + HEADER_AT, texts, lanes_[parts], lanes_[parts + 1])
    if is_binary:
        copy(out, at, data, state[p.OPAQUE_AT], BINARY_OPAQUE_BYTES)
        at = put_part(out, at + BINARY_OPAQUE_BYTES, texts, lanes_[parts + 2], lanes_[parts + 3])
        parts += 2
    at = put_number(out, at, state[p.OFFSET] + state[p.CONSUMED], is_binary)
    at = put_part(out, at, texts, lanes_[parts + 2], lanes_[parts + 3])
    at = put_number(out, at, low, is_binary)
    at = put_part(out, at, texts, lanes_[parts + 4], lanes_[parts + 5])
    at = put_number(out, at, high, is_binary)
    if is_binary:
        fields_at = start + lanes_[lane + k.L_FIELDS_AT]
        put32(out, fields_at, at - fields_at - 4)
        put32(out, start + 4, 1 << 24 | at - start - HEADER_AT)
    else:
        at = put_part(out, at, texts, lanes_[parts + 6], lanes_[parts + 7])
        copy(out, at, data, state[p.OPAQUE_AT], state[p.OPAQUE_BYTES])
        at += state[p.OPAQUE_BYTES]
        at = put_part(out, at, texts, lanes_[lane + p.P_LAST_PART_AT], lanes_[lane + p.P_LAST_PART_BYTES])
        put32(out, start + 4, at - start - HEADER_AT)
    put32(out, start, at - start - 4 + state[p.FOUND_BYTES])
    return at


def copy_body(state: Table, out: Bytes, at: int, log: Bytes, pieces: Table) -> int:
    """Copy the records of an answer; returns where they end."""
    for number in range(state[p.PIECES]):
        place, size = pieces[2 * number], pieces[2 * number + 1]
        copy(out, at, log, place, size)
        at += size
    return at


def note_pull(state: Table, lane: int, lanes_: Table, touched: Table) -> None:
    """Count a pull that was answered."""
    if lanes_[lane + p.P_PULLS] == 0:
        touched[state[k.TOUCHED]] = lane
        state[k.TOUCHED] += 1
    lanes_[lane + p.P_PULLS] += 1
    lanes_[lane + p.P_MESSAGES] += state[p.FOUND]
    lanes_[lane + p.P_BYTES] += state[p.FOUND_BYTES]
    lanes_[lane + p.P_COMMITTED] = state[p.COMMIT]
    state[k.TAKEN] += 1


def answer_pull(
    state: Table, data: Bytes, out: Bytes, log: Bytes, queues: Table, lanes_: Table, texts: Bytes, units: Bytes, codes: Table,
    seen: Table, pieces: Table, touched: Table,
) -> int:  # fmt: skip
    """Answer the pull that was read; returns why not, or `ALL` or `LARGE`."""
    lane = state[k.LANE]
    row = lanes_[lane + k.L_QUEUE]
    low, high = queues[row + q.MIN_OFFSET], queues[row + q.MAX_OFFSET]
    if state[p.OFFSET] < low or state[p.OFFSET] >= high or state[p.COMMIT] > high:
        return p.NOT_PLAIN
    first, count = units_from(state, lane, lanes_, queues)
    if first < 0:
        return p.NO_UNITS
    reason = find_records(state, lane, lanes_, units, first, count, codes, log, seen, pieces)
    if reason != p.ALL:
        return reason
    is_large = state[p.FOUND_BYTES] > p.COPIED_BYTES_MAX
    if state[k.OUT_AT] + p.ANSWER_BYTES_MAX + (0 if is_large else state[p.FOUND_BYTES]) > state[k.OUT_END]:
        return p.OUT_FULL
    at = write_head(state, data, lane, lanes_, texts, out, low, high)
    state[k.OUT_AT] = at if is_large else copy_body(state, out, at, log, pieces)
    note_pull(state, lane, lanes_, touched)
    return p.LARGE if is_large else p.ALL


def is_admitted(state: Table, lane: int, lanes_: Table, queues: Table) -> bool:
    """Whether the pulls of a lane are admitted, and its queue is still the one that it was."""
    is_its = queues[lanes_[lane + k.L_QUEUE] + q.OPEN_AS] == lanes_[lane + p.P_SERIAL]
    return lanes_[lane + k.L_IS_OPEN] != 0 and lanes_[lane + p.P_GENERATION] == state[p.GENERATION] and is_its


def serve_pulls(
    state: Table, data: Bytes, out: Bytes, log: Bytes, queues: Table, lanes_: Table, slots: Table, texts: Bytes, units: Bytes,
    codes: Table, seen: Table, pieces: Table, touched: Table, marks: Bytes, scratch: Bytes,
) -> int:  # fmt: skip
    """Answer plain pulls one behind the other.

    Args:
        state: The columns above.
        data: What was received.
        out: Room for answers.
        log: One file of the log.
        queues: Rows of queues.
        lanes_: Rows of lanes, with slots and texts.
        slots: As `broker_core.native.lanes` has them.
        texts: Likewise.
        units: Units of the queues.
        codes: Tags codes of filters.
        seen: Pieces of the log that are in memory.
        pieces: Room for the places of the records of an answer.
        touched: Room for the lanes that were served.
        marks: `MARKS`.
        scratch: Room for a key.

    Returns:
        Why it stopped. ``state[k.AT]`` is behind the last frame that was answered.
    """
    while state[k.END] - state[k.AT] >= LENGTH_BYTES:
        at, state[k.LANE] = state[k.AT], -1
        total = i32(data, at)
        if total < BINARY_HEAD_BYTES or total > p.FRAME_BYTES_MAX:
            return p.NOT_PLAIN
        end = at + LENGTH_BYTES + total
        if end > state[k.END]:
            return p.ALL
        if not read_frame(data, at, end, state, marks, scratch):
            return p.NOT_PLAIN
        state[k.LANE] = find_lane(state[k.KIND], scratch, 0, state[k.KEY_BYTES], 0, 0, state, lanes_, slots, texts)
        if state[k.LANE] < 0:
            return p.NO_LANE
        if not is_admitted(state, state[k.LANE], lanes_, queues):
            return p.NO_LANE
        reason = answer_pull(state, data, out, log, queues, lanes_, texts, units, codes, seen, pieces, touched)
        if reason not in (p.ALL, p.LARGE):
            return reason
        state[k.AT] = end
        if reason == p.LARGE:
            return p.LARGE
    return p.ALL
