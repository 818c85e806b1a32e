from __future__ import annotations

import os
import random

import pytest

from broker_core.native import access, send_frames, send_properties, sends
from broker_core.native import lanes as k
from broker_core.native import queue_rows as q
from broker_core.native import send_columns as s
from tests.support.machine_code import before_forbidden, library
from tests.support.send_reads import LOG_BYTES, OUT_BYTES, SendMemory, frame, read

READS = int(os.environ.get("ORBIT_FUZZED_READS", "150"))
"""Of each seed; 15,000 make a million frames of all seeds."""


def serve_alike(memories: list[SendMemory], data: bytes, now_ms: int, reasons: set[int]) -> int:
    """Serve a read with each memory and compare them at each stop; returns the sends taken."""
    taken = 0
    for memory in memories:
        memory.begin(now_ms)
    while True:
        found = [memory.run(data) for memory in memories]
        reasons.add(found[0])
        assert found == found[:1] * len(memories)
        states = [bytes(memory.state) for memory in memories]
        assert states == states[:1] * len(memories)
        outs = [bytes(memory.out[: memory.state[k.OUT_AT]]) for memory in memories]
        assert outs == outs[:1] * len(memories)
        before = memories[0].state[k.TAKEN]
        goes_on = [memory.go_on(found[0], data) for memory in memories]
        if not goes_on[0]:
            return taken + before
        taken += before - memories[0].state[k.TAKEN]


@pytest.mark.parametrize("seed", range(4))
def test_machine_code_does_what_the_kernel_says(seed):
    randomness, reasons, taken = random.Random(seed), set(), 0
    memories = [SendMemory(None), SendMemory(library())]
    for number in range(READS):
        taken += serve_alike(memories, read(randomness), 1_795_894_441_348 + number, reasons)
        if number % 25 == 0 or number == READS - 1:
            assert memories[0].memory() == memories[1].memory()
    assert taken > 3 * READS
    messages = sum(memories[1].queues[row + q.MESSAGES] for row in memories[1].names.values())
    assert messages > 1.2 * taken, "batches are among them"
    assert reasons >= {s.ALL, s.NOT_PLAIN, s.NO_LANE, s.TAIL_FULL}


def test_no_byte_behind_what_was_read_or_has_room_is_touched():
    """Received bytes, log and answers end where memory does: one byte more would end the process."""
    randomness, reasons = random.Random(7), set()
    memory = SendMemory(library(), before_forbidden(LOG_BYTES))
    memory.out = before_forbidden(OUT_BYTES)
    for number in range(4 * READS):
        data = read(randomness) if number % 2 else frame(randomness)[: randomness.randrange(400)]
        view = before_forbidden(len(data))
        view[:] = data
        if number % 10 == 0:
            memory.state[s.LOG_BASE] += memory.state[s.LOG_AT]
            memory.state[s.LOG_AT] = LOG_BYTES - randomness.randrange(600)
        memory.begin(number)
        while memory.go_on(reason := memory.run(view), data):
            reasons.add(reason)
    assert reasons >= {s.NOT_PLAIN, s.NO_LANE, s.LOG_FULL, s.TAIL_FULL}


def checked(name):
    """A function of `access` that asserts each place."""
    function, size_of = getattr(access, name), {"u8": 1, "put8": 1, "u16": 2, "put16": 2, "i32": 4, "put32": 4, "publish32": 4}

    def inside(data, at, count):
        assert count >= 0
        assert 0 <= at <= at + count <= len(data)

    def called(*given):
        if name in {"copy", "same"}:
            inside(given[0], given[1], given[4])
            inside(given[2], given[3], given[4])
        elif name == "mix":
            inside(given[1], given[2], given[3])
        elif name == "body_crc":
            inside(*given)
        elif name in {"find3", "next_mark", "next_json_mark"}:
            data, _, end, limit = given[:4]
            assert given[1] >= 0
            assert end <= limit <= len(data)
        else:
            inside(given[0], given[1], size_of.get(name, 16 if name == "hex16" else 8))
        return function(*given)

    return called


def test_each_place_that_the_kernel_reads_and_writes_is_within_its_bytes(monkeypatch):
    for module in (send_frames, send_properties, sends, k):
        for name in vars(access).keys() & vars(module).keys():
            if callable(getattr(module, name)) and name.islower():
                monkeypatch.setattr(module, name, checked(name))
    randomness, taken = random.Random(11), 0
    memory = SendMemory(None)
    for number in range(2 * READS):
        data = read(randomness)
        memory.begin(number)
        if number % 10 == 0:
            memory.state[s.LOG_BASE] += memory.state[s.LOG_AT]
            memory.state[s.LOG_AT] = LOG_BYTES - randomness.randrange(600)
        while memory.go_on(memory.run(data), data):
            pass
        taken += memory.state[k.TAKEN]
    assert taken > READS
