"""Lags of a simulated consumer group whose rate changes once: a queue with arrivals, and offsets that are stored at times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

KEPT = 181
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True)
class TurnedLag:
    """A lag a second. It fell before the turn and grows since, or the reverse."""

    seconds: NDArray[np.float64]
    lag: NDArray[np.float64]
    grows: bool
    """Since the turn."""


def turned_lag(seed: int, *, since_turn_s: int, stores_every_s: int, rounds_s: tuple[int, int] = (1, 1)) -> TurnedLag:
    """The recent past of a lag that turned once; it never reaches 0.

    Arrivals and consumption are Poisson of 20 to 2,000 messages/s; before and after the turn 10 to 80 % fewer or more are
    consumed than arrive. The client stores its offset every ``stores_every_s`` seconds. Ends of queues are read after between
    ``rounds_s`` seconds, by chance, or arrive in batches so.
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
        if rounds_s != (1, 1):
            arrived = arrived[_newest_read(random, end, rounds_s)]
        lag = arrived - _stored(np.cumsum(random.poisson(consuming)), int(random.integers(0, stores_every_s)), stores_every_s)
        if lag.min() > 1:
            return TurnedLag(np.arange(end, dtype=float)[-KEPT:], lag[-KEPT:], bool(after > 0))


def _stored(consumed: NDArray[Number], phase: int, every: int) -> NDArray[Number]:
    at = np.arange(len(consumed))
    stored: NDArray[Number] = consumed[np.maximum(0, at - (at - phase) % every)]
    return stored


def batched_lag(seed: int, *, batch_s: int, seconds: int = KEPT) -> NDArray[np.float64]:
    """The lag of a group that keeps up: a batch arrives every ``batch_s`` seconds, and is consumed within a second."""
    random = np.random.default_rng(seed)
    at = np.arange(seconds)
    arrived = np.cumsum(random.poisson(10 ** random.uniform(1.3, 3.3), seconds)).astype(float)
    arrived = arrived[np.maximum(0, at - (at - random.integers(0, batch_s)) % batch_s)]
    consumed = _stored(np.concatenate([arrived[:1], arrived[:-1]]), int(random.integers(0, 5)), 5)
    lag: NDArray[np.float64] = arrived - consumed
    return lag


def drained_lag(seed: int, *, drains_s: int, seconds: int, rounds_s: tuple[int, int]) -> NDArray[np.float64]:
    """The lag of a group that drains a backlog in ``drains_s`` seconds (0: has none) and keeps up from then on.

    It stores its offsets every 5 s. They and the ends of the queues are read in rounds, as those of an attached cluster.
    """
    random = np.random.default_rng(seed)
    arriving = 10 ** random.uniform(1.3, 3.0)
    arrived = np.cumsum(random.poisson(arriving, seconds)).astype(float)
    backlog, most = 0.65 * arriving * drains_s, 1.65 * arriving
    consumed = np.minimum(arrived, np.arange(seconds) * most - backlog) if drains_s else arrived.copy()
    consumed = _stored(consumed, int(random.integers(0, 5)), 5)
    read = _newest_read(random, seconds, rounds_s)
    lag: NDArray[np.float64] = arrived[read] - consumed[read]
    return lag


def _newest_read(random: np.random.Generator, seconds: int, rounds_s: tuple[int, int]) -> NDArray[np.int64]:
    """For each second that of the newest read."""
    reads = np.cumsum(random.integers(rounds_s[0], rounds_s[1] + 1, seconds))
    newest: NDArray[np.int64] = np.concatenate([[0], reads])[np.searchsorted(reads, np.arange(seconds), side="right")]
    return newest
