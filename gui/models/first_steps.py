"""`FirstSteps`: which steps of a first use are finished, for the check list of the Welcome page. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.models.topics import is_system_topic
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The finished steps.

    Attributes:
        accepts: The broker accepts connections.
        connections: Client connections now; NaN unknown or no broker.
        stored_messages: Messages kept in topics that are not the broker's own; -1 unknown, because brokers do not answer.
        topic: The one of them with most messages, empty if none.
    """

    accepts: bool
    connections: float
    stored_messages: int
    topic: str

    @property
    def connected(self) -> bool:
        """Whether a client is connected, or was, because messages are stored."""
        return self.connections > 0 or self.stored_messages > 0


def first_steps(status: SourceStatus, state: ClusterState | None) -> FirstSteps:
    accepts = status is SourceStatus.READY
    if state is None:
        return FirstSteps(accepts, math.nan, 0, "")
    own = [row for row in range(len(state.catalog.topics)) if not is_system_topic(state.catalog, row)]
    is_known = state.lists_all and bool((state.topic_kept_messages[own] >= 0).all())
    kept = {state.catalog.topics[row]: int(state.topic_kept_messages[row]) for row in own if state.topic_kept_messages[row] > 0}
    topic = max(kept, key=lambda name: kept[name], default="")
    stored = sum(kept.values()) if kept or is_known else -1
    return FirstSteps(accepts, state.totals.get("connections", math.nan) if accepts else math.nan, stored, topic)
