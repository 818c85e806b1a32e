"""Writes parts: a data source whose tasks read ranges of a log, write them to Parquet, and return one row about that.

Spark thus spreads the work over its tasks, on one machine or many, and no message passes through Java. A repeated task writes
another file; the manifest names the file of the returned row.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from broker_core.outside import read_json
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import FileRange, ReadPlan
from spark_reports.datasource.schema import SKIPPED_COLUMNS, SKIPPED_REASON, columns
from spark_reports.datasource.store_records import read_ranges
from spark_reports.parquet.folder import LastRecord, PreparedDamage, PreparedPart
from spark_reports.pyspark_internals import arrow_schema

PARTS_FORMAT = "orbit-parquet-parts"
LAST_COLUMNS = ("physical_offset", "store_bytes", "store_time", "body_crc")
"""Columns that a part needs for its description."""


class ParquetPartsDataSource(DataSource):
    """Options: ``plan``, ``folder`` (of the files) and ``columns`` (JSON list)."""

    @classmethod
    def name(cls) -> str:
        return PARTS_FORMAT

    def schema(self) -> StructType:
        texts = [StructField(name, StringType()) for name in ("part", "last", "damage")]
        return StructType([StructField("task", IntegerType()), *texts])

    def reader(self, schema: StructType) -> DataSourceReader:
        return PartsWriter(dict(self.options), schema)


@dataclass(frozen=True)
class PartTask(InputPartition):
    number: int
    ranges: tuple[FileRange, ...]


class PartsWriter(DataSourceReader):
    """Writes the parts of a plan; pickled to the workers."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._plan = options["plan"]
        self._folder = options["folder"]
        self._columns = tuple(read_json(options["columns"]))
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        return [PartTask(number, task) for number, task in enumerate(ReadPlan.from_json(self._plan).tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Write one part; return its description."""
        assert isinstance(partition, PartTask)
        part, last, damage = write_part(partition.ranges, self._columns, Path(self._folder))
        row = {
            "task": partition.number,
            "part": json.dumps(asdict(part)) if part else None,
            "last": json.dumps(asdict(last)) if last else None,
            "damage": json.dumps([asdict(place) for place in damage]),
        }
        yield pa.RecordBatch.from_pylist([row], schema=arrow_schema(self._schema))


def write_part(
    ranges: Sequence[FileRange], names: Sequence[str], folder: Path
) -> tuple[PreparedPart | None, LastRecord | None, list[PreparedDamage]]:
    """Write the records of some ranges of one store.

    Returns:
        The part and its last record, None without records; and the damaged places.
    """
    whole = arrow_schema(columns(*names, *SKIPPED_COLUMNS))
    schema = pa.schema([field for field in whole if field.name not in SKIPPED_COLUMNS])
    damage: list[PreparedDamage] = []
    summary = _Summary()
    file = folder / f"{ranges[0].base_offset + ranges[0].start:016d}-{uuid.uuid4().hex[:8]}.parquet"
    writer: pq.ParquetWriter | None = None
    for batch in read_ranges(ranges, Selection(), whole):
        if batch.column(SKIPPED_REASON).null_count < len(batch):
            damage += [
                PreparedDamage(row["physical_offset"], row[SKIPPED_REASON], row["skipped_bytes"]) for row in batch.to_pylist()
            ]
            continue
        writer = writer or pq.ParquetWriter(file, schema, compression="zstd", compression_level=1)
        writer.write_batch(batch.select(names))
        summary.add(batch)
    if writer is None:
        return None, None, damage
    writer.close()
    part = PreparedPart(
        file.name, ranges[0].store, file.stat().st_size, summary.rows, summary.store_bytes, summary.first_ms, summary.last_ms
    )
    return part, summary.last, damage


class _Summary:
    def __init__(self) -> None:
        self.rows = self.store_bytes = self.first_ms = self.last_ms = 0
        self.last: LastRecord | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        times = batch.column("store_time")
        first_ms, last_ms = (_milliseconds(bound) for bound in (pc.min(times), pc.max(times)))
        self.first_ms = min(self.first_ms, first_ms) if self.rows else first_ms
        self.last_ms = max(self.last_ms, last_ms) if self.rows else last_ms
        self.rows += len(batch)
        self.store_bytes += int(pc.sum(batch.column("store_bytes")).as_py())
        row: dict[str, Any] = batch.select(LAST_COLUMNS).slice(len(batch) - 1).to_pylist()[0]
        at_ms = _milliseconds(times[len(batch) - 1])
        self.last = LastRecord(row["physical_offset"], row["store_bytes"], at_ms, row["body_crc"])


def _milliseconds(moment: pa.Scalar) -> int:
    return int(moment.cast(pa.timestamp("us", tz="UTC")).value) // 1000
