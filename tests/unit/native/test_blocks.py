from __future__ import annotations

import math
import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.native.blocks import SMALLEST_BYTES, SMALLEST_UNITS, Blocks, level_of
from broker_core.native.reserved import Reserved
from broker_core.platform import memory


@pytest.mark.parametrize(("units", "level"), [(0, 0), (1, 0), (32, 0), (33, 1), (64, 1), (65, 2), (2048, 6), (2049, 7)])
def test_a_block_is_the_smallest_that_has_room(units, level):
    assert level_of(units) == level
    assert SMALLEST_UNITS << level >= units


@given(steps=st.lists(st.integers(0, 9) | st.none(), max_size=120), data=st.data())
def test_blocks_do_not_overlap_keep_what_is_written_and_become_one_again(steps, data):
    blocks = Blocks()
    whole = blocks.free_blocks()
    held: dict[int, tuple[int, int]] = {}
    for number, level in enumerate(steps):
        if level is not None:
            place = blocks.take(level)
            mark = number % 251 + 1
            blocks.memory.view[place : place + (SMALLEST_BYTES << level)] = bytes([mark]) * (SMALLEST_BYTES << level)
            held[place] = (level, mark)
        elif held:
            place = data.draw(st.sampled_from(sorted(held)))
            blocks.give_back(place, held.pop(place)[0])
        at = 0
        for place, level_there in sorted(
            {**blocks.free_blocks(), **{place: level for place, (level, _) in held.items()}}.items()
        ):
            assert place == at
            at += SMALLEST_BYTES << level_there
        assert at == blocks.memory.size
    for place, (level, mark) in held.items():
        assert blocks.memory.view[place : place + (SMALLEST_BYTES << level)] == bytes([mark]) * (SMALLEST_BYTES << level)
        blocks.give_back(place, level)
    assert blocks.free_blocks() == whole


def test_the_system_gets_the_pages_of_free_blocks_and_no_others():
    blocks = Blocks()
    small = [blocks.take(0) for _ in range(64)]
    large = blocks.take(10)
    for place, size in [*((place, SMALLEST_BYTES) for place in small), (large, SMALLEST_BYTES << 10)]:
        blocks.memory.view[place : place + size] = b"x" * size
    blocks.give_back(large, 10)
    for place in small[:-1]:
        blocks.give_back(place, 0)
    page_bytes = math.lcm(SMALLEST_BYTES, mmap.PAGESIZE)  # pages that the system got are zeros
    found = bytes(blocks.memory.view[: large + (SMALLEST_BYTES << 10)])
    first = small[-1] - small[-1] % page_bytes
    assert found.strip(b"\0") == b"x" * (small[-1] - first + SMALLEST_BYTES)
    assert found.index(b"x") == first


def test_what_is_larger_than_the_bound_is_refused():
    blocks = Blocks()
    before = blocks.free_blocks()
    with pytest.raises(MemoryError, match="is free"):
        blocks.take(40)
    assert blocks.free_blocks() == before


def test_half_is_reserved_where_the_system_refuses_more():
    found = Reserved(1 << 60, 1 << 20)
    assert 1 << 20 <= found.size < 1 << 48
    with pytest.raises(OSError, match="memory"):
        Reserved(1 << 60, 1 << 59)


def test_memory_is_asked_for_once_and_its_lack_is_told(monkeypatch):
    found = Reserved(1 << 30, 1 << 30)
    found.use(1)
    found.view[0] = 7
    monkeypatch.setattr(memory, "give_use", lambda *_: False)
    found.use(4096)
    with pytest.raises(MemoryError, match="the system gives"):
        found.use(1 << 24)
    with pytest.raises(MemoryError, match="reserved"):
        found.use((1 << 30) + 1)
    assert found.view[0] == 7


def test_memory_stays_as_long_as_a_view_of_it():
    found = Reserved(1 << 20, 1 << 20)
    found.use(4096)
    view = found.view[:8]
    view[:] = b"01234567"
    del found
    assert bytes(view) == b"01234567"
