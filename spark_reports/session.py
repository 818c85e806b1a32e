"""The Spark session of a report process: its settings, its Java machine, its end. The only place that builds one.

Local by default, listening on loopback only. Another master gets the same machine as driver. Nothing starts at import.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.errors import OrbitError, ReportError, UsageError
from broker_core.machine_limits import address_bytes, memory, processors
from spark_reports import pyspark_internals
from spark_reports.class_cache import ClassCache
from spark_reports.java import find_java, heap_bytes_for, is_local, worker_environment
from spark_reports.java_machine import JavaMachine
from spark_reports.masters import require_master
from spark_reports.worker_packages import packages_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
_LOCAL_PARTITIONS_MAX = 8


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Options of Spark.

    Args:
        master: Spark master; ``local[*]`` runs inside this machine; ``sc://…`` is a Spark Connect server.
        heap_bytes: Largest heap of the Java machine; chosen from free memory if None.
        java_home: A Java of the user's choice; the packaged one if None.
        class_cache: Folder of prepared Java classes; None: none are used.
        java_options: More options for Java.
        conf: More settings of Spark, which override Orbit's own.
        driver_host: Address at which the workers of a cluster reach this machine; detected if None.
    """

    master: str = LOCAL
    heap_bytes: int | None = None
    java_home: Path | None = None
    class_cache: Path | None = None
    java_options: tuple[str, ...] = ()
    conf: tuple[tuple[str, str], ...] = ()
    driver_host: str | None = None


