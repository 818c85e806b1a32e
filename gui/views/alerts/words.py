"""What states of alerts and series are called."""

from __future__ import annotations

from gui.operations.alert_center import number_text
from gui.text import duration_text, tr
from gui.theme.tokens import State
from monitoring.alert_rules import KINDS, AlertRule, AlertState
from monitoring.alerts import Severity
from monitoring.state import ClusterState

STATE_NAMES = {
    AlertState.OK: "OK",
    AlertState.PENDING: "Pending",
    AlertState.FIRING: "Firing",
    AlertState.MUTED: "Muted",
    AlertState.OFF: "Off",
}
STATE_COLOURS = {
    AlertState.OK: State.HEALTHY,
    AlertState.PENDING: State.PENDING,
    AlertState.FIRING: State.CRITICAL,
    AlertState.MUTED: State.IDLE,
    AlertState.OFF: State.IDLE,
}
SEVERITY_NAMES = {Severity.CRITICAL: "Critical", Severity.WARNING: "Warning", Severity.NOTICE: "Notice"}


_UNITS = (("_ms", "ms"), ("_s", "s"), ("_percent", "%"), ("_byte_rate", "B/s"), ("_rate", "/s"), ("_bytes", "B"))
"""By the end of a figure's name; all others are counts."""


def unit_of(series: str) -> str:
    """Unit of a series; empty for a count."""
    return next((unit for ending, unit in _UNITS if series.endswith(ending)), "")


def condition_text(rule: AlertRule) -> str:
    """``> 15,000 for 60 s``."""
    limit = f"{'>' if rule.above else '<'} {number_text(rule.threshold)} {unit_of(rule.series)}".rstrip()
    return tr("{condition} for {time}", condition=limit, time=duration_text(rule.for_ms)) if rule.for_ms else limit


def known_series(state: ClusterState | None) -> list[str]:
    """Series to choose from: figures of the whole broker, of every topic, group and level, and of each by name."""
    wide = [f"{kind}:*.{figure}" for kind, figures in KINDS.items() for figure in figures]
    if state is None:
        return wide
    catalog = state.catalog
    single = [f"group:{name}.{figure}" for name in catalog.groups[:200] for figure in KINDS["group"]]
    single += [f"topic:{name}.{figure}" for name in catalog.topics[:200] for figure in KINDS["topic"]]
    return [*(f"totals.{name}" for name in sorted(state.totals)), *wide, *single]
