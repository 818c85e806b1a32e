"""Parquet files of this machine as data frames, whatever their folders are called."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_AS_PATTERNS = "__globPaths__"
"""Spark's own option. Else it takes `[ ] { } * ?` and backslashes of a path for a pattern, and reads what else fits."""


def local_parquet(spark: SparkSession, schema: StructType, paths: Iterable[Path]) -> DataFrame:
    """Rows of files of this machine, whatever file system Spark's settings have for paths without a scheme; at least one."""
    names = (f"file:///{path.absolute().as_posix().lstrip('/')}" for path in paths)
    return spark.read.schema(schema).option(_AS_PATTERNS, value=False).parquet(*names)
