"""Records of commit-log files as Arrow batches, and their sums: the work of one task of a read."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from broker_core.engine.store.layout import RecordHeads, next_record, scan_records
from spark_reports.datasource.arrays import array_of
from spark_reports.datasource.chain import damage_reason, is_filler
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.kernels import library
from spark_reports.datasource.log_files import mapped
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import FileRange
from spark_reports.datasource.schema import ALL_ARROW, SKIPPED_REASON
from spark_reports.datasource.skipped import FILE_REMOVED, OTHER_TOPIC, OUTSIDE_RANGE, SkippedRows
from spark_reports.datasource.task_sums import TaskSums

SCAN_BYTES = 8 << 20
"""Bytes of one scan, which becomes one batch: columns stay small whatever a file's size."""


@dataclass(frozen=True)
class StorePartition(InputPartition):
    ranges: tuple[FileRange, ...]


def read_ranges(ranges: Sequence[FileRange], selection: Selection, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the wanted records of some file ranges, then the accounting rows if ``schema`` has them."""
    skipped = SkippedRows()
    yield from batches_of(_wanted(ranges, selection, skipped), skipped, schema)


def read_sums(
    ranges: Sequence[FileRange],
    selection: Selection,
    keys: Sequence[str],
    schema: pa.Schema,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of the wanted records of some file ranges, then the accounting rows; see `schema.sums`.

    Args:
        ranges: What to read.
        selection: The records that count.
        keys: Group keys.
        schema: Columns.
        is_wanted: Called every `SCAN_BYTES`, even if none of them count. If it returns false, the read ends and the sums are
            incomplete.
    """
    skipped = SkippedRows()
    sums = TaskSums(keys, schema.names, selection, skipped)
    for part in ranges:
        _add_range(part, sums, skipped, is_wanted)
    yield from sums_batches(sums, skipped, schema)


def batches_of(wanted: Iterable[RecordColumns], skipped: SkippedRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of some records, then the accounting rows if ``schema`` has them."""
    for records in wanted:
        yield records.batch(schema)
    accounting = skipped.batch(schema) if SKIPPED_REASON in schema.names else None
    if accounting is not None:
        yield accounting


def sums_batches(sums: TaskSums, skipped: SkippedRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of a task, then the accounting rows if ``schema`` has them."""
    for batch in (sums.batch(schema), skipped.batch(schema) if SKIPPED_REASON in schema.names else None):
        if batch is not None:
            yield batch


def _add_range(part: FileRange, sums: TaskSums, skipped: SkippedRows, is_wanted: Callable[[], bool]) -> None:
    """Add the records of a range to sums; places without a record are counted, a filler ends it."""
    buffer = _opened(part, skipped)
    if buffer is None:
        return
    data, position = np.frombuffer(buffer, dtype=np.uint8)[: part.end], part.start
    while position < part.end and is_wanted() and not is_filler(buffer, position):
        reached = sums.add_log(data, part.base_offset, position, min(part.end, position + SCAN_BYTES), part.store)
        if reached == position:
            following = next_record(data.data, part.base_offset, position + 1)
            reached = part.end if following is None else following
            skipped.add_damage(part, position, damage_reason(buffer, position), reached - position)
        position = reached


def _wanted(ranges: Sequence[FileRange], selection: Selection, skipped: SkippedRows) -> Iterator[RecordColumns]:
    for part in ranges:
        for records in _records(part, skipped):
            wanted = select_records(records, selection, skipped)
            if len(wanted):
                yield wanted


def select_records(records: RecordColumns, selection: Selection, skipped: SkippedRows) -> RecordColumns:
    """The wanted ones of some records; those that the range and the topics exclude are counted."""
    if selection.from_ms is not None or selection.to_ms is not None:
        inside = records.stored_between(selection.from_ms, selection.to_ms)
        outside = records.choose(~inside)
        skipped.add(OUTSIDE_RANGE, len(outside), outside.store_bytes)
        records = records.choose(inside)
    if selection.topics:
        among = records.topic_among(selection.topics, meant=selection.meant)
        others = records.choose(~among)
        skipped.add(OTHER_TOPIC, len(others), others.store_bytes)
        records = records.choose(among)
    for comparison in selection.comparisons:
        if not len(records):
            break
        records = records.choose(comparison.holds(records.named(ALL_ARROW.field(comparison.column))))
    return records


def _records(part: FileRange, skipped: SkippedRows) -> Iterator[RecordColumns]:
    buffer = _opened(part, skipped)
    if buffer is None:
        return
    for heads in _scans(buffer, part, skipped):
        yield RecordColumns(buffer, heads, part.store)


def _opened(part: FileRange, skipped: SkippedRows) -> mmap.mmap | None:
    """The file of a range; None if there is nothing to read, which is counted."""
    if part.damage is not None:
        skipped.add_damage(part, part.start, part.damage, part.byte_count)
        return None
    try:
        return mapped(part.path)
    except FileNotFoundError:
        skipped.add_damage(part, part.start, FILE_REMOVED, part.byte_count)
        return None


def _scans(buffer: mmap.mmap, part: FileRange, skipped: SkippedRows) -> Iterator[RecordHeads]:
    """Scan a range in pieces; places without a record are counted, a filler ends it."""
    position, reach = part.start, SCAN_BYTES
    while position < part.end and not is_filler(buffer, position):
        stop = min(part.end, position + reach)
        heads = scan_records(buffer, part.base_offset, position, stop, library())
        if not len(heads):
            if stop == part.end:
                skipped.add_damage(part, position, damage_reason(buffer, position), part.end - position)
                return
            reach *= 2  # a record larger than a piece, or much damage
            continue
        for gap_start, gap_end in _gaps(heads, position):
            if is_filler(buffer, gap_start):  # bytes after it are old, whatever they look like
                heads = scan_records(buffer, part.base_offset, position, gap_start, library())
                break
            skipped.add_damage(part, gap_start, damage_reason(buffer, gap_start), gap_end - gap_start)
        if len(heads):
            yield heads
        position, reach = heads.end, SCAN_BYTES


def _gaps(heads: RecordHeads, start: int) -> list[tuple[int, int]]:
    positions = array_of(heads.position)
    ends = np.concatenate(([start], positions[:-1] + array_of(heads.size)[:-1]))
    return [(int(ends[index]), int(positions[index])) for index in np.flatnonzero(positions > ends)]
