"""Which units the files of a queue hold, when a store is opened."""

from __future__ import annotations

from broker_core.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from broker_core.engine.store.file_row import FileRow
from broker_core.engine.store.paths import offset_files

_ZERO_UNIT = bytes(UNIT_BYTES)
_SCAN_BYTES = UNIT_BYTES * 3276
_FILES_READ = 3


def queue_extent(files: FileRow) -> tuple[int, int] | None:
    """Offset of the first unit and the one behind the last; zeros without files, None where files do not follow each other.

    A unit of zeros ends a queue, because only left-overs of a crash can follow it. As in RocketMQ only the last three files
    are read; a read or a rebuild finds a hole further back.
    """
    bases = [base for _, base in offset_files(files.directory)]
    first = end = bases[0] if bases else 0
    if first % files.file_bytes or any(base != first + number * files.file_bytes for number, base in enumerate(bases)):
        return None
    for base in bases[-_FILES_READ:]:
        valid_bytes = _valid_bytes(files, base)
        end = base + valid_bytes
        if valid_bytes < files.file_bytes:
            break
    return first // UNIT_BYTES, end // UNIT_BYTES


def _valid_bytes(files: FileRow, base: int) -> int:
    """Bytes before the first unit of zeros.

    Twenty zeros in a row cannot lie within two valid units, because a size is never zero. So a plain byte search finds the
    place at the speed of memory.
    """
    position = 0
    while position < files.file_bytes:
        data = files.read(base + position, _SCAN_BYTES)
        data = data[: len(data) // UNIT_BYTES * UNIT_BYTES]
        start = 0
        while (hit := data.find(_ZERO_UNIT, start)) >= 0:
            start = -(-hit // UNIT_BYTES) * UNIT_BYTES
            if data[start : start + UNIT_BYTES] == _ZERO_UNIT:
                return position + start
        if data.endswith(_ZERO_UNIT):
            return position + len(data) - UNIT_BYTES
        position += len(data)
        if len(data) < _SCAN_BYTES:
            return position
    return position
