"""Columns of the data sources ``rocketmq-store`` and ``rocketmq-cluster``: one row for each record of the commit log.

    column            type                 meaning
    store             string               store directory the record was read from; of a cluster the name of the broker
    topic             string               topic as stored: for a waiting or half message an internal one
    real_topic        string               topic the producer meant (REAL_TOPIC where present, else the topic)
    queue_id          int                  queue of ``topic``
    queue_offset      bigint               ordinal in that queue; 0 for half and rolled back messages
    physical_offset   bigint               position in the commit log
    store_time        timestamp (UTC)      broker clock, set inside the append lock
    born_time         timestamp (UTC)      producer clock
    born_host         string               producer address, ``ip:port``
    store_host        string               broker address, ``ip:port``
    body_bytes        int                  body as stored (after compression by the client)
    store_bytes       int                  whole record
    body_crc          int                  CRC-32 of the stored body, highest bit cleared
    keys              array<string>        business keys; empty if none
    tag               string               TAGS property; null if none
    unique_key        string               client id of the message; null if none
    properties        map<string,string>   all properties; of a repeated name the last one
    sys_flag          int                  bits: compressed, multi-tag, transaction type, host families, compression
    flag              int                  application flag of the producer
    delay_level       int                  DELAY property; null if none
    reconsume_times   int                  delivery attempts before this copy
    prepared_offset   bigint               physical offset of the half message of a committed transaction, else 0
    kind              string               normal, fifo, delivered (after a delay), committed, delay (waiting), half, op, retry,
                                           dead_letter, given_up, trace
    retry_topic       string               original topic of a message that a consumer sent back; null if none
    origin_id         string               id of the first copy of a retried message; null if none
    producer_group    string               of a transactional message; null if none
    transaction_id    string               as the client sent it; null if none
    check_times       int                  checks of a half message so far; null if none
    deliver_time      timestamp (UTC)      when a timer message is due; null if none
    ordering_key      string               key that ordered sends chose the queue by (5.x clients); null if none
    cancelled_key     string               unique key of the timer message that this record cancels; null if none
    decided_offsets   string               of op records: queue offsets of the half messages decided, separated by commas
    member_key        string               client id of a member of a 5.x batch, whose unique_key is the batch's; null else
    real_queue_id     int                  queue of ``real_topic`` that the producer chose (REAL_QID, where REAL_TOPIC is
                                           present; else ``queue_id``)
    roll_times        int                  of a timer message due far ahead: how often it was written again; null: never
    body              binary               body as stored; read only when the column is asked for

Three columns turn on accounting. If ``skipped_reason`` is among the columns of the read, everything that was read and left out
is a row of its own, all other columns null:

    skipped_reason    string               why; null for messages
    skipped_rows      bigint               records left out; 1 for a damaged place, or for a broker or topic that is missing
    skipped_bytes     bigint               their bytes; 0 if unknown, for clusters

Messages + skipped rows then add up to the records of the log. Without that column the read returns only messages.

A read by sums (option ``sums_by``, a JSON list of ``minute``, ``host`` and some columns of the above) returns one row for each
group of a task: some hundred rows of a task instead of some hundred thousand. Several tasks can return the same group, so the
query adds them up. A schema of fewer of these columns computes no others.

    minute            timestamp (UTC)      store_time, its seconds cut
    host              string               born_host without its port
    messages          bigint               how many; null in accounting rows, as all the others
    body_bytes, store_bytes   bigint       their sums
    body_bytes_max, store_bytes_max  int   the largest
    first_time, last_time     timestamp    store_time of the first and the last

Source: docs/spec/store.md §2.1, §2.4, §2.7.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_reports.pyspark_internals import arrow_schema

FORMAT = "rocketmq-store"
CLUSTER_FORMAT = "rocketmq-cluster"

SKIPPED_REASON = "skipped_reason"
SKIPPED_ROWS = "skipped_rows"
SKIPPED_BYTES = "skipped_bytes"
SKIPPED_COLUMNS = (SKIPPED_REASON, SKIPPED_ROWS, SKIPPED_BYTES)

_COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("store", StringType()),
    ("topic", StringType()),
    ("real_topic", StringType()),
    ("queue_id", IntegerType()),
    ("queue_offset", LongType()),
    ("physical_offset", LongType()),
    ("store_time", TimestampType()),
    ("born_time", TimestampType()),
    ("born_host", StringType()),
    ("store_host", StringType()),
    ("body_bytes", IntegerType()),
    ("store_bytes", IntegerType()),
    ("body_crc", IntegerType()),
    ("keys", ArrayType(StringType())),
    ("tag", StringType()),
    ("unique_key", StringType()),
    ("properties", MapType(StringType(), StringType())),
    ("sys_flag", IntegerType()),
    ("flag", IntegerType()),
    ("delay_level", IntegerType()),
    ("reconsume_times", IntegerType()),
    ("prepared_offset", LongType()),
    ("kind", StringType()),
    ("retry_topic", StringType()),
    ("origin_id", StringType()),
    ("producer_group", StringType()),
    ("transaction_id", StringType()),
    ("check_times", IntegerType()),
    ("deliver_time", TimestampType()),
    ("ordering_key", StringType()),
    ("cancelled_key", StringType()),
    ("decided_offsets", StringType()),
    ("member_key", StringType()),
    ("real_queue_id", IntegerType()),
    ("roll_times", IntegerType()),
)

MESSAGES = StructType([StructField(name, data_type) for name, data_type in _COLUMNS])
"""Columns of a read without a schema: all but the body and the accounting."""

ALL_COLUMNS = StructType(
    [
        *MESSAGES.fields,
        StructField("body", BinaryType()),
        StructField(SKIPPED_REASON, StringType()),
        StructField(SKIPPED_ROWS, LongType()),
        StructField(SKIPPED_BYTES, LongType()),
    ]
)

ALL_ARROW: pa.Schema = arrow_schema(ALL_COLUMNS)


def columns(*names: str) -> StructType:
    """Schema of just these columns, for ``spark.read.schema(...)``; the reader computes no others."""
    return StructType([ALL_COLUMNS[name] for name in names])


MINUTE, HOST = "minute", "host"
SUMS_BY = "sums_by"
SUMS = StructType(
    [
        StructField("messages", LongType()),
        StructField("body_bytes", LongType()),
        StructField("store_bytes", LongType()),
        StructField("body_bytes_max", IntegerType()),
        StructField("store_bytes_max", IntegerType()),
        StructField("first_time", TimestampType()),
        StructField("last_time", TimestampType()),
    ]
)
"""Columns of each group in a read by sums."""
SUM_KEYS = (MINUTE, "store", "topic", "real_topic", "queue_id", "tag", "kind", "producer_group", HOST)


def sums(*keys: str) -> StructType:
    """Schema of a read by sums, with its accounting columns."""
    made = {MINUTE: StructField(MINUTE, TimestampType()), HOST: StructField(HOST, StringType())}
    named = [made.get(key) or ALL_COLUMNS[key] for key in keys]
    accounting = [ALL_COLUMNS[name] for name in ("store", "physical_offset", *SKIPPED_COLUMNS) if name not in keys]
    return StructType([*named, *SUMS.fields, *accounting])
