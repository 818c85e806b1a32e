"""The kernel that serves plain sends: from the bytes of a socket to the commit log, the consume queues and the answers.

It runs as it is, or as machine code. It takes one frame after the other and stops in front of the first one that is not plain,
or for which something has no room, and says why. It allocates nothing, raises nothing and decides nothing.

    binary  a b c d e f │ g: 13 digits │ h = 0 │ i: properties │ j = 0, k, m = false
    JSON    {"code":310,"extFields":{"a":… "f":…, │ "g":"13 digits" │ ,"h":"0","i":"properties │ ","j":"0", … "opaque": │ n │ …}

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1; docs/spec/broker.md §2.8; docs/spec/store.md §2.1 to §2.5, §4.1.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes as k
from broker_core.native import queue_rows as q
from broker_core.native import send_columns as s
from broker_core.native.access import (
    Bytes,
    Table,
    body_crc,
    copy,
    hex16,
    i32,
    next_json_mark,
    publish32,
    put8,
    put16,
    put32,
    put64,
    u8,
    u16,
)
from broker_core.native.lanes import digits_of, find_lane, number_at, put_digits
from broker_core.native.records import UNIT_BYTES
from broker_core.native.send_frames import TIME_DIGITS, read_send
from broker_core.native.send_properties import (
    ITEM_END,
    PROPERTIES_MAX,
    are_plain,
    member_body_bytes,
    member_bytes,
    member_properties_at,
    settle_properties,
)

_VERSION_5X: Final = 413
_HEAD_BYTES: Final = 88
_ZERO: Final = 48
_OF_5X: Final = 2
_FILLER_BYTES: Final = 8
_FLAG_AT: Final = 12
_COMMA: Final = 44
_REQUEST_TEXT_MAX: Final = s.ANSWER_BYTES_MAX


def find_lanes(data: Bytes, state: Table, queues: Table, lanes: Table, slots: Table, texts: Bytes) -> bool:
    """Find the lanes of start and end; False where one is missing or closed."""
    batches = k.BATCHES if state[s.IS_BATCH] else 0
    kind = state[k.KIND] + batches
    end_kind = batches + (k.BINARY_SEND_END if state[k.KIND] == k.BINARY_SEND else k.JSON_SEND_END)
    state[k.LANE] = find_lane(kind, data, state[k.KEY_AT], state[k.KEY_BYTES], state[k.AT], 0, state, lanes, slots, texts)
    state[s.END_LANE] = find_lane(
        end_kind, data, state[s.END_AT], state[s.END_BYTES], state[s.LAST_AT], state[s.LAST_BYTES], state, lanes, slots, texts
    )
    if state[k.LANE] < 0 or state[s.END_LANE] < 0:
        return False
    is_open = lanes[state[k.LANE] + k.L_IS_OPEN] != 0 and lanes[state[s.END_LANE] + k.L_IS_OPEN] != 0
    return is_open and queues[lanes[state[k.LANE] + k.L_QUEUE] + q.OPEN_AS] == lanes[state[k.LANE] + s.L_OPEN_AS]


def unescape(data: Bytes, at: int, count: int, limit: int, log: Bytes, to: int) -> int:
    """Copy the properties of a JSON header; returns their bytes."""
    end, start = at + count, to
    while at < end:
        place = next_json_mark(data, at, end, limit)
        copy(log, to, data, at, place - at)
        to += place - at
        at = place
        if at < end:
            put8(log, to, u8(data, at + 5) - _ZERO)
            to += 1
            at += 6
    return to - start


def copy_properties(data: Bytes, state: Table, to: Bytes, place: int) -> int:
    """Copy the properties of a request as they are; returns their bytes."""
    if state[k.KIND] == k.BINARY_SEND:
        copy(to, place, data, state[s.TEXT_AT], state[s.TEXT_BYTES])
        return state[s.TEXT_BYTES]
    return unescape(data, state[s.TEXT_AT], state[s.TEXT_BYTES], state[k.END], to, place)


def write_properties(data: Bytes, place: int, own_at: int, own_bytes: int, state: Table, log: Bytes, texts: Bytes) -> int:
    """Write the properties of a record; returns their bytes, or -1 where they hold what is not plain."""
    end = place + copy_properties(data, state, log, place)
    count = settle_properties(log, place, end, state[s.LOG_BYTES], state)
    if count < 0:
        return -1
    if count:
        put8(log, place + count, ITEM_END)
        count += 1
    copy(log, place + count, texts, own_at, own_bytes)
    return count + own_bytes


def write_record(
    data: Bytes, body_at: int, body_bytes: int, flag: int, lane: int, queue: int, size: int, properties_bytes: int,
    state: Table, log: Bytes, queues: Table, lanes: Table, texts: Bytes,
) -> None:  # fmt: skip
    """Write a record whose properties are there; its size comes last, because nothing is there before it is."""
    at, topic_bytes = state[s.LOG_AT], lanes[lane + s.L_TOPIC_BYTES]
    put32(log, at + 4, lanes[lane + s.L_MAGIC])
    put32(log, at + 8, body_crc(data, body_at, body_bytes))
    put32(log, at + 12, queues[queue + q.QUEUE_ID])
    put32(log, at + 16, flag)
    put64(log, at + 20, queues[queue + q.MAX_OFFSET])
    put64(log, at + 28, state[s.LOG_BASE] + at)
    put32(log, at + 36, lanes[lane + s.L_SYS_FLAG])
    put64(log, at + 40, number_at(data, state[s.TIME_AT], TIME_DIGITS))
    put64(log, at + 48, state[s.BORN_HOST])
    put64(log, at + 56, state[k.NOW_MS])
    put64(log, at + 64, state[s.STORE_HOST])
    put32(log, at + 72, 0)
    put64(log, at + 76, 0)
    put32(log, at + 84, body_bytes)
    copy(log, at + _HEAD_BYTES, data, body_at, body_bytes)
    copy(log, at + _HEAD_BYTES + body_bytes, texts, lanes[lane + s.L_TOPIC_AT], topic_bytes)
    put16(log, at + _HEAD_BYTES + body_bytes + topic_bytes, properties_bytes)
    publish32(log, at, size)


def touch(queue: int, state: Table, queues: Table, dirty: Table, touched: Table) -> None:
    """Enter a queue into the list of those to be written and the table of those that this read touched."""
    listed = queues[queue + q.LISTED]
    if listed & q.IN_TOUCHED == 0:
        dirty[queues[q.TOUCHED]] = queue
        queues[q.TOUCHED] += 1
    if listed & s.IN_READ == 0:
        row = state[k.TOUCHED] * s.TOUCHED_COLUMNS
        touched[row + s.T_QUEUE], touched[row + s.T_FIRST] = queue, queues[queue + q.MAX_OFFSET]
        state[k.TOUCHED] += 1
    queues[queue + q.LISTED] = listed | q.IN_TOUCHED | s.IN_READ


def untouch(state: Table, queues: Table, touched: Table) -> None:
    """Empty the table of touched queues."""
    for number in range(state[k.TOUCHED]):
        queues[touched[number * s.TOUCHED_COLUMNS + s.T_QUEUE] + q.LISTED] &= ~s.IN_READ
    state[k.TOUCHED] = 0


def add_unit(queue: int, size: int, state: Table, queues: Table, units: Bytes) -> None:
    """Add the unit of the record to its queue, count the record, and move the end of the log behind it."""
    place = queues[queue + q.TAIL_AT] + (queues[queue + q.MAX_OFFSET] - queues[queue + q.TAIL_START]) * UNIT_BYTES
    put64(units, place, state[s.LOG_BASE] + state[s.LOG_AT])
    put32(units, place + 8, size)
    put64(units, place + 12, state[s.TAGS_CODE])
    queues[queue + q.MAX_OFFSET] += 1
    queues[queue + q.MESSAGES] += 1
    queues[queue + q.BYTES] += size
    state[s.LOG_AT] += size


def put_part(out: Bytes, at: int, lane: int, number: int, lanes: Table, texts: Bytes) -> int:
    """Write a part of an answer; returns where it ends."""
    count = lanes[lane + k.L_PARTS + 2 * number + 1]
    copy(out, at, texts, lanes[lane + k.L_PARTS + 2 * number], count)
    return at + count


def begin_answer(data: Bytes, lane: int, state: Table, out: Bytes, lanes: Table, texts: Bytes) -> int:
    """Write the answer to a send up to the physical offset in its message id, the place of which it returns."""
    start, is_binary = state[k.OUT_AT], state[k.KIND] == k.BINARY_SEND
    at = put_part(out, start if is_binary else start + 8, lane, 0, lanes, texts)
    if is_binary:
        copy(out, at, data, state[s.OPAQUE_AT], 4)
        at = put_part(out, at + 4, lane, 1, lanes, texts)
    return at


def end_answer(
    data: Bytes, lane: int, at: int, ids_bytes: int, queue_offset: int, state: Table, out: Bytes, lanes: Table, texts: Bytes
) -> None:
    """Write what follows the message ids, from a place on; ``ids_bytes`` are those of the ids behind the first one."""
    start, digits, is_binary = state[k.OUT_AT], digits_of(queue_offset), state[k.KIND] == k.BINARY_SEND
    at = put_part(out, at, lane, 2 if is_binary else 1, lanes, texts)
    put_digits(out, at, queue_offset, digits)
    if is_binary:
        put8(out, at - 1, digits)
        put32(out, start + lanes[lane + k.L_FIELDS_AT], lanes[lane + k.L_FIELDS_BYTES] + digits + ids_bytes)
        at += digits
    else:
        at = put_part(out, at + digits, lane, 2, lanes, texts)
        copy(out, at, data, state[s.OPAQUE_AT], state[s.OPAQUE_BYTES])
        at += state[s.OPAQUE_BYTES]
    at = put_part(out, at, lane, 3, lanes, texts)
    put32(out, start, at - start - 4)
    put32(out, start + 4, (k.BINARY_SEND << 24 if is_binary else 0) | (at - start - 8))
    state[k.OUT_AT] = at


def room_for(size: int, count: int, queue: int, state: Table, queues: Table) -> int:
    """Whether all that a send of one lane needs has room, with so many bytes of records; else why not."""
    if state[s.LOG_AT] + size > state[s.LOG_LIMIT]:
        state[s.WANTED_BYTES] = size
        return s.LOG_FULL
    if queues[queue + q.MAX_OFFSET] - queues[queue + q.TAIL_START] + count > queues[queue + q.TAIL_ROOM]:
        state[s.WANTED_UNITS] = count
        return s.TAIL_FULL
    answer_bytes = s.ANSWER_BYTES_MAX + (count - 1) * s.MESSAGE_ID_BYTES
    if state[k.OUT_AT] + answer_bytes > state[k.OUT_END] or state[k.TOUCHED] >= s.TOUCHED_MAX:
        return s.OUT_FULL
    return s.GO_ON


def version_of(data: Bytes, state: Table, lanes: Table) -> int:
    """The version of the client of a send."""
    return u16(data, state[k.AT] + 11) if state[k.KIND] == k.BINARY_SEND else lanes[state[s.END_LANE] + s.L_VERSION]


def own_of(lane: int, data: Bytes, state: Table, lanes: Table) -> int:
    """The columns of a lane with the broker's own properties for the client of a send."""
    return lane + (_OF_5X if version_of(data, state, lanes) >= _VERSION_5X else 0)


