import csv
import io
import json

import pyarrow as pa
import pytest

from spark_reports.catalog import find
from spark_reports.progress import FIRST_ROWS_MAX, LINE_BYTES_MAX, ReportProgress
from spark_reports.reports.common import table


def test_json_lines_name_stage_steps_and_rows():
    out = io.StringIO()
    progress = ReportProgress(find("throughput"), json_lines=True, out=out)
    progress.begin("read", total=4)
    progress.step(2, 4, rows=100)
    progress.step(2, 4, rows=100)
    progress.step(3, 4, rows=90)
    progress.end("done", {"rows": 100}, "")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["stage"], line.get("done"), line["rows"]) for line in lines] == [
        ("read", 0, 0), ("read", 2, 100), ("read", 3, 100), ("done", None, 100),
    ]  # fmt: skip


def test_each_finished_stage_is_timed():
    progress = ReportProgress(find("throughput"), json_lines=False, out=io.StringIO())
    progress.begin("plan")
    progress.begin("write")
    progress.finish()
    assert [stage.key for stage in progress.stages] == ["plan", "write"]
    assert all(stage.seconds >= 0 for stage in progress.stages)


@pytest.mark.parametrize(("rows", "width", "told"), [(3, 10, 3), (5_000, 10, FIRST_ROWS_MAX), (200, 4_000, 12), (1, 60_000, 0)])
def test_the_first_table_is_told_with_as_many_rows_as_a_line_takes(rows, width, told):
    out = io.StringIO()
    data = pa.table({"topic": ["主" * (width // 3)] * rows, "messages": list(range(rows))})
    ReportProgress(find("sizes"), json_lines=True, out=out).show(table("by_topic", "By topic", data))
    (text,) = out.getvalue().splitlines()
    line = json.loads(text)
    cells = list(csv.reader(io.StringIO(line["csv"])))
    assert (line["stage"], line["title"], line["rows"]) == ("first", "By topic", rows)
    assert cells == [["topic", "messages"], *([one["topic"], str(one["messages"])] for one in data.to_pylist()[:told])]
    assert len(text.encode()) <= LINE_BYTES_MAX


def test_in_a_terminal_it_is_told_that_it_is_there():
    out = io.StringIO()
    ReportProgress(find("sizes"), json_lines=False, out=out).show(
        table("by_topic", "By topic", pa.table({"topic": ["a"] * 1_200}))
    )
    assert out.getvalue() == "By topic: 1,200 rows so far\n"
