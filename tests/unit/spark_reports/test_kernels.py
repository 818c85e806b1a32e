"""The kernels of sums against a reader that takes one record after the other apart."""

import struct
import sys
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.native import sums
from broker_core.native.calls import call
from broker_core.native.heads import NO_BASE
from broker_core.native.records import END, FULL
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2
from spark_reports.datasource import chain, kernels
from spark_reports.datasource.columns import TIME_MS_MAX, TIME_MS_MIN
from spark_reports.datasource.options import Selection
from spark_reports.datasource.skipped import OTHER_TOPIC, OUTSIDE_RANGE, SkippedRows
from spark_reports.datasource.task_sums import TaskSums
from tests.support.machine_code import library

BASE = 3 * 4096
KEYS = ("minute", "topic", "queue_id", "tag")
WANTED = ("messages", "body_bytes", "store_bytes", "body_bytes_max", "store_bytes_max", "first_time", "last_time")


@pytest.fixture(params=["machine code", "compiled for the process", "python"])
def way(request, monkeypatch):
    """Each case by machine code, by code that is compiled in the process, and in Python."""
    found = {"machine code": library, "compiled for the process": in_process, "python": lambda: None}[request.param]()
    for module in (kernels, chain):
        monkeypatch.setattr(module, "library", lambda: found)
    return request.param


@cache
def in_process():
    from broker_core.native.build.compiler import InProcess  # a process that only collects tests does not load numba

    return InProcess({"follow", "add_up", "scan_heads"})


def record(place, topic=b"orders", body=b"x", properties=b"", *, magic=MAGIC_V1, flags=0, queue=0, store_ms=0):
    """Bytes of a record at a place of the file."""
    born, stored = bytes(20 if flags & 0x10 else 8), bytes(20 if flags & 0x20 else 8)
    length = struct.pack(">B" if magic == MAGIC_V1 else ">h", len(topic))
    behind = struct.pack(">iqi", 0, 0, len(body)) + body + length + topic + struct.pack(">h", len(properties)) + properties
    between = struct.pack(">iq", flags, 5) + born + struct.pack(">q", store_ms) + stored
    size = 36 + len(between) + len(behind)
    return struct.pack(">iiiiiqq", size, magic, 0, queue, 0, 7, BASE + place) + between + behind


