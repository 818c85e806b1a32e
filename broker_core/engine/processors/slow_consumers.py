"""Switches off groups that have fallen too far behind, where that is configured (Source: docs/spec/broker.md §15.7).

A group that reads gigabytes behind the others makes the disk read data that has left the memory. With
``disableConsumeIfConsumerReadSlowly`` such a group may not consume until an administrator allows it again. Its offsets stay,
and an offline group is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from broker_core.engine.tables.state import BrokerState

logger = logging.getLogger(__name__)

CHECK_SECONDS = 180.0


class SlowConsumerGuard:
    """A service that checks all groups every three minutes."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Check for the first time in three minutes."""
        self._timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._round)

    async def stop(self) -> None:
        """End the checks."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _round(self) -> None:
        self.start()
        self.check()

    def check(self) -> list[str]:
        """Switch off the groups that are too far behind; returns their names."""
        state = self._state
        if not state.config.disable_slow_consumers:
            return []
        stopped = []
        for group in state.consumers.groups():
            config = state.groups.get(group.name)
            behind_bytes = self._behind_bytes(group.name)
            if config is None or not config.consume_enabled or behind_bytes <= state.config.slow_consumer_bytes:
                continue
            logger.warning(
                "group %s is %s bytes behind, more than %s (consumerFallbehindThreshold): it may no longer consume. Set its "
                "consumeEnable to true to let it go on",
                group.name,
                f"{behind_bytes:,}",
                f"{state.config.slow_consumer_bytes:,}",
            )
            state.groups.put(replace(config, consume_enabled=False))
            stopped.append(group.name)
        return stopped

    def _behind_bytes(self, group: str) -> int:
        """How far behind the end of the log the group's oldest pending message lies; 0 without one."""
        store = self._state.store
        behind = 0
        for topic in self._state.offsets.topics_of(group):
            config = self._state.topics.get(topic)
            for queue_id in range(0 if config is None else config.read_queues):
                offset = self._state.offsets.get(group, topic, queue_id)
                first = max(offset, store.min_offset(topic, queue_id))
                units = store.queue_units(topic, queue_id, first, 1) if offset >= 0 else []
                if units:
                    behind = max(behind, store.commit_log_max_offset - units[0].physical_offset)
        return behind
