"""Figures and states of the favourites in the side bar. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.figures import Catalog
from gui.models.favourites import Pins
from gui.models.topics import IDLE_AFTER_MS
from gui.theme.tokens import State
from gui.words.text import UNKNOWN, rate_text, short_count_text
from monitoring.lag_limits import LagLimits
from monitoring.state import ClusterState


@dataclass(frozen=True, slots=True)
class PinRow:
    """A favourite that the cluster has.

    Attributes:
        is_group: Whether it is a group; otherwise a topic.
        name: Its name.
        value: Of a topic its rate, of a group its lag, in words.
        state: Of its dot.
    """

    is_group: bool
    name: str
    value: str
    state: State


class PinBook:
    """Finds favourites in successive states."""

    def __init__(self, pins: Pins) -> None:
        self._pins = pins
        self._catalog: Catalog | None = None
        self._topics: dict[str, int] = {}
        self._groups: dict[str, int] = {}

    def rows(self, state: ClusterState, limits: LagLimits, count: int) -> list[PinRow]:
        """The first ``count`` favourites that the cluster has: topics, then groups, in the user's order."""
        catalog = state.catalog
        if catalog is not self._catalog:
            self._catalog = catalog
            self._topics = {name: row for row, name in enumerate(catalog.topics)}
            self._groups = {name: row for row, name in enumerate(catalog.groups)}
        topics = [_topic_row(state, self._topics[name]) for name in self._pins.topics if name in self._topics]
        groups = [_group_row(state, self._groups[name], limits) for name in self._pins.groups if name in self._groups]
        return [*topics, *groups][:count]


def _topic_row(state: ClusterState, row: int) -> PinRow:
    stored_ms = int(state.topic_last_store_ms[row])
    is_active = stored_ms >= 0 and state.taken_ms - stored_ms < IDLE_AFTER_MS
    value = rate_text(float(state.topic_put_rate[row]))
    return PinRow(False, state.catalog.topics[row], value, State.HEALTHY if is_active else State.IDLE)


def _group_row(state: ClusterState, row: int, limits: LagLimits) -> PinRow:
    name, lag = state.catalog.groups[row], float(state.group_lag_messages[row])
    value = short_count_text(lag)
    if state.group_standings.beyond[row] > 0:
        return PinRow(True, name, value, State.CRITICAL)
    if value == UNKNOWN or state.group_members[row] <= 0:
        return PinRow(True, name, value, State.IDLE)
    return PinRow(True, name, value, State.WARNING if lag > limits.of_group(name) else State.HEALTHY)
