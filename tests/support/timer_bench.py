"""Timers over a real message store, without an event loop: a test moves the clock and takes the turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker_core.engine.schedule.timer.accept import TimerLimits, slot_for
from broker_core.engine.schedule.timer.checkpoint import TimerCheckpoint, load_checkpoint
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.recovery import OpenedTimers, open_timer_store, read_found_precision
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.work import TimerWork
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import decode_properties, encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import WHEEL_TIMER_TOPIC
from tests.support.clock import ManualClock
from tests.support.store_bench import FaultyDisk, StoreBench, message

TOPIC = "Later"
DAY_MS = 86_400_000
SMALL_LOG_FILE = 52 * 7 + 16 + 20
"""Seven units, and a filler that is longer than it must be."""


class QuietDisk(FaultyDisk):
    """A disk that is not waited for: a kill loses nothing that was written."""

    def sync(self, descriptor: int) -> None:  # noqa: ARG002  as the real one
        self.syncs += 1

    def sync_directory(self, path: Path) -> None:
        """Nothing to wait for."""


class TimerBench:
    """One store with timers, opened and crashed at will."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.stores = StoreBench(root)
        self.stores.disk = QuietDisk()
        self.paths = TimerPaths(root)
        self.settings = TimerSettings(**({"log_file_bytes": SMALL_LOG_FILE} | settings))
        self.delay_max_ms = 400 * DAY_MS
        self.precisions: dict[str, Any] = {}
        self.put_status: PutStatus | None = None
        self.store: MessageStore
        self.work: TimerWork
        self.opened: OpenedTimers
        self.report = ""

    @property
    def clock(self) -> ManualClock:
        return self.stores.clock

    def open(self) -> TimerBench:
        """Open store and timers."""
        self.store = self.stores.open(commit_log_file_bytes=1 << 20, consume_queue_file_bytes=20_000)
        self.open_timers()
        return self

    def open_timers(self) -> None:
        """Open the timers of the open store."""
        source = StoreSource(self.store, self.store.commit_log_max_offset)
        found = None if self.precisions else read_found_precision(self.paths, self.settings, self.stores.disk)
        history = PrecisionHistory.of_json(self.precisions, current_ms=self.settings.precision_ms, found_ms=found)
        checkpoint, self.report = load_checkpoint(self.paths.checkpoint, self.stores.disk, holds_timers=self._holds_timers)
        self.opened = open_timer_store(
            self.paths,
            self.settings,
            source,
            history,
            checkpoint or TimerCheckpoint(),
            now_ms=self.clock(),
            disk=self.stores.disk,
        )
        if self.opened.precision_changed:
            self.precisions = history.to_json()
        self.work = TimerWork(self.opened.store, source, history, put=self.put)

    def _holds_timers(self) -> bool:
        return self.store.max_offset(WHEEL_TIMER_TOPIC, 0) > 0

    def put(self, put: MessageToStore) -> PutResult:
        return self.store.put(put) if self.put_status is None else PutResult(self.put_status)

    def send(self, key: str, due_ms: int, *, cancels: str = "", topic: str = TOPIC, body: bytes = b"body") -> int | None:
        """Send a message as a producer would; returns its slot, None when it was stored as any other."""
        asked = {"UNIQ_KEY": key, "TIMER_DELIVER_MS": str(due_ms), "KEYS": key}
        if cancels:
            asked["TIMER_DEL_UNIQKEY"] = f"{topic}+{cancels}"
        limits = TimerLimits(
            is_enabled=True, precision_ms=self.settings.precision_ms, delay_max_ms=self.delay_max_ms, congest_messages=10**9
        )
        out = slot_for(asked, limits, self.clock(), congestion=self.work.store.congestion, choose=lambda _below: 0)
        if out is None:
            self.store.put(message(body, topic=topic, properties=encode_properties(asked)))
            return None
        assert isinstance(out, int), out
        stored = asked | {"TIMER_OUT_MS": str(out), "REAL_TOPIC": topic, "REAL_QID": "0"}
        assert (
            self.store.put(message(body, topic=WHEEL_TIMER_TOPIC, properties=encode_properties(stored))).status
            is PutStatus.PUT_OK
        )
        return out

    def turns(self, *, at_most: int = 10_000) -> int | None:
        """Take turns until one says to wait; returns for how long, in ms."""
        for _ in range(at_most):
            wait_ms = self.work.turn(self.clock())
            if wait_ms != 0:
                return wait_ms
        raise AssertionError("turns without end")

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass as the event loop would: turns whenever one is due."""
        end_ms = self.clock() + milliseconds
        while (wait_ms := self.turns()) is not None and self.clock() + wait_ms <= end_ms:
            self.clock.advance(wait_ms)
        self.clock.now_ms = end_ms
        self.turns()

    def flush(self) -> None:
        """One round of writing."""
        flush = self.work.store.flush(self.clock())
        if flush is not None:
            self.work.store.write(flush)
            self.work.store.written(flush)

    def crash(self) -> None:
        """End as a kill would."""
        self.stores.crash(self.store)

    def close(self) -> None:
        """End in good order."""
        self.flush()
        self.store.close()

    def delivered(self, topic: str = TOPIC) -> list[str]:
        """Unique keys of the messages in a topic, in order."""
        return [properties["UNIQ_KEY"] for _at, properties in self.arrivals(topic)]

    def arrivals(self, topic: str = TOPIC) -> list[tuple[int, dict[str, str]]]:
        """Store time and properties of the messages in a topic, in order."""
        found: list[tuple[int, dict[str, str]]] = []
        offset, end = self.store.min_offset(topic, 0), self.store.max_offset(topic, 0)
        while offset < end:
            for record in self.store.get_messages(topic, 0, offset, 32).records:
                stored = decode_record(record)
                found.append((stored.store_timestamp_ms, decode_properties(stored.properties_bytes)))
                offset += 1
        return found