class ReportSession:
    """A Java machine that is starting, and the Spark session on it.

    The machine starts at construction; `connect` waits for it, so that the caller can work meanwhile.

    Raises:
        JavaError: No Java, not enough memory, or it could not be started.
        UsageError, NetworkError: The master is invalid, or does not answer.
    """

    def __init__(self, options: SparkOptions) -> None:
        require_master(options.master)
        heap_bytes = options.heap_bytes or heap_bytes_for(memory(), address_bytes())
        java = find_java(options.java_home)
        cache = ClassCache(options.class_cache, java).options() if options.class_cache else []
        self._folder = Path(tempfile.mkdtemp(prefix="orbit-report-"))
        self._spark: SparkSession | None = None
        self._reports = 0
        self._first_stage: int | None = None
        self._options = options
        try:
            self._machine = JavaMachine(
                java,
                settings(options, self._folder),
                heap_bytes=heap_bytes,
                folder=self._folder,
                extra_options=[*cache, *options.java_options],
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def connect(self) -> SparkSession:
        """Wait for the machine and return the session, the same one at each call; `JavaError` if it did not start."""
        if self._spark is not None:
            return self._spark
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what third-party modules say at import is not the report's business
            from pyspark.logger import PySparkLogger
            from pyspark.sql import SparkSession
        # They print what `explain` reports, with pages of Java's stack.
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        port, secret = self._machine.gateway()
        # By default workers are the first python3 on PATH.
        os.environ["PYSPARK_PYTHON"] = dict(self._options.conf).get("spark.pyspark.python", sys.executable)
        pyspark_internals.use_gateway(port, secret)
        try:
            self._spark = SparkSession.builder.getOrCreate()
            if not is_local(self._options.master):
                self._spark.sparkContext.addPyFile(str(packages_zip(self._folder)))
        except Exception as error:
            raise self.explain(error) from error
        return self._spark

    @property
    def java_version(self) -> str:
        """Version of the Java of Spark's driver; valid while the session is open."""
        assert self._spark is not None
        return pyspark_internals.java_version(self._spark)

    def begin(self) -> SparkSession:
        """A session for one report, without views of the one before; `progress` counts from here."""
        spark = self.connect()
        self._reports += 1
        self._first_stage = None
        spark.sparkContext.setJobGroup(self._group, "Orbit report")
        session = spark.newSession()
        pyspark_internals.make_active(session)
        return session

    @property
    def _group(self) -> str:
        return f"report-{self._reports}"

    def progress(self) -> tuple[int, int] | None:
        """Tasks finished and rows read of the first stage since `begin`; None while nothing is known."""
        spark = self._spark
        if spark is None:
            return None
        with contextlib.suppress(Exception):  # the stage has not begun, or the machine was ended; the query then says why
            if self._first_stage is None:
                tracker = spark.sparkContext.statusTracker()
                job = tracker.getJobInfo(min(tracker.getJobIdsForGroup(self._group)))
                self._first_stage = min(job.stageIds) if job is not None else None
            if self._first_stage is not None:
                return pyspark_internals.stage_counts(spark, self._first_stage)
        return None

    @property
    def folder(self) -> Path:
        """Private folder, removed with the session."""
        return self._folder

    @property
    def is_local(self) -> bool:
        return is_local(self._options.master)

    @property
    def is_running(self) -> bool:
        return self._machine.running

    def tidy(self) -> None:
        """Release a report's memory and disk space; takes some tenths of a second."""
        spark = self._spark
        if spark is not None and self._machine.running:
            spark.catalog.clearCache()
            pyspark_internals.collect_garbage(spark)

    def explain(self, error: Exception) -> Exception:
        """The error to show for an exception of the session.

        Returns:
            A `JavaError` if the machine has ended or was refused a port, a `ReportError` for errors of Spark itself, else the
            same error.
        """
        if isinstance(error, OrbitError) or not type(error).__module__.startswith(("pyspark", "py4j", "builtins")):
            return error
        text = _text_of(error)
        if self._machine.lost_a_child_to_the_kernel:
            return self._machine.short_of_memory("the system has killed a process of the report for lack of memory")
        if "BindException" in text or "OutOfMemoryError" in text or self._machine.ended_soon():
            return self._machine.failure("ended in the middle of the work", hint=text)
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            return error
        return ReportError(f"Spark could not finish the report. It says: {said_by(error)}")

    def close(self) -> None:
        """Stop Spark, end the machine and remove its folder. May be called again."""
        spark, self._spark = self._spark, None
        if spark is not None and self._machine.running:
            with contextlib.suppress(Exception):  # the machine may end at this very moment; it is ended below anyway
                spark.stop()
        pyspark_internals.forget_gateway()
        self._machine.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End the machine and its Python workers at once. May be called from a signal handler."""
        self._machine.kill()
        self._spark = None
        shutil.rmtree(self._folder, ignore_errors=True)


def said_by(error: Exception) -> str:
    """The message of a Spark error: without its plans, stack lines, and marks below a query."""
    lines = [_CODE.sub("", line.strip().removeprefix(": ")).strip() for line in _text_of(error).splitlines()]
    said = [line for line in lines if line and not _NOT_SAID.match(line)]
    first = said[0] if said else type(error).__name__
    of_python = [line for line in said[1:] if _OF_PYTHON.match(line)]  # the last words of a worker stand at the end
    return f"{first} … {of_python[-1]}" if of_python and of_python[-1] not in first else first


def _text_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  the library asks Java for it, which may be gone
        return type(error).__name__


_CODE = re.compile(r"\s*SQLSTATE: \w+(;\s*line \d+ pos \d+)?;?")
_NOT_SAID = re.compile(r"at |[-^=+'!:]|An error occurred while calling")
_OF_PYTHON = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")


def settings(options: SparkOptions, folder: Path) -> dict[str, str]:
    """Spark settings of a report; ``folder`` is this process's private one, for shuffle files and Spark's own folders."""
    common = {
        "spark.master": options.master,
        "spark.app.name": "Orbit report",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        **SESSION_SETTINGS,
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers import nothing from the folder they run in
    }
    more = _local_settings() if is_local(options.master) else _cluster_settings(options)
    return common | more | dict(options.conf)


SESSION_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Else each step of a query asks Java twice or three times more, to say in an error which line of Python it came from.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
}
"""Settings of every session, local or on a server."""


def _local_settings() -> dict[str, str]:
    return {
        **{f"spark.executorEnv.{name}": text for name, text in worker_environment().items()},
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.authenticate": "true",  # with a secret that Spark makes up; other users of this machine can connect, but not in
        "spark.sql.shuffle.partitions": str(min(processors(), _LOCAL_PARTITIONS_MAX)),
        "spark.sql.adaptive.enabled": "false",  # its extra jobs cost more than they save on one machine
        "spark.executor.heartbeatInterval": "1s",  # row counts of running tasks come with it
        "spark.sql.codegen.cache.maxEntries": "1000",  # what all reports need; by default those of five or six are kept
    }


def _cluster_settings(options: SparkOptions) -> dict[str, str]:
    host = options.driver_host or own_address(options.master)
    if host is None:
        return {}
    return {"spark.driver.host": host, "spark.driver.bindAddress": host}


def own_address(master: str) -> str | None:
    """Address by which this machine reaches a standalone master, else a `UsageError`; None: Spark finds the cluster itself."""
    found = re.fullmatch(r"spark://([^,:]+):(\d+)(,.*)?", master)
    if not found:
        return None
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((found[1], int(found[2])))  # a datagram socket; nothing is sent
            return str(probe.getsockname()[0])
    except OSError as error:
        raise UsageError(
            f"the Spark master {master} cannot be reached: {error.strerror}. Check its name.", master=master
        ) from error
