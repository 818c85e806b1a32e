"""The kernel that serves plain sends: from the bytes of a socket to the commit log, the consume queues and the answers.

It runs as it is, or as machine code. It takes one frame after the other and stops in front of the first one that is not plain,
or for which something has no room, and says why. It allocates nothing, raises nothing and decides nothing.

    binary  a b c d e f │ g: 13 digits │ h = 0 │ i: properties │ j = 0, k, m = false
    JSON    {"code":310,"extFields":{"a":… "f":…, │ "g":"13 digits" │ ,"h":"0","i":"properties │ ","j":"0", … "opaque": │ n │ …}

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1; docs/spec/broker.md §2.8; docs/spec/store.md §2.1 to §2.5, §4.1.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import (
    Bytes,
    Table,
    body_crc,
    copy,
    find3,
    hex16,
    i32,
    next_json_mark,
    next_mark,
    publish32,
    put8,
    put16,
    put32,
    put64,
    u8,
    u16,
)
from broker_core.native.lanes import (
    AT,
    BINARY_SEND,
    BINARY_SEND_END,
    END,
    JSON_SEND,
    JSON_SEND_END,
    KEY_AT,
    KEY_BYTES,
    KIND,
    L_FIELDS_AT,
    L_FIELDS_BYTES,
    L_IS_OPEN,
    L_OWN_COLUMNS,
    L_PARTS,
    L_QUEUE,
    LANE,
    LANGUAGE,
    NOW_MS,
    OUT_AT,
    OUT_END,
    OWN_COLUMNS,
    TAKEN,
    TOUCHED,
    VERSION,
    are_digits,
    digits_of,
    find_lane,
    number_at,
    put_digits,
)
from broker_core.native.queue_rows import (
    BYTES,
    IN_TOUCHED,
    LAST_STORE_MS,
    LISTED,
    MAX_OFFSET,
    MESSAGES,
    OPEN_AS,
    PUTS,
    QUEUE_ID,
    TAIL_AT,
    TAIL_ROOM,
    TAIL_START,
    WRITTEN_OFFSET,
)
from broker_core.native.queue_rows import TOUCHED as ROWS_TOUCHED
from broker_core.native.records import UNIT_BYTES

# Why it stopped.
ALL: Final = 0
"""No whole frame is left."""
NOT_PLAIN: Final = 1
NO_LANE: Final = 2
"""There is no lane for the frame, or it is closed."""
LOG_FULL: Final = 3
"""The log has no room for the record, whose bytes are in `WANTED_BYTES`."""
TAIL_FULL: Final = 4
"""The queue of the lane has no room for another unit."""
OUT_FULL: Final = 5
"""There is no room for another answer, or for another queue in the table of touched ones."""
_GO_ON: Final = -1

# Columns of the state that are its own. The log's file is mapped; places in it count from its first byte.
LOG_BASE: Final = OWN_COLUMNS
"""Physical offset of the first byte of the file."""
LOG_AT: Final = OWN_COLUMNS + 1
"""Where the next record goes."""
LOG_LIMIT: Final = OWN_COLUMNS + 2
"""Where records end at most."""
LOG_BYTES: Final = OWN_COLUMNS + 3
"""Size of the file."""
STORE_HOST: Final = OWN_COLUMNS + 4
"""Eight bytes, as records have it."""
BORN_HOST: Final = OWN_COLUMNS + 5
BODY_BYTES_MAX: Final = OWN_COLUMNS + 6
WANTED_BYTES: Final = OWN_COLUMNS + 7
# Parts of a frame.
TIME_AT: Final = OWN_COLUMNS + 8
TEXT_AT: Final = OWN_COLUMNS + 9
TEXT_BYTES: Final = OWN_COLUMNS + 10
END_AT: Final = OWN_COLUMNS + 11
"""What comes after the properties, up to the opaque in JSON."""
END_BYTES: Final = OWN_COLUMNS + 12
LAST_AT: Final = OWN_COLUMNS + 13
"""In JSON what comes after the opaque."""
LAST_BYTES: Final = OWN_COLUMNS + 14
OPAQUE_AT: Final = OWN_COLUMNS + 15
OPAQUE_BYTES: Final = OWN_COLUMNS + 16
BODY_AT: Final = OWN_COLUMNS + 17
FRAME_END: Final = OWN_COLUMNS + 18
END_LANE: Final = OWN_COLUMNS + 19
"""Row of the lane of the end, as `LANE`."""
TAGS_CODE: Final = OWN_COLUMNS + 20
UNWRITTEN_MAX: Final = OWN_COLUMNS + 21
"""Units of a queue that may wait to be written."""
IS_BEHIND: Final = OWN_COLUMNS + 22
"""1 where more wait."""
TAKEN_KIND: Final = OWN_COLUMNS + 23
"""Of the last send that was served."""

# Columns of a send's lane.
L_SYS_FLAG: Final = L_OWN_COLUMNS
L_MAGIC: Final = L_OWN_COLUMNS + 1
L_TOPIC_AT: Final = L_OWN_COLUMNS + 2
"""The topic in the form of records, with its length."""
L_TOPIC_BYTES: Final = L_OWN_COLUMNS + 3
L_OPEN_AS: Final = L_OWN_COLUMNS + 4
"""Serial number of the queue."""
L_OWN_AT: Final = L_OWN_COLUMNS + 5
"""The broker's own properties, for clients before 5.0 and, two columns later, for others."""
L_OWN_BYTES: Final = L_OWN_COLUMNS + 6
_OF_5X: Final = 2
# Columns of the lane of an end.
L_VERSION: Final = L_OWN_COLUMNS
"""Of the client, which only a JSON header says at its end."""
L_LANGUAGE: Final = L_OWN_COLUMNS + 1

