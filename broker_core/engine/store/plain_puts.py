"""Plain sends, stored by machine code straight from the bytes of a socket (`broker_core.native.sends`).

A part of `broker_core.engine.store.message_store.MessageStore`. It does once per call what a put does for each message: it
takes the lock, looks at the gate and the clock, makes room, and moves the log's end.
"""

from __future__ import annotations

import mmap
from array import array
from typing import Final, NamedTuple

from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.consume_queue import UNWRITTEN_UNITS_MAX, ConsumeQueue
from broker_core.engine.store.store_parts import StoreParts
from broker_core.engine.store.write_gate import WriteRefusal
from broker_core.native import lanes as k
from broker_core.native import send_columns as s
from broker_core.native import sends
from broker_core.native.addresses import address
from broker_core.native.lane_table import LaneTable, anonymous
from broker_core.native.library import Library
from broker_core.protocol.message.record import TopicField

OUT_BYTES: Final = 128 * 1024
"""Answers of one call. A read of 64 KiB has some 200 sends, and each answer 200 bytes."""
_WORD: Final = 8
_DATA: Final = 1
_LOG: Final = 3


class PlainQueue(NamedTuple):
    """A queue that machine code may put to.

    Attributes:
        row: Place in the table of queues.
        open_as: Serial number of the queue.
        topic: In the form of records.
    """

    row: int
    open_as: int
    topic: TopicField


class PlainPuts:
    """Puts of plain sends. For the loop's thread.

    Args:
        parts: Of the store.
        body_bytes_max: Size of a body up to which its message surely fits.
        library: The machine code; None runs the kernel in Python, which is for tests.

    Attributes:
        lanes: The lanes of the sends that it stores.
        state: State of the kernel: `run` reads ``END``, ``AT`` and what the caller says of the broker.
    """

    def __init__(self, parts: StoreParts, body_bytes_max: int, library: Library | None) -> None:
        self._parts = parts
        self._body_bytes_max = body_bytes_max
        self.lanes = LaneTable()
        self.state = self.lanes.state
        self._out = anonymous(OUT_BYTES)
        self._touched = anonymous(_WORD * s.TOUCHED_COLUMNS * s.TOUCHED_MAX).cast("q")
        self._source = b""
        self._counted: dict[str, tuple[int, int, int]] = {}
        self._mapped: mmap.mmap | None = None
        rows = parts.queues.rows
        queues, dirty, units = rows.addresses
        lanes = (self.lanes.lanes, self.lanes.slots, self.lanes.texts, self._touched)
        given = (address(self.state), 0, address(self._out), 0, queues, units, dirty, *map(address, lanes))
        self._given = array("q", given)
        self._given_at = address(self._given)
        self._function = None if library is None else library.function("serve_sends")
        self.state[k.OUT_END] = OUT_BYTES
        self.state[s.UNWRITTEN_MAX] = UNWRITTEN_UNITS_MAX

    def configure(self, store_host: bytes, body_bytes_max: int) -> None:
        """Take over settings of the broker.

        Args:
            store_host: Its address as records have it.
            body_bytes_max: Largest body that producers may send.
        """
        self.state[s.STORE_HOST] = int.from_bytes(store_host, "big", signed=True)
        self.state[s.BODY_BYTES_MAX] = min(body_bytes_max, self._body_bytes_max)

    # ---- a read ----

    def begin(self, source: bytes, position: int, born_host: int) -> None:
        """Begin to serve received bytes from a position on; ``born_host`` is the sender's address."""
        state = self.state
        state[k.AT], state[k.END], state[s.BORN_HOST] = position, len(source), born_host
        state[k.OUT_AT] = state[k.TAKEN] = 0
        self._source = source
        self._given[_DATA] = address(source)

    def run(self) -> int:
        """Store and answer sends up to the first one that is not plain; returns why it stopped, or `GO_ON`."""
        parts, state = self._parts, self.state
        with parts.lock:
            log = parts.commit_log
            room = log.room()
            if room is None or parts.gate.is_shut:
                return s.NOT_PLAIN
            if room.buffer is not self._mapped:
                self._mapped, self._given[_LOG] = room.buffer, address(room.buffer)
                state[s.LOG_BYTES] = log.file_bytes
            state[s.LOG_BASE], state[s.LOG_AT], state[s.LOG_LIMIT] = room.base, room.position, room.end
            state[k.NOW_MS] = parts.clock()
            reason = self._call()
            if state[s.LOG_AT] != room.position:
                log.wrote(state[s.LOG_AT])
                parts.writer.last_store_ms = state[k.NOW_MS]
            if reason in {s.LOG_FULL, s.TAIL_FULL}:
                reason = self._make_room(log, reason)
        if parts.gate.has_reasons and state[k.TAKEN]:
            parts.gate.withdraw(WriteRefusal.LOG_SPACE)
        return reason

    def _call(self) -> int:
        if self._function is not None:
            return self._function(self._given_at)
        rows, lanes = self._parts.queues.rows, self.lanes
        return sends.serve_sends(
            self.state, memoryview(self._source), self._out, memoryview(self._mapped), rows.table, rows.tails, rows.touched,  # type: ignore[arg-type]
            lanes.lanes, lanes.slots, lanes.texts, self._touched,
        )  # fmt: skip

    def _make_room(self, log: CommitLog, reason: int) -> int:
        state = self.state
        try:
            if reason == s.LOG_FULL:
                log.make_room(state[s.WANTED_BYTES])
            else:
                self._parts.queues.rows.make_room(self.lanes.lanes[state[k.LANE] + k.L_QUEUE], state[s.WANTED_UNITS])
        except (OSError, MemoryError):
            return s.NOT_PLAIN  # the put in Python tries again, and refuses with the reason
        return s.GO_ON

    def take_answers(self) -> bytes:
        """The frames that answer what was stored since the last call."""
        answers = bytes(self._out[: self.state[k.OUT_AT]])
        self.state[k.OUT_AT] = 0
        return answers

    def write_ahead(self) -> None:
        """Write queues in this thread, where the background lags."""
        if self.state[s.IS_BEHIND]:
            self.state[s.IS_BEHIND] = 0
            self._parts.write_ahead()

    # ---- queues ----

    def touched(self) -> list[tuple[ConsumeQueue, int]]:
        """The queues that got messages in this read, with the offset of the first of these."""
        columns, found = s.TOUCHED_COLUMNS, []
        for number in range(self.state[k.TOUCHED]):
            queue = self._parts.queues.at(self._touched[columns * number + s.T_QUEUE])
            if queue is not None:
                found.append((queue, self._touched[columns * number + s.T_FIRST]))
        return found

    def take_counts(self) -> list[tuple[str, int, int, int]]:
        """What was stored since the last call: topics, with puts, messages and bytes of records."""
        self.keep_counts()
        counted, self._counted = self._counted, {}
        return [(topic, *sums) for topic, sums in counted.items()]

    def keep_counts(self) -> None:
        """Take the counts of all queues out of their rows, of which one goes perhaps."""
        counted = self._counted
        for row, puts, messages, size in self._parts.queues.rows.take_counts():
            queue = self._parts.queues.at(row)
            if queue is not None:
                before = counted.get(queue.topic, (0, 0, 0))
                counted[queue.topic] = before[0] + puts, before[1] + messages, before[2] + size
