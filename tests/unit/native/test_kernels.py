"""All kernels that walk a log, on sound, torn and hostile logs: compiled, in Python, and with every access checked."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.index_build import IndexBuilder
from broker_core.engine.store.index_file import HEADER_BYTES, Geometry, IndexFile, IndexHeader
from broker_core.engine.store.index_keys import KeyBatch
from broker_core.engine.store.record_heads import Groups, HeadScan, RecordHeads
from broker_core.errors import BugError
from broker_core.native import checks, items, records, sums
from broker_core.native import heads as heads_kernels
from broker_core.native.calls import call
from broker_core.native.key_scan import KeyScan
from broker_core.native.library import ENTRIES, Library
from broker_core.native.unit_scan import UnitScan
from tests.support.checked_kernels import check_every_access, kernel_modules
from tests.support.machine_code import guarded, library
from tests.support.store_bench import FaultyDisk
from tests.unit.native.test_unit_scan import ODD_PROPERTIES, PLAIN_PROPERTIES, log_of

NEEDLES = (b"\x01", b"AG", b"TAG", b"KEYS\x01k", b"not there", b"\xff" * 70)
STRANGE_UNITS = [(0, 0x7FFFFFFF, 0), (0, 0, 0), (5, -1, 0), (2_000, 90, 1), (2_000, 90, 1), (100, 90, 1), (9_000, 90, 1)]
NAMES = b"TAGS\x01KEYS\x01"
GROUPS, POOL = 16, 256


def summed(of: Library | None, data: Any) -> tuple[Any, ...]:
    """What the kernels of reports make of a log."""
    columns = sums.TEXTS + 2 * (sums.PROPERTY_TEXT + 2)
    state, groups = array("q", bytes(8 * sums.STATE_COLUMNS)), array("q", bytes(8 * columns * GROUPS))
    slots, pool, scratch = array("q", bytes(16 * GROUPS)), bytearray(POOL), array("q", bytes(8 * columns))
    every = sums.BY_MINUTE | sums.BY_QUEUE | sums.BY_COMMITTED | sums.BY_TOPIC | sums.BY_HOST
    given = (
        (sums.LIMIT, len(data)), (sums.STOP, len(data)), (sums.FIRST_MS, 1_001), (sums.LAST_MS, 1_020), (sums.PARTS, every),
        (sums.PROPERTIES, 2), (sums.SLOT_MASK, 2 * GROUPS - 1), (sums.GROUPS_MAX, GROUPS), (sums.POOL_MAX, POOL),
    )  # fmt: skip
    for column, value in given:
        state[column] = value
    sought = array("q", [0, 5, 1, 5, 10, 0])
    reason = call(of, sums.add_up, data, state, slots, NAMES, sought, slots, groups, pool, scratch)
    after = state[sums.AT], state[sums.GROUPS], state[sums.OUTSIDE_ROWS], state[sums.OUTSIDE_BYTES]
    borders = array("q", bytes(8 * (len(data) // 700 + 2)))
    state[sums.AT], state[sums.NEXT_BORDER], state[sums.SPLIT_BYTES], state[sums.LAST_AT] = 0, 700, 700, -1
    count = call(of, sums.follow, data, state, borders)
    return reason, after, groups.tobytes(), bytes(pool), borders[:count].tolist(), state[sums.AT], state[sums.LAST_AT]


def units_of(of: Library | None, heads: RecordHeads, codes: memoryview, groups: Groups) -> list[Any]:
    """What the kernels that make and read consume queue units do with some records."""
    count, queues = len(heads), len(groups.firsts)
    rows, runs, ends = (array("q", bytes(8 * size)) for size in (count, count + 1, queues + 1))
    units, columns = bytearray(20 * count), (heads.sys_flag, heads.queue_offset, heads.physical_offset, heads.size)
    made = call(of, checks.make_units, count, groups.of_row, *columns, codes, queues, ends, rows, units, runs)
    units += b"".join(UNIT.pack(*unit) for unit in STRANGE_UNITS)
    total = len(units) // 20
    state, places = array("q", bytes(8 * checks.STATE_COLUMNS)), array("q", bytes(8 * total))
    state[checks.UNITS], state[checks.LOG_START], state[checks.LOG_END], found = total, 300, 3_000, []
    while reason := call(of, checks.check_units, state, units):
        found.append((reason, state[checks.AT]))
    found += state[checks.IN_LOG :]
    state[checks.REACHED] = -1
    named = call(of, checks.unit_places, state, units, places)
    other, both = array("q", [-1, 0, 300, 301]), array("q", bytes(8 * (named + 4)))
    merged = call(of, heads_kernels.merge, places, named, other, len(other), both)
    return [made, rows, runs, units, found, places, state[checks.BEYOND], both[:merged]]


def everything(of: Library | None, view: memoryview) -> list[Any]:
    """What all kernels make of a log; odd and damaged records included."""
    scan = HeadScan(of)
    found: list[Any] = []
    for base in (0, None):
        heads = scan.chain(view, base, 0, len(view))
        found += [*map(list, heads.columns), heads.end]
    codes, faults = scan.codes(view, heads), scan.faults(view, heads)
    found += [list(codes[0]), codes[1], list(faults[0]), faults[1]]
    places = array("q", [*heads.position, *range(0, len(view), 97)])
    found += map(list, scan.at(view, 0, memoryview(places)).columns)
    groups = scan.groups(view, heads.topic_position, heads.topic_bytes, heads.queue_id)
    found += [list(groups.firsts), list(groups.of_row)]
    for number, needle in enumerate(NEEDLES):
        rows = bytearray((row + number) % 5 > 0 for row in range(len(heads)))
        scan.narrow(view, heads.properties_position, heads.properties_bytes, needle, rows)
        found.append(rows)
    found += [scan.between(heads.store_ms, borders) for borders in ((), (1_003,), (-(1 << 63), 1_002, 1_004, 1_009, 1_009))]
    found += [scan.with_bits(heads.sys_flag, 8), call(of, heads_kernels.touch_pages, view, 0, len(view), 64)]
    found += units_of(of, heads, codes[0], groups)
    keys = KeyScan(of).keys(view, 0, 0)
    found += [keys.table.tolist(), keys.end, keys.is_odd]
    units = UnitScan(of).window(
        view, 0, 0, len(view), first_taken=0, check_crc=True, codes_of=lambda places: [place % 1_000 for place in places]
    )
    found.append(units and (units.end, units.last_store_ms, sorted(units.queues)))
    found += summed(of, view)
    return found


def damaged(seed: int, place: float, cut: float, how: int) -> bytes:
    data = bytearray(log_of(seed, 25, properties=(*PLAIN_PROPERTIES, *ODD_PROPERTIES), body_max=400))
    randomness, at = random.Random(seed), min(int(place * len(data)), len(data) - 8)
    if how == 0:
        data[at : at + 4] = randomness.choice((b"\0\0\0\0", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0"))
    elif how == 1:
        data[at : at + 600] = bytes(len(data[at : at + 600]))
    elif how == 2:
        data[at] ^= 1 << randomness.randrange(8)
    return bytes(data[: max(int(cut * len(data)), 1)])


logs = st.builds(damaged, st.integers(0, 1 << 20), st.floats(0, 1), st.floats(0.5, 1), st.integers(0, 3))


@settings(max_examples=50, deadline=None)
@given(logs)
def test_machine_code_does_what_python_does_and_reads_nothing_behind_the_end(data):
    with guarded(data) as view:
        assert everything(library(), view) == everything(None, view)


@settings(max_examples=25, deadline=None)
@given(logs)
def test_no_kernel_reads_or_writes_beside_its_buffers(data):
    with pytest.MonkeyPatch.context() as patch:
        check_every_access(patch)
        everything(None, memoryview(data))


def test_a_kernel_that_reads_beside_its_buffer_is_noticed(monkeypatch):
    whole = log_of(1, 1)
    check_every_access(monkeypatch)
    with pytest.raises(AssertionError):
        records.record_at(memoryview(whole[:50]), 0, 0, len(whole))


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(-3_000, 9_000)), min_size=1, max_size=30),
    writes=st.lists(st.tuples(st.integers(0, 800), st.binary(min_size=1, max_size=4)), max_size=4),
)
def test_index_files_of_any_content_are_treated_alike_and_within_their_bounds(tmp_path_factory, rows, writes):
    batch = KeyBatch(array("q", [value for n, (key, step) in enumerate(rows) for value in (key, n * 100, 1_700_000 + step)]), 0)
    contents, faults, are_items = [], [], []
    for way in ("machine code", "python", "checked"):
        with pytest.MonkeyPatch.context() as patch:
            if way == "checked":
                check_every_access(patch)
            of = library() if way == "machine code" else None
            path = tmp_path_factory.mktemp("items") / "1"
            file = IndexFile.create(path, Geometry(7, 40), IndexHeader(), FaultyDisk(), read_only=False)
            IndexBuilder(of).add_keys(file, batch, 0)
            assert is_batch(of, file, batch) == (file.header.next_item == len(rows) + 1)
            for at, written in writes:  # what a disk may have made of it
                start = HEADER_BYTES + min(at, len(file.buffer) - HEADER_BYTES - len(written))
                file.buffer[start : start + len(written)] = written
            faults.append(faulty_items(of, file))
            are_items.append(is_batch(of, file, batch))
            IndexBuilder(of).add_keys(file, KeyBatch(batch.table[:9], 0), 0)
            IndexBuilder(of).restore(file, file.header)
            contents.append(bytes(file.buffer))
    assert contents[0] == contents[1] == contents[2]
    assert faults[0] == faults[1] == faults[2]
    assert are_items[0] == are_items[1] == are_items[2]


def faulty_items(of: Library | None, file: IndexFile) -> list[int]:
    state, newest, found = array("q", bytes(8 * items.STATE_COLUMNS)), array("q", bytes(8 * file.geometry.slots)), []
    state[items.SLOTS], state[items.KEY], state[items.NEXT] = file.geometry.slots, 1, file.header.next_item
    while number := call(of, items.check_items, state, file.buffer, newest):
        found.append(number)
    while behind := call(of, items.check_slots, state, file.buffer, newest):
        found.append(-behind)
    return [*found, state[items.USED_SLOTS]]


def is_batch(of: Library | None, file: IndexFile, batch: KeyBatch) -> bool:
    """Whether the file's items are those of keys."""
    state, count = array("q", bytes(8 * items.STATE_COLUMNS)), min(len(batch), file.geometry.items - 1)
    state[items.SLOTS], state[items.NEXT], state[items.KEYS] = file.geometry.slots, 1, count
    state[items.BEGIN_MS] = file.header.begin_ms
    return bool(call(of, items.has_items, batch.table, state, file.buffer))


def test_every_entry_is_a_kernel():
    kernels = {name for module in kernel_modules() for name in vars(module)}
    assert ENTRIES.keys() <= kernels


def test_items_of_another_size_are_no_table():
    with pytest.raises(BugError, match="items of 8 bytes, not of 4"):
        call(library(), items.fill_slots, array("i", bytes(4 * items.STATE_COLUMNS)), bytearray(100))
