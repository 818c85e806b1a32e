"""The quarter of an hour before the shop's figures, and what is recorded of it."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np

from broker_core.worker.questions.history import HistoryLines, Ownership, ReadHistory, ReadOwnership
from monitoring.series import History
from monitoring.state import ClusterState
from tests.support.fake_figures import fake_state
from tests.support.fake_shop import TAKEN_MS


def fake_history(state: ClusterState, seconds: int = 900) -> History:
    """A quarter of an hour before ``state`` that leads to its figures."""
    history = History()
    shape = _Shape(seconds)
    for i in range(seconds):
        values = {f"totals.{name}": value * shape.factor(name, i) for name, value in state.totals.items()}
        for index, name in enumerate(state.catalog.topics):
            values[f"topic:{name}.put_rate"] = float(state.topic_put_rate[index]) * shape.factor(name, i)
        for index, name in enumerate(state.catalog.groups):
            values[f"group:{name}.lag_messages"] = float(state.group_lag_messages[index]) * shape.lag(name, i)
            values[f"group:{name}.behind_ms"] = float(state.group_behind_ms[index]) * shape.lag(name, i)
        history.record(state.taken_ms - (seconds - 1 - i) * 1_000, list(values), list(values.values()))
    return history


def shop_history(seconds: int = 900) -> History:
    """`fake_history` of the shop; a copy for each caller, because making it takes a tenth of a second."""
    return copy.deepcopy(_made(seconds))


@functools.cache
def _made(seconds: int) -> History:
    return fake_history(fake_state(), seconds)


STEADY = ("disk_total_bytes", "connections", "producers", "consumers", "commit_log_min", "put_failed", "dead_letters")


class _Shape:
    """Believable wobble, the same on every run; 1.0 at the last second."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._random = np.random.default_rng(7)
        self._waves: dict[str, Any] = {}

    def factor(self, name: str, i: int) -> float:
        steady = name.startswith(
            ("disk", "store", "commit", "process", "put_messages", "put_bytes", "got_m", "got_b", "flushed")
        )
        if name in STEADY:
            return 1.0
        if steady:
            return 1.0 - 0.02 * (self._seconds - 1 - i) / self._seconds
        if name == "lag_messages":
            return self.lag("payment-settle", i)
        if name not in self._waves:
            wobble = np.cumsum(self._random.normal(0, 1, self._seconds // 5 + 1))
            wobble -= np.linspace(wobble[0], wobble[-1], len(wobble))
            self._waves[name] = (
                1.0 + 0.09 * wobble / max(1e-9, float(np.abs(wobble).max())) + self._random.normal(0, 0.015, len(wobble))
            )
            self._waves[name][-1] = 1.0
        dip = 0.72 if name == "got_rate" and 0.58 < i / self._seconds < 0.7 else 1.0
        return float(self._waves[name][i // 5]) * dip

    def lag(self, name: str, i: int) -> float:
        share = i / (self._seconds - 1)
        if name != "payment-settle":
            return self.factor(f"lag of {name}", i)
        if share < 0.6:
            return 0.06 + 0.01 * float(np.sin(i / 7))
        return 0.06 + 1.4 * (share - 0.6) / 0.27 if share < 0.87 else 1.46 - 0.46 * (share - 0.87) / 0.13


def fake_history_lines(query: ReadHistory) -> HistoryLines:
    """A wave between 100 and 300 for every series, from ten days before the newest figures on."""
    step_ms = max(1_000, (query.to_ms - query.from_ms) // query.points)
    begin_ms = TAKEN_MS - 10 * 86_400_000
    times = np.arange(max(query.from_ms, begin_ms), query.to_ms, step_ms, dtype=np.int64)
    wave = 200 + 100 * np.sin(times / 3_600_000)
    count = len(query.names)
    low, high, last = ([(wave + shift).tobytes()] * count for shift in (-5, 5, 0))
    return HistoryLines(step_ms, begin_ms, [times.tobytes()] * count, low, high, last)


def fake_ownership(query: ReadOwnership) -> Ownership:
    """Eight queues of payments: three clients shared them until the middle, then two."""
    middle = (query.from_ms + query.to_ms) // 2
    made = Ownership([], [], [], [], [])
    for queue_id in range(8):
        stretches = ((query.from_ms, middle, queue_id * 3 // 8), (middle, query.to_ms, queue_id // 4))
        for from_ms, to_ms, number in stretches:
            made.topic.append("payments")
            made.queue_id.append(queue_id)
            made.from_ms.append(from_ms)
            made.to_ms.append(to_ms)
            made.client.append(f"c{number + 1}@10.23.4.{11 + number}")
    return made