def note_put(data: Bytes, queue: int, state: Table, queues: Table, lanes: Table) -> None:
    """Note the client of a send that was stored, and count the put; its messages are counted."""
    is_binary, end_lane = state[k.KIND] == k.BINARY_SEND, state[s.END_LANE]
    state[k.VERSION], state[s.TAKEN_KIND] = version_of(data, state, lanes), state[k.KIND]
    state[k.LANGUAGE] = u8(data, state[k.AT] + 10) if is_binary else lanes[end_lane + s.L_LANGUAGE]
    queues[queue + q.LAST_STORE_MS] = state[k.NOW_MS]
    queues[queue + q.PUTS] += 1
    if queues[queue + q.MAX_OFFSET] - queues[queue + q.WRITTEN_OFFSET] >= state[s.UNWRITTEN_MAX]:
        state[s.IS_BEHIND] = 1


def store_send(
    data: Bytes, state: Table, out: Bytes, log: Bytes, queues: Table, units: Bytes, lanes: Table, texts: Bytes, dirty: Table,
    touched: Table,
) -> int:  # fmt: skip
    """Store and answer the send whose parts and lanes are found; returns why not, or `s.GO_ON`."""
    lane = state[k.LANE]
    own = own_of(lane, data, state, lanes)
    own_at, own_bytes, queue = lanes[own + s.L_OWN_AT], lanes[own + s.L_OWN_BYTES], lanes[lane + k.L_QUEUE]
    body_bytes = state[s.FRAME_END] - state[s.BODY_AT]
    start = _HEAD_BYTES + body_bytes + lanes[lane + s.L_TOPIC_BYTES] + 2
    if body_bytes > state[s.BODY_BYTES_MAX] or state[s.TEXT_BYTES] + 1 + own_bytes > PROPERTIES_MAX:
        return s.NOT_PLAIN
    room = room_for(start + state[s.TEXT_BYTES] + 1 + own_bytes, 1, queue, state, queues)
    if room != s.GO_ON:
        return room
    # Properties come first: only they can still say that it is not plain.
    properties_bytes = write_properties(data, state[s.LOG_AT] + start, own_at, own_bytes, state, log, texts)
    if properties_bytes < 0:
        return s.NOT_PLAIN
    size, queue_offset, at = start + properties_bytes, queues[queue + q.MAX_OFFSET], state[s.BODY_AT]
    write_record(data, at, body_bytes, 0, lane, queue, size, properties_bytes, state, log, queues, lanes, texts)
    touch(queue, state, queues, dirty, touched)
    id_at = begin_answer(data, lane, state, out, lanes, texts)
    hex16(out, id_at, state[s.LOG_BASE] + state[s.LOG_AT])
    end_answer(data, lane, id_at + 16, 0, queue_offset, state, out, lanes, texts)
    add_unit(queue, size, state, queues, units)
    note_put(data, queue, state, queues, lanes)
    return s.GO_ON


