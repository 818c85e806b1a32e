import os
import socket
import zipfile

import pytest

from broker_core.errors import JavaError, NetworkError, ReportError, UsageError
from spark_reports.connect import open_session
from spark_reports.java import machine_options
from spark_reports.masters import require_master
from spark_reports.session import ReportSession, SparkOptions, said_by, settings
from spark_reports.worker_packages import packages_zip


def test_a_local_session_listens_on_loopback_only(tmp_path):
    local = settings(SparkOptions(), tmp_path)
    assert (local["spark.driver.host"], local["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert (local["spark.ui.enabled"], local["spark.authenticate"]) == ("false", "true")
    assert local["spark.local.dir"] == str(tmp_path)


def test_the_workers_of_a_cluster_may_reach_the_driver(tmp_path):
    near = settings(SparkOptions("spark://127.0.0.1:7077"), tmp_path)
    assert (near["spark.master"], near["spark.driver.host"]) == ("spark://127.0.0.1:7077", "127.0.0.1")
    named = settings(SparkOptions("yarn", driver_host="10.1.2.3"), tmp_path)
    assert (named["spark.driver.host"], named["spark.driver.bindAddress"]) == ("10.1.2.3", "10.1.2.3")
    assert "spark.driver.host" not in settings(SparkOptions("k8s://https://cluster"), tmp_path)


def test_java_and_spark_take_the_processors_that_this_process_may_use(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    assert "-XX:ActiveProcessorCount=1" in machine_options(1 << 30)
    assert settings(SparkOptions(), tmp_path)["spark.sql.shuffle.partitions"] == "1"


def test_a_setting_of_the_user_wins(tmp_path):
    assert settings(SparkOptions(conf=(("spark.ui.enabled", "true"),)), tmp_path)["spark.ui.enabled"] == "true"


def test_a_master_of_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be reached"):
        settings(SparkOptions("spark://no-such-host.invalid:7077"), tmp_path)


def test_a_master_where_nobody_answers_is_told_before_java_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("spark_reports.connect._NEEDED", ())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for master in (
            f"spark://127.0.0.1:1,127.0.0.1:{port}",
            f"sc://127.0.0.1:{port}/;user_id=me",
            "local[2]",
            "yarn",
            "k8s://x",
        ):
            require_master(master)
    for master in (f"spark://127.0.0.1:{port}", f"sc://127.0.0.1:{port}/;user_id=me"):
        with pytest.raises(NetworkError, match=f"the Spark master {master} cannot be reached: Connection refused"):
            open_session(SparkOptions(master, heap_bytes=1 << 30))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("master", ["spark://host", "spark://:x", "spark://", "sc://", "foo://x", "", "spark://a:1,b"])
def test_a_master_that_is_none_is_refused(master):
    with pytest.raises(UsageError, match="is no Spark master"):
        require_master(master)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[UNRESOLVED_COLUMN] A column `x` cannot be resolved. SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n+- [a#1]",
         "[UNRESOLVED_COLUMN] A column `x` cannot be resolved."),
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 1) ==\nselect 1/0\n       ^^^\n",
         "[DIVIDE_BY_ZERO] Division by zero."),
        ("An error occurred while calling None.x.\n: java.lang.IllegalStateException: It was stopped\n\tat a.b(c)",
         "java.lang.IllegalStateException: It was stopped"),
        ("Job aborted.\n\tat a.b\nTraceback (most recent call last):\n  File x\nValueError: no such thing\n",
         "Job aborted. … ValueError: no such thing"),
        ("", "ValueError"),
    ],
)  # fmt: skip
def test_what_spark_says_is_told_without_plans_and_places(text, said):
    assert said_by(ValueError(text)) == said


def test_the_archive_for_workers_holds_what_the_source_imports(tmp_path):
    names = zipfile.ZipFile(packages_zip(tmp_path)).namelist()
    assert {"spark_reports/datasource/source.py", "broker_core/engine/store/layout.py", "monitoring/history/rows.py"} <= set(
        names
    )


def test_a_connect_server_needs_its_client(monkeypatch):
    monkeypatch.setattr("spark_reports.connect._NEEDED", ("no_such_package",))
    with pytest.raises(ReportError, match="the Python package no_such_package is needed"):
        open_session(SparkOptions("sc://127.0.0.1:15002"))


def test_a_java_that_cannot_start_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("x")
    with pytest.raises(JavaError, match="could not be started"):
        ReportSession(SparkOptions(java_home=tmp_path / "home", heap_bytes=1 << 30))
    assert list(tmp_path.glob("orbit-report-*")) == []
