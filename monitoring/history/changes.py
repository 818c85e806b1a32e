"""Compares successive states and reports offsets of a group that moved back. Pure."""

from __future__ import annotations

import numpy as np

from broker_core.api import counted
from broker_core.worker.questions.figures import Catalog, Occurred
from monitoring.series import Ints
from monitoring.state import ClusterState


class OffsetWatch:
    """Follows the offsets of the groups. A consumer moves them forward only; a reset moves them back."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._offset: Ints = np.zeros(0, np.int64)

    def look(self, state: ClusterState) -> list[Occurred]:
        """Events since the previous state; none if the catalog has changed."""
        before, self._offset = self._offset, state.position_offset
        known, self._catalog = self._catalog, state.catalog
        if known is not state.catalog:
            return []
        back = (before >= 0) & (state.position_offset >= 0) & (state.position_offset < before)
        if not back.any():
            return []
        group_of = np.asarray(state.catalog.position_group, np.int64)
        moved = before - state.position_offset
        events = []
        for group in np.unique(group_of[back]).tolist():
            rows = back & (group_of == group)
            name = state.catalog.groups[group]
            queues = counted(int(rows.sum()), "queue")
            again = counted(int(moved[rows].sum()), "message comes", "messages come")
            text = f"Group {name} was moved back in {queues}: {again} again"
            events.append(Occurred("offsets_moved_back", text, state.taken_ms, name))
        return events