# Columns of a queue that a read touched.
T_QUEUE: Final = 0
"""Its row."""
T_FIRST: Final = 1
"""Queue offset of the first new message."""
TOUCHED_COLUMNS: Final = 2
TOUCHED_MAX: Final = 1024
IN_READ: Final = 2 * IN_TOUCHED
"""In `LISTED`: the row is in the table of queues that this read touched."""

ANSWER_BYTES_MAX: Final = 2048
"""Of an answer; Python makes no lane for longer ones."""

_SEND: Final = 310
_VERSION_5X: Final = 413
_FIXED: Final = 29
_HEAD_BYTES: Final = 88
_PROPERTIES_MAX: Final = 32767
_INT32_MAX: Final = 0x7FFFFFFF
_VERSION_MAX: Final = 0x7FFF
_TIME_DIGITS: Final = 13
_OPAQUE_DIGITS_MAX: Final = 10
_ITEM_END: Final = 2
_NAME_END: Final = 1
_QUOTE: Final = 34
_BACKSLASH: Final = 92
_ZERO: Final = 48
_I: Final = ord("i")
_COLON_QUOTE: Final = int.from_bytes(b':"', "big")
_BINARY_TIME: Final = int.from_bytes(b"\0\1g", "big")
_BINARY_FLAG: Final = int.from_bytes(b"\0\1h\0", "big")
_BINARY_FLAG_0: Final = int.from_bytes(b"\0\0\x010", "big")
_JSON_OPEN: Final = int.from_bytes(b'{"co', "big")
_JSON_CODE: Final = int.from_bytes(b'de":', "big")
_JSON_SEND: Final = int.from_bytes(b"310,", "big")
_JSON_TIME: Final = int.from_bytes(b'"g"', "big")
_JSON_FLAG: Final = int.from_bytes(b'","h', "big")
_JSON_FLAG_0: Final = int.from_bytes(b'":"0', "big")
_JSON_TEXT: Final = int.from_bytes(b'","i', "big")
_ESCAPE_0: Final = int.from_bytes(b"u000", "big")
_E_QUOTE_COLON: Final = int.from_bytes(b'e":', "big")
_QUOTE_OPA: Final = int.from_bytes(b'"opa', "big")
_QU: Final = int.from_bytes(b"qu", "big")
_WAIT: Final = int.from_bytes(b"WAIT", "big")
_TRUE: Final = int.from_bytes(b"true", "big")
_TAGS: Final = int.from_bytes(b"TAGS", "big")
_KEYS: Final = int.from_bytes(b"KEYS", "big")
_UNIQ: Final = int.from_bytes(b"UNIQ", "big")
_KEY: Final = int.from_bytes(b"_KEY", "big")
_UNUSUAL: Final = tuple(int.from_bytes(four, "big") for four in (b"DELA", b"N_MS", b"R_DE", b"CLUS", b"WAIT", b"CE_O", b"G_RE"))
"""Words in names of properties that Python looks at: of DELAY, TRAN_MSG, TIMER_DELIVER, CLUSTER, WAIT, TRACE_ON, MSG_REGION."""
_KTX: Final = int.from_bytes(b"KTX", "big")


