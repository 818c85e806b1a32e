"""Atomic transactions of one broker: reads the state back at the start, keeps time, and joins coordinator, store and readers.

Runs only with ``orbitAtomicTransactions=true``; otherwise none of this exists and the store is that of a plain broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.engine.atomic.coordinator import Coordinator
from broker_core.engine.atomic.reads import CommittedReads
from broker_core.engine.atomic.replay import Replayed, replay
from broker_core.engine.atomic.snapshot import SnapshotFiles, encode_snapshot
from broker_core.engine.atomic.state import AppliedOffsets
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.store.config_file import object_in, whole_number
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, StoreError, UsageError
from broker_core.protocol.atomic import STATE_TOPIC, AtomicPhase, AtomicRefusedError, OffsetKey, QueueKey, Refusal
from broker_core.protocol.message.model import MessageToStore

logger = logging.getLogger(__name__)

ATTRIBUTE, ATTRIBUTE_VALUE = "orbit.txn", "kafka"

OFFSETS_ENTRY = "orbitAtomic"
"""Entry of ``consumerOffset.json``: the log position up to which it contains decisions, and the positions set beside them."""


@dataclass(frozen=True, slots=True)
class ContainedDecisions:
    """The entry of atomic transactions in ``consumerOffset.json``.

    Attributes:
        applied_to: Decisions before this place in the log are contained in the positions.
        set_beside: Positions that were set without a transaction, and the end of the log then.
    """

    applied_to: int = 0
    set_beside: Mapping[OffsetKey, int] = field(default_factory=dict)

    @classmethod
    def of_offsets(cls, content: Mapping[str, Any]) -> ContainedDecisions:
        """Read the content of ``consumerOffset.json``; a file without the entry contains no decision.

        Raises:
            CodecError: The entry is damaged.
        """
        if OFFSETS_ENTRY not in content:
            return cls()
        entry = object_in(content, OFFSETS_ENTRY)
        beside = entry.get("setBeside")
        if not isinstance(beside, list):
            raise CodecError("it has no list “setBeside”")
        return cls(whole_number(entry.get("appliedTo"), "appliedTo"), dict(map(_position_beside, beside)))


TICK_SECONDS = 1.0
SNAPSHOT_BYTES = 64 * 1024 * 1024
SNAPSHOT_TICKS = 60
EXPIRY_TICKS = 3_600


class AtomicService:
    """Owns the coordinator; `read_back` first, then `start`.

    ``pull`` is notified when messages become visible; ``directory`` is the store's folder of configuration; ``write_positions``
    writes the present consumer positions to disk, with `_offsets_entry`.
    """

    coordinator: Coordinator

    def __init__(
        self,
        state: BrokerState,
        durable: DurableAnswers,
        pull: PullProcessor,
        directory: Path,
        *,
        write_positions: Callable[[], Awaitable[None]],
        journal: ActionJournal,
    ) -> None:
        self._state = state
        self._store = state.store
        self._pull = pull
        self._files = SnapshotFiles(directory)
        self._journal = journal
        self._write_positions = write_positions
        self._snapshot_at = 0
        self._snapshot_ticks = 0
        self._ticks = 0
        self._log = _StateLog(state, durable)
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._set_beside: dict[OffsetKey, int] = {}

    # ---- start and stop ----

    async def read_back(self, contained: ContainedDecisions) -> None:
        """Bring the state to the end of the log, in a thread; from then on readers see decided messages only.

        ``contained`` are the decisions in ``consumerOffset.json``.
        """
        replayed = await asyncio.to_thread(replay, self._store, self._files)
        self._adopt(replayed, contained)
        if contained.applied_to > self._store.commit_log_max_offset:
            # The log has lost its end; later decisions at the same positions would seem to be contained in the file.
            await self._write_positions()

    def _adopt(self, replayed: Replayed, contained: ContainedDecisions) -> None:
        state = replayed.state
        self._snapshot_at = replayed.snapshot_offset
        self.coordinator = Coordinator(
            state, self._log, clock=self._state.clock, is_atomic=self.is_atomic, decided=self._decided
        )
        self.coordinator.begin()
        for key, end in contained.set_beside.items():
            self._set_beside[key] = end
            state.override_offset(key, end)
        for physical, applied in replayed.applied:
            if physical >= contained.applied_to:
                self._apply(applied)
        offsets = self._state.offsets
        offsets.committed = self._set_without_transaction
        offsets.beside = self._offsets_entry
        self._store.visibility = CommittedReads(state, self.is_atomic)

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    async def stop(self) -> None:
        """Stop keeping time, with a snapshot of the end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._store.commit_log_max_offset != self._snapshot_at and not self._is_deciding():
            await self._write_snapshot()

    # ---- requests of others ----

    def is_atomic(self, topic: str) -> bool:
        """Whether a topic takes part."""
        config = self._state.topics.get(topic)
        return config is not None and config.attributes.get(ATTRIBUTE) == ATTRIBUTE_VALUE

    async def abort_by_hand(self, name: str) -> None:
        """Abort the open transaction of a transactional id; its producer learns it with its next request.

        Raises:
            UsageError: It has none.
            StoreError: The journal of actions cannot be written; nothing is done then.
        """
        entry = self.coordinator.state.ids.get(name)
        if entry is None or entry.state is not AtomicPhase.ONGOING or entry.deciding:
            raise UsageError(f"the transactional id {name} has no open transaction")
        await self._journal.record("atomic.abort", name, producerId=entry.producer_id, epoch=entry.epoch)
        self.coordinator.abort(entry, "an operator asked for it")

    def topic_removed(self, topic: str) -> None:
        """A topic was deleted."""
        self.coordinator.state.remove_topic(topic)

    # ---- consumer positions ----

    def _decided(self, _queues: list[QueueKey], applied: AppliedOffsets) -> None:
        self._apply(applied)
        self._pull.became_visible()

    def _apply(self, applied: AppliedOffsets) -> None:
        for key, pending in applied:
            if self._set_beside.get(key, -1) <= pending.physical:
                self._state.offsets.put(key.group, key.topic, key.queue_id, pending.offset)

    def _set_without_transaction(self, group: str, topic: str, queue_id: int) -> None:
        key = OffsetKey(group, topic, queue_id)
        state = self.coordinator.state
        if state.pending_offset(key):
            end = self._store.commit_log_max_offset
            self._set_beside[key] = end
            state.override_offset(key, end)

    def _offsets_entry(self) -> Mapping[str, Any]:
        open_since = self._oldest_open()
        self._set_beside = {key: end for key, end in self._set_beside.items() if end > open_since}
        beside = [[*key, end] for key, end in sorted(self._set_beside.items())]
        return {OFFSETS_ENTRY: {"appliedTo": self._applied_to(), "setBeside": beside}}

    def _applied_to(self) -> int:
        """The table of positions contains the decisions below; one that is not durable yet is not contained."""
        deciding = [entry.deciding_at for entry in self.coordinator.state.ids.values() if entry.deciding]
        return min(deciding, default=self._store.commit_log_max_offset)

    def _oldest_open(self) -> int:
        pending = [offset.physical for entry in self.coordinator.state.ids.values() for offset in entry.offsets.values()]
        return min(pending, default=self._store.commit_log_max_offset)

    # ---- time ----

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        self._ticks += 1
        self.coordinator.tick()
        self._abort_deleted()
        if self._ticks % EXPIRY_TICKS == 0:
            self.coordinator.state.expire(self._state.clock())
            self._trim()
        self._snapshot_ticks += 1
        grown = self._store.commit_log_max_offset - self._snapshot_at
        due = grown >= SNAPSHOT_BYTES or (self._snapshot_ticks >= SNAPSHOT_TICKS and self._log.records)
        if due and grown and self._writing is None and not self._is_deciding():
            self._writing = asyncio.create_task(self._write_snapshot(), name="atomic snapshot")
            self._writing.add_done_callback(self._written)

    def _abort_deleted(self) -> None:
        oldest = self._store.commit_log_min_offset
        for entry in list(self.coordinator.state.ids.values()):
            is_open = entry.state is AtomicPhase.ONGOING and not entry.deciding
            if is_open and any(opened.first_physical < oldest for opened in entry.queues.values()):
                self.coordinator.abort(entry, "retention has deleted its first messages")

    def _trim(self) -> None:
        for queue in list(self.coordinator.state.aborted):
            self.coordinator.state.trim(queue, self._store.min_offset(*queue))

    def _is_deciding(self) -> bool:
        # A snapshot in between would miss a decision that the log below its position holds.
        return any(entry.deciding for entry in self.coordinator.state.ids.values())

    async def _write_snapshot(self) -> None:
        offset, records = self._store.commit_log_max_offset, self._log.records
        data = encode_snapshot(self.coordinator.state, offset)
        try:
            # Positions first: a restart from the snapshot does not read the decisions before it again.
            await self._write_positions()
            await asyncio.to_thread(self._files.write, data, offset)
        except (OSError, StoreError) as error:
            logger.warning(
                "the snapshot of atomic transactions is not written (%s); the next start reads more of the log", error
            )
            return
        self._snapshot_at, self._snapshot_ticks = offset, 0
        # Records written while the disk was slow are not in it, and make the next one due.
        self._log.records -= records

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if not task.cancelled() and task.exception() is not None:
            logger.error("the snapshot of atomic transactions failed", exc_info=task.exception())


