"""Reads the engine's figures into catalogs and snapshots, cheaply enough to do it ten times a second beside the traffic.

It runs on the engine's loop, between requests. Each snapshot therefore reads only queues of topics that were written to (the
rest in turns), positions in turns, and the disk once a second.
"""

from __future__ import annotations

import logging
import time
from array import array
from collections.abc import Callable

import psutil

from broker_core.counted import counted
from broker_core.engine.store.results import StoreStats
from broker_core.errors import StoreError
from broker_core.worker.columns import packed
from broker_core.worker.delay_views import delay_columns, lateness_columns
from broker_core.worker.embedded.action_events import action_event
from broker_core.worker.embedded.atomic_views import atomic_totals
from broker_core.worker.embedded.catalog import Inventory, take_inventory
from broker_core.worker.embedded.engine import EngineView
from broker_core.worker.embedded.store_views import longest_flush_ms
from broker_core.worker.embedded.timer_views import timer_figures
from broker_core.worker.questions.figures import Catalog, Columns, Occurred, Snapshot, Subscriptions
from broker_core.worker.transactions import transaction_totals

logger = logging.getLogger(__name__)

INVENTORY_STEP_MS = 500
"""Least time between two looks at the tables of topics, queues and groups."""
DISK_STEP_MS = 1_000
QUEUES_IN_TURN = 256
"""Queues read again in each snapshot, whether their topic was written to or not."""
POSITIONS_IN_TURN = 1_000
"""Positions read again in each snapshot: 8,000 within a second, without holding up a put."""
STORE_TIMES_IN_TURN = 256
"""Messages whose store time one snapshot reads."""

_UNKNOWN = -1