def parsed(data, at, limit):
    """What is summed of the record at a place, and its bytes; None: there is none."""
    try:
        size, magic, _, queue, _, _, own = struct.unpack_from(">iiiiiqq", data, at)
        (flags,) = struct.unpack_from(">i", data, at + 36)
        time_at = at + 48 + (20 if flags & 0x10 else 8)
        (store_ms,) = struct.unpack_from(">q", data, time_at)
        body_at = time_at + 8 + (20 if flags & 0x20 else 8) + 16
        (body_bytes,) = struct.unpack_from(">i", data, body_at - 4)
        topic_at = body_at + body_bytes + (1 if magic == MAGIC_V1 else 2)
        (topic_bytes,) = struct.unpack_from(">B" if magic == MAGIC_V1 else ">h", data, body_at + body_bytes)
        (properties_bytes,) = struct.unpack_from(">h", data, topic_at + topic_bytes)
    except struct.error:
        return None
    end = topic_at + topic_bytes + 2 + properties_bytes
    fits = min(body_bytes, properties_bytes) >= 0 and topic_bytes > 0 and end == at + size <= limit
    if magic not in (MAGIC_V1, MAGIC_V2) or own != BASE + at or not fits:
        return None
    items = data[end - properties_bytes : end].split(b"\x02")
    tags = [item[5:] for item in items if item.startswith(b"TAGS\x01") and len(item) > 5]
    tag = tags[-1].decode(errors="replace") if tags else None
    topic = data[topic_at : topic_at + topic_bytes].decode(errors="replace")
    return (held(store_ms // 60_000 * 60_000) // 60_000, topic, queue, tag), body_bytes, size, store_ms


def held(ms):
    """A time as a column can hold it, which counts microseconds."""
    return max(TIME_MS_MIN, min(TIME_MS_MAX, ms))


def reference(data, start, stop, selection):
    """Sums by group, records left out by reason, and where the chain breaks."""
    groups, left = defaultdict(lambda: [0, 0, 0, 0, 0, None, None]), defaultdict(int)
    at = start
    while at < stop and (one := parsed(data, at, len(data))) is not None:
        key, body_bytes, size, store_ms = one
        at += size
        if not (selection.from_ms or store_ms) <= store_ms < (selection.to_ms or 1 << 63):
            left[OUTSIDE_RANGE] += 1
        elif selection.topics and key[1] not in selection.topics:
            left[OTHER_TOPIC] += 1
        else:
            sums = groups[key]
            sums[:3] = [sums[0] + 1, sums[1] + body_bytes, sums[2] + size]
            sums[3:5] = [max(sums[3], body_bytes), max(sums[4], size)]
            sums[5] = held(store_ms) if sums[5] is None else min(sums[5], held(store_ms))
            sums[6] = held(store_ms) if sums[6] is None else max(sums[6], held(store_ms))
    return dict(groups), dict(left), at


def compiled(data, start, stop, selection):
    skipped = SkippedRows()
    task = TaskSums(KEYS, WANTED, selection, skipped)
    buffer = np.frombuffer(data, dtype=np.uint8)
    end = task.add_log(buffer, BASE, start, stop, "/s")
    import pyarrow as pa

    times, number = pa.timestamp("us", tz="UTC"), pa.int64()
    types = [times, pa.string(), pa.int32(), pa.string(), *[number] * 5, times, times]
    batch = task.batch(pa.schema(list(zip((*KEYS, *WANTED), types, strict=True))))
    groups = {}
    if batch is not None:
        columns = [column.cast(number).to_pylist() if column.type == times else column.to_pylist() for column in batch.columns]
        for minute, topic, queue, tag, *rest in zip(*columns, strict=True):
            groups[minute // 60_000_000, topic, queue, tag] = [*rest[:5], rest[5] // 1000, rest[6] // 1000]
    return groups, dict(skipped.rows), end


records = st.fixed_dictionaries(
    {
        "topic": st.sampled_from([b"orders", b"t", b"a-topic-with-a-long-name-0123456789", b"\xff\xfe", b"t" * 127]),
        "body": st.binary(max_size=40),
        "properties": st.sampled_from(
            [
                b"",
                b"TAGS\x01a",
                b"KEYS\x01k\x02TAGS\x01b\x02",
                b"TAGS\x01a\x02TAGS\x01",
                b"TAGS\x01a\x02X\x01y\x02TAGS\x01other-tag-with-many-bytes",
                b"TAG\x01a\x02XTAGS\x01b",
                b"\x02\x02TAGS\x01\x01\x02",
                b"TAGS",
            ]
        ),
        "magic": st.sampled_from([MAGIC_V1, MAGIC_V2]),
        "flags": st.sampled_from([0, 0x10, 0x20, 0x30, 8]),
        "queue": st.sampled_from([0, 3, -1, 1 << 30]),
        "store_ms": st.integers(-200_000, 200_000),
    }
)
damages = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\xff" * 8, bytes(60)])), max_size=3
)
selections = st.sampled_from([Selection(), Selection(-60_000, 90_000), Selection(topics=("orders", "t")), Selection(to_ms=1)])


def log_of(fields):
    data = b""
    for one in fields:
        data += record(len(data), **one)
    return data


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=30), damages, selections, st.integers(0, 200))
def test_sums_are_those_of_records_read_one_by_one_whatever_is_broken(way, fields, damage, selection, cut_bytes):
    data = bytearray(log_of(fields))
    for share, what in damage:
        at = int(share * max(0, len(data) - 1))
        data[at : at + len(what)] = what[: len(data) - at]
    file = bytes(data[: max(0, len(data) - cut_bytes)])
    assert compiled(file, 0, len(file), selection) == reference(file, 0, len(file), selection)


def test_each_byte_of_a_record_may_be_anything():
    whole = log_of([{"properties": b"TAGS\x01a"}, {"flags": 0x30, "magic": MAGIC_V2}, {}])
    for place in range(len(whole)):
        for value in (0, 0x7F, 0x80, 0xFF):
            file = whole[:place] + bytes((value,)) + whole[place + 1 :]
            assert compiled(file, 0, len(file), Selection()) == reference(file, 0, len(file), Selection())


