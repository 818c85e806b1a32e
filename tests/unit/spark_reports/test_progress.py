import io
import json

from spark_reports.catalog import find
from spark_reports.progress import Progress


def test_json_lines_name_stage_steps_and_rows():
    out = io.StringIO()
    progress = Progress(find("throughput"), json_lines=True, out=out)
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
    progress = Progress(find("throughput"), json_lines=False, out=io.StringIO())
    progress.begin("plan")
    progress.begin("write")
    progress.finish()
    assert [stage.key for stage in progress.stages] == ["plan", "write"]
    assert all(stage.seconds >= 0 for stage in progress.stages)