def read_binary(data: Bytes, at: int, word: int, frame_end: int, state: Table) -> bool:
    """Find the parts of a send with a binary header; False for another frame."""
    first, end, limit = at + _FIXED, at + 8 + (word & 0xFFFFFF), state[END]
    if end >= frame_end or u16(data, at + 8) != _SEND or i32(data, at + 17) or i32(data, at + 21):
        return False
    if end != first + i32(data, at + 25) or u16(data, at + 11) > _VERSION_MAX:
        return False
    mark = find3(data, first, end, limit, _BINARY_TIME)
    while mark >= 0 and mark + 7 <= end and i32(data, mark + 3) != _TIME_DIGITS:
        mark = find3(data, mark + 1, end, limit, _BINARY_TIME)
    flag_at = mark + 7 + _TIME_DIGITS
    if mark < 0 or flag_at + 15 > end or i32(data, flag_at) != _BINARY_FLAG or i32(data, flag_at + 4) != _BINARY_FLAG_0:
        return False
    count = i32(data, flag_at + 11)
    if u16(data, flag_at + 8) != 1 or u8(data, flag_at + 10) != _I or count < 0 or flag_at + 15 + count > end:
        return False
    state[KEY_AT], state[KEY_BYTES], state[TIME_AT] = first, mark - first, mark + 7
    state[TEXT_AT], state[TEXT_BYTES] = flag_at + 15, count
    state[END_AT], state[END_BYTES] = flag_at + 15 + count, end - flag_at - 15 - count
    state[LAST_AT], state[LAST_BYTES] = end, 0
    state[OPAQUE_AT], state[OPAQUE_BYTES], state[BODY_AT] = at + 13, 4, end
    return are_digits(data, mark + 7, _TIME_DIGITS)


def json_text_end(data: Bytes, at: int, end: int, limit: int) -> int:
    """Where the properties end that begin at a place of a JSON header; ``end`` where they hold what is not plain."""
    place = next_json_mark(data, at, end, limit)
    while place + 6 <= end and u8(data, place) == _BACKSLASH:
        last = u8(data, place + 5)
        if i32(data, place + 1) != _ESCAPE_0 or (last != _ZERO + _NAME_END and last != _ZERO + _ITEM_END):
            return end
        place = next_json_mark(data, place + 6, end, limit)
    return place if place < end and u8(data, place) == _QUOTE else end


def json_opaque(data: Bytes, at: int, end: int, limit: int) -> int:
    """Where the number of the first opaque behind a place begins; -1 for none."""
    mark = find3(data, at + 6, end, limit, _E_QUOTE_COLON)
    while mark >= 0 and (i32(data, mark - 6) != _QUOTE_OPA or u16(data, mark - 2) != _QU):
        mark = find3(data, mark + 3, end, limit, _E_QUOTE_COLON)
    return mark if mark < 0 else mark + 3


