"""Private memory and reserved address space: each way gives zeros that can be used and cleared."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys

import pytest

from broker_core.native.addresses import address
from broker_core.native.reserved import Reserved
from broker_core.platform import memory

PAGE = mmap.PAGESIZE
KEPT = """
import re, threading
from broker_core.platform import memory

def anonymous_kib():
    with open("/proc/self/smaps_rollup") as text:
        return int(re.search(r"^Anonymous: +([0-9]+)", text.read(), re.M)[1])
"""
HEAP = f"""{KEPT}
def work():
    pieces = bytearray(8 << 20)
    del pieces  # the C library takes pieces of this size from its heap from now on
    before = anonymous_kib()
    piece, above = bytearray(8 << 20), bytes(100_000)
    del piece
    print(anonymous_kib() - before)

memory.bound_heap()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
"""KiB that a process has more after a thread has freed 8 MiB."""
HOLES = f"""{KEPT}
before = anonymous_kib()
pieces = [bytes(40_000) for _ in range(1_000)]
del pieces[::2]
memory.trim_heap()
print(anonymous_kib() - before - 20_000)
"""
"""KiB that a process has more after it has freed 20 MB between 20 MB that it keeps."""

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


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
@pytest.mark.parametrize("program", [HEAP, HOLES], ids=["a large piece of a thread", "holes"])
def test_little_of_what_is_freed_stays_with_the_process(program):
    command = [sys.executable, "-c", program]
    kept = {
        way: int(
            subprocess.run(
                command, env={**os.environ, "ORBIT_PLATFORM": way}, capture_output=True, check=True, timeout=60
            ).stdout
        )
        for way in ("own", "plain")
    }
    assert kept["own"] <= 3_000
    assert kept["plain"] >= 7_000
