"""Accounting of reports that read samples: what was sampled, and when nothing was."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses


def sample_accounting(samples: DataFrame, time: str = "time") -> DataFrame:
    """The row of totals that `spark_reports.transforms.accounting.accounting` gives, for samples.

    Args:
        samples: With their time in a column.
        time: Name of that column.
    """
    nothing = F.lit(None)
    return samples.agg(
        nothing.cast("string").alias("skipped_reason"),
        nothing.cast("string").alias("skipped_store"),
        F.count("*").alias("messages"),
        F.min(time).alias("first_time"),
        F.max(time).alias("last_time"),
        F.lit(0).cast("bigint").alias("skipped_rows"),
        F.lit(0).cast("bigint").alias("skipped_bytes"),
        nothing.cast("bigint").alias("skipped_offset"),
    )
