"""Small logs without Spark: what is written, when it is left to Spark, and that no Java is started."""

import importlib
import json
import threading
from dataclasses import replace

import pyarrow.parquet
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.errors import UsageError
from spark_reports import catalog, run, small_logs
from spark_reports.__main__ import main
from spark_reports.cancel import Interrupt
from spark_reports.datasource import source
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import sums
from spark_reports.parameters import ReportParameters
from spark_reports.session import SparkOptions
from spark_reports.small_logs import SUMMED, is_left_to_orbit, sums_of
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter

START_MS = 1_700_000_000_000


@pytest.fixture
def no_java(monkeypatch):
    def refuse(_options):
        raise UsageError("Java is asked for")

    monkeypatch.setattr(run, "open_session", refuse)


def test_a_small_log_is_read_without_java(no_java, tmp_path, capsys):
    golden = golden_store("torn")
    times = sorted(message.columns["storeTimestamp"] for message in golden.messages())
    border = times[len(times) // 2]
    words = ["--store", str(golden.unpack(tmp_path)), "--out", str(tmp_path / "out"), "--to", str(border), "--progress", "json"]
    assert main(["throughput", *words]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    inside = sum(time_ms < border for time_ms in times)
    assert manifest["rows"] == {
        "looked_at": len(times), "read": inside, "skipped": len(times) - inside, "damaged_places": 1, "damaged_bytes": 60,
    }  # fmt: skip
    assert (manifest["state"], manifest["master"], manifest["versions"]["java"]) == (
        "partial", "this process, without Spark", "not used",
    )  # fmt: skip
    for table in manifest["tables"]:
        rows = pyarrow.parquet.read_table(tmp_path / "out" / f"{table['name']}.parquet")
        assert sum(rows["messages"].to_pylist()) == inside
    assert [line["stage"] for line in told if line.get("done") == 0] == ["plan", "read", "write"]
    assert (told[-1]["stage"], max(line["rows"] for line in told if line["stage"] == "read")) == ("done", inside)


def test_a_large_log_is_left_to_spark(no_java, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "BYTES_MAX", 1_000)
    writer = StoreWriter(tmp_path / "store")
    for _ in range(100):
        writer.append("orders", b"x" * 50)
    writer.flush()
    assert main(["throughput", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]) != 0
    assert "Java is asked for" in capsys.readouterr().err


def test_a_log_with_very_many_sums_is_left_to_spark(no_java, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(small_logs, "SUMS_MAX", 9)
    writer = StoreWriter(tmp_path / "store")
    for index in range(10):
        writer.append("orders", b"x", {"TAGS": f"t{index}"})
    writer.flush()
    words = ["throughput", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert main(words) != 0
    assert "Java is asked for" in capsys.readouterr().err
    monkeypatch.setattr(small_logs, "SUMS_MAX", 10)
    assert main(words) == 0


@pytest.mark.parametrize(
    "words", [["--spark-conf", "spark.ui.enabled=false"], ["--memory-mib", "900"], ["--master", "local[1]"]]
)
def test_who_says_how_spark_is_to_run_gets_it(no_java, tmp_path, capsys, words):
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    assert main(["throughput", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), *words]) != 0
    assert "Java is asked for" in capsys.readouterr().err


def test_how_spark_is_to_run_is_left_to_orbit_unless_something_is_said():
    assert is_left_to_orbit(SparkOptions())
    for change in ({"master": "local[1]"}, {"heap_bytes": 1}, {"java_options": ("-Xint",)}, {"conf": (("a", "b"),)}):
        assert not is_left_to_orbit(replace(SparkOptions(), **change))


def test_an_empty_log_has_no_row(tmp_path):
    (tmp_path / "commitlog").mkdir()
    assert sums_of(plan_read([tmp_path]), ReportParameters(), ("topic",), lambda *_: None).num_rows == 0


def test_sums_are_told_as_they_are_read(tmp_path):
    writer = StoreWriter(tmp_path)
    for index in range(90):
        writer.append("orders", b"x" * 50, store_ms=START_MS + index)
    writer.flush()
    told = []
    plan = plan_read([tmp_path], split_bytes=3_000)
    sums_of(plan, ReportParameters(), ("topic",), lambda *step: told.append(step))
    assert [done for done, _ in told] == list(range(1, len(plan.tasks) + 1))
    assert told[-1][1] == 90


def test_a_report_that_ends_early_leaves_no_thread(tmp_path):
    writer = StoreWriter(tmp_path)
    for _ in range(90):
        writer.append("orders", b"x" * 50)
    writer.flush()

    def give_up(*_):
        raise Interrupt

    with pytest.raises(Interrupt) as raised:
        sums_of(plan_read([tmp_path], split_bytes=3_000), ReportParameters(), ("topic",), give_up)
    assert raised.tb  # which holds all that was at work
    assert not [one.name for one in threading.enumerate() if one.name.startswith("log-sums")]


def test_the_reports_that_are_made_of_sums_are_known():
    modules = {spec.name: importlib.import_module(f"spark_reports.reports.{spec.module}") for spec in catalog.reports()}
    assert {name for name, module in modules.items() if hasattr(module, "KEYS")} == SUMMED


@pytest.mark.parametrize(("topics", "counted"), [((), "messages"), (("bills",), "skipped_rows")])
def test_who_gives_up_waits_for_no_log_file(tmp_path, monkeypatch, topics, counted):
    writer = StoreWriter(tmp_path)
    for _ in range(60):
        writer.append("orders", b"x" * 50)
    writer.flush()
    monkeypatch.setattr(source, "SCAN_BYTES", 500)
    (task,) = plan_read([tmp_path]).tasks
    asked = iter((True, True, False))
    schema = to_arrow_schema(sums("topic"), timezone="UTC")
    (batch,) = source.read_sums(task, Selection(topics=topics), ("topic",), schema, lambda: next(asked))
    assert 0 < batch[counted][0].as_py() < 30
