"""Reports in a queue, the history's actions, schedules, estimates, notices: no report is run."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QRect, QSettings, Qt, QThreadPool, QTime
from PySide6.QtWidgets import QLabel, QMessageBox

from gui.models.reports import ReportUnit, past_run, result_charts
from gui.models.schedules import DAILY, Schedule
from gui.operations.report_estimate import EstimateRequest, Expected, ReportEstimate, expected, expected_s
from gui.operations.report_schedules import ReportSchedules
from gui.operations.reports import WAITING_MAX, ReportNotice, ReportRunner, delete_run
from gui.operations.tasks import TaskList
from gui.plots.category_charts import CategoryBars, CategoryGrid
from gui.processes.spark_child import SparkChild
from gui.views.reports.charts_panel import JUMP_MARGIN, WHOLE, WINDOW
from gui.views.reports.own_fields import QueryField
from gui.views.reports.result_panel import change_text
from gui.views.reports.schedule_dialog import ScheduleDialog
from gui.views.reports.section_list import TEXT_WIDTH, SectionKind
from gui.views.reports.view import RESULT, ReportsView
from gui.words.text import UNKNOWN
from spark_reports import saved_queries
from spark_reports.catalog import find
from tests.gui.test_reports import is_read
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource
from tests.support.report_results import MANIFEST, SPEC, leave_result
from tests.support.shown_parts import words_of

KEYS = find("keys")
CHARTS = {
    "charts": [
        {"name": "messages", "title": "Messages over time by topic", "kind": "stack", "unit": "count", "note": "",
         "series": [{"name": "orders", "x": [1_000_000, 2_000_000], "y": [1, 2]}]},
        {"name": "hosts", "title": "Messages by host", "kind": "bars", "unit": "count",
         "series": [{"name": "hosts", "x": ["a", "b"], "y": [5, 2]}]},
        {"name": "week", "title": "Messages by weekday and hour", "kind": "heat", "unit": "count",
         "series": [{"name": "Monday", "x": [0, 1], "y": [3, 4]}, {"name": "Tuesday", "x": [0, 1], "y": [0, None]}]},
        {"name": "none", "title": "Nothing", "kind": "bars", "unit": "count", "series": []},
    ]
}  # fmt: skip

DRAWN = CHARTS["charts"][:3]
"""Those that have something to show."""


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def now():
    return [datetime(2026, 11, 21, 8, 0).astimezone()]


@pytest.fixture
def schedules(qapp, tmp_path, now):
    return ReportSchedules(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat), now=lambda: now[0])


@pytest.fixture
def asked():
    return FakeChild()


@pytest.fixture
def runner(qapp, child, tmp_path, schedules, asked):
    estimate = ReportEstimate(process=asked)
    return ReportRunner(TaskList(), folder=tmp_path / "reports", process=child, schedules=schedules, estimate=estimate)


@pytest.fixture
def view(qtbot, show_page, runner):
    made = show_page(ReportsView, FakeSource(), reports=runner)
    qtbot.waitUntil(lambda: is_read(made))
    return made


def orders(runner, count):
    return [runner.order(KEYS, ("/data/store",), (("top", str(number)),)) for number in range(count)]


# ---- the queue ----


def test_reports_wait_and_run_in_order(runner, child):
    for order in orders(runner, 3):
        assert runner.submit(order)
    assert [order.parameters[0][1] for order in runner.waiting] == ["1", "2"]

    child.end(130, cancelled=True)
    assert runner.run.order.parameters == (("top", "1"),)
    child.end(1)
    child.end(1)

    assert not runner.is_running
    assert len(child.started) == 3


def test_folders_of_reports_that_wait_differ(runner):
    for _ in range(3):
        runner.submit(runner.order(KEYS, ("/data/store",)))
    folders = {runner.run.order.out_directory, *(order.out_directory for order in runner.waiting)}
    assert len(folders) == 3


def test_one_that_waits_can_be_taken_back(view, qtbot, runner, child):
    view.form.run_button.click()
    view.form.run_button.click()
    assert view.run_panel.waiting_title.text() == "Waiting: 1"

    view.run_panel.withdraw_wanted.emit(runner.waiting[0])

    assert runner.waiting == ()
    assert view.run_panel.waiting_title.isHidden()
    child.end(1)
    assert len(child.started) == 1


def test_the_queue_has_an_end(view, runner, window):
    for order in orders(runner, WAITING_MAX + 1):
        assert runner.submit(order)
    assert not runner.submit(runner.order(KEYS, ("/data/store",)))
    assert "wait" in view.form.fault
    assert not view.form.run_button.isEnabled()


def test_the_end_of_the_window_leaves_nothing_waiting(runner, child):
    for order in orders(runner, 2):
        runner.submit(order)
    runner.end()
    child.end(130, cancelled=True)
    assert child.cancels == 1
    assert len(child.started) == 1
    assert not runner.submit(orders(runner, 1)[0])


# ---- several stores, directories of the log, further forms ----


def test_stores_directories_and_forms_reach_the_command_line(view, child):
    form = view.form
    form.show_broker_store("/data/store", "/disk1/log,/disk2/log")
    form.also["xlsx"].setChecked(True)
    form.run_button.click()
    words = child.started[0]
    assert words[2:6] == ["--store", "/data/store", "--commit-log", "/disk1/log,/disk2/log"]
    assert words[words.index("--also") + 1] == "xlsx"


def test_several_folders_are_several_stores(view):
    form = view.form
    form.source.setCurrentIndex(1)
    form.folder.setText("/a:/b:/a")
    assert form.order.stores == ("/a", "/b")
    form.commit_log.setText("/log")
    assert "one store" in form.fault


def test_values_that_begin_with_a_dash_are_joined(runner):
    order = runner.order(find("sql"), ("/a",), (("query", "-- all\nselect 1"), ("from", "-2h")))
    assert "--query=-- all\nselect 1" in order.arguments()
    assert "-2h" in order.arguments()


# ---- the history ----


def test_a_result_is_run_again_as_it_was_asked_for(runner, tmp_path):
    manifest = MANIFEST | {
        "parameters": {"from": None, "to": None, "topics": ["orders"], "values": {"top": 5}},
        "source": {"stores": ["/data/store"], "files": ["/x/0", "/y/1"], "bytes": 10},
        "report": "keys",
    }
    order = runner.order_again(past_run(tmp_path, json.dumps(manifest)))
    assert (order.spec, order.stores, order.commit_log) == (KEYS, ("/data/store",), "/x,/y")
    assert order.parameters == (("topic", "orders"), ("top", "5"))
    assert runner.order_again(past_run(tmp_path, json.dumps(manifest | {"report": "gone"}))) is None


def test_a_result_is_shown_beside_the_one_before(view, qtbot, runner):
    before = [{"value": 1_250, "unit": "count", "label": "messages", "note": ""}]
    leave_result(runner.folder / "a", created_at="2026-11-20T10:00:00Z", headlines=before)
    leave_result(runner.folder / "b")
    view.refresh()
    qtbot.waitUntil(lambda: len(view.history.model.rows) == 2)
    newest = max(view.history.model.rows, key=lambda run: run.created_ms)

    view.history.compare_wanted.emit(newest)

    assert view.parts.current == "result"
    assert view.history.previous(newest).folder.name == "a"
    assert "Beside the run of" in view.result.make().manifest.text()
    assert change_text(newest.headlines[0], view.history.previous(newest).headlines[0]) == "before: 1,250, −20.0 %"
    assert change_text(newest.headlines[0], None) == f"before: {UNKNOWN}"


def test_a_link_leads_to_the_result(view):
    view.open({"show": "result"})
    assert view.parts.current == "result"


def test_a_deleted_result_leaves_nothing(view, qtbot, runner):
    folder = leave_result(runner.folder / "a")
    view.refresh()
    qtbot.waitUntil(lambda: len(view.history.model.rows) == 1)

    box = view.history.ask_delete(view.history.model.rows[0])
    delete = next(one for one in box.buttons() if box.buttonRole(one) is QMessageBox.ButtonRole.DestructiveRole)
    qtbot.mouseClick(delete, Qt.MouseButton.LeftButton)

    qtbot.waitUntil(lambda: not view.history.model.rows)
    assert not folder.exists()
    assert list(runner.folder.iterdir()) == []


def test_what_cannot_be_deleted_is_told(tmp_path):
    run = past_run(tmp_path / "gone", json.dumps(MANIFEST))
    with pytest.raises(OSError, match="gone"):
        delete_run(run)


def test_the_menu_of_a_result_offers_all(view, qtbot, runner, child):
    leave_result(runner.folder / "a")
    view.refresh()
    qtbot.waitUntil(lambda: len(view.history.model.rows) == 1)
    menu = view.history.menu_of(view.history.model.rows[0])
    actions = {action.text(): action for action in menu.actions() if action.text()}
    assert not actions["Compare with the previous"].isEnabled()
    actions["Run again"].trigger()
    menu.deleteLater()
    assert child.started[0][:4] == ["report", "throughput", "--store", "/data/store"]


# ---- charts ----


def test_charts_of_a_result_are_drawn(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    panel = view.result.make().charts
    qtbot.waitUntil(lambda: bool(panel.time_charts) and panel.is_whole)

    titles = [view.result.make().sections.item(place).text() for place in range(view.result.make().sections.count())]
    assert titles == ["Findings", *(chart["title"] for chart in DRAWN), "By topic", "Manifest"]
    bars, grid = panel.findChild(CategoryBars), panel.findChild(CategoryGrid)
    assert bars.text_at(1, 0.2) == "a: 5"
    assert bars.text_at(1, 7) == ""
    assert (grid.text_at(1.5, 0.5), grid.text_at(1.5, 1.5)) == ("Monday, 1: 4", f"Tuesday, 1: {UNKNOWN}")
    chart = panel.time_charts[0].chart
    assert chart.plot.getViewBox().viewRange()[0] == pytest.approx([1_000, 2_000])


def test_charts_can_follow_the_time_range_of_the_window(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    panel = view.result.make().charts
    qtbot.waitUntil(lambda: bool(panel.time_charts) and panel.is_whole)
    panel.range.choose(WINDOW)
    panel.range.chosen.emit(WINDOW)
    now_ms = view.context.source.state.taken_ms
    left, right = panel.time_charts[0][0].plot.getViewBox().viewRange()[0]
    assert (left * 1_000, right * 1_000) == pytest.approx(view.context.time_range.window_ms(now_ms))


def test_charts_of_a_result_zoom_within_it(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    panel = view.result.make().charts
    qtbot.waitUntil(lambda: bool(panel.time_charts) and panel.is_whole)
    chart = panel.time_charts[0][0]
    panel.link.select(chart, 1_200, 1_500)
    panel.link.zoom_to_selection()
    assert chart.span_s() == pytest.approx((1_200, 1_500))
    assert view.context.time_range.between is None
    panel.range.choose(WINDOW)
    panel.range.chosen.emit(WINDOW)
    panel.range.choose(WHOLE)
    panel.range.chosen.emit(WHOLE)
    assert chart.span_s() == pytest.approx((1_000, 2_000))


def test_the_legend_of_counts_is_their_sum_over_the_shown_time(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    levels = CHARTS["charts"][0] | {"kind": "lines", "title": "Lag"}
    (folder / "charts.json").write_text(json.dumps({"charts": [CHARTS["charts"][0], levels]}), encoding="utf-8")
    view.refresh()
    panel = view.result.make().charts
    qtbot.waitUntil(lambda: len(panel.time_charts) == 2 and panel.is_whole)
    counts, lag = (one.chart for one in panel.time_charts)
    assert (counts.shown_value("0"), lag.shown_value("0")) == ("3", "2")
    panel.link.select(counts, 900, 1_500)
    panel.link.zoom_to_selection()
    assert counts.shown_value("0") == "1"


def title_of(panel, number):
    """The title over a chart."""
    titles = {one.text(): one for one in panel.widget().findChildren(QLabel)}
    return titles[DRAWN[number]["title"]]


def test_charts_are_made_one_in_a_turn_and_what_is_jumped_to_meanwhile_stays(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    view.show_part(RESULT)
    view.resize(1232, 420)
    panel, parts = view.result.make().charts, view.result.make().sections
    qtbot.waitUntil(lambda: parts.count() == len(DRAWN) + 3 and panel.isVisible())
    panel.show_charts(result_charts(json.dumps(CHARTS)), 0)
    assert (panel.time_charts, panel.is_whole) == ([], False)
    panel.jump_to(1)
    qtbot.waitUntil(lambda: panel.is_whole)
    bar = panel.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() == min(bar.maximum(), title_of(panel, 1).y() - JUMP_MARGIN) > 0)


def test_a_jump_is_over_with_its_result(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    view.show_part(RESULT)
    view.resize(1232, 420)
    panel = view.result.make().charts
    qtbot.waitUntil(lambda: panel.is_whole and panel.isVisible() and DRAWN[-1]["title"] in words_of(panel))
    charts = result_charts(json.dumps(CHARTS))
    panel.show_charts(charts, 0)
    panel.jump_to(1)  # nothing to scroll is there yet
    panel.show_charts(charts, 0)
    bar = panel.verticalScrollBar()
    qtbot.waitUntil(lambda: panel.is_whole and bar.maximum() > 0)
    panel.grab()  # all have their places then
    assert bar.value() == 0


def test_no_title_and_no_figure_of_a_result_is_cut_off(view, qtbot, runner):
    words = {
        "label": "messages/s in the busiest minute",
        "note": "54,848 messages at 2026-11-24 07:01 UTC, of which 12 are late",
    }
    headline = {"value": 914, "unit": "rate", **words}
    tables = [{"name": "by_all", "title": "By minute, producer, topic and tag", "rows": 2, "files": ["by_topic.csv"]}]
    leave_result(runner.folder / "a", headlines=[headline] * 4, tables=tables)
    view.refresh()
    view.show_part(RESULT)
    parts = view.result.make().sections
    qtbot.waitUntil(lambda: parts.count() == 3)
    figures = [view.result.make().headlines.itemAt(place).widget() for place in range(view.result.make().headlines.count())]
    qtbot.waitUntil(lambda: all(figure.isVisible() for figure in figures))
    view.grab()  # all have their places then
    room = QRect(0, 0, TEXT_WIDTH, 0)
    for row in range(parts.count()):
        needed = parts.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, parts.item(row).text())
        assert needed.width() <= TEXT_WIDTH
        assert needed.height() <= parts.visualItemRect(parts.item(row)).height()
    assert parts.visualItemRect(parts.item(1)).height() > parts.visualItemRect(parts.item(0)).height()
    shown = [found for found in view.result.make().findChildren(QLabel) if found.text() in words.values()]
    assert len(shown) == 8
    assert all(found.height() >= found.heightForWidth(found.width()) for found in shown)


def test_words_of_bars_below_zero_have_room(qtbot, theme):
    bars = CategoryBars(theme, ["orders", "payments"], [-5_000, -10], lambda value: f"{value:,.0f}")
    qtbot.addWidget(bars)
    left, right = bars.findChild(pg.PlotWidget).getViewBox().viewRange()[0]
    assert left == pytest.approx(-5_000)
    assert right == pytest.approx(1_000)


def test_what_is_no_chart_is_left_out():
    assert [result_charts(text) for text in ("", "[]", '{"charts": [1, {}]}')] == [()] * 3
    assert result_charts(json.dumps(CHARTS))[0].unit is ReportUnit.COUNT


def test_a_table_is_read_when_its_tab_is_chosen(view, qtbot, runner):
    tables = [*MANIFEST["tables"], {"name": "again", "title": "Again", "rows": 2, "files": ["by_topic.csv"]}]
    leave_result(runner.folder / "a", tables=tables)
    view.refresh()
    qtbot.waitUntil(lambda: view.result.make().grid is not None)
    again = view.result.make().sections.sections[2]
    assert again.title == "Again"
    view.result.make().sections.choose(again)
    qtbot.waitUntil(lambda: view.result.make().table_title.text() == "Again: 2 rows")


def test_the_parts_of_a_result_are_jumped_to_by_keys(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    view.show_part(RESULT)
    view.resize(1232, 420)  # so that not all charts are seen at once
    panel, parts = view.result.make().charts, view.result.make().sections
    qtbot.waitUntil(lambda: parts.count() == len(DRAWN) + 3 and panel.is_whole)
    assert parts.current.kind is SectionKind.FINDINGS
    assert panel.isVisible()

    parts.setFocus()
    qtbot.keyClick(parts, Qt.Key.Key_Down)
    qtbot.keyClick(parts, Qt.Key.Key_Down)
    assert (parts.current.kind, parts.current.number) == (SectionKind.CHART, 1)
    bar, title = panel.verticalScrollBar(), title_of(panel, 1)
    assert bar.value() == min(bar.maximum(), title.y() - JUMP_MARGIN) > 0
    qtbot.keyClick(parts, Qt.Key.Key_End)
    assert view.result.make().manifest_part.isVisible()
    assert not panel.isVisible()
    qtbot.keyClick(parts, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: view.result.make().grid is not None and view.result.make().grid.isVisible())
    qtbot.keyClick(parts, Qt.Key.Key_Return)
    focus = view.window().focusWidget()
    assert focus is view.result.make().grid or view.result.make().grid.isAncestorOf(focus)


def test_the_list_follows_what_is_scrolled_to(view, qtbot, runner):
    folder = leave_result(runner.folder / "a", charts="charts.json")
    (folder / "charts.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    view.refresh()
    view.show_part(RESULT)
    view.resize(1232, 420)  # so that not all charts are seen at once
    panel, parts = view.result.make().charts, view.result.make().sections
    qtbot.waitUntil(lambda: parts.count() == len(DRAWN) + 3 and panel.is_whole)
    qtbot.waitUntil(lambda: panel.verticalScrollBar().maximum() > 0)
    panel.verticalScrollBar().setValue(title_of(panel, 0).y())
    assert (parts.current.kind, parts.current.number) == (SectionKind.CHART, 0)
    panel.verticalScrollBar().setValue(0)
    assert parts.current.kind is SectionKind.FINDINGS


def test_the_manifest_says_what_was_asked_read_and_skipped(view, qtbot, runner):
    leave_result(runner.folder / "a")
    view.refresh()
    qtbot.waitUntil(lambda: view.result.make().run is not None)
    view.show_part(RESULT)
    view.result.make().sections.choose(view.result.make().sections.sections[-1])
    told = dict(view.result.make().manifest_part.facts.pairs())
    assert told["Skipped"] == str(MANIFEST["rows"]["skipped"])
    assert told["Messages read"] == f"{MANIFEST['rows']['read']:,}"
    assert told["Folder"] == str(runner.folder / "a")
    assert set(told) >= {"Report", "State", "Run at", "Took", "Range asked", "Range found", "Files"}


# ---- the estimate ----


def test_the_form_says_what_would_be_read(view, qtbot, asked):
    qtbot.waitUntil(lambda: bool(asked.started))
    assert asked.started[0][-2:] == ["--estimate", "--parent-pipe"]
    asked.say(files=1, passed_over=0, bytes=2_000_000, records=10_400, shortage="")
    asked.end()
    assert "About 10.4k records, 1.9 MiB, about" in view.form.hint.text


def test_too_little_memory_is_said_first(view, qtbot, asked):
    qtbot.waitUntil(lambda: bool(asked.started))
    asked.say(files=1, passed_over=0, bytes=2_000_000, records=10_400, shortage="a report needs 1024 MiB")
    asked.end()
    assert "There is not enough memory. a report needs 1024 MiB" in view.form.hint.text


def test_only_the_newest_question_is_answered(qtbot, asked):
    estimate = ReportEstimate(process=asked)
    answers = []
    estimate.found.connect(lambda question, answer: answers.append((question.report, answer)))
    for name in ("keys", "tags"):
        estimate.ask(EstimateRequest(name, ("/a",), "", ()))
        started = len(asked.started)
        qtbot.waitUntil(lambda before=started: len(asked.started) > before or asked.cancels)
    asked.end(143, cancelled=True)
    asked.end(4, error="orbit: there is no store at /a")
    assert answers == [("tags", Expected(fault="there is no store at /a"))]


def test_time_is_judged_by_earlier_runs(tmp_path):
    runs = [
        past_run(tmp_path, json.dumps(MANIFEST | {"source": {"bytes": size}, "seconds": seconds, "report": name}))
        for name, size, seconds in (("keys", 100_000_000, 10.0), ("tags", 100_000_000, 100.0))
    ]
    assert expected_s(200_000_000, "keys", runs) == pytest.approx(15.0)
    assert expected_s(0, "new", []) == pytest.approx(5.0)
    assert expected("no JSON").fault == "no JSON"


# ---- schedules ----


def test_a_schedule_runs_its_report_and_is_kept(runner, schedules, child, now, tmp_path):
    assert schedules.add(Schedule("keys", ("/data/store",), (("from", "-24h"),), minute=8 * 60 + 30))
    schedules.look()
    assert child.started == []
    now[0] += timedelta(minutes=31)
    schedules.look()
    schedules.look()
    assert [words[:6] for words in child.started] == [["report", "keys", "--store", "/data/store", "--out", words_out(child)]]
    kept = ReportSchedules(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat), now=lambda: now[0])
    assert kept.all == schedules.all


def words_out(child):
    return child.started[0][5]


def test_the_dialog_adds_what_the_form_asks_for_and_removes(view, schedules, qtbot):
    view.form.open_schedules()
    dialog = view.form.findChild(ScheduleDialog)
    dialog.time.setTime(QTime(23, 15))
    dialog.add.click()
    assert [(one.report, one.weekday, one.minute) for one in schedules.all] == [("throughput", DAILY, 1_395)]
    assert view.form.schedule_button.text() == "Schedules 1"
    schedules.remove(schedules.all[0])
    assert view.form.schedule_button.text() == "Schedule…"
    dialog.reject()


# ---- notices ----


def test_the_end_of_a_run_is_told_without_the_page(runner, child, window, qapp):
    notice = ReportNotice(runner, window.notify, window.navigate)
    runner.submit(runner.order(SPEC, ("/data/store",)))
    child.say(stage="done", state="complete", html="x", rows=5, seconds=1)
    child.end()
    assert [text for text, _ in window.notices] == ["Throughput over time: 5 messages read"]
    window.offers[0][1]()
    assert window.opened == [("reports", {})]
    assert notice.parent() is None
    runner.submit(runner.order(find("lag"), ("/data/store",)))
    child.say(stage="done", state="complete", html="x", rows=20, seconds=1)
    child.end()
    assert window.notices[-1][0] == "Consumer lag: 20 samples read"


# ---- SQL ----


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_queries, "folder", lambda: Path(tmp_path) / "queries")


@pytest.mark.usefixtures("kept")
def test_queries_are_kept_loaded_and_removed(qtbot, theme):
    field = QueryField(theme)
    qtbot.addWidget(field)
    field.setText("  select 1\nfrom messages ")
    assert field.text() == "select 1\nfrom messages"
    field.save("one")
    qtbot.waitUntil(lambda: field.saved.currentData() == "one")
    field.setText("")
    field.saved.activated.emit(1)
    qtbot.waitUntil(lambda: field.text() == "select 1\nfrom messages")
    field.remove_button.click()
    qtbot.waitUntil(lambda: field.saved.count() == 1)
    field.save("no/name")
    qtbot.waitUntil(lambda: "no/name" in field.remark.text())


@pytest.mark.usefixtures("kept")
def test_a_list_of_queries_that_comes_late_chooses_nothing_else(qtbot, theme, monkeypatch):
    goes_on, names, calls = threading.Event(), saved_queries.names, []

    def first_is_slow() -> list[str]:
        calls.append(1)
        found = names()
        assert len(calls) > 1 or goes_on.wait(60)
        return found

    monkeypatch.setattr(saved_queries, "names", first_is_slow)
    field = QueryField(theme)
    qtbot.addWidget(field)
    qtbot.waitUntil(lambda: len(calls) == 1)
    field.setText("select 1")
    field.save("one")
    qtbot.waitUntil(lambda: field.saved.currentData() == "one")
    goes_on.set()
    qtbot.waitUntil(lambda: QThreadPool.globalInstance().activeThreadCount() == 0)
    qtbot.wait(50)
    assert field.saved.currentData() == "one"


@pytest.mark.usefixtures("kept")
def test_sql_needs_a_query(view):
    view.choose(find("sql"))
    assert view.form.order is None
    view.form.own.fields["query"].setText("select * from messages")
    assert view.form.order.parameters == (("query", "select * from messages"),)
    assert list(view.form.own.fields) == ["query", "rows"]


# ---- Spark that is kept ----


def test_the_page_tells_of_the_spark_that_waits(qtbot, show_page, qapp, tmp_path):
    process = FakeChild()
    session = SparkChild(process=process)
    runner = ReportRunner(TaskList(), folder=tmp_path / "reports", session=session)
    page = show_page(ReportsView, FakeSource(), reports=runner)
    qtbot.waitUntil(lambda: is_read(page))
    line = page.session_line
    assert line.isHidden()
    session.warm()
    assert "starts" in line.words.whole_text()
    process.say(stage="session", state="ready", memory_bytes=700 << 20)
    assert not line.isHidden()
    assert "700 MiB" in line.words.whole_text()
    runner.submit(orders(runner, 1)[0])
    process.say(stage="session", state="busy", memory_bytes=800 << 20)
    assert not line.end_button.isEnabled()
    process.say(stage="done", state="complete", rows=5)
    process.say(stage="session", state="ready", memory_bytes=800 << 20)
    assert runner.run.rows == 5
    assert not runner.is_running
    line.end_button.click()
    assert process.cancels == 1
    process.end(130, cancelled=True)
    assert line.isHidden()
