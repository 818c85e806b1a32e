"""What pages say while nothing was read yet, and after a read that failed: never that there is nothing."""

from __future__ import annotations

import pytest

from broker_core.api import WorkerError
from broker_core.worker.questions.administration import ReadStore
from broker_core.worker.questions.history import ReadHistory
from gui.gallery.sources import KNOWN_WITHOUT_ASKING, REASON, failing, silent
from gui.plots.time_chart import TimeChart
from gui.views.alerts.view import AlertsView
from gui.views.clients.view import ClientsView
from gui.views.consumers.view import ConsumersView
from gui.views.events.view import EventsView
from gui.views.overview.view import OverviewView
from gui.views.store.view import StoreView
from gui.views.topics.topic_view import TopicView
from gui.views.transactions.view import TransactionsView
from gui.words.text import UNKNOWN
from tests.support.fake_source import FakeSource
from tests.support.shown_parts import note_of, segment

READING = "Reading…"
GRIDS = {
    ClientsView: lambda view: [view.grid, view.mix_grid],
    EventsView: lambda view: [view.grid],
    AlertsView: lambda view: [view.fired_grid],
    TransactionsView: lambda view: [view.grid],
    StoreView: lambda view: [view.files.make().queue_grid, view.files.make().index_grid, view.files.make().cleaning_grid],
    ConsumersView: lambda view: [view.member_tab.make().grid, view.subscription_tab.make().grid],
}


def said(grid) -> str:
    """What stands in place of the rows; empty while there are rows."""
    return grid.placeholder.text if not grid.placeholder.isHidden() else ""


@pytest.mark.parametrize("page", GRIDS)
def test_a_table_that_waits_for_its_rows_says_so(show_page, page):
    view = show_page(page, silent(FakeSource()))
    assert [said(grid) for grid in GRIDS[page](view)] == [READING] * len(GRIDS[page](view))


@pytest.mark.parametrize("page", GRIDS)
def test_a_table_whose_read_failed_says_so(show_page, page):
    view = show_page(page, failing(FakeSource()))
    for grid in GRIDS[page](view):
        assert "not read" in said(grid)


@pytest.mark.parametrize("page", [page for page in GRIDS if page is not AlertsView])
def test_a_table_that_was_read_says_nothing_of_it(show_page, page):
    view = show_page(page, FakeSource())
    for grid in GRIDS[page](view):
        assert READING not in said(grid)
        assert "not read" not in said(grid)


class WithoutHistory(FakeSource):
    """Tells all but what was."""

    def made_answers(self):
        """All but the history."""
        return super().made_answers() | {ReadHistory: lambda _query: WorkerError(REASON)}


CHARTS = {OverviewView: {}, ConsumersView: {}, TopicView: {"topic": "payments"}, StoreView: {}, AlertsView: {}}


@pytest.mark.parametrize("page", CHARTS)
def test_a_chart_whose_history_was_not_read_says_so(show_page, qtbot, page):
    view = show_page(page, WithoutHistory())
    view.open(CHARTS[page])
    view.context.time_range.set_length(24 * 3_600_000)
    view.state_changed(view.context.source.state)
    if page is AlertsView:
        view.grid.select_first()
    # A chart is made a turn before it is shown.
    qtbot.waitUntil(lambda: any(chart.isVisible() for chart in view.findChildren(TimeChart)))
    charts = [chart for chart in view.findChildren(TimeChart) if chart.isVisible()]
    assert [chart.fault for chart in charts] == [f"The history was not read: {REASON}"] * len(charts)
    assert all(note_of(chart).isVisible() for chart in charts)


def test_how_many_there_are_is_unknown_until_they_were_read(show_page):
    view = show_page(ClientsView, failing(FakeSource()))
    assert segment(view.filter.choice, "All").text() == f"All {UNKNOWN}"
    events = show_page(EventsView, silent(FakeSource()))
    assert segment(events.filters, "All").text() == f"All {UNKNOWN}"


def test_the_store_tells_why_put_times_are_missing(show_page):
    view = show_page(StoreView, failing(FakeSource()))
    assert view.no_latency.text() == f"The put times were not read: {REASON}"


def test_a_stand_in_knows_what_its_source_tells_by_itself():
    source = FakeSource()
    other = failing(source)
    assert (other.status, other.state, other.ready, other.name) == (source.status, source.state, source.ready, source.name)
    errors: list[object] = []
    other.ask(ReadStore()).then(errors.append, errors.append)
    assert isinstance(errors[0], WorkerError)
    assert {"status", "state"} <= KNOWN_WITHOUT_ASKING
