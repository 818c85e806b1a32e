import zipfile

import pytest

from broker_core.errors import JavaError, ReportError, UsageError
from spark_reports.connect import open_session
from spark_reports.packages import packages_zip
from spark_reports.session import ReportSession, SparkOptions, settings


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


def test_a_setting_of_the_user_wins(tmp_path):
    assert settings(SparkOptions(conf=(("spark.ui.enabled", "true"),)), tmp_path)["spark.ui.enabled"] == "true"


def test_a_master_of_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be reached"):
        settings(SparkOptions("spark://no-such-host.invalid:7077"), tmp_path)


def test_the_archive_for_workers_holds_what_the_source_imports(tmp_path):
    names = zipfile.ZipFile(packages_zip(tmp_path)).namelist()
    assert {"spark_reports/datasource/source.py", "broker_core/store/layout.py", "monitoring/history/rows.py"} <= set(names)


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
