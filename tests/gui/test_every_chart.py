"""Every chart over time is joined to those of its page; a picture that is none is named here, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.unit.test_import_circles import ROOT, modules_of

OVER_TIME = {"TimeChart", "StackedBars", "HeatMap", "OwnershipStrip"}
JOINS = {"join_charts", "ChartTools"}
JOINED_BY = {
    "gui.views.consumers.group_panels": "gui.views.consumers.view",
    "gui.views.ownership_history": "gui.views.clients.view",
    "gui.views.topics.tag_chart": "gui.views.topics.queues_panel",
}
"""Parts whose charts are joined by the page that has them."""
NOT_OVER_TIME = {
    # Axes of classes of durations, which have no moment: a wheel, a pan or a brush would name no time.
    "LogBars",
    # Axes of names, of reports.
    "CategoryBars", "CategoryGrid",
    # One bar a queue of a selected topic.
    "QueueBars",
    # Bytes of a log, offsets of two queues, shares of a disk.
    "LogStrip", "HalfOpStrip", "DiskBar",
    # One message: its gaps are drawn as steps, because they are of milliseconds and of days.
    "LifeLinePicture", "TimeLine",
}  # fmt: skip


def calls(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def test_every_chart_over_time_is_joined():
    modules = modules_of(Path(ROOT), "|".join(OVER_TIME | JOINS))
    made = {name for name, module in modules.items() if name.startswith("gui.views") and OVER_TIME & set(calls(module))}
    joining = {name for name, module in modules.items() if JOINS & set(calls(module))}
    assert made - joining == JOINED_BY.keys() - joining
    assert set(JOINED_BY.values()) <= joining
    assert len(made) >= 12


def test_every_picture_is_over_time_or_named():
    """Widgets of pages that draw themselves and take the whole of a panel."""
    drawn: set[str] = set()
    for name, module in modules_of(Path(ROOT), "Drawn|_NamedPlot|TimePlot").items():
        if not name.startswith(("gui.plots", "gui.views")):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                drawn |= {node.name} if bases & {"Drawn", "_NamedPlot", "TimePlot"} else set()
    parts_of_charts = {"SelectionBar", "_LegendEntry", "HeatScale", "LayerLegend", "_NamedPlot"}
    assert drawn - parts_of_charts - OVER_TIME == NOT_OVER_TIME