class Sampler:
    """Samples one engine, on its loop. ``clock`` is the broker's, in ms since the epoch; ``monotonic`` returns seconds."""

    def __init__(
        self, engine: EngineView, *, clock: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._monotonic = monotonic
        self._process = psutil.Process()
        self._inventory = take_inventory(engine, 0)
        self._told_revision = -1
        self._looked_ms = 0
        self._looked_at = _signature(engine)
        self._disk_ms = 0
        self._stats: StoreStats | None = None
        self._refusal = ""
        self._members = _members(engine)
        self._subscriptions = _subscriptions(engine)
        self._events = [Occurred("config_damaged", text, clock()) for text in engine.reports]
        self._queues = _QueueColumns(engine, self._inventory)
        self._positions = _PositionColumns(engine, self._inventory)

    def catalog(self) -> Catalog | None:
        """The set of things to measure, if it differs from the one returned last."""
        now_ms = self._clock()
        if abs(now_ms - self._looked_ms) >= INVENTORY_STEP_MS:
            self._looked_ms = now_ms
            self._look_again(now_ms)
        if self._told_revision == self._inventory.catalog.revision:
            return None
        self._told_revision = self._inventory.catalog.revision
        return self._inventory.catalog

    def snapshot(self) -> Snapshot:
        """Figures of this moment, for the catalog returned last."""
        now_ms = self._clock()
        if abs(now_ms - self._disk_ms) >= DISK_STEP_MS:
            self._disk_ms = now_ms
            self._look_at_disk(now_ms)
        self._queues.refresh()
        self._positions.refresh(self._queues)
        positions, owners = self._positions.columns()
        return Snapshot(
            revision=self._inventory.catalog.revision,
            taken_ms=now_ms,
            queues=self._queues.columns(),
            topics=self._topic_columns(),
            groups=self._group_columns(),
            positions=positions,
            owners=owners,
            totals=self._totals(),
            delays=delay_columns(self._engine.delays.figures() if self._engine.delays else []),
            timers=timer_figures(self._engine.timers),
            lateness=self._lateness(),
        )

    def events(self) -> list[Occurred]:
        """Events since the last call, in order."""
        events, self._events = self._events, []
        now_ms = self._clock()
        aside = [Occurred("message_set_aside", text, now_ms, topic) for topic, text in self._engine.set_aside.take()]
        return [*events, *aside, *map(action_event, self._engine.journal.take_untold())]

    def subscriptions(self) -> Subscriptions:
        """Subscriptions of groups with members; the same object as long as nothing changes."""
        return self._subscriptions

    # ---- inventory and events ----

    def _look_again(self, now_ms: int) -> None:
        signature = _signature(self._engine)
        if signature == self._looked_at:
            return
        self._looked_at = signature
        old, new = self._inventory, take_inventory(self._engine, self._inventory.catalog.revision + 1)
        self._note_members(now_ms)
        wanted = _subscriptions(self._engine)
        if wanted != self._subscriptions:
            self._subscriptions = wanted
        if _same_rows(old, new):
            return
        self._note_topics(old.catalog, new.catalog, now_ms)
        self._inventory = new
        self._queues = _QueueColumns(self._engine, new)
        self._positions = _PositionColumns(self._engine, new)

    def _note_topics(self, old: Catalog, new: Catalog, now_ms: int) -> None:
        before, after = set(old.topics), set(new.topics)
        for topic in sorted(after - before):
            self._events.append(Occurred("topic_created", f"Topic {topic} was created", now_ms, topic))
        for topic in sorted(before - after):
            self._events.append(Occurred("topic_deleted", f"Topic {topic} was deleted", now_ms, topic))

    def _note_members(self, now_ms: int) -> None:
        before, after = self._members, _members(self._engine)
        self._members = after
        for group in sorted(before.keys() | after.keys()):
            old, new = before.get(group, frozenset()), after.get(group, frozenset())
            if old != new:
                changes = [f"+{client}" for client in sorted(new - old)] + [f"-{client}" for client in sorted(old - new)]
                text = f"Group {group} has {counted(len(new), 'member')} now: {', '.join(changes)}"
                self._events.append(Occurred("members_changed", text, now_ms, group))

    def _look_at_disk(self, now_ms: int) -> None:
        try:
            self._stats = self._engine.store.stats()
        except StoreError as error:
            # The figures are unknown then; the broker continues as long as it can write.
            if self._stats is not None:
                logger.warning("%s", error)
            self._stats = None
            return
        before, self._refusal = self._refusal, self._stats.refusal
        if self._refusal and self._refusal != before and not self._engine.store.read_only:
            self._events.append(Occurred("writes_refused", self._refusal, now_ms))
        if before and not self._refusal:
            self._events.append(Occurred("writes_accepted", "The broker takes messages again", now_ms))

    # ---- columns ----

    def _lateness(self) -> Columns:
        delays, timers = self._engine.delays, self._engine.timers
        return lateness_columns(delays.lateness() if delays else None, timers.lateness() if timers else None)

    def _topic_columns(self) -> Columns:
        counters = self._engine.counters.topics
        found = [counters.get(topic) for topic in self._inventory.catalog.topics]
        return {
            "put_messages": packed([c.put_messages if c else 0 for c in found]),
            "put_bytes": packed([c.put_bytes if c else 0 for c in found]),
            "got_messages": packed([c.got_messages if c else 0 for c in found]),
            "got_bytes": packed([c.got_bytes if c else 0 for c in found]),
        }

    def _group_columns(self) -> Columns:
        groups = self._inventory.catalog.groups
        found = [self._engine.counters.groups.get(group) for group in groups]
        members = [self._engine.consumers.group(group) for group in groups]
        return {
            "members": packed([len(group.members) if group else _UNKNOWN for group in members]),
            "got_messages": packed([c.got_messages if c else 0 for c in found]),
            "consume_failed": packed([c.consume_failed if c else 0 for c in found]),
        }

    def _totals(self) -> dict[str, float]:
        engine = self._engine
        counters = engine.counters
        latency = counters.put_latency.figures(self._monotonic())
        usage = self._process.cpu_times()
        return {
            "put_messages": counters.put_messages,
            "put_bytes": counters.put_bytes,
            "got_messages": counters.got_messages,
            "got_bytes": counters.got_bytes,
            "put_failed": counters.put_failed,
            "put_p50_ms": latency.p50_ms,
            "put_p99_ms": latency.p99_ms,
            "put_max_ms": latency.max_ms,
            "connections": engine.connections,
            "producers": engine.producers.member_count,
            "consumers": engine.consumers.member_count,
            "held_pulls": engine.held_pulls,
            "flush_max_ms": longest_flush_ms(engine.store.flush_runs(), self._monotonic()),
            "process_cpu_s": usage.user + usage.system,
            "process_rss_bytes": self._process.memory_info().rss,
            **_store_totals(self._stats),
            **({} if engine.transactions is None else transaction_totals(engine.transactions)),
            **({} if engine.atomic is None else atomic_totals(engine.atomic, engine.store)),
        }


class _QueueColumns:
    """Offsets and last writes of the queues of an inventory, in its order."""

    def __init__(self, engine: EngineView, inventory: Inventory) -> None:
        self._engine = engine
        self._inventory = inventory
        count = len(inventory.queues)
        self.low = array("q", [_UNKNOWN]) * count
        self.high = array("q", [_UNKNOWN]) * count
        self._last = array("q", [_UNKNOWN]) * count
        self._turn = 0
        self._written: dict[str, int] = {}
        self._read(range(count))

    def refresh(self) -> None:
        """Read the queues of topics that were written to, and some of the others in turn."""
        for topic, counter in self._engine.counters.topics.items():
            if self._written.get(topic) != counter.put_messages:
                self._written[topic] = counter.put_messages
                self._read(self._inventory.topic_rows.get(topic, range(0)))
        count = len(self.low)
        end = min(self._turn + QUEUES_IN_TURN, count)
        self._read(range(self._turn, end))
        self._turn = end % count if count else 0

    def read_again(self, row: int) -> None:
        """Read one queue now."""
        self._read(range(row, row + 1))

    def columns(self) -> Columns:
        return {"min_offset": packed(self.low), "max_offset": packed(self.high), "last_store_ms": packed(self._last)}

    def _read(self, rows: range) -> None:
        store, queues = self._engine.store, self._inventory.queues
        for row in rows:
            topic, queue_id = queues[row]
            self.low[row], self.high[row], self._last[row] = store.standing(topic, queue_id)


class _PositionColumns:
    """Consumers' offsets in the queues of an inventory, in its order. Of very many, each snapshot reads some."""

    def __init__(self, engine: EngineView, inventory: Inventory) -> None:
        self._engine = engine
        self._inventory = inventory
        count = len(inventory.positions)
        self._offset = array("q", [_UNKNOWN]) * count
        self._next_ms = array("q", [_UNKNOWN]) * count
        self._next_at = array("q", [_UNKNOWN]) * count
        """Offset of the message whose time is in ``_next_ms``."""
        self._owner_id: list[str] = [""] * count
        self._turn = 0

    def refresh(self, queues: _QueueColumns) -> None:
        """Read the next positions: offset, owner, and, of some, the time of the next message."""
        positions, keys = self._inventory.positions, self._inventory.queues
        offsets, consumers = self._engine.offsets, self._engine.consumers
        count = len(positions)
        budget = STORE_TIMES_IN_TURN
        for _ in range(min(count, POSITIONS_IN_TURN)):
            row = self._turn
            group, queue_row = positions[row]
            topic, queue_id = keys[queue_row]
            offset = self._offset[row] = offsets.get(group, topic, queue_id)
            if offset > queues.high[queue_row]:
                # The end may have moved since it was read, and a position beyond the end is an alarm.
                queues.read_again(queue_row)
            self._owner_id[row] = consumers.puller(group, topic, queue_id)
            budget -= self._look_up_time(row, queue_row, queues)
            self._turn = (row + 1) % count
            if not budget:
                return

    def columns(self) -> tuple[Columns, list[str]]:
        """The columns, and the clients that the numbers of the owner column mean."""
        numbers: dict[str, int] = {"": _UNKNOWN}
        owner = array("q", [numbers.setdefault(client_id, len(numbers) - 1) for client_id in self._owner_id])
        columns = {"offset": packed(self._offset), "next_store_ms": packed(self._next_ms), "owner": packed(owner)}
        return columns, list(numbers)[1:]

    def _look_up_time(self, row: int, queue_row: int, queues: _QueueColumns) -> int:
        """Read the store time of the next message of a position; returns how many messages were read."""
        offset = self._offset[row]
        if offset < 0 or offset >= queues.high[queue_row]:
            self._next_ms[row] = self._next_at[row] = _UNKNOWN
            return 0
        wanted = max(offset, queues.low[queue_row])
        if self._next_at[row] == wanted:
            return 0
        topic, queue_id = self._inventory.queues[queue_row]
        self._next_ms[row] = self._engine.store.store_time(topic, queue_id, wanted)
        self._next_at[row] = wanted
        return 1


def _signature(engine: EngineView) -> tuple[object, ...]:
    """A value that changes whenever the set of topics, queues, groups or positions may have changed."""
    return (
        engine.topics.version,
        len(engine.topics),
        len(engine.store.queues()),
        engine.groups.version,
        engine.consumers.changes,
        tuple((topic, group, len(queues)) for topic, group, queues in engine.offsets.items()),
    )


def _store_totals(stats: StoreStats | None) -> dict[str, float]:
    """Figures of the store; without ``stats`` the names are left out, which means unknown."""
    if stats is None:
        return {}
    return {
        "commit_log_min": stats.commit_log_min_offset,
        "commit_log_max": stats.commit_log_max_offset,
        "flushed": stats.flushed_offset,
        "store_bytes": stats.store_bytes,
        "disk_used_bytes": stats.disk_used_bytes,
        "disk_total_bytes": stats.disk_total_bytes,
    }


def _same_rows(old: Inventory, new: Inventory) -> bool:
    first, second = old.catalog, new.catalog
    return (
        old.queues == new.queues
        and old.positions == new.positions
        and first.topics == second.topics
        and first.groups == second.groups
        and first.topic_read_queues == second.topic_read_queues
        and first.topic_write_queues == second.topic_write_queues
        and first.topic_permission == second.topic_permission
    )


def _members(engine: EngineView) -> dict[str, frozenset[str]]:
    return {group.name: frozenset(group.client_ids) for group in engine.consumers.groups()}


def _subscriptions(engine: EngineView) -> Subscriptions:
    return {
        group.name: {topic: (wanted.expression_type, wanted.expression) for topic, wanted in group.subscriptions.items()}
        for group in engine.consumers.groups()
    }
