"""Estimates the size of a report's read before it starts, from file sizes and the head of one file. Imports no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from broker_core.engine.store.layout import map_file, scan_records
from broker_core.errors import JavaError
from broker_core.machine_limits import address_bytes, memory
from spark_reports.datasource.log_files import CommitLogFile, log_files
from spark_reports.datasource.segments import outside
from spark_reports.java import heap_bytes_for

SAMPLED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated size of a read.

    Attributes:
        files: Log files that are not wholly outside the range; for a cluster queues.
        byte_count: Bytes in ``files``; unwritten space is left out if the file system reports it.
        records: Records in them, by the mean size of some; None if none was found.
        shortage: Why there is not enough memory, in words; empty if there is.
    """

    files: int
    passed_over: int
    byte_count: int
    records: int | None
    shortage: str = ""

    def fields(self) -> dict[str, object]:
        """As JSON fields; -1 is unknown."""
        records = -1 if self.records is None else self.records
        return {"files": self.files, "passed_over": self.passed_over, "bytes": self.byte_count, "records": records,
                "shortage": self.shortage}  # fmt: skip


def estimate(
    stores: Sequence[str], *, directories: Sequence[Path] = (), from_ms: int | None = None, to_ms: int | None = None
) -> Estimate:
    """Estimate a read; arguments as of `plan_read`. Opens files: not on the thread of a window."""
    files: list[CommitLogFile] = []
    passed_over = 0
    for store in stores:
        found = log_files(Path(store), directories)
        left_out = outside(found, from_ms, to_ms)
        passed_over += len(left_out)
        files += [file for file in found if str(file.path) not in left_out]
    byte_count = sum(file.written_bytes for file in files)
    mean = _mean_record_bytes(files)
    return Estimate(len(files), passed_over, byte_count, None if mean is None else round(byte_count / mean), memory_shortage())


def _mean_record_bytes(files: Sequence[CommitLogFile]) -> float | None:
    for file in reversed(files):
        with map_file(file.path) as buffer:
            heads = scan_records(buffer, file.base, 0, min(len(buffer), SAMPLED_BYTES))
        if len(heads):
            return sum(heads.size) / len(heads)
    return None


def memory_shortage() -> str:
    """Why there is not enough memory for Spark, in words; empty if there is."""
    try:
        heap_bytes_for(memory(), address_bytes())
    except JavaError as error:
        return error.message
    return ""