# ---- batches ----


def separator_bytes(data: Bytes, at: int, end: int) -> int:
    """Bytes between the properties of a member and those that follow them."""
    return 1 if at < end and u8(data, end - 1) != ITEM_END else 0


def members_of(data: Bytes, lane: int, own_bytes: int, state: Table, lanes: Table) -> int:
    """How many members a batch has, with the bytes of their records in `s.WANTED_BYTES`; -1 where one is not plain."""
    at, end, count, size = state[s.BODY_AT], state[s.FRAME_END], 0, 0
    fixed = _HEAD_BYTES + lanes[lane + s.L_TOPIC_BYTES] + 2 + own_bytes
    while at < end:
        bytes_ = member_bytes(data, at, end)
        if bytes_ < 0 or count == s.MEMBERS_MAX:
            return -1
        properties_at = member_properties_at(data, at)
        more = separator_bytes(data, properties_at, at + bytes_) + own_bytes
        if at + bytes_ - properties_at + more > PROPERTIES_MAX or not are_plain(data, properties_at, at + bytes_, state):
            return -1
        size += fixed + member_body_bytes(data, at) + at + bytes_ - properties_at + more - own_bytes
        at, count = at + bytes_, count + 1
    state[s.WANTED_BYTES] = size
    return count


def has_request_properties(data: Bytes, state: Table, scratch: Bytes, at: int) -> bool:
    """Whether the request of a batch has properties to be added to those of each member; mostly it has WAIT=true alone."""
    end = at + copy_properties(data, state, scratch, at)
    return settle_properties(scratch, at, end, state[k.OUT_END], state) != 0


