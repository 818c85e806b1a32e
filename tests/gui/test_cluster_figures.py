"""What the Store page shows of an attached cluster: figures of each broker side by side, and why the rest is not known."""

from __future__ import annotations

from dataclasses import replace

from broker_core.api import RequestCode, StoreError
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import BrokerAnswer, ReadStore
from broker_core.worker.refusals import cluster_refusal
from gui.views.explanation import explained_at, explained_column
from gui.views.store.view import StoreView
from gui.words.term_texts import TERMS
from gui.words.text import UNKNOWN, load_catalogue
from monitoring.admin.runtime_figures import FIGURES
from tests.gui.test_abilities import FAULT, state_with
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules

RUNTIME = {"brokerVersionDesc": "V4_9_4", "remainHowManyDataToFlush": "1.0 KiB", "commitLogDiskRatio": "0.31"}
OTHER = {**RUNTIME, "commitLogDiskRatio": "0.87", "dispatchBehindBytes": "0"}


def answer_of(notice: str = "", **tables: dict[str, str]) -> BrokerAnswer:
    bodies = {name: emit({"table": table}) for name, table in tables.items()}
    first = next(iter(bodies.values()))
    return BrokerAnswer({}, first, notice=notice, bodies=bodies if len(bodies) > 1 or notice else {})


def show_store(show_page, answer: BrokerAnswer | None, **fields):
    source = FakeSource(replace(state_with(), **fields))
    source.answers[ReadStore] = cluster_refusal
    if answer is not None:
        source.broker_answers[RequestCode.GET_BROKER_RUNTIME_INFO] = answer
    return show_page(StoreView, source)


def figures_of(view) -> dict[str, list[str]]:
    rows = view.cluster.figures.rows
    keys = [column.key for column in rows.columns]
    wanted = [place for place, key in enumerate(keys) if key.startswith("broker/") or key == "note"]
    return {row.figure.title: [rows.columns[place].text(row) for place in wanted] for row in rows.shown_rows}


def test_what_brokers_tell_of_themselves_stands_side_by_side(show_page):
    view = show_store(show_page, answer_of(a=RUNTIME, b=OTHER))
    hold_to_rules(view.cluster.figures.rows)
    assert figures_of(view) == {
        "RocketMQ": ["V4_9_4", "V4_9_4", ""],
        "Not flushed": ["1.0 KiB", "1.0 KiB", ""],
        "Not dispatched": [UNKNOWN, "0 B", ""],
        "Disk of the log": ["31.0 %", "87.0 %", "Differs"],
    }
    assert view.cluster.figures.subtitle == "brokers differ in 1 figure"


def test_a_broker_that_is_away_has_dashes_and_a_reason(show_page):
    notice = f"Not all brokers answered, and what they hold is missing here. b: {FAULT}"
    view = show_store(show_page, answer_of(notice, a=RUNTIME), faults={"b": FAULT})
    panel = view.cluster.figures
    assert figures_of(view)["Disk of the log"] == ["31.0 %", UNKNOWN, ""]
    assert FAULT in panel.missing.text()
    column = panel.rows.columns[[one.key for one in panel.rows.columns].index("broker/b")]
    assert column.tip(panel.rows.shown_rows[0]) == FAULT


def test_figures_that_were_not_read_say_why(show_page):
    view = show_store(show_page, None)
    view.cluster.show_failure(StoreError("nobody answers"))
    assert view.cluster.figures.grid.placeholder.text == "The figures were not read."
    assert view.cluster.figures.rows.rows == []


def test_what_cannot_be_known_of_a_store_is_one_line(show_page):
    view = show_store(show_page, answer_of(a=RUNTIME, b=OTHER))
    words = view.cluster.inside.text()
    assert words.startswith("Files, queues, index, flushes and cleanings: not available on an attached cluster")
    assert words.endswith("it is known inside a broker only, and the protocol has no request for it")
    assert [part.isVisible() for part in (view.problem, view.log_panel, view.disk)] == [False] * 3
    assert view.latency_panel.isVisible()


def test_other_brokers_are_other_columns(show_page):
    view = show_store(show_page, answer_of(a=RUNTIME, b=OTHER))
    first = view.cluster.figures
    catalog = replace(
        view.context.source.state.catalog, brokers=["a", "b", "c"], broker_version=[""] * 3, broker_address=[""] * 3,
        broker_slaves=[0] * 3, broker_cannot=[{}] * 3,
    )  # fmt: skip
    view.state_changed(replace(view.context.source.state, catalog=catalog))
    assert view.cluster.figures is not first
    assert figures_of(view)["Disk of the log"] == ["31.0 %", "87.0 %", UNKNOWN, "Differs"]


def test_one_broker_is_compared_with_nobody(show_page):
    state = state_with()
    catalog = replace(
        state.catalog, brokers=["a"], broker_version=[""], broker_address=[""], broker_slaves=[0], broker_cannot=[{}]
    )
    view = show_store(show_page, answer_of(a=RUNTIME), catalog=catalog)
    grid = view.cluster.figures.grid
    hidden = [column.key for place, column in enumerate(grid.model.columns) if grid.view.isColumnHidden(place)]
    assert "note" in hidden
    assert figures_of(view)["Disk of the log"][0] == "31.0 %"


def test_every_figure_of_a_broker_is_explained_by_its_row(show_page):
    view = show_store(show_page, answer_of(a=RUNTIME, b=OTHER))
    grid = view.cluster.figures.grid
    place = next(row for row in range(grid.model.rowCount()) if grid.model.row_at(row) is not None)
    for column in range(len(grid.model.columns)):
        grid.view.setCurrentIndex(grid.model.index(place, column))
        title = explained_at("store", grid).terms[0][0]
        assert title == ("Note" if grid.model.columns[column].key == "note" else grid.model.row_at(place).figure.title)
    assert all(f"store/{figure.title}" in TERMS for figure in FIGURES)
    heads = [explained_column("store", grid, column) for column in range(len(grid.model.columns))]
    assert [told.terms[0][0] for told in heads] == ["Figure", "a", "b", "Note", "What it is"]


def test_titles_of_figures_are_told_in_chinese():
    known = load_catalogue("zh")
    assert [text for figure in FIGURES for text in (figure.title, figure.section) if text not in known] == []