class _StateLog:
    def __init__(self, state: BrokerState, durable: DurableAnswers) -> None:
        self._state = state
        self._durable = durable
        self.records = 0

    def append(self, body: bytes) -> tuple[int, int, int]:
        host, store = self._state.store_host, self._state.store
        message = MessageToStore(STATE_TOPIC, 0, 0, 0, self._state.clock(), host, host, 0, 0, body, b"")
        result = store.put(message)
        if result.status is not PutStatus.PUT_OK:
            why = store.write_refusal or result.status.value
            raise AtomicRefusedError(Refusal.NOT_STORED, f"the store does not take it: {why}")
        self.records += 1
        return result.physical_offset, result.physical_offset + result.wrote_bytes, result.store_timestamp_ms

    def when_durable(self, end: int, done: Callable[[bool], None]) -> None:
        def reported(durable: bool) -> None:
            if durable or self._state.store.write_refusal:
                done(durable)
            else:
                self._durable.wait(end, reported)  # the disk is slow, not broken

        self._durable.wait(end, reported)


def _position_beside(item: object) -> tuple[OffsetKey, int]:
    match item:
        case [str(group), str(topic), queue_id, end]:
            return OffsetKey(group, topic, whole_number(queue_id, "a queue id")), whole_number(end, "a place in the log")
    raise CodecError(f"setBeside should hold positions, not {str(item)[:100]}")
