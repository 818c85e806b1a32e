"""A session on a Spark Connect server: Spark runs on the server, no Java here.

The server's machines read the stores, so paths are the server's. Orbit's packages are sent to it; the Python of its
PYSPARK_PYTHON needs numpy, numba, pyarrow and msgpack.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.errors import OrbitError, ReportError
from spark_reports.masters import require_master
from spark_reports.session import SESSION_SETTINGS, ReportSession, SparkOptions
from spark_reports.worker_packages import packages_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "sc://"
_NEEDED = ("grpc", "grpc_status", "google.rpc")
_AT_SERVER = "at the Spark Connect server"


def open_session(options: SparkOptions) -> ReportSession | ConnectSession:
    """A session for the options.

    Raises:
        JavaError: As `ReportSession`.
        ReportError: The packages for a Spark Connect server are missing.
    """
    return ConnectSession(options) if options.master.startswith(PREFIX) else ReportSession(options)


class ConnectSession:
    """A session on a server, ``sc://HOST:PORT``; the same interface as `ReportSession`.

    Raises:
        ReportError: The client's packages are not installed.
        UsageError, NetworkError: The address is invalid, or no server answers.
    """

    java_version = _AT_SERVER

    def __init__(self, options: SparkOptions) -> None:
        missing = [name for name in _NEEDED if not _is_there(name)]
        if missing:
            raise ReportError(
                f"to use a Spark Connect server the Python package {missing[0]} is needed, and it is not installed. Install "
                "pyspark[connect] into Orbit's environment, or use another --master."
            )
        require_master(options.master)
        self._options = options
        self._spark: SparkSession | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="orbit-report-"))

    def connect(self) -> SparkSession:
        """Connect to the server, else a `ReportError`; returns the same session at each call."""
        if self._spark is not None:
            return self._spark
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what third-party modules say at import is not the report's business
            from pyspark.sql import SparkSession
        try:
            builder = SparkSession.builder.remote(self._options.master)
            spark = builder.config(map={**SESSION_SETTINGS, **dict(self._options.conf)}).getOrCreate()
            spark.addArtifacts(str(packages_zip(self._folder)), pyfile=True)
        except Exception as error:
            raise self.explain(error) from error
        self._spark = spark
        return spark

    def begin(self) -> SparkSession:
        return self.connect()

    @property
    def is_running(self) -> bool:
        """Whether there is a session; a lost server shows at the next report."""
        return self._spark is not None

    def tidy(self) -> None:
        """Do nothing; the server cleans up itself."""

    def explain(self, error: Exception) -> Exception:
        """The error to show for an exception of the session."""
        if isinstance(error, OrbitError) or not type(error).__module__.startswith(("pyspark", "grpc")):
            return error
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = lines[0] if lines else type(error).__name__
        return ReportError(
            f"the Spark Connect server {self._options.master} could not do it. It says: {said}",
            master=self._options.master,
        )

    def progress(self) -> tuple[int, int] | None:
        """None: a server does not report its progress."""
        return None

    def close(self) -> None:
        """Close the session. May be called again."""
        spark, self._spark = self._spark, None
        if spark is not None:
            with contextlib.suppress(Exception):  # it may be gone
                spark.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """Stop running queries and close. May be called from a signal handler."""
        spark, self._spark = self._spark, None
        if spark is not None:
            with contextlib.suppress(Exception):
                spark.interruptAll()
        shutil.rmtree(self._folder, ignore_errors=True)


Session = ReportSession | ConnectSession


def _is_there(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
