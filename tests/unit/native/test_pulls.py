from __future__ import annotations

import os
import random

import pytest

from broker_core.native import access, lanes, pull_frames, pulls
from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import decode_frame
from tests.support.machine_code import before_forbidden, library
from tests.support.pull_worlds import BASE, NOW_MS, UNITS_IN_FILE, World, fields_of, pull_frame
from tests.unit.native.test_sends import checked

READS = int(os.environ.get("ORBIT_FUZZED_READS", "150"))
JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ
both = pytest.mark.parametrize("kind", [BINARY, JSON], ids=["binary", "json"])


@pytest.fixture(params=["machine code", "python"])
def world(request) -> World:
    return World(1, library() if request.param == "machine code" else None)


def see_everything(world: World) -> None:
    first, last = BASE // p.PIECE_BYTES, (BASE + len(world.log)) // p.PIECE_BYTES
    for piece in range(first, last + 1):
        world.seen[piece % p.SEEN_PIECES * 2], world.seen[piece % p.SEEN_PIECES * 2 + 1] = piece, NOW_MS + 1


def expected_body(world: World, queue: int, offset: int, count: int, codes: frozenset[int] = frozenset()) -> tuple[bytes, int]:
    """Records by the rule, and the next offset."""
    body, found, total = b"", 0, 0
    units = world.units(world.queues[queue])
    end = min(len(units), (offset // UNITS_IN_FILE + 1) * UNITS_IN_FILE)
    at = offset
    while at < end and not (found and (found >= count or total + units[at][1] > world.state[p.BYTES_MAX])):
        physical, size, code = units[at]
        at += 1
        if codes and code not in codes:
            continue
        body += world.log[physical - BASE : physical - BASE + size]
        found, total = found + 1, total + size
    return body, at


@both
@pytest.mark.parametrize("codes", [frozenset(), frozenset({5}), frozenset({-7, 11})], ids=["all", "one tag", "two"])
def test_answers_hold_the_messages_of_their_pulls(world, kind, codes):
    see_everything(world)
    lane = world.add_lane(kind, 1, 32, codes, broker_id=3)
    end = world.rows.table[world.queues[1] + q.MAX_OFFSET]
    asked = [(offset, offset // 2, offset * 10_007) for offset in (0, 1, 9, 10, 99, end - 40)]
    frames = [pull_frame(kind, fields_of(1, offset, commit, 32), opaque) for offset, commit, opaque in asked]
    assert world.receive(b"".join(frames) + frames[0][:50]) == p.ALL
    assert world.state[k.AT] == sum(map(len, frames)), "a frame that is cut waits"
    answers, position, total = world.answers(), 0, 0
    for offset, _, opaque in asked:
        size = int.from_bytes(answers[position : position + 4], "big")
        answer = decode_frame(answers, position, size)
        body, following = expected_body(world, 1, offset, 32, codes)
        assert (answer.code, answer.remark, answer.opaque, answer.flag, answer.serialize_type) == (0, "FOUND", opaque, 1, kind)
        assert answer.ext_fields == {
            "suggestWhichBrokerId": "3", "nextBeginOffset": str(following), "minOffset": "0", "maxOffset": str(end),
        }  # fmt: skip
        assert answer.body == body
        position, total = position + 4 + size, total + len(body)
    assert position == len(answers)
    assert world.table.touched() == [lane]
    served = world.table.lanes.lanes
    assert (served[lane + p.P_PULLS], served[lane + p.P_BYTES]) == (len(asked), total)
    assert served[lane + p.P_COMMITTED] == asked[-1][1]


@both
def test_numbers_are_read_and_written_with_any_digits(world, kind):
    see_everything(world)
    lane = world.add_lane(kind, 0, 1)
    end = world.rows.table[world.queues[0] + q.MAX_OFFSET]
    for offset in range(end):
        assert world.receive(pull_frame(kind, fields_of(0, offset, end - offset, 1), (1 << 31) - 1 - offset)) == p.ALL
        assert world.table.lanes.lanes[lane + p.P_COMMITTED] == end - offset
        answer = decode_frame(world.answers(), 0, len(world.answers()) - 4)
        assert answer.ext_fields["nextBeginOffset"] == str(offset + 1)
        assert answer.opaque == (1 << 31) - 1 - offset


@both
def test_an_offset_behind_the_end_of_its_queue_is_left_to_python(world, kind):
    see_everything(world)
    lane = world.add_lane(kind, 0, 8)
    end = world.rows.table[world.queues[0] + q.MAX_OFFSET]
    frames = [pull_frame(kind, fields_of(0, 2, commit, 8), 1) for commit in (7, end, end + 1)]
    assert world.receive(b"".join(frames)) == p.NOT_PLAIN
    assert world.state[k.AT] == len(frames[0] + frames[1])
    assert world.table.lanes.lanes[lane + p.P_COMMITTED] == end
    assert world.receive(pull_frame(kind, fields_of(0, 2, 10**18 - 1, 8), 1)) == p.NOT_PLAIN


def one_pull(world: World, offset: int = 0, count: int = 8) -> int:
    return world.receive(pull_frame(BINARY, fields_of(0, offset, 0, count), 1))


def test_it_stops_in_front_of_what_it_cannot_serve(world):
    row, table = world.queues[0], world.rows.table
    lane = world.add_lane(BINARY, 0, 8)
    assert one_pull(world) == p.NOT_SEEN
    assert world.state[p.WANTED] == BASE
    see_everything(world)
    assert one_pull(world) == p.ALL
    table[row + q.MIN_OFFSET] = 5
    assert one_pull(world, 4) == p.NOT_PLAIN
    assert one_pull(world, table[row + q.MAX_OFFSET]) == p.NOT_PLAIN
    world.state[p.REACH_FROM] = BASE + len(world.log)
    assert one_pull(world, 5) == p.NOT_PLAIN
    world.state[p.REACH_FROM] = BASE
    world.state[p.LOG_END] = world.units(row)[9][0]
    assert one_pull(world, 5) == p.NOT_PLAIN, "not all of its records lie in the file"
    assert one_pull(world, 9) == p.OTHER_FILE
    assert world.state[p.WANTED] == world.state[p.LOG_END]
    world.state[p.LOG_END] = BASE + len(world.log)
    world.state[k.OUT_END] = p.ANSWER_BYTES_MAX
    assert one_pull(world, 5) == p.OUT_FULL
    world.state[k.OUT_END] = 200_000
    for column, value in ((k.L_IS_OPEN, 0), (p.P_GENERATION, 9), (p.P_SERIAL, 77)):
        before = world.table.lanes.lanes[lane + column]
        world.table.lanes.lanes[lane + column] = value
        assert one_pull(world, 5) == p.NO_LANE
        world.table.lanes.lanes[lane + column] = before
    assert one_pull(world, 5) == p.ALL
    assert world.state[k.TOUCHED] == 1


def test_units_come_from_the_tail_or_from_a_window(world):
    see_everything(world)
    world.add_lane(BINARY, 0, 8)
    whole, end = world.units(world.queues[0]), world.rows.table[world.queues[0] + q.MAX_OFFSET]
    assert one_pull(world, 20) == p.ALL
    from_tail = world.answers()
    world.to_window(world.queues[0], 10, 30)
    assert one_pull(world, 20) == p.ALL
    assert world.answers() == from_tail
    assert one_pull(world, 32) == p.ALL
    for offset in (9, 33, end - 1):
        assert one_pull(world, offset) == p.NO_UNITS
    world.rows.set_window(world.queues[0], end - 3, b"".join(k_unit(unit) for unit in whole[-3:]))
    assert one_pull(world, end - 3) == p.ALL


def k_unit(unit: tuple[int, int, int]) -> bytes:
    return unit[0].to_bytes(8, "big") + unit[1].to_bytes(4, "big") + unit[2].to_bytes(8, "big", signed=True)


@pytest.mark.parametrize(
    "unit", [(BASE + 17, 200, 0), (BASE, 90, 0), (BASE, 0, 0), (0, 0x7FFFFFFF, 0), (-1, 200, 0), (BASE, -1, 0)]
)
def test_a_unit_that_leads_to_no_record_is_left_to_python(world, unit):
    see_everything(world)
    world.state[p.REACH_FROM] = -(1 << 62)
    row = world.queues[0]
    world.add_lane(BINARY, 0, 8)
    world.rows.make_room(row, 1)
    world.add_unit(row, *unit)
    last = world.rows.table[row + q.MAX_OFFSET] - 1
    assert one_pull(world, last) in {p.NOT_PLAIN, p.OTHER_FILE}
    is_too_large = unit[1] > world.state[p.BYTES_MAX]
    assert one_pull(world, last - 2) == (p.ALL if is_too_large else p.NOT_PLAIN)
    assert not is_too_large or world.state[p.FOUND] == 2, "the rule looks at the size first"


def test_a_filter_leaves_addresses_and_pulls_without_a_match_to_python(world):
    see_everything(world)
    world.add_lane(BINARY, 0, 8, frozenset({12345}))
    assert one_pull(world) == p.NOT_PLAIN
    row = world.queues[0]
    world.rows.make_room(row, 1)
    world.add_unit(row, BASE, 200, p.ADDRESS_MAX)
    assert one_pull(world, world.rows.table[row + q.MAX_OFFSET] - 1) == p.NOT_PLAIN


def test_a_large_body_is_listed_in_pieces(request):
    for made in (library(), None):
        world = World(2, made, body_max=9_000)
        see_everything(world)
        world.add_lane(BINARY, 1, 32)
        frame = pull_frame(BINARY, fields_of(1, 3, 0, 32), 1)
        assert world.receive(frame + frame) == p.LARGE
        assert world.state[k.AT] == len(frame), "one at a time"
        body, _ = expected_body(world, 1, 3, 32)
        assert len(body) > p.COPIED_BYTES_MAX
        assert b"".join(world.table.pieces()) == body
        assert int.from_bytes(world.answers()[:4], "big") == len(world.answers()) - 4 + len(body)
        world.state[p.BYTES_MAX] = len(body) - 1
        assert world.receive(frame) in {p.ALL, p.LARGE}
        assert world.state[p.FOUND_BYTES] == len(expected_body(world, 1, 3, 32)[0]) < len(body)


@both
def test_no_byte_behind_a_buffer_is_touched(kind):
    """What is received, the log and the answers end where memory does: one byte more would end the process."""
    whole = World(3, None, count=60)
    buffers = [before_forbidden(size) for size in (p.DATA_BYTES, len(whole.log), 8_000)]
    world = World(3, library(), count=60, data=buffers[0], out=buffers[2])
    buffers[1][:] = world.log
    world.table.use_log(buffers[1].toreadonly())
    see_everything(world)
    world.add_lane(kind, 0, 8)
    world.state[k.OUT_END] = len(buffers[2])
    end = world.rows.table[world.queues[0] + q.MAX_OFFSET]
    for size in range(40):
        frames = [pull_frame(kind, fields_of(0, end - number, 0, 8), 1) for number in (9, 3, 1)]
        data = (b"".join(frames) + frames[0][:size])[-len(buffers[0]) :]
        world.data[-len(data) :] = data
        world.state[k.AT], world.state[k.END], world.state[k.OUT_AT] = len(buffers[0]) - len(data), len(buffers[0]), 0
        while (reason := world.table.serve()) == p.OUT_FULL:
            world.state[k.OUT_AT] = 0
        assert reason == p.ALL
        assert world.state[k.AT] == len(buffers[0]) - size


# ---- machine code and Python ----


def damaged(frame: bytes, randomness: random.Random) -> bytes:
    changed = bytearray(frame)
    for _ in range(randomness.choice((1, 1, 2))):
        place = randomness.randrange(len(changed))
        changed[place] = randomness.choice(
            (changed[place] ^ 1 << randomness.randrange(8), randomness.randrange(256), 34, 48, 0, 44)
        )
    return bytes(changed)


def some_read(randomness: random.Random, end: int) -> bytes:
    frames = []
    for _ in range(randomness.randrange(1, 12)):
        is_far = randomness.random() < 0.1
        offset = randomness.randrange(10 ** randomness.randrange(1, 18)) if is_far else randomness.randrange(end + 3)
        count = randomness.choice((8, 32)) if randomness.random() < 0.9 else 33
        commit = randomness.randrange(10**9) if is_far else randomness.randrange(end + 3)
        fields = fields_of(randomness.randrange(3), offset, commit, count)
        if randomness.random() < 0.05:
            fields["queueOffset"] = randomness.choice(("", "x", "-1", "9" * 19, "007"))
        if randomness.random() < 0.05:
            fields = dict(reversed(fields.items()))
        frame = pull_frame(randomness.choice((JSON, BINARY)), fields, randomness.choice((0, 5, randomness.getrandbits(31))))
        frames.append(damaged(frame, randomness) if randomness.random() < 0.1 else frame)
    data = b"".join(frames)
    return data[: randomness.randrange(len(data))] if randomness.random() < 0.3 else data


@pytest.mark.parametrize("seed", range(4))
def test_machine_code_does_what_the_python_of_the_kernel_does(seed):
    randomness = random.Random(seed)
    body_max = randomness.choice((30, 300, 6_000))
    worlds = [World(seed, made, body_max=body_max) for made in (library(), None)]
    for world in worlds:
        see_everything(world)
        if seed % 2:
            world.to_window(world.queues[0], 5, 90)
        for kind in (BINARY, JSON):
            for queue in range(3):
                world.add_lane(kind, queue, 32, frozenset({5, 11}) if queue == 2 else frozenset())
                world.add_lane(kind, queue, 8)
    end = worlds[0].rows.table[worlds[0].queues[1] + q.MAX_OFFSET]
    reasons = set()
    for _ in range(READS):
        data = some_read(randomness, end)
        compiled, in_python = (world.receive(data) for world in worlds)
        assert compiled == in_python
        assert worlds[0].memory() == worlds[1].memory()
        assert worlds[0].table.key() == worlds[1].table.key()
        reasons.add(compiled)
        while worlds[0].state[k.AT] < len(data) - 3:
            at = worlds[0].state[k.AT]
            total = int.from_bytes(data[at : at + 4], "big")
            if not 4 <= total <= len(data) - at - 4:
                break
            for world in worlds:
                world.state[k.AT], world.state[k.OUT_AT] = at + 4 + (total if compiled != p.LARGE else -4), 0
            compiled, in_python = (world.table.serve() for world in worlds)
            assert compiled == in_python
            assert worlds[0].memory() == worlds[1].memory()
            reasons.add(compiled)
            if compiled == p.ALL:
                break
    assert {p.ALL, p.NOT_PLAIN, p.NO_LANE} <= reasons
    assert worlds[0].state[k.TAKEN] > 100


def test_each_place_that_the_kernel_reads_and_writes_is_within_its_bytes(monkeypatch):
    for module in (pulls, pull_frames, lanes):
        for name in vars(access).keys() & vars(module).keys():
            if callable(getattr(module, name)) and name.islower():
                monkeypatch.setattr(module, name, checked(name))
    randomness = random.Random(9)
    world = World(9, None)
    see_everything(world)
    for kind in (BINARY, JSON):
        for queue in range(3):
            world.add_lane(kind, queue, 32, frozenset({5, 11}) if queue == 2 else frozenset())
            world.add_lane(kind, queue, 8)
    for _ in range(2 * READS):
        data = some_read(randomness, world.rows.table[world.queues[1] + q.MAX_OFFSET])
        world.receive(data)
        while world.state[k.AT] < len(data) - 3 and (total := int.from_bytes(data[world.state[k.AT] :][:4], "big")) < len(data):
            world.state[k.AT], world.state[k.OUT_AT] = world.state[k.AT] + 4 + total, 0
            world.state[k.AT] = min(world.state[k.AT], len(data))
            world.table.serve()
    assert world.state[k.TAKEN] > READS
