"""Excludes log files by a time range and the store time of their first records.

Store times rise along the log, unless a broker's clock was set back; files within a margin of the range are read for that
reason. A file whose first record cannot be read is never excluded, nor is the last one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from broker_core.engine.store.layout import map_file, scan_records
from spark_reports.datasource.log_files import CommitLogFile

CLOCK_MARGIN_MS = 600_000
"""Greatest setback of a clock at which no record is missed."""
_FIRST_BYTES = 8 << 20
"""Greatest end of a file's first record: records have at most four MiB by default."""


def outside(files: Sequence[CommitLogFile], from_ms: int | None, to_ms: int | None) -> frozenset[str]:
    """Paths of one store's files, oldest first, that hold nothing of a range of store times, from ≤ time < to; None is open."""
    if from_ms is None and to_ms is None:
        return frozenset()
    begins = [_first_store_ms(file.path, file.base) for file in files]
    found = set()
    for file, (begin, following) in zip(files, itertools.pairwise(begins), strict=False):
        if begin is None or following is None:
            continue
        too_old = from_ms is not None and following < from_ms - CLOCK_MARGIN_MS
        too_new = to_ms is not None and begin >= to_ms + CLOCK_MARGIN_MS
        if too_old or too_new:
            found.add(str(file.path))
    return frozenset(found)


def _first_store_ms(path: Path, base: int) -> int | None:
    try:
        with map_file(path) as buffer:
            heads = scan_records(buffer, base, 0, min(len(buffer), _FIRST_BYTES))
            return int(heads.store_ms[0]) if len(heads) and int(heads.position[0]) == 0 else None
    except OSError:
        return None
