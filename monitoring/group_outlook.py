"""Where the lag of a group goes: its forecast, the queue that drains last, and whether more consumers would help. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from broker_core.api import names as reserved
from monitoring.lag import STEADY_MESSAGES_PER_S, Forecast, LagOutlook
from monitoring.sample_blocks import Ints
from monitoring.series import History
from monitoring.state import NOBODY, ClusterState

QUEUE_KNOWN_MS = 30_000
"""Length of the newest stretch from which slopes of single queues are known, because a queue has few stored offsets."""
ONE_QUEUE_SHARE = 0.8
"""A queue with this share of a group's lag holds it up alone."""


@dataclass(frozen=True, slots=True)
class QueueDrain:
    topic: str
    queue_id: int
    lag_messages: float
    drained_ms: float
    """Infinite: its lag does not shrink."""


class HelpKind(Enum):
    """What would let a lag shrink that does not."""

    MORE_CONSUMERS = "more consumers"
    TOO_FEW_QUEUES = "too few queues"
    """Even one consumer for each queue would be too slow."""
    ALL_QUEUES_TAKEN = "all queues taken"
    """There is a consumer for each queue already."""
    ONE_QUEUE = "one queue"
    """Nearly all of the lag is in one queue, which one consumer reads."""


@dataclass(frozen=True, slots=True)
class Help:
    """Advice on a lag; ``more`` is the least number of further consumers."""

    kind: HelpKind
    queues: int
    """Most consumers that can take part: the queues of the topic with most of them; 0: any number, because members of gRPC
    and of pops receive from all queues."""
    more: int = 0


@dataclass(frozen=True, slots=True)
class GroupOutlook:
    forecast: Forecast
    slowest: QueueDrain | None = None
    """None: unknown, or nothing waits."""
    help: Help | None = None
    """None: nothing is needed, or too little is known."""

    @property
    def drained_in_ms(self) -> float:
        """Time until the slowest queue is read; NaN if the lag does not drain or its direction is unknown."""
        whole = self.forecast.drained_in_ms
        return whole if math.isnan(whole) or self.slowest is None else max(whole, self.slowest.drained_ms)


def lag_series(group: str) -> str:
    """Name of a group's lag in `History`."""
    return f"group:{group}.lag_messages"


def group_outlook(history: History, state: ClusterState, group: str) -> GroupOutlook:
    """The outlook of a group, by what came after the newest turn of its lag."""
    if group not in state.catalog.groups:
        return GroupOutlook(Forecast(math.nan, math.nan))
    row = state.catalog.groups.index(group)
    found = history.forecast(lag_series(group), float(state.group_lag_messages[row]))
    positions = np.flatnonzero(np.asarray(state.catalog.position_group, np.int64) == row)
    slowest = _slowest(history, state, positions, found)
    advice = _help(history, state, row, positions=positions, found=found, slowest=slowest)
    return GroupOutlook(found, slowest, advice)


def _slowest(history: History, state: ClusterState, positions: Ints, found: Forecast) -> QueueDrain | None:
    lags = state.position_lag_messages[positions]
    waiting = positions[np.nan_to_num(lags) >= 1]
    if not len(waiting) or math.isnan(found.slope) or found.known_ms < QUEUE_KNOWN_MS:
        return None
    if found.outlook not in (LagOutlook.GROWING, LagOutlook.DRAINING) or math.isnan(found.lag_messages):
        # A group that keeps up has some messages on their way in each queue, whose number stays.
        return None
    slopes = history.queue_lags.slopes(waiting, found.known_ms)
    if np.isnan(slopes).any():
        return None
    lags = state.position_lag_messages[waiting]
    drains = slopes < -STEADY_MESSAGES_PER_S / len(positions)
    times = np.where(drains, lags / np.maximum(-slopes, 1e-9) * 1_000, np.inf)
    # Of several that never drain, the one with most lag.
    last = int(np.lexsort((lags, times))[-1])
    queue = state.catalog.position_queue[waiting[last]]
    topic = state.catalog.topics[state.catalog.queue_topic[queue]]
    return QueueDrain(topic, state.catalog.queue_id[queue], float(lags[last]), float(times[last]))


def _help(
    history: History, state: ClusterState, row: int, *, positions: Ints, found: Forecast, slowest: QueueDrain | None
) -> Help | None:
    queues, members = _queues_max(state, positions), int(state.group_members[row])
    if members < 1 or queues < 1 or found.outlook is not LagOutlook.GROWING:
        return None
    if _share_queues(state, positions):
        queues = 0
    elif slowest is not None and queues > 1 and slowest.lag_messages >= ONE_QUEUE_SHARE * found.lag_messages:
        return Help(HelpKind.ONE_QUEUE, queues)
    elif members >= queues:
        return Help(HelpKind.ALL_QUEUES_TAKEN, queues)
    # Over the same stretch as the slope, so that both are of the same traffic.
    consumed = history.group_progress.rate(row, found.known_ms)
    if math.isnan(consumed) or consumed <= 0:
        return None
    # Consumers of a growing lag are busy: each one more consumes as much as each of them.
    wanted = math.floor((consumed + found.slope) / (consumed / members)) + 1
    if 0 < queues < wanted:
        return Help(HelpKind.TOO_FEW_QUEUES, queues)
    return Help(HelpKind.MORE_CONSUMERS, queues, max(1, wanted - members))


def _share_queues(state: ClusterState, positions: Ints) -> bool:
    """Whether none of a group's queues has an owner, as with members of gRPC and of pops."""
    return bool((state.position_owner[positions] == NOBODY).all())


def _own_topics(state: ClusterState, positions: Ints) -> Ints:
    """The topic of each of the group's queues; those of its retry topics are left out."""
    topics = np.asarray(state.catalog.queue_topic, np.int64)[np.asarray(state.catalog.position_queue, np.int64)[positions]]
    is_own = [not name.startswith(reserved.RETRY_PREFIX) for name in state.catalog.topics]
    own: Ints = topics[np.array(is_own, bool)[topics]]
    return own


def _queues_max(state: ClusterState, positions: Ints) -> int:
    """Queues of the group's topic with most of them."""
    own = _own_topics(state, positions)
    return int(np.bincount(own).max()) if len(own) else 0