def read_opaque(data: Bytes, at: int, end: int, state: Table) -> bool:
    """Take an opaque in decimal digits; False for what is none of 31 bits."""
    count = 0
    while at + count < end and count <= _OPAQUE_DIGITS_MAX and are_digits(data, at + count, 1):
        count += 1
    state[OPAQUE_AT], state[OPAQUE_BYTES] = at, count
    if count == 0 or count > _OPAQUE_DIGITS_MAX or (count > 1 and u8(data, at) == _ZERO):
        return False
    return number_at(data, at, count) <= _INT32_MAX


def read_json(data: Bytes, at: int, word: int, frame_end: int, state: Table) -> bool:
    """As `read_binary`, with a JSON header."""
    first, end, limit = at + 8, at + 8 + (word & 0xFFFFFF), state[END]
    if end >= frame_end or end - first < 64 or i32(data, first) != _JSON_OPEN or i32(data, first + 4) != _JSON_CODE:
        return False
    if i32(data, first + 8) != _JSON_SEND:
        return False
    mark = find3(data, first, end, limit, _JSON_TIME)
    while mark >= 0 and mark + 5 <= end and u16(data, mark + 3) != _COLON_QUOTE:
        mark = find3(data, mark + 1, end, limit, _JSON_TIME)
    flag_at = mark + 5 + _TIME_DIGITS
    if mark < 0 or flag_at + 15 > end or i32(data, flag_at) != _JSON_FLAG or i32(data, flag_at + 4) != _JSON_FLAG_0:
        return False
    if i32(data, flag_at + 8) != _JSON_TEXT or u16(data, flag_at + 12) != _QUOTE << 8 | _COLON_QUOTE >> 8:
        return False
    if u8(data, flag_at + 14) != _QUOTE or not are_digits(data, mark + 5, _TIME_DIGITS):
        return False
    place = json_text_end(data, flag_at + 15, end, limit)
    opaque_at = json_opaque(data, place, end, limit)
    if place >= end or opaque_at < 0 or not read_opaque(data, opaque_at, end, state):
        return False
    state[KEY_AT], state[KEY_BYTES], state[TIME_AT] = first, mark - first, mark + 5
    state[TEXT_AT], state[TEXT_BYTES] = flag_at + 15, place - flag_at - 15
    state[END_AT], state[END_BYTES] = place, opaque_at - place
    state[LAST_AT] = opaque_at + state[OPAQUE_BYTES]
    state[LAST_BYTES], state[BODY_AT] = end - state[LAST_AT], end
    return True


def read_send(data: Bytes, state: Table) -> int:
    """Find the parts of the next frame; returns why not, or `_GO_ON`."""
    at = state[AT]
    if state[END] - at < 8:
        return ALL
    total, word = i32(data, at), i32(data, at + 4)
    if total < _FIXED:
        return NOT_PLAIN
    frame_end, kind = at + 4 + total, word >> 24
    if frame_end > state[END]:
        return ALL
    state[KIND], state[FRAME_END] = kind, frame_end
    if kind == BINARY_SEND:
        return _GO_ON if read_binary(data, at, word, frame_end, state) else NOT_PLAIN
    if kind == JSON_SEND:
        return _GO_ON if read_json(data, at, word, frame_end, state) else NOT_PLAIN
    return NOT_PLAIN


def find_lanes(data: Bytes, state: Table, queues: Table, lanes: Table, slots: Table, texts: Bytes) -> bool:
    """Find the lanes of start and end; False where one is missing or closed."""
    kind = state[KIND]
    end_kind = BINARY_SEND_END if kind == BINARY_SEND else JSON_SEND_END
    state[LANE] = find_lane(kind, data, state[KEY_AT], state[KEY_BYTES], state[AT], 0, state, lanes, slots, texts)
    state[END_LANE] = find_lane(
        end_kind, data, state[END_AT], state[END_BYTES], state[LAST_AT], state[LAST_BYTES], state, lanes, slots, texts
    )
    if state[LANE] < 0 or state[END_LANE] < 0:
        return False
    is_open = lanes[state[LANE] + L_IS_OPEN] != 0 and lanes[state[END_LANE] + L_IS_OPEN] != 0
    return is_open and queues[lanes[state[LANE] + L_QUEUE] + OPEN_AS] == lanes[state[LANE] + L_OPEN_AS]


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