def test_a_file_may_end_at_any_byte(way):
    whole = log_of([{"properties": b"TAGS\x01a"}, {"flags": 0x30, "magic": MAGIC_V2, "properties": b"TAGS\x01abcdefghijk"}])
    for end in range(len(whole)):
        file = whole[:end]
        assert compiled(file, 0, end, Selection()) == reference(file, 0, end, Selection())


def followed(data, start, limit, split_bytes):
    at, last, borders = start, -1, []
    next_border = start + split_bytes
    while at + 36 <= limit:
        size, magic = struct.unpack_from(">ii", data, at)
        (own,) = struct.unpack_from(">q", data, at + 28)
        if magic not in (MAGIC_V1, MAGIC_V2) or own != BASE + at or size < 91 or at + size > limit:
            break
        if at >= next_border:
            borders.append(at)
            next_border = at + split_bytes
        last, at = at, at + size
    return borders, at, last


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.lists(records, max_size=20), damage=damages, split_bytes=st.integers(1, 3000), beyond=st.integers(-40, 40),
    piece_bytes=st.sampled_from([1, 100, 700, 1 << 20]),
)  # fmt: skip
def test_the_chain_is_that_of_records_followed_one_by_one(way, *, fields, damage, split_bytes, beyond, piece_bytes):
    data = bytearray(log_of(fields))
    for share, what in damage:
        at = int(share * max(0, len(data) - 1))
        data[at : at + len(what)] = what[: len(data) - at]
    limit = max(0, len(data) + beyond)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chain, "_PIECE_BYTES", piece_bytes)
        found = chain.follow_to_last(bytes(data) or b"\0", BASE, 0, limit, split_bytes)
    borders, end, last = followed(bytes(data), 0, min(limit, len(data)), split_bytes)
    assert found == ([0, *borders], end, last)


class Sums:
    """The buffers of a kernel that sums by queue."""

    def __init__(self, *, base: int, stop: int, groups: int) -> None:
        self.columns = sums.TEXTS + 2 * sums.PROPERTY_TEXT
        self.state, self.slots = np.zeros(sums.STATE_COLUMNS, dtype=np.int64), np.zeros(8, dtype=np.int64)
        self.groups = np.zeros((groups, self.columns), dtype=np.int64)
        given = (
            (sums.BASE, base), (sums.STOP, stop), (sums.FIRST_MS, -1), (sums.LAST_MS, 1), (sums.PARTS, sums.BY_QUEUE),
            (sums.SLOT_MASK, 7), (sums.GROUPS_MAX, groups), (sums.POOL_MAX, 8),
        )  # fmt: skip
        for column, value in given:
            self.state[column] = value

    def added(self, data: bytes, places=None) -> int:
        self.state[sums.LIMIT], self.state[sums.BY_PLACES] = len(data), places is not None
        scratch = np.zeros(sums.KEYS + 2 * sums.PROPERTY_TEXT, dtype=np.int64)
        tables = (self.slots, self.groups.reshape(-1), bytearray(8), scratch)
        where = self.slots if places is None else places
        return call(kernels.library(), sums.add_up, data, self.state, where, b"\0", self.slots[:0].copy(), *tables)


@pytest.mark.parametrize("queue", [0, 1])
def test_records_that_lie_anywhere_are_added_by_their_places(way, queue):
    first = record(0, queue=0)
    data = first + b"between" + record(len(first) + 7, queue=1)
    places = np.array([0, len(first) + 7], dtype=np.int64)[queue : queue + 1]
    made = Sums(base=NO_BASE, stop=1, groups=4)
    assert made.added(data, places) == END
    assert (made.state[sums.AT], made.state[sums.GROUPS], made.groups[0, sums.QUEUE]) == (1, 1, queue)


def test_where_there_is_no_room_for_a_group_its_record_waits(way):
    data = log_of([{"queue": queue} for queue in (0, 1, 0, 2)])
    made = Sums(base=BASE, stop=len(data), groups=2)
    assert made.added(data) == FULL
    assert (made.state[sums.AT], made.groups[:, sums.MESSAGES].tolist()) == (len(data) // 4 * 3, [2, 1])


def test_kernels_keep_none_of_the_buffers_they_are_given(way):
    data = log_of([{}])
    made = Sums(base=BASE, stop=len(data), groups=2)
    held = sys.getrefcount(data), sys.getrefcount(made.state)
    for _ in range(50):
        made.added(data)
    assert (sys.getrefcount(data), sys.getrefcount(made.state)) == held
