"""The report program from command line to folder: one real run, and cancelled ones."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow.parquet
import pytest

from tests.support.foreign_tools import browser
from tests.support.golden import golden_store
from tests.support.process_family import END_SECONDS, left_running
from tests.support.store_writer import StoreWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

ROOT = Path(__file__).resolve().parents[2]


def start(store, out, *words, **options):
    command = [
        sys.executable,
        "-m",
        "spark_reports",
        "throughput",
        "--store",
        str(store),
        "--out",
        str(out),
        "--progress",
        "json",
    ]
    return subprocess.Popen([*command, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One report on the torn golden store, with a range and its progress lines."""
    folder = tmp_path_factory.mktemp("report")
    golden = golden_store("torn")
    times = sorted(message.columns["storeTimestamp"] for message in golden.messages())
    border = times[len(times) // 2]
    with start(golden.unpack(folder), folder / "out", "--to", str(border)) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    return golden, border, folder / "out", [json.loads(line) for line in out.splitlines()]


def test_the_manifest_adds_up_to_what_the_store_holds(finished):
    golden, border, out, _ = finished
    manifest = json.loads((out / "manifest.json").read_text())
    times = [message.columns["storeTimestamp"] for message in golden.messages()]
    inside = sum(time_ms < border for time_ms in times)
    assert manifest["rows"] == {
        "looked_at": len(times), "read": inside, "skipped": len(times) - inside, "damaged_places": 1, "damaged_bytes": 60,
    }  # fmt: skip
    assert (manifest["state"], manifest["master"]) == ("partial", "local[*]")
    assert manifest["versions"]["java"][0].isdigit()
    assert [stage["key"] for stage in manifest["stages"]] == ["plan", "java", "read", "write"]


def test_tables_sum_to_the_manifest(finished):
    _, _, out, _ = finished
    manifest = json.loads((out / "manifest.json").read_text())
    for table in manifest["tables"]:
        rows = pyarrow.parquet.read_table(out / f"{table['name']}.parquet")
        assert sum(rows["messages"].to_pylist()) == manifest["rows"]["read"]
        assert (rows.num_rows, len((out / f"{table['name']}.csv").read_text().splitlines())) == (
            table["rows"],
            table["rows"] + 1,
        )


def test_progress_ends_with_the_result(finished):
    golden, border, out, lines = finished
    inside = sum(message.columns["storeTimestamp"] < border for message in golden.messages())
    assert max(line["rows"] for line in lines if line["stage"] == "read") == inside
    assert [line["stage"] for line in lines if line.get("done") == 0] == ["plan", "java", "read", "write"]
    assert lines[-1]["stage"] == "done"
    assert (lines[-1]["html"], lines[-1]["state"]) == (str(out / "report.html"), "partial")


@pytest.mark.clients
def test_the_page_draws_its_charts_in_a_browser(finished, tmp_path):
    _, _, out, _ = finished
    command = [
        browser(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        "--enable-logging=stderr",
    ]
    command += ["--virtual-time-budget=5000", "--dump-dom", (out / "report.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert shown.stdout.count('class="main-svg"') >= 3
    assert "CONSOLE" not in shown.stderr


def test_a_store_is_read_while_a_broker_writes_to_it(tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 16)
    for _ in range(500):
        writer.append("orders", b"x" * 50)
    writer.flush()
    with start(tmp_path / "store", tmp_path / "out") as process:
        while process.poll() is None:
            writer.append("orders", b"x" * 50)
            writer.flush()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.005)  # a writer without a pause would take the processor from the report
        err = process.stderr.read()
    assert process.returncode == 0, err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["state"] == "complete"
    assert 500 <= manifest["rows"]["read"] <= writer.offsets["orders", 0]


def wait_for_stage(process, stage):
    for line in process.stdout:
        if json.loads(line)["stage"] == stage:
            return
    pytest.fail(f"the report ended before stage {stage}: {process.stderr.read()}")


def family(process):
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.parametrize(("stage", "way"), [("java", "signal"), ("java", "pipe"), ("read", "signal")])
def test_a_cancelled_report_leaves_nothing(tmp_path, stage, way):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 22)
    for index in range(20_000):
        writer.append("orders", b"x" * (index % 300))
    writer.flush()
    (tmp_path / "temporary").mkdir()
    environment = dict(os.environ, TMPDIR=str(tmp_path / "temporary"))
    with start(tmp_path / "store", tmp_path / "out", "--parent-pipe", stdin=subprocess.PIPE, env=environment) as process:
        wait_for_stage(process, stage)
        children = family(process)
        assert children
        if way == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        left = left_running(children)
        process.wait(END_SECONDS)
        lines, said = [json.loads(line) for line in process.stdout], process.stderr.read()
    assert (left, process.returncode, lines[-1:]) == ([], 130, [{"stage": "cancelled"}]), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "temporary"]
    assert list((tmp_path / "temporary").glob("orbit-report-*")) == []


def test_java_ends_when_the_report_is_killed(tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.append("orders")
    writer.flush()
    with start(tmp_path / "store", tmp_path / "out", env=dict(os.environ, TMPDIR=str(tmp_path))) as process:
        wait_for_stage(process, "read")
        children = family(process)
        process.kill()
        assert left_running(children) == [], "Java outlived the report"