def java_hash(log: Bytes, at: int, end: int) -> int:
    """Java's hash of a text of ASCII."""
    found = 0
    for place in range(at, end):
        found = (found * 31 + u8(log, place)) & 0xFFFFFFFF
    return found - ((found & 0x80000000) << 1)


def is_usual(log: Bytes, at: int, end: int) -> bool:
    """Whether the name of a property holds no word that Python looks at."""
    if (end - at == 4 and i32(log, at) == _KEYS) or (end - at == 8 and i32(log, at) == _UNIQ and i32(log, at + 4) == _KEY):
        return True
    for place in range(at, end):
        four = i32(log, place)
        if four >> 8 == _KTX:
            return False
        for word in _UNUSUAL:
            if four == word:
                return False
    return True


def take_away(log: Bytes, at: int, behind: int, end: int) -> int:
    """Take away bytes of the log that is not written yet; returns the new end."""
    for place in range(behind, end):
        put8(log, at + place - behind, u8(log, place))
    return end - (behind - at)


def settle_properties(log: Bytes, start: int, end: int, state: Table) -> int:
    """Check properties in the log, and take WAIT away; returns their bytes, or -1 where they hold what is not plain."""
    at, limit, has_tags = start, state[LOG_BYTES], False
    state[TAGS_CODE] = 0
    while at < end:
        middle = next_mark(log, at, end, limit)
        if middle >= end or middle == at or u8(log, middle) != _NAME_END:
            return -1
        close = next_mark(log, middle + 1, end, limit)
        if close == middle + 1 or (close < end and u8(log, close) != _ITEM_END):
            return -1
        head = i32(log, at)
        if middle - at == 4 and head == _WAIT:
            if close - middle != 5 or i32(log, middle + 1) != _TRUE:
                return -1
            end = take_away(log, at, min(close + 1, end), end)
            continue
        if middle - at == 4 and head == _TAGS:
            if has_tags:
                return -1
            has_tags = True
            state[TAGS_CODE] = java_hash(log, middle + 1, close)
        elif not is_usual(log, at, middle):
            return -1
        at = close + 1
    if end > start and u8(log, end - 1) == _ITEM_END:
        end -= 1
    return end - start


def write_properties(data: Bytes, place: int, own_at: int, own_bytes: int, state: Table, log: Bytes, texts: Bytes) -> int:
    """Write the properties of a record; returns their bytes, or -1 where they hold what is not plain."""
    count = state[TEXT_BYTES]
    if state[KIND] == BINARY_SEND:
        copy(log, place, data, state[TEXT_AT], count)
    else:
        count = unescape(data, state[TEXT_AT], count, state[END], log, place)
    count = settle_properties(log, place, place + count, state)
    if count < 0:
        return -1
    if count:
        put8(log, place + count, _ITEM_END)
        count += 1
    copy(log, place + count, texts, own_at, own_bytes)
    return count + own_bytes


def write_record(
    data: Bytes, lane: int, queue: int, size: int, properties_bytes: int, state: Table, log: Bytes, queues: Table, lanes: Table,
    texts: Bytes,
) -> None:  # fmt: skip
    """Write a record whose properties are there; its size comes last, because nothing is there before it is."""
    at, topic_bytes, body_at = state[LOG_AT], lanes[lane + L_TOPIC_BYTES], state[BODY_AT]
    body_bytes = state[FRAME_END] - body_at
    put32(log, at + 4, lanes[lane + L_MAGIC])
    put32(log, at + 8, body_crc(data, body_at, body_bytes))
    put32(log, at + 12, queues[queue + QUEUE_ID])
    put32(log, at + 16, 0)
    put64(log, at + 20, queues[queue + MAX_OFFSET])
    put64(log, at + 28, state[LOG_BASE] + at)
    put32(log, at + 36, lanes[lane + L_SYS_FLAG])
    put64(log, at + 40, number_at(data, state[TIME_AT], _TIME_DIGITS))
    put64(log, at + 48, state[BORN_HOST])
    put64(log, at + 56, state[NOW_MS])
    put64(log, at + 64, state[STORE_HOST])
    put32(log, at + 72, 0)
    put64(log, at + 76, 0)
    put32(log, at + 84, body_bytes)
    copy(log, at + _HEAD_BYTES, data, body_at, body_bytes)
    copy(log, at + _HEAD_BYTES + body_bytes, texts, lanes[lane + L_TOPIC_AT], topic_bytes)
    put16(log, at + _HEAD_BYTES + body_bytes + topic_bytes, properties_bytes)
    publish32(log, at, size)


