"""Every item model of the window keeps Qt's rules while pages are opened, filled, sorted and narrowed."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
from PySide6.QtCore import QStringListModel, Qt, qInstallMessageHandler
from PySide6.QtWidgets import QWidget

import gui
from gui.main_window.places import PagePlace
from gui.models.hops import ConnectionHop
from gui.models.table import NO_INDEX
from gui.views.chart_table import ChartTable
from gui.views.connections.asking import ConnectDialog
from gui.views.reports.view import EDITOR
from gui.views.store.brokers_panel import BrokersPanel
from gui.views.store.cluster_part import FiguresPanel
from gui.views.topics.import_dialog import ImportTopicsDialog
from gui.widgets.data_grid import DataGrid
from monitoring.admin.runtime_figures import BrokerRuntime
from spark_reports.catalog import find
from tests.gui.test_abilities import FAULT, state_with
from tests.gui.test_accessible import PLACES
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker
from tests.support.fake_page_context import deliver_background_calls
from tests.support.model_rules import all_models_held, hold_to_rules, model_classes, places_of_models
from tests.support.report_results import leave_result

CHECKOUT = Path(gui.__file__).parents[1]


@pytest.fixture
def made():
    """Where models were made meanwhile, all of which are held to the rules."""
    for module in pkgutil.walk_packages(gui.__path__, "gui."):
        importlib.import_module(module.name)
    with all_models_held(CHECKOUT) as places:
        yield places


def use(part: QWidget) -> None:
    """What a user does with tables: other orders, and the one they came in."""
    for grid in part.findChildren(DataGrid):
        for column in (0, grid.model.columnCount() - 1, -1):
            grid.model.sort(column, Qt.SortOrder.DescendingOrder)


def open_dialogs(window, qapp) -> None:  # noqa: F811  the fixture
    """Those that have tables of their own, and the palette."""
    window.navigate("consumers", group="payment-settle", tab="members")
    page = window.area.current
    deliver_background_calls()
    dialogs = [
        page.dialogs.reset(page.group_grid.selected_row),
        page.dialogs.client("payment-settle", page.members.rows[0]),
        ChartTable(page.lag.chart.make(), window.services.theme, window.services.times, window),
        ImportTopicsDialog(page.context, lambda _topic: False, window),
        ConnectDialog(window, window.services.theme),
    ]
    dialogs[-1].hops.set_rows([ConnectionHop("Port", "h:9876"), ConnectionHop("Name server", "h:9876")])
    brokers = BrokersPanel(window.services.theme)  # which an embedded broker's pages have not
    brokers.show_state(state_with(faults={"b": FAULT}))
    use(brokers)
    figures = FiguresPanel(page.context, ["a", "b"], page.refresh)  # likewise
    figures.show_runtime(BrokerRuntime({}, (), {"a": {"putTps": "1 1 1"}, "b": {"putTps": "90 1 1"}}), "")
    use(figures)
    for dialog in dialogs:
        dialog.show()
        qapp.processEvents()
        use(dialog)
        dialog.close()
    for text in ("", "orders", "no such thing at all", ">"):
        window.commands.show_palette(text)
    window.commands.palette.close()


def show_results(window, qtbot, reports: Path) -> None:  # noqa: F811  the fixture
    """Of reports: a list of those that were made, and a table of one."""
    leave_result(reports / "throughput-20261121-100211")
    window.navigate("reports")
    page = window.area.current
    page.refresh()
    qtbot.waitUntil(lambda: bool(page.history.model.rows))
    page.history.grid.select_first()
    page.show_part("result")
    qtbot.waitUntil(lambda: page.result.make().grid is not None)
    use(page)
    page.choose(find("sql"))
    page.show_part(EDITOR)
    use(page)


def test_every_model_of_the_window_keeps_qts_rules(made, window, qapp, qtbot, tmp_path):  # noqa: F811  the fixture
    source = window.backend.source
    sections = [PagePlace("settings", {"show": key}) for key in ("keyboard", "connections")]
    for place in (*PLACES, *sections, PagePlace("message", {"physical_offset": 2_048})):
        window.navigate(place.page_id, **place.arguments)
        for _figures in range(3):
            source.push_later()
            window.live.once()
            qapp.processEvents()
        use(window.area.current)
    open_dialogs(window, qapp)
    show_results(window, qtbot, tmp_path / "reports")
    window.services.set_language("zh")
    known = places_of_models(CHECKOUT / "gui", {one.__name__ for one in model_classes()})
    never = [
        f"{file}:{first}"
        for file, first, last in known
        if not any(where == file and first <= line <= last for where, line in made)
    ]
    assert never == [], "models that this test does not open: open them above"


def test_a_broken_rule_would_be_found(qapp, qtlog):
    model = QStringListModel(["one"])
    hold_to_rules(model)
    with qtlog.disabled():
        messages = []
        before = qInstallMessageHandler(lambda _kind, _context, text: messages.append(text))
        model.rowsInserted.emit(NO_INDEX, 0, 4)  # who says so without having said that rows come
        qInstallMessageHandler(before)
    assert any("FAIL!" in text for text in messages)
