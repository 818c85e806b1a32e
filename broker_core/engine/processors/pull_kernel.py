"""Pulls that the kernel serves from their bytes, and what Python does for it.

The kernel (`broker_core.native.pulls`) knows lanes and bytes. Here lanes are learnt and admitted by the rules of
`broker_core.engine.processors.pull_admission`, and what it served is noted. A change of a setting, a topic, a group or a
subscription closes all lanes; each is admitted again with its next pull.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from broker_core.engine.processors.message_filter import MessageFilter
from broker_core.engine.processors.plain.pull_answers import answer_parts
from broker_core.engine.processors.plain.pull_teacher import Places, PullLane, lane_of
from broker_core.engine.processors.plain.requests import PlainPull
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.processors.pull_request import FLAG_COMMIT_OFFSET
from broker_core.engine.store.pull_reads import PullReads
from broker_core.engine.store.reading import units_to_scan
from broker_core.engine.tables.peer import FramePeer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.protocol.frame import Buffer

logger = logging.getLogger(__name__)

_LENGTH_BYTES = 4
_NOTHING = memoryview(bytes(8 * (p.P_COMMITTED - p.P_PULLS))).cast("q")
_SEEN_MAX = 1024
"""Keys that arrived once; the next one empties the set."""
_HELPS_MAX = 64
"""For one pull: an answer of 256 KiB lies in a few pieces of the log."""
_SCANNED_MAX = q.WINDOW_UNITS
"""Units that a pull of the kernel looks at."""


class PullKernel:
    """Serves plain pulls. For the loop's thread.

    Args:
        state: Of the broker.
        pulls: The rules.
        reads: What the kernel reads of the store.
    """

    def __init__(self, state: BrokerState, pulls: PullProcessor, reads: PullReads) -> None:
        self._broker = state
        self._pulls = pulls
        self._table = table = reads.table
        self._reads = reads
        self._state = table.state
        self._lanes: dict[int, PullLane | None] = {}
        """By row; None for bytes that are no plain pull's."""
        self._others: dict[int, int] = {}
        """Row → generation in which its pulls are Python's, because they have another filter or see not all messages."""
        self._seen: set[int] = set()
        """Hashes of keys that arrived once. A consumer that is held at the end of many queues returns too late to be learnt,
        and costs no memory here.
        """
        self._is_full = False
        """The lanes are forgotten before the next pulls."""
        self._admitted_by: tuple[object, ...] = ()
        self._reason = p.ALL
        self._helps = {
            p.NO_LANE: self._open_lane,
            p.NO_UNITS: self._read_units,
            p.OTHER_FILE: lambda: reads.use_file(self._state[p.WANTED]),
            p.NOT_SEEN: self._see,
        }

    def take(self, peer: FramePeer, source: bytes, position: int) -> int:
        """Serve plain pulls from a position of what was received on; returns their bytes, 0 where the first is not plain."""
        state, table, started = self._state, self._table, perf_counter()
        received = memoryview(source)[position : position + p.DATA_BYTES]
        table.data[: len(received)] = received
        state[k.AT], state[k.END], state[k.OUT_AT], state[k.TAKEN] = 0, len(received), 0, 0
        if self._is_full:
            self._forget()
        self._close_outdated()
        self._reads.begin()
        reason = self._reads.serve()
        self._reason = reason = reason if reason not in self._helps else self._helped(reason)
        if state[k.TAKEN]:
            seconds = (perf_counter() - started) / state[k.TAKEN]
            parts: list[Buffer] = [table.out[: state[k.OUT_AT]]]
            if reason == p.LARGE:
                parts += table.pieces()
            peer.send_out(parts, sum(map(len, parts)))
            self._note(peer, seconds)
        return state[k.AT]

    def known(self) -> PlainPull | None:
        """The pull in front of which the last `take` stopped, if its lane is known: it finds nothing, or has to wait."""
        if self._reason != p.NOT_PLAIN:
            return None
        state = self._state
        lane, at = self._lanes.get(state[k.LANE]), state[p.OPAQUE_AT]
        if lane is None:
            return None
        opaque = bytes(self._table.data[at : at + state[p.OPAQUE_BYTES]])
        numbers = state[p.OFFSET], state[p.COMMIT], opaque
        return PlainPull(lane.terms, lane.is_lite, *numbers, lane.grant, lane.kind, lane.version, lane.language)

    def tick(self) -> None:
        """Let go of a file of the log that no pull reads, because it may be deleted; to be called once a second."""
        self._reads.rest()

    def _helped(self, reason: int) -> int:
        """Help the kernel, and call it again, until it needs no help that can be given; returns why it stopped."""
        state, helped, helped_at = self._state, 0, -1
        while (help_ := self._helps.get(reason)) is not None:
            helped, helped_at = (helped + 1 if state[k.AT] == helped_at else 0), state[k.AT]
            if helped >= _HELPS_MAX or not _is_help(help_):
                return p.NOT_PLAIN
            reason = self._reads.serve()
        return reason

    # ---- lanes ----

    def _close_outdated(self) -> None:
        """Close all lanes where something changed that decided about them."""
        broker = self._broker
        now = broker.config, broker.groups.version, broker.topics.version, broker.consumers.changes, broker.store.visibility
        if now != self._admitted_by:
            self._admitted_by = now
            self._state[p.GENERATION] += 1
            self._state[p.BYTES_MAX] = self._reads.limits(1).in_memory[1]

    def _open_lane(self) -> bool:
        lane = self._state[k.LANE]
        if lane < 0:
            lane = self._state[k.LANE] = self._learn()
        known = self._lanes.get(lane)
        is_others = known is None or self._others.get(lane) == self._state[p.GENERATION]
        return known is not None and not is_others and self._admit(lane, known)

    def _learn(self) -> int:
        """The lane of a pull that came a second time; -1 where it is not learnt."""
        key, state = self._table.key(), self._state
        number = hash(key)
        if number not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(number)
            return -1
        if not self._table.has_room(key):
            self._is_full = True
            return -1
        lane = self._table.add_lane(state[k.KIND], key)
        if lane >= 0:
            self._lanes[lane] = lane_of(self._frame(), self._places(), self._pulls.terms)
        return lane

    def _forget(self) -> None:
        self._table.forget()
        self._lanes.clear()
        self._others.clear()
        self._is_full = False

    def _frame(self) -> bytes:
        """The frame in front of which the kernel stopped."""
        data, at = self._table.data, self._state[k.AT]
        return bytes(data[at : at + _LENGTH_BYTES + int.from_bytes(data[at : at + _LENGTH_BYTES], "big")])

    def _places(self) -> Places:
        state, at = self._state, self._state[k.AT]
        return Places(
            (state[p.OFFSET_AT] - at, state[p.OFFSET_BYTES]),
            (state[p.COMMIT_AT] - at, state[p.COMMIT_BYTES]),
            (state[p.OPAQUE_AT] - at, state[p.OPAQUE_BYTES]),
        )

    def _admit(self, lane: int, known: PullLane) -> bool:
        """Have the kernel serve a lane, if its pulls may have messages, and no more than a list of tags filters these."""
        terms, store = known.terms, self._broker.store
        try:
            wanted = self._pulls.admission.admit(terms, lite=known.is_lite)
        except RequestRefusedError:
            return False
        if not _is_for_kernel(wanted) or (store.visibility and store.visibility.end(terms.topic, terms.queue_id) is not None):
            self._others[lane] = self._state[p.GENERATION]
            return False
        row, count_max = self._reads.row_of(terms.topic, terms.queue_id), self._reads.limits(terms.count_max).in_memory[0]
        scanned = units_to_scan(terms.count_max) if wanted.codes else count_max
        serial = self._reads.serial_of(row)
        if not serial or scanned > _SCANNED_MAX or count_max > p.PIECES_MAX:
            return False
        answer = answer_parts(known.kind, self._pulls.admission.suggested_broker(terms.group, slow=False))
        columns = {
            k.L_QUEUE: row, k.L_FIELDS_AT: answer.fields_at, p.P_SERIAL: serial,
            p.P_GENERATION: self._state[p.GENERATION], p.P_COUNT_MAX: count_max, p.P_SCAN_MAX: scanned,
        }  # fmt: skip
        return self._table.set_lane(lane, columns, answer.parts, wanted.codes)

    # ---- reading ----

    def _read_units(self) -> bool:
        state = self._state
        known = self._lanes[state[k.LANE]]
        assert known is not None
        scanned = self._table.lanes.lanes[state[k.LANE] + p.P_SCAN_MAX]
        return self._reads.read_units(known.terms.topic, known.terms.queue_id, state[p.OFFSET], scanned)

    def _see(self) -> bool:
        is_there, ahead = self._reads.see(self._state[p.WANTED])
        if ahead is not None:
            self._pulls.read_ahead(ahead)
        return is_there

    # ---- what was served ----

    def _note(self, peer: FramePeer, seconds: float) -> None:
        """Note the pulls that were served, each of which took so long."""
        broker, lanes = self._broker, self._table.lanes.lanes
        broker.counters.get_took(seconds)
        peer.requests_in += self._state[k.TAKEN]
        pulls, messages, size, counted = 0, 0, 0, ("", "")
        for lane in self._table.touched():
            known = self._lanes[lane]
            assert known is not None
            terms = known.terms
            if counted != (terms.topic, terms.group):  # most reads are those of one consumer, of several queues
                if pulls:
                    broker.counters.got(*counted, messages, size, pulls)
                pulls, messages, size, counted = 0, 0, 0, (terms.topic, terms.group)
            of_lane = lanes[lane + p.P_PULLS : lane + p.P_COMMITTED + 1].tolist()
            lanes[lane + p.P_PULLS : lane + p.P_COMMITTED] = _NOTHING
            pulls, messages, size = pulls + of_lane[0], messages + of_lane[1], size + of_lane[2]
            peer.version, peer.serialize_type, peer.language = known.version, known.kind, known.language
            broker.consumers.pulled(peer, terms.group, terms.topic, terms.queue_id)
            if terms.flags & FLAG_COMMIT_OFFSET:
                broker.offsets.commit(terms.group, terms.topic, terms.queue_id, of_lane[3])
        broker.counters.got(*counted, messages, size, pulls)


def _is_help(help_: Callable[[], bool]) -> bool:
    """Whether help was given. After a fault of the disk the general way tells the client."""
    try:
        return help_()
    except (OSError, MemoryError) as error:
        logger.warning("a pull is not served by machine code: %s", error)
        return False


def _is_for_kernel(wanted: MessageFilter) -> bool:
    return wanted.matches is None and (wanted.accepts is None or bool(wanted.codes))
