"""Figures of the Overview from one `ClusterState`. Pure: no widget, no text. NaN: unknown.

A row is the place of a topic or group in the catalogue and in the arrays of the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gui.models.topics import own_topics
from monitoring.state import ClusterState

NAN = math.nan


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The group with the largest known lag."""

    name: str
    lag_messages: float
    share: float
    """Of all known lag, 0 to 1."""


def total(state: ClusterState | None, name: str) -> float:
    """One of the totals; NaN without a state, and where the state has no such total."""
    return NAN if state is None else state.totals.get(name, NAN)


def total_series(name: str) -> str:
    """Name of one of the totals in the history and in alert rules."""
    return f"totals.{name}"


def fan_out(state: ClusterState) -> float:
    """Messages delivered for each message put; NaN while nothing is put."""
    put = total(state, "put_rate")
    return total(state, "got_rate") / put if put > 0 else NAN


def worst_group(state: ClusterState) -> WorstGroup | None:
    """The group that lags most, without the broker's own; None if no lag above 0 is known, or the total lag is unknown."""
    own = np.isin(np.arange(len(state.catalog.groups)), own_groups(state))
    lag = np.where(own, np.nan_to_num(state.group_lag_messages, nan=0.0), 0.0)
    if lag.size == 0 or lag.max() <= 0 or math.isnan(total(state, "lag_messages")):
        return None
    row = int(lag.argmax())
    return WorstGroup(state.catalog.groups[row], float(lag[row]), float(lag[row] / lag.sum()))


def disk_share(state: ClusterState) -> float:
    """Used share of the disk that holds the store, 0 to 1."""
    size = total(state, "disk_total_bytes")
    return total(state, "disk_used_bytes") / size if size > 0 else NAN


def own_groups(state: ClusterState) -> list[int]:
    """Rows of the groups that are not the broker's own."""
    flags = state.catalog.group_is_system or [False] * len(state.catalog.groups)
    return [row for row, is_system in enumerate(flags) if not is_system]


def busiest_topics(state: ClusterState, count: int, before: Sequence[str] = ()) -> list[int]:
    """Rows of at most ``count`` topics by put rate, then by kept messages; the largest first, equals as ``before``."""
    rate = np.nan_to_num(state.topic_put_rate, nan=-1.0)
    kept, names = state.topic_kept_messages, state.catalog.topics
    place = _places(before)
    return sorted(own_topics(state), key=lambda row: (-rate[row], -kept[row], place(names[row]), names[row]))[:count]


def lagging_groups(state: ClusterState, count: int, before: Sequence[str] = ()) -> list[int]:
    """Rows of at most ``count`` groups: those beyond an end first, then the largest lag, unknown last; equals as ``before``."""
    lag = np.where(state.group_standings.beyond > 0, np.inf, np.nan_to_num(state.group_lag_messages, nan=-1.0))
    names, place = state.catalog.groups, _places(before)
    return sorted(own_groups(state), key=lambda row: (-lag[row], place(names[row]), names[row]))[:count]


def _places(names: Sequence[str]) -> Callable[[str], int]:
    """The place of a name among ``names``; behind them for any other."""
    places = {name: place for place, name in enumerate(names)}
    return lambda name: places.get(name, len(places))
