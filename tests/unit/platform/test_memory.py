"""Private memory and reserved address space: each way gives zeros that can be used and cleared."""

from __future__ import annotations

import mmap

import pytest

from broker_core.native.addresses import address
from broker_core.native.reserved import Reserved
from broker_core.platform import memory

PAGE = mmap.PAGESIZE

pytestmark = pytest.mark.usefixtures("both_platforms")


def test_memory_is_zero_and_can_be_written():
    made = memory.anonymous(3 * PAGE)
    assert made[:] == bytes(3 * PAGE)
    made[5:8] = b"abc"
    assert made[5:8] == b"abc"


def test_what_is_reserved_is_usable_up_to_what_was_asked_for():
    reserved = Reserved(1 << 24, 1 << 24)
    reserved.use(100_000)
    reserved.view[99_999] = 7
    assert reserved.view[99_999] == 7
    assert reserved.address == address(reserved.view)
    with pytest.raises(MemoryError, match="reserved"):
        reserved.use(reserved.size + 1)


def test_pages_that_are_given_back_are_zero():
    reserved = Reserved(1 << 20, 1 << 20)
    reserved.use(1 << 20)
    reserved.view[: 4 * PAGE] = b"x" * (4 * PAGE)
    reserved.give_back(PAGE, 3 * PAGE)
    assert bytes(reserved.view[: 4 * PAGE]) == b"x" * PAGE + bytes(2 * PAGE) + b"x" * PAGE


def test_the_half_is_reserved_where_the_system_gives_no_more(monkeypatch):
    asked = []

    def scarce(*arguments, **named):
        asked.append(arguments[1])
        if arguments[1] > 1 << 20:
            raise OSError(12, "cannot allocate memory")
        return real(*arguments, **named)

    real = mmap.mmap
    monkeypatch.setattr(mmap, "mmap", scarce)
    assert len(memory.reserve(1 << 22, 1 << 20)) == 1 << 20
    with pytest.raises(OSError, match="cannot allocate"):
        memory.reserve(1 << 22, 1 << 21)
    assert asked == [1 << 22, 1 << 21, 1 << 20, 1 << 22, 1 << 21]


def test_the_plain_way_reserves_less_because_it_counts_as_used():
    assert len(memory.plain_reserve(1 << 34, 1 << 20)) == memory.PLAIN_RESERVED_BYTES
    assert len(memory.plain_reserve(1 << 29, 1 << 29)) == 1 << 29
