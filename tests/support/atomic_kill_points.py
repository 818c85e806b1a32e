"""The moments at which atomic transactions are killed, by name; the number is that of the crash point in docs/spec/kafka.md §2.

Points of the broker count calls of a run of `tests.crash.transformer`, so that they fall into a transaction in its middle.
Those of the producer count its requests.

`tests.crash.test_atomic_rows` has those that need more than a kill: 16 (a coordinator that only seems dead), 22 and 23 (a
resend that comes late). `tests.crash.test_power_cut_workers` has 28 (a log that lost its end). 18, 20, 21, 26, 27 and 29 (no
crash of a process, but a deletion, a zombie or a clock) are played in `tests.unit.engine.atomic`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.protocol.codes import RequestCode
from tests.support.kill_points import die, kill_at_call, kill_at_put

TARGET = "squares"
POSITIONS_FILE = "consumerOffset.json"


def at_state_record(kind: str, number: int, *, before: bool) -> None:
    """Kill at the put of a record of the state topic."""
    from broker_core.engine.atomic.records import decode_state
    from broker_core.engine.processors.atomic_service import _StateLog

    def is_kind(_log: object, body: bytes) -> bool:
        return type(decode_state(body)).__name__ == kind

    kill_at_call(_StateLog, "append", number, before=before, when=is_kind)


def at_service(name: str, number: int, *, before: bool) -> None:
    """Kill at a step of `AtomicService`."""
    from broker_core.engine.processors.atomic_service import AtomicService

    kill_at_call(AtomicService, name, number, before=before)


def at_coordinator(name: str, number: int, *, before: bool) -> None:
    """Kill at a step of `Coordinator`."""
    from broker_core.engine.atomic.coordinator import Coordinator

    kill_at_call(Coordinator, name, number, before=before)


def at_apply(number: int, *, before: bool) -> None:
    """Kill around the moment at which a decision, durable by then, changes the state."""
    from broker_core.engine.atomic.records import DecisionRecord
    from broker_core.engine.atomic.state import AtomicState

    def is_decision(state: AtomicState, record: object, *_place: int) -> bool:
        # While the log is read back nobody is deciding.
        return isinstance(record, DecisionRecord) and state.ids[record.name].deciding

    kill_at_call(AtomicState, "record", number, before=before, when=is_decision)


def at_release(*, before: bool) -> None:
    """Kill around the release of the last of several queues: the others are released, in memory, as if their leaders lived."""
    from broker_core.engine.atomic.state import AtomicState

    def is_last(state: AtomicState, queue: object, name: str) -> bool:
        entry = state.ids[name]
        return entry.deciding and len(entry.queues) > 1 and list(entry.queues)[-1] == queue

    kill_at_call(AtomicState, "_close", 1, before=before, when=is_last)


def at_waking(number: int, *, before: bool) -> None:
    """Kill around the answers to held pulls."""
    from broker_core.engine.processors.pull_processor import PullProcessor

    kill_at_call(PullProcessor, "became_visible", number, before=before)


def at_positions_file(number: int, *, before: bool) -> None:
    """Kill around the write of the consumer positions."""
    from broker_core.engine.store.config_file import ConfigFile

    def is_positions(file: ConfigFile, *_rest: object) -> bool:
        return file.path.name == POSITIONS_FILE

    kill_at_call(ConfigFile, "save", number, before=before, when=is_positions)


def at_snapshot(name: str, *, before: bool) -> None:
    """Kill around the write of a snapshot, of which there are many then."""
    from broker_core.engine.atomic.snapshot import PREFIX, SnapshotFiles
    from broker_core.engine.processors import atomic_service
    from broker_core.platform import replacing

    atomic_service.TICK_SECONDS, atomic_service.SNAPSHOT_TICKS = 0.05, 1
    if name == "replace":

        def is_snapshot(_temporary: Path, path: Path) -> bool:
            return path.name.startswith(PREFIX)

        kill_at_call(replacing, "replace", 1, before=before, when=is_snapshot)
    else:
        kill_at_call(SnapshotFiles, name, 1, before=before)


BROKER: Mapping[str, Callable[[], None]] = {
    "1 producer ids not reserved": partial(at_state_record, "IdBlock", 0, before=True),
    "1 producer ids reserved": partial(at_state_record, "IdBlock", 0, before=False),
    "1 identity not recorded": partial(at_state_record, "ProducerRecord", 0, before=True),
    "2 identity recorded, not answered": partial(at_state_record, "ProducerRecord", 0, before=False),
    "3 first message not stored": partial(kill_at_put, TARGET, 0, before=True),
    "6 and 9 message not stored": partial(kill_at_put, TARGET, 10, before=True),
    "5 and 10 message stored, not answered": partial(kill_at_put, TARGET, 10, before=False),
    "7 message stored, not taken note of": partial(at_coordinator, "stored", 20, before=True),
    "8 message taken note of, not answered": partial(at_coordinator, "stored", 20, before=False),
    "24 positions not recorded": partial(at_state_record, "OffsetsRecord", 1, before=True),
    "25 positions recorded, not answered": partial(at_state_record, "OffsetsRecord", 1, before=False),
    "11 decision not recorded": partial(at_state_record, "DecisionRecord", 1, before=True),
    "12 decision recorded, nobody waits for it yet": partial(at_state_record, "DecisionRecord", 1, before=False),
    "12 decision durable, nothing applied": partial(at_apply, 1, before=True),
    "17 one queue released, the other one not": partial(at_release, before=True),
    "13 queues released, positions not set": partial(at_service, "_decided", 1, before=True),
    "14 positions set, readers not woken": partial(at_waking, 1, before=True),
    "15 all applied, not answered": partial(at_service, "_decided", 1, before=False),
    "15 positions file not written": partial(at_positions_file, 0, before=True),
    "15 positions file written": partial(at_positions_file, 0, before=False),
    "30 snapshot not begun": partial(at_snapshot, "write", before=True),
    "30 snapshot beside its place": partial(at_snapshot, "replace", before=True),
    "30 snapshot in place, old ones still there": partial(at_snapshot, "replace", before=False),
    "30 snapshot written": partial(at_snapshot, "write", before=False),
}

READING_BACK: Mapping[str, Callable[[], None]] = {
    "8 nothing read back": partial(at_service, "_adopt", 0, before=True),
    "8 read back, a half batch not cut off": partial(at_coordinator, "begin", 0, before=True),
    "8 read back": partial(at_service, "_adopt", 0, before=False),
}
"""Points of the start after a crash with an open transaction."""


class _Producer:
    """Kills around one of the requests of `AtomicProducer`."""

    def __init__(self, code: RequestCode, number: int, when: str) -> None:
        self._code, self._number, self._when = code, number, when

    def arm(self) -> None:
        from broker_core.client.atomic_producer import AtomicProducer

        request, passed = AtomicProducer._request, 0

        async def counted(producer: AtomicProducer, command: Any) -> Any:
            nonlocal passed
            is_it = command.code == self._code and passed == self._number
            passed += command.code == self._code
            if not is_it:
                return await request(producer, command)
            if self._when == "before":
                die()
            asking = asyncio.ensure_future(request(producer, command))
            if self._when == "asked":
                # Long enough to be sent; whether the answer comes too is all the same to a process that dies.
                for _turn in range(3):
                    await asyncio.sleep(0)
                die()
            answer = await asking
            die()
            return answer

        AtomicProducer._request = counted  # type: ignore[method-assign,assignment]  # the point of it


PRODUCER: Mapping[str, Callable[[], None]] = {
    "1 identity not asked for": _Producer(RequestCode.INIT_ATOMIC_PRODUCER, 0, "before").arm,
    "1 identity asked for": _Producer(RequestCode.INIT_ATOMIC_PRODUCER, 0, "asked").arm,
    "2 identity given, nothing sent": _Producer(RequestCode.INIT_ATOMIC_PRODUCER, 0, "after").arm,
    "4 message sent": _Producer(RequestCode.SEND_ATOMIC_MESSAGE, 17, "asked").arm,
    "4 some messages stored": _Producer(RequestCode.SEND_ATOMIC_MESSAGE, 17, "after").arm,
    "24 positions sent": _Producer(RequestCode.ADD_ATOMIC_OFFSETS, 1, "asked").arm,
    "24 positions joined, no end asked for": _Producer(RequestCode.ADD_ATOMIC_OFFSETS, 1, "after").arm,
    "19 end not asked for": _Producer(RequestCode.END_ATOMIC, 1, "before").arm,
    "19 end asked for": _Producer(RequestCode.END_ATOMIC, 1, "asked").arm,
    "19 ended, not taken note of": _Producer(RequestCode.END_ATOMIC, 1, "after").arm,
}
