"""Events of the history as marks of a chart: near ones are joined, names only where there is room."""

from __future__ import annotations

from collections.abc import Sequence

from gui.plots.chart_series import ChartMark
from gui.words.text import tr

MARK_NAMES = {
    "members_changed": "Rebalance",
    "broker_started": "Broker started",
    "offsets_moved_back": "Moved back",
    "action": "Console action",
    "alert": "Alert",
    "note": "Note",
}
"""Kinds of events that charts show, with their English names."""
MARKS_MAX = 24
NAMED_MAX = 6
"""The names of more marks would cover each other."""


def chart_marks(events: Sequence[tuple[int, str, str]], from_ms: int, to_ms: int) -> list[ChartMark]:
    """Marks of a chart from ``from_ms`` to ``to_ms``, of events as (time in ms, kind, text), oldest first."""
    width_ms = max(1, (to_ms - from_ms) // MARKS_MAX)
    bundles: dict[tuple[int, str], list[int]] = {}
    for at_ms, kind, _text in events:
        if kind in MARK_NAMES:
            bundles.setdefault((at_ms // width_ms, kind), []).append(at_ms)
    named = len(bundles) <= NAMED_MAX
    return [ChartMark(times[0] / 1_000, _name(kind, len(times)) if named else "") for (_place, kind), times in bundles.items()]


def _name(kind: str, count: int) -> str:
    name = tr(MARK_NAMES[kind])
    return name if count == 1 else tr("{name} ({count})", name=name, count=count)
