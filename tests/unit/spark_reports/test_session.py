import pytest

from broker_core.errors import JavaError
from spark_reports.session import ReportSession, SparkOptions, settings


def test_a_local_session_listens_on_loopback_only(tmp_path):
    local = settings("local[*]", tmp_path)
    assert (local["spark.driver.host"], local["spark.driver.bindAddress"], local["spark.ui.enabled"]) == (
        "127.0.0.1",
        "127.0.0.1",
        "false",
    )
    assert local["spark.local.dir"] == str(tmp_path)


def test_another_master_may_reach_the_driver(tmp_path):
    remote = settings("spark://master:7077", tmp_path)
    assert remote["spark.master"] == "spark://master:7077"
    assert "spark.driver.bindAddress" not in remote
    assert remote["spark.executorEnv.PYTHONPATH"]


def test_a_java_that_cannot_start_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("x")
    with pytest.raises(JavaError, match="could not be started"):
        ReportSession(SparkOptions(java_home=tmp_path / "home", heap_bytes=1 << 30))
    assert list(tmp_path.glob("orbit-report-*")) == []
