"""Lags of a simulated consumer group whose rate changes once: a queue with arrivals, and offsets that are stored at times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEPT = 181


@dataclass(frozen=True, slots=True)
class TurnedLag:
    """A lag a second. It fell before the turn and grows since, or the reverse."""

    seconds: NDArray[np.float64]
    lag: NDArray[np.float64]
    grows: bool
    """Since the turn."""


def turned_lag(seed: int, *, since_turn_s: int, stores_every_s: int) -> TurnedLag:
    """The recent past of a lag that turned once; it never reaches 0.

    Arrivals and consumption are Poisson of 20 to 2,000 messages/s; before and after the turn 10 to 80 % fewer or more are
    consumed than arrive. The client stores its offset every ``stores_every_s`` seconds.
    """
    random = np.random.default_rng(seed)
    while True:
        arriving = 10 ** random.uniform(1.3, 3.3)
        before = random.uniform(0.1, 0.8) * random.choice([-1, 1])
        after = -np.sign(before) * random.uniform(0.1, 0.8)
        turn = int(random.integers(60, 400))
        end = turn + since_turn_s + 1
        consuming = np.where(np.arange(end) < turn, arriving * (1 - before), arriving * (1 - after))
        fallen = max(0.0, -before * turn) + max(0.0, -after * since_turn_s)
        arrived = np.cumsum(random.poisson(arriving, end)) + arriving * (random.uniform(1, 60) + 1.1 * fallen)
        lag = arrived - _stored(np.cumsum(random.poisson(consuming)), int(random.integers(0, stores_every_s)), stores_every_s)
        if lag.min() > 1:
            return TurnedLag(np.arange(end, dtype=float)[-KEPT:], lag[-KEPT:], bool(after > 0))


def _stored(consumed: NDArray[np.int64], phase: int, every: int) -> NDArray[np.int64]:
    at = np.arange(len(consumed))
    stored: NDArray[np.int64] = consumed[np.maximum(0, at - (at - phase) % every)]
    return stored
