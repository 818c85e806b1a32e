"""A Java machine for Spark's driver side: PySpark attaches to it by the port and secret it writes to a file.

The machine ends with its standard input: if this process dies in any way, the pipe closes and Java exits too.
"""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from broker_core.errors import JavaError
from broker_core.machine_limits import kill_text, memory, memory_kills
from broker_core.platform import process_groups, signals
from spark_reports.java import class_path, is_local, machine_environment, machine_options, spark_home, worker_environment
from spark_reports.pyspark_internals import CONNECTION_FILE

START_TIMEOUT_S = 120.0
STOP_GRACE_S = 1.2  # a cancelled report is gone within two seconds
LOG_TAIL_LINES = 6


class JavaMachine:
    """A running Java machine with Spark's gateway open.

    Args:
        java: The ``java`` program.
        conf: Spark settings for the driver.
        heap_bytes: Largest heap.
        folder: Private folder for the log and the connection file; must exist.
        extra_options: More options for Java, such as a class cache's.

    Raises:
        JavaError: It did not start; the message carries the end of its log.
    """

    def __init__(
        self, java: Path, conf: Mapping[str, str], *, heap_bytes: int, folder: Path, extra_options: Sequence[str] = ()
    ) -> None:
        self.heap_bytes = heap_bytes
        self._kills_before = memory_kills()
        self._log_path = folder / "java.log"
        self._log: IO[bytes] = self._log_path.open("wb")
        self._process = self._launch(java, conf, folder, extra_options)
        self._descendants: dict[int, psutil.Process] = {}

    def _launch(
        self, java: Path, conf: Mapping[str, str], folder: Path, extra_options: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        home = spark_home()
        self._connection_path = folder / "connection"
        command = [str(java), *machine_options(self.heap_bytes), *extra_options]
        command += ["-cp", class_path(home), "org.apache.spark.deploy.SparkSubmit"]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        try:
            return subprocess.Popen(
                [*command, "pyspark-shell"],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=self._log,
                env=self._environment(java, home, conf),
                cwd=folder,
                **process_groups.apart(),
            )
        except OSError as error:
            self._log.close()
            raise JavaError(
                f"Java at {java} could not be started: {error.strerror}. Check that the file may be run."
            ) from error

    def _environment(self, java: Path, home: Path, conf: Mapping[str, str]) -> dict[str, str]:
        environment = machine_environment() | worker_environment()
        environment |= {
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_CONNECT_MODE": "0",
            "JAVA_HOME": str(java.parent.parent),
            "PYSPARK_PYTHON": sys.executable,
            CONNECTION_FILE: str(self._connection_path),
        }
        if not is_local(conf.get("spark.master", "")):
            # Clusters get PySpark from there. Here it would put the archive with PySpark's sources before the installed
            # package, and each of Spark's five Python processes would compile them: 0.7 s of processor time each.
            environment["SPARK_HOME"] = str(home)
        if "spark.driver.bindAddress" in conf:
            environment["SPARK_LOCAL_IP"] = conf["spark.driver.bindAddress"]
        return environment

    def gateway(self, timeout_s: float = START_TIMEOUT_S) -> tuple[int, str]:
        """Wait until the machine is up and return its loopback port and secret for PySpark.

        Raises `JavaError` if it ended first, or was not ready in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self._connection_path.is_file():
            if self._process.poll() is not None:
                raise self.failure("did not start")
            if time.monotonic() > deadline:
                self.kill()
                raise self.failure(f"was not ready after {timeout_s:.0f} s")
            time.sleep(0.02)
        data = self._connection_path.read_bytes()
        port, secret_bytes = struct.unpack_from("!ii", data)
        return port, data[8 : 8 + secret_bytes].decode()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def ended_soon(self) -> bool:
        """Whether the process has ended, or ends within a moment: its connections close before it does."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOP_GRACE_S)
        return not self.running

    @property
    def lost_a_child_to_the_kernel(self) -> bool:
        """Whether the kernel has killed a process of this control group for lack of memory since the machine started."""
        return memory_kills() > self._kills_before

    def short_of_memory(self, what: str) -> JavaError:
        """An error that says so, with what may be used."""
        free = memory()
        return JavaError(
            f"{what}. Java has a heap of {self.heap_bytes >> 20:,} MiB, needs as much again beside it, and {free.owner} has "
            f"{free.free_bytes >> 20:,} MiB left. Give it more, give Java less with --memory-mib N, or choose a shorter range.",
            heap_bytes=self.heap_bytes,
            available_bytes=free.free_bytes,
            exit_code=self._process.poll(),
        )

    def failure(self, what: str, *, hint: str = "") -> JavaError:
        """An error that describes the machine's end by its exit code, its log and ``hint``, its earlier output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOP_GRACE_S)  # its last words are written while it ends
        log = hint
        with contextlib.suppress(FileNotFoundError):  # removed with its folder when the session is killed
            log = self._log_path.read_text(encoding="utf-8", errors="replace") + hint
        code = self._process.poll()
        if code == -signals.KILL_NUMBER:
            return self.short_of_memory(f"Java {what}: {kill_text()}")
        if "OutOfMemoryError" in log or "Could not reserve enough space" in log or "insufficient memory" in log:
            return JavaError(
                f"Java ran out of memory: its heap of {self.heap_bytes >> 20} MiB was not enough or could not be had. "
                "Give it more with --memory-mib N, free some memory, or choose a shorter range.",
                heap_bytes=self.heap_bytes,
                exit_code=code,
            )
        if "BindException" in log or "Can't assign requested address" in log:
            return JavaError(
                "Java was refused a port on 127.0.0.1. Check that the loopback interface is up and that a firewall or "
                "sandbox does not forbid programs to listen on it.",
                exit_code=code,
            )
        tail = "\n".join(log.strip().splitlines()[-LOG_TAIL_LINES:]) or "it said nothing"
        state = "still runs" if code is None else f"exit code {code}"
        return JavaError(f"Java {what} ({state}). Its last lines:\n{tail}", exit_code=code)

    def close(self) -> None:
        """End the machine in good order: its input closes, it stops Spark and exits."""
        self._remember_descendants()
        self._close_input()
        self._finish(STOP_GRACE_S * 5)

    def kill(self) -> None:
        """End the machine and all its child processes, within about `STOP_GRACE_S`."""
        self._remember_descendants()
        if self.running:
            self._process.terminate()
        self._close_input()
        self._finish(STOP_GRACE_S)

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _remember_descendants(self) -> None:
        # Python workers leave Java's process group, so they are found by parentage while Java still is their parent.
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self._process.pid).children(recursive=True):
                self._descendants[child.pid] = child

    def _finish(self, grace_s: float) -> None:
        try:
            self._process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for child in self._descendants.values():
            with contextlib.suppress(psutil.Error):
                child.kill()  # psutil compares the start time, so a reused process id is left alone
        self._log.close()