def store_member(
    data: Bytes, at: int, bytes_: int, own: int, state: Table, log: Bytes, queues: Table, units: Bytes, lanes: Table,
    texts: Bytes,
) -> None:  # fmt: skip
    """Store a member of a batch."""
    lane = state[k.LANE]
    queue, body_bytes, properties_at = lanes[lane + k.L_QUEUE], member_body_bytes(data, at), member_properties_at(data, at)
    end, own_bytes = at + bytes_, lanes[own + s.L_OWN_BYTES]
    are_plain(data, properties_at, end, state)  # takes the code of the tags
    start = _HEAD_BYTES + body_bytes + lanes[lane + s.L_TOPIC_BYTES] + 2
    place = state[s.LOG_AT] + start
    copy(log, place, data, properties_at, end - properties_at)
    place += end - properties_at
    if separator_bytes(data, properties_at, end):
        put8(log, place, ITEM_END)
        place += 1
    copy(log, place, texts, lanes[own + s.L_OWN_AT], own_bytes)
    count = place + own_bytes - state[s.LOG_AT] - start
    body_at, flag = properties_at - 2 - body_bytes, i32(data, at + _FLAG_AT)
    write_record(data, body_at, body_bytes, flag, lane, queue, start + count, count, state, log, queues, lanes, texts)
    add_unit(queue, start + count, state, queues, units)


