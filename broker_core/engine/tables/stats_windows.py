"""Statistics over the last minute, hour and day, by the names of RocketMQ (Source: docs/spec/broker.md §11.1, §11.2).

Nothing is counted here: all counters are read at intervals, and a window is the difference between the current value and an
earlier reading. So requests pay nothing for it.
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
"""Milliseconds between readings, and how many are kept: the last minute, hour and day."""

_RATE_OVER_MS_MIN = 10_000
"""Shortest time that a rate is computed over: a first message that came 5 ms ago is not two hundred a second."""

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
"""Statistics of the whole broker; tools request them by the cluster's name."""


class StatsWindow(NamedTuple):
    """One window of one item: its sum, its rate per second, and its average per time (a batch counts once)."""

    sum: int = 0
    tps: float = 0.0
    average: float = 0.0


@dataclass(frozen=True, slots=True)
class StatsView:
    """The three windows of one item."""

    minute: StatsWindow
    hour: StatsWindow
    day: StatsWindow


class _Samples:
    def __init__(self, interval_ms: int, kept: int, now_ms: int) -> None:
        self.interval_ms = interval_ms
        self.span_ms = interval_ms * (kept - 1)
        self.readings: deque[tuple[int, dict[StatsKey, Reading]]] = deque([(now_ms, {})], kept)

    def window(self, key: StatsKey, index: int, current: Reading, now_ms: int) -> StatsWindow:
        """The count since the oldest reading within the span, or since the last one before the item existed."""
        since_ms, since = self.readings[-1][0], _NOTHING
        for place, (at_ms, readings) in enumerate(reversed(self.readings)):
            if place and at_ms < now_ms - self.span_ms:
                break
            since_ms, known = at_ms, readings.get(key)
            if known is None or known[2] > current[2]:
                since = _NOTHING  # it came later, or went and came again
                break
            since = known
        total, times = current[index] - since[index], current[2] - since[2]
        elapsed_ms = max(now_ms - since_ms, _RATE_OVER_MS_MIN)
        return StatsWindow(total, total * 1000 / elapsed_ms, total / times if times else 0.0)


class StatsWindows:
    """Windows over counters that only grow: ``read`` returns all of them, ``read_one`` one, None if nothing was counted."""

    def __init__(
        self, read: Callable[[], dict[StatsKey, Reading]], read_one: Callable[[StatsKey], Reading | None], *, now_ms: int
    ) -> None:
        self._read = read
        self._read_one = read_one
        self._windows = [_Samples(interval_ms, kept, now_ms) for interval_ms, kept in _WINDOWS]
        self._newest: dict[StatsKey, Reading] = {}

    def sample(self, now_ms: int) -> None:
        """Read the counters for the windows that are due; to be called about once a second."""
        due = [samples for samples in self._windows if now_ms - samples.readings[-1][0] >= samples.interval_ms]
        if not due:
            return
        old = self._newest
        # Keys and unchanged values are shared by all readings, so that a day of them takes little memory.
        keys = {key: key for key in old}
        self._newest = {
            keys.get(key, key): known if (known := old.get(key)) == value else value for key, value in self._read().items()
        }
        if self._newest == old:
            self._newest = old
        for samples in due:
            samples.readings.append((now_ms, self._newest))

    def view(self, name: str, key: str, now_ms: int) -> StatsView | None:
        """The windows of one item by its RocketMQ name; None for an unknown name, or a key without counts."""
        kind, index = _KINDS.get(name, ("", 0))
        wanted = (kind, "" if name in BROKER_STATS else key)
        current = self._read_one(wanted)
        if current is None:
            return None
        minute, hour, day = (samples.window(wanted, index, current, now_ms) for samples in self._windows)
        return StatsView(minute, hour, day)
