"""Message sizes, and the effect of compression on a sample of bodies."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SIZE_COLUMNS = (
    "store", "topic", "tag", "queue_id", "queue_offset", "physical_offset", "body_bytes", "store_bytes", "store_time",
    "sys_flag",
)  # fmt: skip
SAMPLE_COLUMNS = ("topic", "physical_offset", "sys_flag", "body")
COMPRESSED_BIT = 1
ZLIB_LEVEL = 5

_TRIAL = pa.schema([("topic", pa.string()), ("body_bytes", pa.int64()), ("compressed_bytes", pa.int64())])


def size_rows(messages: DataFrame, *keys: str) -> DataFrame:
    """Sizes by some columns: messages, body_bytes, store_bytes, overhead_bytes, body_bytes_avg, _p50, _p99 and _max."""
    return messages.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        F.sum("body_bytes").alias("body_bytes"),
        F.sum("store_bytes").alias("store_bytes"),
        (F.sum("store_bytes") - F.sum("body_bytes")).alias("overhead_bytes"),
        F.round(F.avg("body_bytes"), 3).alias("body_bytes_avg"),
        F.round(F.percentile("body_bytes", 0.5), 3).alias("body_bytes_p50"),
        F.round(F.percentile("body_bytes", 0.99), 3).alias("body_bytes_p99"),
        F.max("body_bytes").alias("body_bytes_max"),
    )


def size_classes(messages: DataFrame) -> DataFrame:
    """Messages by class of body size: size_class (n: under 4^n bytes), messages, body_bytes."""
    size_class = F.when(F.col("body_bytes") == 0, 0).otherwise(F.floor(F.log2("body_bytes") / 2) + 1).cast("int")
    return messages.groupBy(size_class.alias("size_class")).agg(
        F.count("*").alias("messages"), F.sum("body_bytes").alias("body_bytes")
    )


def compression_trial(records: DataFrame, every: int) -> DataFrame:
    """Compress a sample of the bodies that no client compressed, from records with `SAMPLE_COLUMNS`.

    One of ``every`` records is taken, by its place in the log, so that the sample is always the same.

    Returns:
        topic, messages, body_bytes, compressed_bytes; of the sample.
    """
    chosen = records.where(F.col("sys_flag").bitwiseAND(COMPRESSED_BIT) == 0).where("body is not null")
    chosen = chosen.where(F.pmod(F.xxhash64("physical_offset"), F.lit(every)) == 0).select("topic", "body")
    tried = chosen.mapInArrow(_compress, "topic string, body_bytes bigint, compressed_bytes bigint")
    return tried.groupBy("topic").agg(
        F.count("*").alias("messages"), *(F.sum(name).alias(name) for name in ("body_bytes", "compressed_bytes"))
    )


def _compress(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        bodies = batch["body"].to_pylist()
        sizes = [len(zlib.compress(body, ZLIB_LEVEL)) for body in bodies]
        yield pa.RecordBatch.from_arrays([batch["topic"], pa.array([len(body) for body in bodies], pa.int64()),
                                          pa.array(sizes, pa.int64())], schema=_TRIAL)  # fmt: skip
