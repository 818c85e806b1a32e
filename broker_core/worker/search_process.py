"""A search in a process of its own, of low priority: the broker shares neither the interpreter nor its turn with it.

    worker ── order, then a frame for each turn ──► search process
           ◄──── SearchHits, a frame for each ─────

The process searches only on request, and changes nothing. It ends when its input does, so also when the worker is killed. The
worker makes the plan, because its open store knows queues and index; the process reads the files from outside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgpack

from broker_core.children import environment, main_command
from broker_core.errors import BugError, OrbitError, WorkerLostError, error_from_wire
from broker_core.platform import files, machine, process_groups
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.tools.search.plan import Plan
from broker_core.tools.search.queues import QueueSpan
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader, frame
from broker_core.worker.channel.schema import Failure, Reply
from broker_core.worker.channel.worker_end import write_all
from broker_core.worker.questions.searches import SearchHits
from broker_core.worker.search_turns import SearchTurns

COMMAND: Final = "search-process"
NICENESS: Final = 15
_GO_ON: Final = frame(b"\x01")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """What to search for, and where. Times like ``-15m`` count from ``now_ms``; ``limit`` is None for all hits."""

    root: Path
    filter: str
    now_ms: int
    limit: int | None
    plan: Plan
    body_starts: bool
    known: KnownNames = NOTHING_KNOWN

    def packed(self) -> bytes:
        """One frame."""
        plan = self.plan
        places = [plan.steps, plan.total_messages, plan.places, plan.spans, plan.ranges, plan.notes]
        known = [sorted(self.known.groups), sorted(self.known.topics)]
        payload: bytes = msgpack.packb([str(self.root), self.filter, self.now_ms, self.limit, places, self.body_starts, known])
        return frame(payload)

    @classmethod
    def unpacked(cls, payload: bytes) -> SearchOrder:
        """The order in the payload of such a frame."""
        root, text, now_ms, limit, places, body_starts, known = msgpack.unpackb(payload, use_list=False)
        steps, total, single, spans, ranges, notes = places
        plan = Plan(steps, total, single, tuple(QueueSpan(*span) for span in spans), ranges, notes)
        return cls(Path(root), text, now_ms, limit, plan, body_starts, KnownNames(*map(frozenset, known)))


class SearchProcess:
    """The worker's end; raises `WorkerLostError` where no process starts. One thread at a time, but for `cancel`."""

    def __init__(self, order: SearchOrder) -> None:
        try:
            # A session of its own, because an interrupt of the terminal is for the worker alone.
            self._process = subprocess.Popen(
                main_command(COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env=environment(),
                **process_groups.apart(),
            )
        except OSError as error:
            raise WorkerLostError(f"no process for the search could be started: {error}") from error
        self._frames = FrameReader()
        self._order = order.packed()

    def turn(self, search_id: int) -> SearchHits:
        """The hits of a moment of search. Blocks; raises an `OrbitError` where the search failed."""
        assert self._process.stdin is not None
        try:
            # A pipe may take only a part of a large order.
            write_all(self._process.stdin.fileno(), self._order + _GO_ON)
        except OSError as error:
            raise self._lost() from error
        self._order = b""
        match decode_worker_message(self._answer()):
            case Failure(_, kind, message, context):
                raise error_from_wire(kind, message, context)
            case Reply(_, SearchHits() as hits):
                return replace(hits, search_id=search_id)
        raise BugError("a search process answers with hits or a failure")

    def cancel(self) -> None:
        """End it at once, also within a turn."""
        self._process.kill()

    def close(self) -> None:
        """Leave neither a process nor a pipe. On the thread that takes the turns."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), _PIECE_BYTES):
            for payload in self._frames.feed(data):
                return payload
        raise self._lost()

    def _lost(self) -> WorkerLostError:
        return WorkerLostError(f"the process that searched has ended ({self._process.wait()}); start the search again")


def main(_argv: list[str]) -> int:
    """Search for a worker, over standard input and output; returns the exit code."""
    # Output of a library must not fall between the frames.
    taken = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    files.carry_bytes(sys.stdin.fileno(), taken)
    return run_search_process(sys.stdin.fileno(), taken)


def run_search_process(given: int, taken: int) -> int:
    """The search process: read an order, then search a moment for each frame that follows, until the input ends."""
    turns: SearchTurns | None = None
    try:
        for payload in _payloads(given):
            if turns is None:
                turns = _begun(SearchOrder.unpacked(payload))
            else:
                write_all(taken, encode_message(Reply(0, turns.turn(0))))
    except BrokenPipeError:
        return 0  # the worker has gone
    except OrbitError as error:
        write_all(taken, encode_message(Failure(0, error.kind, error.message, error.context)))
        return error.exit_code
    return 0


def _payloads(given: int) -> Iterator[bytes]:
    frames = FrameReader()
    while data := os.read(given, _PIECE_BYTES):
        yield from frames.feed(data)


def _begun(order: SearchOrder) -> SearchTurns:
    from broker_core.tools.search.language import parse_filter
    from broker_core.tools.search.scan import StoreSearch

    expression = parse_filter(order.filter, now_ms=order.now_ms)
    search = StoreSearch(order.root, expression, limit=order.limit, plan=order.plan, known=order.known)
    turns = SearchTurns(search, body_starts=order.body_starts)
    machine.lower_priority(NICENESS)  # not before: a start takes little, and somebody waits for it
    return turns
