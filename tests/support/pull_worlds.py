"""Queues, records and lanes in memory, for the kernel that serves pulls: equal worlds of equal numbers."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping

from broker_core.engine.processors.plain.pull_answers import answer_parts
from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.native.lane_table import anonymous
from broker_core.native.library import Library
from broker_core.native.pull_table import PullTable
from broker_core.native.queue_rows import QueueRows
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.protocol.message.record import encode_record
from tests.support.store_bench import message

BASE = 1 << 30
UNITS_IN_FILE = 500
NOW_MS = 1_000_000
UNIT = struct.Struct(">qiq")
KINDS = {SerializeType.JSON: k.JSON_PULL, SerializeType.ROCKETMQ: k.BINARY_PULL}


def pull_frame(kind: SerializeType, fields: Mapping[str, object], opaque: int) -> bytes:
    """A pull as a client writes it."""
    ext = {name: str(value) for name, value in fields.items()}
    return encode_command(RemotingCommand(11, ext, opaque=opaque, language=LanguageCode.JAVA, version=401, serialize_type=kind))


def fields_of(queue_id: int, offset: int, commit: int, count: int) -> dict[str, object]:
    """Header fields in the order of Java's clients."""
    return {
        "consumerGroup": "CG", "topic": "Orders", "queueId": queue_id, "queueOffset": offset, "maxMsgNums": count, "sysFlag": 5,
        "commitOffset": commit, "suspendTimeoutMillis": 15_000, "subscription": "*", "subVersion": 0,
    }  # fmt: skip


class World:
    """A log of records of a few queues, with their units in tails or windows, and the kernel over them.

    Args:
        seed: Of the content; worlds of one seed are equal.
        library: The machine code; None runs the kernel in Python.
        queues: How many there are.
        count: How many records.
        body_max: Bytes of their bodies, at most.
        data: Where what is received goes.
        out: Where answers go.
    """

    def __init__(
        self,
        seed: int,
        library: Library | None,
        *,
        queues: int = 3,
        count: int = 400,
        body_max: int = 300,
        data: memoryview | None = None,
        out: memoryview | None = None,
    ) -> None:
        randomness = random.Random(seed)
        self.rows = QueueRows()
        self.seen = anonymous(16 * p.SEEN_PIECES).cast("q")
        self.table = PullTable(library, self.rows, self.seen, data=data, out=out)
        self.data, self.out = self.table.data, self.table.out
        self.state = self.table.state
        self.state[k.SEED] = 7
        self.queues = [self.rows.add(number, is_open=True) for number in range(queues)]
        self.log = self._records(randomness, count, body_max)
        self.table.use_log(memoryview(self.log).toreadonly())
        values = {
            p.BASE: BASE, p.LOG_END: BASE + len(self.log), p.REACH_FROM: BASE, p.NEAR_FROM: BASE + len(self.log) // 3,
            p.BYTES_MAX: 256 * 1024, p.UNITS_IN_FILE: UNITS_IN_FILE, k.NOW_MS: NOW_MS,
        }  # fmt: skip
        for column, value in values.items():
            self.state[column] = value

    def _records(self, randomness: random.Random, count: int, body_max: int) -> bytearray:
        log = bytearray()
        numbers = dict.fromkeys(self.queues, 0)
        for row in self.queues:
            self.rows.make_room(row, count)
        for _ in range(count):
            row = randomness.choice(self.queues)
            value = message(
                randomness.randbytes(randomness.randrange(body_max)), topic="Orders", queue_id=self.queues.index(row)
            )
            code = randomness.choice((0, 5, -7, 11))
            record = encode_record(value, queue_offset=numbers[row], physical_offset=BASE + len(log), store_timestamp_ms=1)
            self.add_unit(row, BASE + len(log), len(record), code)
            numbers[row] += 1
            log += record
        return log

    def add_unit(self, row: int, physical: int, size: int, code: int) -> None:
        """Append a unit to a queue."""
        table = self.rows.table
        at = table[row + q.TAIL_AT] + UNIT.size * (table[row + q.MAX_OFFSET] - table[row + q.TAIL_START])
        UNIT.pack_into(self.rows.tails, at, physical, size, code)
        table[row + q.MAX_OFFSET] += 1

    def units(self, row: int) -> list[tuple[int, int, int]]:
        """The units of a queue whose tail holds all."""
        table = self.rows.table
        at = table[row + q.TAIL_AT]
        return list(UNIT.iter_unpack(self.rows.tails[at : at + UNIT.size * (table[row + q.MAX_OFFSET])]))

    def to_window(self, row: int, start: int, count: int) -> None:
        """Have the units of a queue in a window alone."""
        table = self.rows.table
        at = table[row + q.TAIL_AT] + UNIT.size * start
        units = bytes(self.rows.tails[at : at + UNIT.size * count])
        self.rows.set_window(row, start, units)
        self.rows.drop_tail(row, table[row + q.MAX_OFFSET])

    def add_lane(
        self, kind: SerializeType, queue: int, count_max: int, codes: frozenset[int] = frozenset(), *, broker_id: int = 0
    ) -> int:
        """A lane for pulls of `fields_of`; its key is taken from one that has none."""
        frame = pull_frame(kind, fields_of(queue, 0, 0, count_max), 7)
        assert self.receive(frame) == p.NO_LANE
        lane = self.table.add_lane(KINDS[kind], self.table.key())
        self.open_lane(lane, kind, queue, count_max, codes, broker_id=broker_id)
        return lane

    def open_lane(
        self, lane: int, kind: SerializeType, queue: int, count_max: int, codes: frozenset[int], *, broker_id: int = 0
    ) -> None:
        """Have the kernel serve the pulls of a lane."""
        row = self.queues[queue]
        columns = {
            k.L_QUEUE: row, k.L_FIELDS_AT: answer_parts(kind, broker_id).fields_at,
            p.P_SERIAL: self.rows.table[row + q.OPEN_AS], p.P_GENERATION: self.state[p.GENERATION], p.P_COUNT_MAX: count_max,
            p.P_SCAN_MAX: max(800, count_max) if codes else count_max,
        }  # fmt: skip
        assert self.table.set_lane(lane, columns, answer_parts(kind, broker_id).parts, codes)

    def receive(self, data: bytes) -> int:
        """Have the kernel serve what was received; returns why it stopped."""
        self.data[: len(data)] = data
        self.state[k.AT], self.state[k.END], self.state[k.OUT_AT] = 0, len(data), 0
        return self.table.serve()

    def answers(self) -> bytes:
        """What the kernel wrote."""
        return bytes(self.out[: self.state[k.OUT_AT]])

    def memory(self) -> tuple[object, ...]:
        """All that the kernel may write."""
        return (
            self.state.tolist(), self.answers(), self.table.lanes.lanes.tobytes()[: 1 << 16],
            self.table._touched[: self.state[k.TOUCHED]].tolist(), self.table._pieces[: 2 * self.state[p.PIECES]].tolist(),
        )  # fmt: skip
