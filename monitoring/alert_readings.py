"""`AlertReadings`: the figures that alert rules watch, read from successive states. Pure."""

from __future__ import annotations

import numpy as np

from broker_core.worker.questions.figures import Catalog
from monitoring.alert_rules import TOTALS, AlertRule, figures_of, split_series, subjects_of, total_of
from monitoring.series import Floats, Ints
from monitoring.state import ClusterState


class AlertReadings:
    """Caches the subjects that a pattern matches, because catalogs change rarely and may name thousands."""

    def __init__(self) -> None:
        self._selected: dict[tuple[str, str], tuple[list[str], Ints]] = {}
        self._of: Catalog | None = None

    def selected(self, rule: AlertRule, state: ClusterState) -> tuple[list[str], Ints]:
        """Subjects of a rule and their rows (int64); for totals one subject without a name, in row 0."""
        kind, pattern, _figure = split_series(rule.series)
        if kind == TOTALS:
            return [""], np.zeros(1, np.int64)
        if self._of is not state.catalog:
            self._of = state.catalog
            self._selected.clear()
        found = self._selected.get((kind, pattern))
        if found is None or kind == "level":
            found = self._selected[kind, pattern] = subjects_of(state, kind, pattern)
        return found

    def of(self, rule: AlertRule, state: ClusterState) -> tuple[list[str], Floats]:
        """Subjects of a rule and their values (float64, NaN unknown)."""
        kind, _pattern, figure = split_series(rule.series)
        names, rows = self.selected(rule, state)
        if kind == TOTALS:
            return names, np.array([total_of(state, figure)])
        return names, figures_of(state, kind, figure)[rows]
