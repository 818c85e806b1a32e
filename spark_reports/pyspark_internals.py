"""All use of PySpark's internals: one function or constant each, with the reason.

PySpark is pinned to a minor version because of these; tests/unit/spark_reports/test_pyspark_internals.py names what a version
lacks. Spark Connect needs only `arrow_schema`. PySpark is imported at the first call.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

CONNECTION_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""Environment variable with the file to which Spark's Java writes its port and secret: Orbit starts Java itself (`java`)."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of Spark's columns, times in UTC: batches of a data source must have exactly these types."""
    from pyspark.sql.pandas.types import to_arrow_schema

    found: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return found


def use_gateway(port: int, secret: str) -> None:
    """Make PySpark of this process connect to a Java machine instead of starting one: its launcher requires a JDK module."""
    os.environ[_PORT], os.environ[_SECRET] = str(port), secret


def forget_gateway() -> None:
    """Let a later session of this process use its own Java machine: PySpark keeps the first one's gateway for ever."""
    os.environ.pop(_PORT, None)
    os.environ.pop(_SECRET, None)
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is not None:
        with contextlib.suppress(Exception):  # its other end is gone
            gateway.shutdown()


def make_active(session: SparkSession) -> None:
    """Make Java look for data sources in a session of `newSession`.

    PySpark activates a session only when a frame of rows is created in it. In the previous report's session Spark would find
    data sources of the same name and refuse to register them again.
    """
    type(session)._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)


def java_version(spark: SparkSession) -> str:
    """Version of the Java that Spark runs on, for manifests; a query for it would cost a job."""
    java: Any = spark._jvm
    return str(java.java.lang.System.getProperty("java.version"))


def collect_garbage(spark: SparkSession) -> None:
    """Make Java release a report's leftovers: Spark removes shuffle files when their objects are collected."""
    java: Any = spark._jvm
    java.java.lang.System.gc()


def stage_counts(spark: SparkSession, stage: int) -> tuple[int, int]:
    """Tasks that a stage has finished and rows it has read: the public tracker of stages counts no rows."""
    found = spark.sparkContext._jsc.sc().statusStore().lastStageAttempt(stage)
    return int(found.numCompleteTasks()), int(found.inputRecords())