def store_batch(
    data: Bytes, state: Table, out: Bytes, log: Bytes, queues: Table, units: Bytes, lanes: Table, texts: Bytes, dirty: Table,
    touched: Table,
) -> int:  # fmt: skip
    """Store and answer the batch whose parts and lanes are found; returns why not, or `s.GO_ON`."""
    lane = state[k.LANE]
    own, queue = own_of(lane, data, state, lanes), lanes[lane + k.L_QUEUE]
    if state[s.FRAME_END] - state[s.BODY_AT] > state[s.BODY_BYTES_MAX] or state[s.TEXT_BYTES] > _REQUEST_TEXT_MAX:
        return s.NOT_PLAIN
    count = members_of(data, lane, lanes[own + s.L_OWN_BYTES], state, lanes)
    if count <= 0 or state[s.WANTED_BYTES] + _FILLER_BYTES > state[s.LOG_BYTES]:
        return s.NOT_PLAIN
    room = room_for(state[s.WANTED_BYTES], count, queue, state, queues)
    if room != s.GO_ON:
        return room
    if has_request_properties(data, state, out, state[k.OUT_AT]):
        return s.NOT_PLAIN
    touch(queue, state, queues, dirty, touched)
    queue_offset, at = queues[queue + q.MAX_OFFSET], state[s.BODY_AT]
    first_at = id_at = begin_answer(data, lane, state, out, lanes, texts)
    while at < state[s.FRAME_END]:
        if id_at != first_at:
            put8(out, id_at, _COMMA)
            copy(out, id_at + 1, out, first_at - 16, 16)
            id_at += s.MESSAGE_ID_BYTES - 16
        hex16(out, id_at, state[s.LOG_BASE] + state[s.LOG_AT])
        id_at += 16
        bytes_ = member_bytes(data, at, state[s.FRAME_END])
        store_member(data, at, bytes_, own, state, log, queues, units, lanes, texts)
        at += bytes_
    ids_bytes = (count - 1) * s.MESSAGE_ID_BYTES
    if state[k.KIND] == k.BINARY_SEND:
        put32(out, first_at - 20, s.MESSAGE_ID_BYTES - 1 + ids_bytes)
    end_answer(data, lane, id_at, ids_bytes, queue_offset, state, out, lanes, texts)
    note_put(data, queue, state, queues, lanes)
    return s.GO_ON


def serve_sends(
    state: Table, data: Bytes, out: Bytes, log: Bytes, queues: Table, units: Bytes, dirty: Table, lanes: Table, slots: Table,
    texts: Bytes, touched: Table,
) -> int:  # fmt: skip
    """Serve plain sends one behind the other.

    Args:
        state: The columns above and those of `broker_core.native.lanes`.
        data: What was received.
        out: Room for answers.
        log: The mapped file of the commit log.
        queues: Rows of consume queues.
        units: The newest units of queues.
        dirty: Rows of queues to be written.
        lanes: Rows of lanes.
        slots: Rows by hash.
        texts: Texts of lanes.
        touched: Room for rows of queues that got messages; emptied where the read begins, with ``state[k.TAKEN]`` 0.

    Returns:
        Why it stopped. ``state[k.AT]`` is in front of the frame that it did not take.
    """
    if state[k.TAKEN] == 0:
        untouch(state, queues, touched)
    while True:
        reason = read_send(data, state)
        if reason != s.GO_ON:
            return reason
        if not find_lanes(data, state, queues, lanes, slots, texts):
            return s.NO_LANE
        if state[s.IS_BATCH]:
            reason = store_batch(data, state, out, log, queues, units, lanes, texts, dirty, touched)
        else:
            reason = store_send(data, state, out, log, queues, units, lanes, texts, dirty, touched)
        if reason != s.GO_ON:
            return reason
        state[k.AT] = state[s.FRAME_END]
        state[k.TAKEN] += 1
