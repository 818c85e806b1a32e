"""Groups that read so far behind that they are switched off (Source: spec broker §15.7)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from broker_core.broker.state import BrokerState

logger = logging.getLogger(__name__)

CHECK_SECONDS = 180.0
FORGET_MS = 600_000
"""A queue that a group has not read for so long says nothing about it any more."""

QUEUES_MAX = 100_000
"""Bound on queues that are watched."""


class SlowConsumers:
    """How many bytes of the log lie behind what each group read last, queue by queue."""

    def __init__(self) -> None:
        self._behind: dict[tuple[str, str, int], tuple[int, int]] = {}

    def read(self, group: str, topic: str, queue_id: int, behind_bytes: int, now_ms: int) -> None:
        """Note what a pull found."""
        key = (group, topic, queue_id)
        if key in self._behind or len(self._behind) < QUEUES_MAX:
            self._behind[key] = (behind_bytes, now_ms)

    def beyond(self, bytes_max: int, now_ms: int) -> dict[str, int]:
        """Groups further behind than ``bytes_max`` in some queue, with how far."""
        self._behind = {key: item for key, item in self._behind.items() if now_ms - item[1] <= FORGET_MS}
        found: dict[str, int] = {}
        for (group, _, _), (behind, _) in self._behind.items():
            if behind > bytes_max:
                found[group] = max(behind, found.get(group, 0))
        return found


def switch_off_slow_groups(state: BrokerState, slow: SlowConsumers) -> list[str]:
    """Forbid consuming to groups that are too far behind, if ``disableConsumeIfConsumerReadSlowly`` says so; returns them."""
    if not state.config.disable_slow_consumers:
        return []
    switched = []
    for group, behind in slow.beyond(state.config.slow_consumer_bytes, state.clock()).items():
        config = state.groups.get(group)
        if config is not None and config.consume_enabled:
            state.groups.put(replace(config, consume_enabled=False))
            switched.append(group)
            logger.warning(
                "group %s may not consume any more: it reads %d bytes behind the end of the log, consumerFallbehindThreshold "
                "is %d; set consumeEnable of the group to let it go on",
                group, behind, state.config.slow_consumer_bytes,
            )  # fmt: skip
    return switched


class SlowConsumerGuard:
    """The service that looks for slow groups every three minutes."""

    def __init__(self, state: BrokerState, slow: SlowConsumers, *, interval_s: float = CHECK_SECONDS) -> None:
        self._state = state
        self._slow = slow
        self._interval_s = interval_s
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin."""
        self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._check)

    async def stop(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self.start()
        switch_off_slow_groups(self._state, self._slow)