def touch(queue: int, state: Table, queues: Table, dirty: Table, touched: Table) -> None:
    """Enter a queue into the list of those to be written and the table of those that this read touched."""
    listed = queues[queue + LISTED]
    if listed & IN_TOUCHED == 0:
        dirty[queues[ROWS_TOUCHED]] = queue
        queues[ROWS_TOUCHED] += 1
    if listed & IN_READ == 0:
        row = state[TOUCHED] * TOUCHED_COLUMNS
        touched[row + T_QUEUE], touched[row + T_FIRST] = queue, queues[queue + MAX_OFFSET]
        state[TOUCHED] += 1
    queues[queue + LISTED] = listed | IN_TOUCHED | IN_READ


def untouch(state: Table, queues: Table, touched: Table) -> None:
    """Empty the table of touched queues."""
    for number in range(state[TOUCHED]):
        queues[touched[number * TOUCHED_COLUMNS + T_QUEUE] + LISTED] &= ~IN_READ
    state[TOUCHED] = 0


def add_unit(queue: int, size: int, state: Table, queues: Table, units: Bytes) -> None:
    """Give the record to its queue, and count it."""
    place = queues[queue + TAIL_AT] + (queues[queue + MAX_OFFSET] - queues[queue + TAIL_START]) * UNIT_BYTES
    put64(units, place, state[LOG_BASE] + state[LOG_AT])
    put32(units, place + 8, size)
    put64(units, place + 12, state[TAGS_CODE])
    queues[queue + MAX_OFFSET] += 1
    queues[queue + LAST_STORE_MS] = state[NOW_MS]
    queues[queue + PUTS] += 1
    queues[queue + MESSAGES] += 1
    queues[queue + BYTES] += size
    if queues[queue + MAX_OFFSET] - queues[queue + WRITTEN_OFFSET] >= state[UNWRITTEN_MAX]:
        state[IS_BEHIND] = 1


def put_part(out: Bytes, at: int, lane: int, number: int, lanes: Table, texts: Bytes) -> int:
    """Write a part of an answer; returns where it ends."""
    count = lanes[lane + L_PARTS + 2 * number + 1]
    copy(out, at, texts, lanes[lane + L_PARTS + 2 * number], count)
    return at + count


def write_answer(
    data: Bytes, lane: int, physical_offset: int, queue_offset: int, state: Table, out: Bytes, lanes: Table, texts: Bytes
) -> None:
    """Write the answer to a stored send: head, opaque, message id, queue offset and, in JSON, the opaque later."""
    start, digits, is_binary = state[OUT_AT], digits_of(queue_offset), state[KIND] == BINARY_SEND
    at = put_part(out, start if is_binary else start + 8, lane, 0, lanes, texts)
    if is_binary:
        copy(out, at, data, state[OPAQUE_AT], 4)
        at = put_part(out, at + 4, lane, 1, lanes, texts)
    hex16(out, at, physical_offset)
    at = put_part(out, at + 16, lane, 2 if is_binary else 1, lanes, texts)
    put_digits(out, at, queue_offset, digits)
    if is_binary:
        put8(out, at - 1, digits)
        put32(out, start + lanes[lane + L_FIELDS_AT], lanes[lane + L_FIELDS_BYTES] + digits)
        at += digits
    else:
        at = put_part(out, at + digits, lane, 2, lanes, texts)
        copy(out, at, data, state[OPAQUE_AT], state[OPAQUE_BYTES])
        at += state[OPAQUE_BYTES]
    at = put_part(out, at, lane, 3, lanes, texts)
    put32(out, start, at - start - 4)
    put32(out, start + 4, (BINARY_SEND << 24 if is_binary else 0) | (at - start - 8))
    state[OUT_AT] = at


