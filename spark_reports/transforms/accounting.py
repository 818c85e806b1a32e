"""The accounting rows of every manifest: records read, and records left out."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.datasource.schema import SKIPPED_BYTES, SKIPPED_COLUMNS, SKIPPED_REASON, SKIPPED_ROWS
from spark_reports.transforms.origin import first_and_last

ACCOUNTED = ("store", "store_time", "physical_offset", *SKIPPED_COLUMNS)
"""Columns that `accounting` needs."""


def messages_of(read: DataFrame) -> DataFrame:
    """The messages of a read without its accounting rows."""
    return read.where(F.col(SKIPPED_REASON).isNull()).drop(*SKIPPED_COLUMNS)


def accounting(read: DataFrame) -> DataFrame:
    """One row of totals, and one for each store and reason of skipped records.

    Returns:
        skipped_reason (null: the messages), skipped_store, messages, first_time, last_time, skipped_rows, skipped_bytes,
        skipped_offset (physical offset of the first damaged place).
    """
    skipped = F.col(SKIPPED_REASON).isNotNull()
    return read.groupBy(F.col(SKIPPED_REASON), F.when(skipped, F.col("store")).alias("skipped_store")).agg(
        F.count(F.when(~skipped, 1)).alias("messages"),
        *first_and_last(),
        F.coalesce(F.sum(SKIPPED_ROWS), F.lit(0)).cast("bigint").alias(SKIPPED_ROWS),
        F.coalesce(F.sum(SKIPPED_BYTES), F.lit(0)).cast("bigint").alias(SKIPPED_BYTES),
        F.min(F.when(skipped, F.col("physical_offset"))).alias("skipped_offset"),
    )


def sample_accounting(samples: DataFrame, time: str = "time") -> DataFrame:
    """The row of totals of `accounting`, for samples with their time in the column ``time``."""
    nothing = F.lit(None)
    return samples.agg(
        nothing.cast("string").alias("skipped_reason"),
        nothing.cast("string").alias("skipped_store"),
        F.count("*").alias("messages"),
        *first_and_last(time),
        F.lit(0).cast("bigint").alias("skipped_rows"),
        F.lit(0).cast("bigint").alias("skipped_bytes"),
        nothing.cast("bigint").alias("skipped_offset"),
    )
