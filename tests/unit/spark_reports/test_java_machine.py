import json
import signal
import sys

import pytest

from broker_core.errors import JavaError
from broker_core.machine_limits import Memory
from spark_reports import java_machine
from spark_reports.java import spark_home
from spark_reports.java_machine import JavaMachine


def environment_of(tmp_path, conf):
    """What Java is started with, told by a program in its place."""
    java = tmp_path / "java"
    java.write_text(f"#!{sys.executable}\nimport json, os, sys\njson.dump(dict(os.environ), sys.stdout)\n")
    java.chmod(0o755)
    machine = JavaMachine(java, conf, heap_bytes=64 << 20, folder=tmp_path)
    machine.close()
    return json.loads((tmp_path / "java.log").read_text())


def test_local_workers_import_the_installed_pyspark_and_not_its_archive_of_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/another/spark")
    assert "SPARK_HOME" not in environment_of(tmp_path, {"spark.master": "local[*]"})
    assert environment_of(tmp_path, {"spark.master": "spark://127.0.0.1:7077"})["SPARK_HOME"] == str(spark_home())


def test_another_sparks_settings_stay_outside(tmp_path, monkeypatch):
    for name in ("SPARK_CONF_DIR", "SPARK_LOCAL_IP", "JAVA_TOOL_OPTIONS"):
        monkeypatch.setenv(name, "/another")
    found = environment_of(tmp_path, {"spark.master": "local[*]", "spark.driver.bindAddress": "127.0.0.1"})
    assert found["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert not {"SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS"} & found.keys()


def machine_that_says(tmp_path, text, code):
    """A program in Java's place that says something and ends."""
    java = tmp_path / "java"
    java.write_text(f"#!{sys.executable}\nimport sys\nsys.stderr.write({text!r})\nsys.exit({code})\n")
    java.chmod(0o755)
    return JavaMachine(java, {}, heap_bytes=64 << 20, folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "ran out of memory: its heap of 64 MiB"),
        ("Could not reserve enough space for 64KB object heap", "ran out of memory"),
        ("java.net.BindException: Cannot assign", "refused a port on 127.0.0.1"),
        ("Unrecognized something", r"did not start \(exit code 3\)\. Its last lines:\nUnrecognized something"),
    ],
)
def test_a_machine_that_ends_says_why(tmp_path, text, said):
    machine = machine_that_says(tmp_path, text, 3)
    with pytest.raises(JavaError, match=said):
        machine.gateway()
    machine.close()


def test_a_file_that_may_not_be_run_is_named(tmp_path):
    java = tmp_path / "java"
    java.write_text("x")
    with pytest.raises(JavaError, match="could not be started: Permission denied"):
        JavaMachine(java, {}, heap_bytes=64 << 20, folder=tmp_path)


def test_a_machine_that_the_system_killed_is_short_of_memory(tmp_path, monkeypatch):
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\nkill -{int(signal.SIGKILL)} $$\n")
    java.chmod(0o755)
    monkeypatch.setattr(java_machine, "memory", lambda: Memory(40 << 20, 700 << 20))
    machine = JavaMachine(java, {}, heap_bytes=512 << 20, folder=tmp_path)
    with pytest.raises(JavaError, match=r"killed by signal 9.*heap of 512 MiB.*may use 700 MiB, has 40 MiB left"):
        machine.gateway()
    machine.close()


def test_a_child_that_the_kernel_killed_is_noticed(tmp_path, monkeypatch):
    kills = iter([3, 3, 4])
    monkeypatch.setattr(java_machine, "memory_kills", lambda: next(kills))
    machine = machine_that_says(tmp_path, "", 0)
    assert [machine.lost_a_child_to_the_kernel for _ in range(2)] == [False, True]
    machine.close()