def room_for(size: int, queue: int, state: Table, queues: Table) -> int:
    """Whether all that a send of one lane needs has room, with a record of so many bytes; else why not."""
    if state[LOG_AT] + size > state[LOG_LIMIT]:
        state[WANTED_BYTES] = size
        return LOG_FULL
    if queues[queue + MAX_OFFSET] - queues[queue + TAIL_START] >= queues[queue + TAIL_ROOM]:
        return TAIL_FULL
    if state[OUT_AT] + ANSWER_BYTES_MAX > state[OUT_END] or state[TOUCHED] >= TOUCHED_MAX:
        return OUT_FULL
    return _GO_ON


def store_send(
    data: Bytes, state: Table, out: Bytes, log: Bytes, queues: Table, units: Bytes, lanes: Table, texts: Bytes, dirty: Table,
    touched: Table,
) -> int:  # fmt: skip
    """Store and answer the send whose parts and lanes are found; returns why not, or `_GO_ON`."""
    lane, end_lane = state[LANE], state[END_LANE]
    version, language = lanes[end_lane + L_VERSION], lanes[end_lane + L_LANGUAGE]
    if state[KIND] == BINARY_SEND:
        version, language = u16(data, state[AT] + 11), u8(data, state[AT] + 10)
    own = lane + (_OF_5X if version >= _VERSION_5X else 0)
    own_at, own_bytes, queue = lanes[own + L_OWN_AT], lanes[own + L_OWN_BYTES], lanes[lane + L_QUEUE]
    body_bytes = state[FRAME_END] - state[BODY_AT]
    start = _HEAD_BYTES + body_bytes + lanes[lane + L_TOPIC_BYTES] + 2
    if body_bytes > state[BODY_BYTES_MAX] or state[TEXT_BYTES] + 1 + own_bytes > _PROPERTIES_MAX:
        return NOT_PLAIN
    room = room_for(start + state[TEXT_BYTES] + 1 + own_bytes, queue, state, queues)
    if room != _GO_ON:
        return room
    # Properties come first: only they can still say that it is not plain.
    properties_bytes = write_properties(data, state[LOG_AT] + start, own_at, own_bytes, state, log, texts)
    if properties_bytes < 0:
        return NOT_PLAIN
    size, queue_offset = start + properties_bytes, queues[queue + MAX_OFFSET]
    write_record(data, lane, queue, size, properties_bytes, state, log, queues, lanes, texts)
    touch(queue, state, queues, dirty, touched)
    add_unit(queue, size, state, queues, units)
    write_answer(data, lane, state[LOG_BASE] + state[LOG_AT], queue_offset, state, out, lanes, texts)
    state[LOG_AT] += size
    state[VERSION], state[LANGUAGE], state[TAKEN_KIND] = version, language, state[KIND]
    return _GO_ON


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
        touched: Room for rows of queues that got messages; emptied where the read begins, with ``state[TAKEN]`` 0.

    Returns:
        Why it stopped. ``state[AT]`` is in front of the frame that it did not take.
    """
    if state[TAKEN] == 0:
        untouch(state, queues, touched)
    while True:
        reason = read_send(data, state)
        if reason != _GO_ON:
            return reason
        if not find_lanes(data, state, queues, lanes, slots, texts):
            return NO_LANE
        reason = store_send(data, state, out, log, queues, units, lanes, texts, dirty, touched)
        if reason != _GO_ON:
            return reason
        state[AT] = state[FRAME_END]
        state[TAKEN] += 1
