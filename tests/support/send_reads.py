"""Reads of a socket full of sends, and the kernel of sends over memory of its own, compiled or not."""

from __future__ import annotations

import random
import struct
from array import array
from typing import Final

from broker_core.engine.processors.plain.send_codec import SendCodec
from broker_core.engine.processors.plain.send_lanes import SendLane
from broker_core.engine.processors.plain.send_teacher import LanePlace, SendTeacher
from broker_core.engine.store.results import PutResult
from broker_core.native import lanes as k
from broker_core.native import queue_rows as q
from broker_core.native import send_columns as s
from broker_core.native import sends
from broker_core.native.addresses import address
from broker_core.native.lane_table import LaneTable, anonymous
from broker_core.native.library import Library
from broker_core.native.queue_rows import QueueRows
from broker_core.native.records import UNIT_BYTES
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import topic_field

LOG_BYTES: Final = 1 << 20
OUT_BYTES: Final = 1 << 16
TOPICS = ("bench", "bench", "other_topic", "T" * 130)
OWN = (b"CLUSTER\x01DefaultCluster", b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster")
USUAL = ("UNIQ_KEY\x01%032X", "KEYS\x01k%d w%d", "TAGS\x01TagA", "TAGS\x01pay-success", "WAIT\x01true")
MEMBER_USUAL = (
    "KEYS\x01k1",
    "TAGS\x01TagB",
    "WAIT\x01true",
    "WAIT\x01false",
    "UNIQ_KEY\x0101234567",
    "user\x01v",
    "u\x01v\x02",
)
UNUSUAL = (
    "WAIT\x01false", "user\x01v", "DELAY\x013", "CLUSTER\x01x", "a\x01é", "", "x", "XKTX\x01b", "TIMER_DELIVER_MS\x01123",
    "b\x01c\x01d", "MSG_REGION\x01r", "e\x01", "TRAN_MSG\x01true", "AWAIT\x01true", "TAGSX\x01t", "K\x01" + "v" * 300,
    "TRACE_ON\x01false", "\x03\x01\x04",
)  # fmt: skip


class SendMemory:
    """The kernel over a log, queues and lanes of its own.

    Args:
        library: The machine code; None runs the kernel as it is.
        log: Memory of the log, of `LOG_BYTES`.
    """

    def __init__(self, library: Library | None, log: memoryview | None = None) -> None:
        self.lanes = LaneTable()
        self.state = self.lanes.state
        self.state[k.SEED] = 5
        self.log = anonymous(LOG_BYTES) if log is None else log
        self.out = anonymous(OUT_BYTES)
        self.rows = QueueRows()
        self.queues = self.rows.table
        self.touched = anonymous(8 * s.TOUCHED_COLUMNS * s.TOUCHED_MAX).cast("q")
        self.names: dict[tuple[str, int], int] = {}
        self.teacher = SendTeacher(self.lanes, SendCodec(answer_fields), self._place)
        self.codec = self.teacher._codec
        self.state[s.LOG_BYTES] = self.state[s.LOG_LIMIT] = LOG_BYTES
        self.state[s.BODY_BYTES_MAX] = 1 << 16
        self.state[s.UNWRITTEN_MAX] = 100
        self.state[s.STORE_HOST] = 0x7F00000100002A9F
        self.state[k.OUT_END] = OUT_BYTES
        self._library = library

    def _place(self, lane: SendLane) -> LanePlace | None:
        if lane.queue_id > 7 or len(self.names) > 60:
            return None
        key = lane.topic, lane.queue_id
        if key not in self.names:
            self.names[key] = self.rows.add(lane.queue_id, is_open=True)
        row = self.names[key]
        return LanePlace(row, self.queues[row + q.OPEN_AS], topic_field(lane.topic.encode()), lane.sys_flag, OWN)

    def begin(self, now_ms: int) -> None:
        """Begin a read."""
        state = self.state
        state[k.AT] = state[k.OUT_AT] = state[k.TAKEN] = 0
        state[k.NOW_MS], state[s.BORN_HOST] = now_ms, 0x7F000001000053FF

    def run(self, data: memoryview | bytes) -> int:
        """One call of the kernel; returns why it stopped."""
        state = self.state
        state[k.END] = len(data)
        lanes, rows = self.lanes, self.rows
        if self._library is None:
            return sends.serve_sends(
                state, memoryview(data), self.out, self.log, self.queues, rows.tails, rows.touched, lanes.lanes, lanes.slots,
                lanes.texts, self.touched,
            )  # fmt: skip
        queues, dirty, units = rows.addresses
        given = [address(one) for one in (state, data, self.out, self.log)] + [queues, units, dirty]
        table = array("q", given + [address(one) for one in (lanes.lanes, lanes.slots, lanes.texts, self.touched)])
        return self._library.function("serve_sends")(address(table))

    def go_on(self, reason: int, data: bytes) -> bool:
        """Do what a broker does where the kernel stopped; False at the end of the read."""
        state, at = self.state, self.state[k.AT]
        if reason == s.LOG_FULL:
            state[s.LOG_BASE] += state[s.LOG_AT]
            state[s.LOG_AT] = 0
            return state[s.WANTED_BYTES] < LOG_BYTES
        if reason == s.TAIL_FULL:
            row = self.lanes.lanes[state[k.LANE] + k.L_QUEUE]
            self.rows.make_room(row, state[s.WANTED_UNITS])
            self.queues[row + q.WRITTEN_OFFSET] = self.queues[row + q.MAX_OFFSET] - 3
            return True
        if reason == s.OUT_FULL:
            state[k.OUT_AT] = state[k.TAKEN] = 0
            return True
        if reason == s.ALL:
            return False
        total = int.from_bytes(data[at : at + 4], "big", signed=True)
        if reason == s.NO_LANE:
            if self.teacher.learn(data):
                return True
            self.codec.read(data, at, total)
        if total < 4 or at + 4 + total > len(data):
            return False
        state[k.AT] = at + 4 + total
        return True

    def memory(self) -> tuple[bytes, ...]:
        """All that the kernel may write."""
        end = max(self.names.values(), default=0) + q.ROW_COLUMNS
        units = []
        for row in self.names.values():
            count = self.queues[row + q.MAX_OFFSET] - self.queues[row + q.TAIL_START]
            units.append(self.rows.tails[self.queues[row + q.TAIL_AT] :][: UNIT_BYTES * count])
        parts = (self.state, self.log, self.queues[:end], self.rows.touched[: len(self.names)], self.touched, *units)
        return tuple(bytes(part) for part in parts)


def answer_fields(result: PutResult, queue_id: int) -> dict[str, str]:
    return {
        "msgId": f"7F00000100002A9F{result.physical_offset:016X}", "queueId": str(queue_id),
        "queueOffset": str(result.queue_offset), "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
    }  # fmt: skip


def properties(randomness: random.Random) -> str:
    """Properties of a message, some of them unusual."""
    found = []
    for _ in range(randomness.choice((0, 1, 2, 3, 4, 4, 4, 6))):
        text = randomness.choice(USUAL if randomness.random() < 0.8 else UNUSUAL)
        if "%032X" in text:
            text %= randomness.getrandbits(128)
        elif "%d" in text:
            text %= (randomness.getrandbits(20), randomness.getrandbits(9))
        found.append(text)
    return "\x02".join(found) + ("\x02" if randomness.random() < 0.2 else "")


def frame(randomness: random.Random, *, damaged: float = 0.08) -> bytes:
    """A send with binary or JSON header, some of them damaged."""
    pairs = {
        "a": "g" if randomness.random() < 0.9 else "group", "b": randomness.choice(TOPICS), "c": "TBW102", "d": "4",
        "e": str(randomness.randrange(9)), "f": randomness.choice("0001"), "g": str(randomness.randrange(10**12, 10**13)),
        "h": "1" if randomness.random() < 0.05 else "0", "i": properties(randomness), "j": "0", "k": "false",
        "m": randomness.choice(("false",) * 19 + ("true",)),
    }  # fmt: skip
    code, body = (
        310,
        randomness.randbytes(
            randomness.choice((1, 5, 7, 63, 64, 65, 128, 129, 200, 300, 0 if randomness.random() < 0.1 else 5, 3000))
        ),
    )
    if randomness.random() < 0.2:
        code, body = 320, batch(randomness)
        pairs["m"] = randomness.choice(("true",) * 19 + ("false",))
        pairs["i"] = randomness.choice(("", "WAIT\x01true", "WAIT\x01true\x02", "WAIT\x01true") * 4 + ("a\x01b", pairs["i"]))
    opaque = randomness.choice((randomness.getrandbits(31), randomness.getrandbits(7), 0))
    version = randomness.choice((401, 401, 401, 0, 412, 413, 500))
    made = bytearray((_binary if randomness.random() < 0.5 else _json)(code, pairs, body, opaque, version))
    if randomness.random() < damaged:
        for _ in range(randomness.choice((1, 1, 2))):
            at = randomness.randrange(len(made))
            made[at] = randomness.choice((made[at] ^ (1 << randomness.randrange(8)), randomness.getrandbits(8), 34, 92, 1, 2))
    return bytes(made)


def batch(randomness: random.Random) -> bytes:
    """The members of a batch, some of them unusual or unsound."""
    members = []
    for _ in range(randomness.choice((1, 2, 3, 8, 30))):
        body = randomness.randbytes(randomness.choice((1, 1, 3, 20, 100, 300)) if randomness.random() < 0.99 else 0)
        text = properties(randomness) if randomness.random() < 0.02 else "\x02".join(randomness.sample(MEMBER_USUAL, 2))
        members.append(BatchMember(randomness.choice((0, 0, 0, 7, -1)), body, text.encode()))
    made = bytearray(encode_batch(members))
    if randomness.random() < 0.05:
        struct.pack_into(">h", made, randomness.choice((2, 18, len(made) - 4)), randomness.choice((-1, 0, 1, 30_000)))
    return bytes(made)[: -1 if randomness.random() < 0.03 else None]


def _binary(code: int, pairs: dict[str, str], body: bytes, opaque: int, version: int) -> bytes:
    texts = [(name.encode(), value.encode()) for name, value in pairs.items()]
    ext = b"".join(struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value for name, value in texts)
    header = struct.pack(">hbhiiii", code, 0, version, opaque, 0, 0, len(ext)) + ext
    return struct.pack(">II", 4 + len(header) + len(body), 1 << 24 | len(header)) + header + body


def _json(code: int, pairs: dict[str, str], body: bytes, opaque: int, version: int) -> bytes:
    fields = ",".join(f'"{name}":"{value}"' for name, value in pairs.items())
    for number in range(1, 5):
        fields = fields.replace(chr(number), f"\\u000{number}")
    header = (
        f'{{"code":{code},"extFields":{{{fields}}},"flag":0,"language":"JAVA","opaque":{opaque},"serializeTypeCurrentRPC":"JSON",'
        f'"version":{version}}}'
    ).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def read(randomness: random.Random) -> bytes:
    """What one read of a socket may give: sends, the last one often cut."""
    data = b"".join(frame(randomness) for _ in range(randomness.randrange(1, 30)))[: 64 * 1024]
    return data[: randomness.randrange(len(data) + 1)] if randomness.random() < 0.3 else data
