"""Statistics over the last minute, hour and day, by the names of RocketMQ (Source: spec broker §11.1, §11.2).

Nothing here counts: now and then all counters are read, and a window is the difference of two readings. So what passes through
the broker pays nothing for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

StatsKey = tuple[str, str]
"""Kind (``TOPIC_PUT`` …) and key (``topic``, ``topic@group``)."""

Reading = tuple[int, int, int]
"""Messages, bytes, times."""

_NOTHING: Reading = (0, 0, 0)

_WINDOWS = ((10_000, 7), (600_000, 7), (3_600_000, 25))
"""Milliseconds from reading to reading, and how many are kept: the last minute, hour and day."""

_KINDS = {
    "TOPIC_PUT_NUMS": ("TOPIC_PUT", 0),
    "TOPIC_PUT_SIZE": ("TOPIC_PUT", 1),
    "GROUP_GET_NUMS": ("GROUP_GET", 0),
    "GROUP_GET_SIZE": ("GROUP_GET", 1),
    "SNDBCK_PUT_NUMS": ("SNDBCK_PUT", 0),
    "BROKER_PUT_NUMS": ("BROKER_PUT", 0),
    "BROKER_GET_NUMS": ("BROKER_GET", 0),
}

BROKER_STATS = frozenset({"BROKER_PUT_NUMS", "BROKER_GET_NUMS"})
"""Statistics of the whole broker, which tools ask for by the cluster's name."""


class Window(NamedTuple):
    """One window of one item: its sum, per second, and per time (a batch counts once)."""

    sum: int = 0
    tps: float = 0.0
    average: float = 0.0


@dataclass(frozen=True, slots=True)
class StatsView:
    """The three windows of one item."""

    minute: Window
    hour: Window
    day: Window


class _Samples:
    def __init__(self, interval_ms: int, kept: int, now_ms: int) -> None:
        self.interval_ms = interval_ms
        self.readings: deque[tuple[int, dict[StatsKey, Reading]]] = deque([(now_ms, {})], kept)

    def window(self, key: StatsKey, index: int) -> Window:
        last_ms, last = self.readings[-1]
        if key not in last:
            return Window()
        # An item counts from nothing one reading before its first one.
        number = next(number for number, (_, readings) in enumerate(self.readings) if key in readings)
        first_ms, readings = self.readings[max(number - 1, 0)]
        first = readings.get(key, _NOTHING)
        total = last[key][index] - first[index]
        times = last[key][2] - first[2]
        elapsed_ms = last_ms - first_ms
        return Window(total, total * 1000 / elapsed_ms if elapsed_ms else 0.0, total / times if times else 0.0)


class StatsWindows:
    """Windows over counters.

    Args:
        read: All counters now; those that only grow.
        now_ms: Time.
    """

    def __init__(self, read: Callable[[], dict[StatsKey, Reading]], *, now_ms: int) -> None:
        self._read = read
        self._windows = [_Samples(interval_ms, kept, now_ms) for interval_ms, kept in _WINDOWS]
        self._newest: dict[StatsKey, Reading] = {}

    def sample(self, now_ms: int) -> None:
        """Read the counters for the windows that are due; to be called once a second or so."""
        due = [samples for samples in self._windows if now_ms - samples.readings[-1][0] >= samples.interval_ms]
        if not due:
            return
        old = self._newest
        # What did not change shares one value in all readings: a day of them takes little then.
        self._newest = {key: known if (known := old.get(key)) == value else value for key, value in self._read().items()}
        for samples in due:
            samples.readings.append((now_ms, self._newest))

    def view(self, name: str, key: str) -> StatsView | None:
        """The windows of one item by its RocketMQ name; None for an unknown name, or a key that nothing was counted for."""
        kind, index = _KINDS.get(name, ("", 0))
        wanted = (kind, "" if name in BROKER_STATS else key)
        if wanted not in self._newest:
            return None
        minute, hour, day = (samples.window(wanted, index) for samples in self._windows)
        return StatsView(minute, hour, day)
