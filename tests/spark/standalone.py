"""A real standalone Spark cluster on loopback: a master and two workers, each a Java process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from spark_reports.java import class_path, machine_options, spark_home
from tests.support.foreign_tools import need

READY_SECONDS = 150.0
WORKERS = 2


def java_home() -> Path:
    """A whole Java on this machine: executors ask for a module that the packaged one lacks."""
    need("java")
    java = shutil.which("java")
    assert java is not None
    return Path(java).resolve().parents[1]


@contextlib.contextmanager
def standalone(folder: Path, home: Path) -> Iterator[str]:
    """Start the cluster; gives the address of its master. Everything is ended behind the block."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = folder / "master.log"
        started.append(_start(home, folder, log, "master.Master", "--port", "0"))
        address = _said(log, r"Starting Spark master at (spark://\S+)", started[0])
        logs = [folder / f"worker-{number}.log" for number in range(WORKERS)]
        for worker_log in logs:
            words = ["--port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), address]
            started.append(_start(home, folder, worker_log, "worker.Worker", *words))
        for process, worker_log in zip(started[1:], logs, strict=True):
            _said(worker_log, r"Successfully registered with master (\S+)", process)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def connect_server(folder: Path, home: Path) -> Iterator[str]:
    """Start a Spark Connect server that runs Spark on this machine; gives its address."""
    log, port = folder / "connect.log", free_port()
    settings = {
        "spark.master": "local[1]", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.artifact.isolation.enabled": "true", "spark.sql.shuffle.partitions": "2",
    }  # fmt: skip
    words = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words += [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    process = _launch(home, folder, log, ["org.apache.spark.deploy.SparkSubmit", *words, "spark-internal"])
    try:
        _said(log, r"(Spark Connect server started)", process)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(home: Path, folder: Path, log: Path, program: str, *words: str) -> subprocess.Popen[bytes]:
    return _launch(
        home, folder, log, [f"org.apache.spark.deploy.{program}", "--host", "127.0.0.1", "--webui-port", "0", *words]
    )


def _launch(home: Path, folder: Path, log: Path, words: list[str]) -> subprocess.Popen[bytes]:
    command = [str(home / "bin" / "java"), *machine_options(512 << 20), "-cp", class_path(spark_home()), *words]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))
    }
    environment |= {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder / "local"),
                    "JAVA_HOME": str(home), "SPARK_SCALA_VERSION": "2.13", "PYSPARK_PYTHON": sys.executable}  # fmt: skip
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)


def _said(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        text = log.read_text(errors="replace")[-2000:]
        assert process.poll() is None, f"it ended with {process.poll()}: {text}"
        assert time.monotonic() < deadline, f"it is not ready: {text}"
        time.sleep(0.1)
