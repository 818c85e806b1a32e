"""SQL92 filters of consumer groups: the table of ``consumerFilter.json``.

A filter arrives with a heartbeat, is dead when its group leaves, and is removed a day later. Expressions are compiled once.

Source: docs/spec/broker.md §9.4, docs/spec/store.md §7.7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker_core.engine.store.config_file import ConfigRule, object_in
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import CodecError, FilterSyntaxError
from broker_core.protocol.filter.bloom import BITS, HASHES, bloom_positions
from broker_core.protocol.filter.evaluator import Filter, compile_filter
from broker_core.protocol.subscription import Subscription

FILTERS_FILE = "consumerFilter.json"
FILTERS_RULE = ConfigRule("filters come back with the next heartbeat of their groups", is_rebuilt=True)
WRITE_SECONDS = 10.0

logger = logging.getLogger(__name__)

SQL92 = "SQL92"
DEAD_KEPT_MS = 24 * 3_600_000
FILTERS_MAX = 100_000
"""Bound on stored filters, dead ones included."""

_LOADED_DEAD_MS = 30_000


@dataclass(frozen=True, slots=True)
class FilterData:
    """The filter of one group on one topic.

    Attributes:
        client_version: Version of its subscription.
        dead_ms: When its group left; 0 or before ``born_ms`` while it is there.
    """

    topic: str
    group: str
    expression: str
    born_ms: int
    client_version: int
    dead_ms: int
    compiled: Filter

    @property
    def dead(self) -> bool:
        return self.dead_ms >= self.born_ms

    def to_json(self) -> dict[str, Any]:
        return {
            "bloomFilterData": {"bitNum": BITS, "bitPos": bloom_positions(self.group, self.topic)},
            "bornTime": self.born_ms,
            "clientVersion": self.client_version,
            "consumerGroup": self.group,
            "dead": self.dead,
            "deadTime": self.dead_ms,
            "expression": self.expression,
            "expressionType": SQL92,
            "topic": self.topic,
        }


class ConsumerFilters:
    """Topic → group → `FilterData`.

    Attributes:
        changes: Incremented with each change.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._topics: dict[str, dict[str, FilterData]] = {}
        self.changes = 0

    def get(self, topic: str, group: str) -> FilterData | None:
        return self._topics.get(topic, {}).get(group)

    def register(self, group: str, subscriptions: Iterable[Subscription]) -> None:
        """Apply the subscriptions of a heartbeat; the group's filters on other topics die."""
        wanted = {item.topic: item for item in subscriptions if item.expression_type == SQL92}
        for subscription in wanted.values():
            self._put(group, subscription)
        self._bury(group, keep=wanted)

    def unregister(self, group: str) -> None:
        """Mark all filters of a group dead: its last member left."""
        self._bury(group, keep=())

    def _put(self, group: str, subscription: Subscription) -> None:
        topic, version = subscription.topic, subscription.version
        known = self.get(topic, group)
        if known is not None and version <= known.client_version:
            if version == known.client_version and known.dead:
                self._set(replace(known, born_ms=self._clock(), dead_ms=0))
            return
        if known is None and sum(map(len, self._topics.values())) >= FILTERS_MAX:
            logger.warning("group %s: filter on %s is not kept, there are %d already", group, topic, FILTERS_MAX)
            return
        try:
            compiled = compile_filter(subscription.expression)
        except FilterSyntaxError as error:
            logger.warning("group %s: filter on %s cannot be used: %s", group, topic, error)
            return
        self._set(FilterData(topic, group, subscription.expression, self._clock(), version, 0, compiled))

    def _bury(self, group: str, *, keep: Iterable[str]) -> None:
        kept = set(keep)
        for topic, groups in self._topics.items():
            data = groups.get(group)
            if data is not None and topic not in kept and not data.dead:
                self._set(replace(data, dead_ms=self._clock()))

    def _set(self, data: FilterData) -> None:
        self._topics.setdefault(data.topic, {})[data.group] = data
        self.changes += 1

    def expire(self) -> None:
        """Remove filters that have been dead for a day."""
        limit = self._clock() - DEAD_KEPT_MS
        for topic, groups in list(self._topics.items()):
            for group in [group for group, data in groups.items() if data.dead and data.dead_ms < limit]:
                del groups[group]
                self.changes += 1
            if not groups:
                del self._topics[topic]

    def to_json(self) -> dict[str, Any]:
        self.expire()
        return {
            "filterDataByTopic": {
                topic: {"groupFilterData": {group: data.to_json() for group, data in groups.items()}, "topic": topic}
                for topic, groups in self._topics.items()
            }
        }

    def load(self, value: Mapping[str, Any]) -> None:
        """Load ``consumerFilter.json``; live filters count as dead until their group is back.

        A file whose Bloom data are of another filter is ignored as a whole, as RocketMQ does.

        Raises:
            CodecError: A field has a value of another type.
        """
        try:
            found = [
                self._loaded(item)
                for groups in object_in(value, "filterDataByTopic").values()
                for item in (groups.get("groupFilterData") or {}).values()
                if item.get("expressionType") == SQL92
            ]
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CodecError(f"consumerFilter.json holds something else than filters: {error!r}") from error
        if any(not fits for _, fits in found):
            logger.warning("the filters of consumerFilter.json were made with other Bloom settings; they are not used")
            return
        for data, _ in found:
            if data is not None:
                self._set(data)

    def _loaded(self, item: Mapping[str, Any]) -> tuple[FilterData | None, bool]:
        bloom = item.get("bloomFilterData") or {}
        fits = not bloom or (bloom.get("bitNum") == BITS and len(bloom.get("bitPos") or ()) == HASHES)
        topic, group, expression = str(item["topic"]), str(item["consumerGroup"]), str(item["expression"])
        born_ms, dead_ms = int(item["bornTime"]), int(item["deadTime"])
        if dead_ms <= 0:
            dead_ms = max(born_ms, self._clock() - _LOADED_DEAD_MS)
        try:
            compiled = compile_filter(expression)
        except FilterSyntaxError as error:
            logger.warning("group %s: filter on %s from consumerFilter.json cannot be used: %s", group, topic, error)
            return None, fits
        return FilterData(topic, group, expression, born_ms, int(item["clientVersion"]), dead_ms, compiled), fits


class FilterFile:
    def __init__(self, filters: ConsumerFilters, files: ConfigFiles) -> None:
        self._filters = filters
        self._files = files
        self._written_changes = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Read the file and start the timer."""
        self._files.serve(FILTERS_FILE, self._filters.to_json)
        self._files.load(FILTERS_FILE, self._filters.load, FILTERS_RULE)
        self._written_changes = self._filters.changes
        self._plan()

    async def stop(self) -> None:
        """Mark the file if it changed; the end of `ConfigFiles` writes it."""
        if self._timer is not None:
            self._timer.cancel()
        self._mark()

    def _plan(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(WRITE_SECONDS, self._tick)

    def _tick(self) -> None:
        self._plan()
        self._mark()

    def _mark(self) -> None:
        self._filters.expire()
        if self._filters.changes != self._written_changes:
            self._written_changes = self._filters.changes
            self._files.mark(FILTERS_FILE)
