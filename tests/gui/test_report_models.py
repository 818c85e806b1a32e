"""What the Reports page computes: orders, progress, manifests, the history of results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gui.models.reports import (
    ManifestFault,
    ReportUnit,
    RunState,
    StageState,
    after_line,
    new_run,
    parameter_values,
    past_run,
    time_fault,
)
from gui.operations.reports import read_history, read_table
from spark_reports.catalog import TOPICS
from tests.support.report_results import MANIFEST, ORDER, TABLE, leave_result

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
