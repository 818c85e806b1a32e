"""Avoids brokers for a while that were slow or failed. Pure; the time is an argument (Source: docs/spec/broker.md §2.4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from broker_core.protocol.json_body import MessageQueue

_LATENCY_MS = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
_AVOIDED_MS = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
_FAILED_MS = 30_000
"""Latency that a failure counts as, so that it causes the longest time."""


@dataclass(frozen=True, slots=True)
class _Fault:
    latency_ms: float
    until_ms: float


class FaultTolerance:
    """Latency of each broker's last send, and until when the broker is avoided."""

    def __init__(self) -> None:
        self._brokers: dict[str, _Fault] = {}

    def sent(self, broker_name: str, latency_ms: float, now_ms: float, *, failed: bool = False) -> None:
        counted = _FAILED_MS if failed else latency_ms
        index = bisect_right(_LATENCY_MS, counted) - 1
        avoided_ms = _AVOIDED_MS[index] if index >= 0 else 0
        self._brokers[broker_name] = _Fault(latency_ms, now_ms + avoided_ms)

    def is_available(self, broker_name: str, now_ms: float) -> bool:
        """Whether a broker is not avoided now."""
        fault = self._brokers.get(broker_name)
        return fault is None or now_ms >= fault.until_ms

    def choose(self, queues: Sequence[MessageQueue], index: int, now_ms: float) -> MessageQueue:
        """The next queue in turn whose broker is available; if none is, one of the better half of the brokers."""
        for step in range(len(queues)):
            queue = queues[(index + step) % len(queues)]
            if self.is_available(queue.broker_name, now_ms):
                return queue
        ranked = sorted({queue.broker_name for queue in queues}, key=self._rank)
        better = ranked[: max(len(ranked) // 2, 1)]
        name = better[index % len(better)]
        candidates = [queue for queue in queues if queue.broker_name == name]
        return candidates[index % len(candidates)]

    def _rank(self, broker_name: str) -> tuple[float, float]:
        fault = self._brokers[broker_name]
        return fault.latency_ms, fault.until_ms
