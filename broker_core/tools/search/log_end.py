"""The end of a log, found without reading it: files have their full size from the start, and their unwritten part is zeros."""

from __future__ import annotations

from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.protocol.message.record import FILLER, MAGIC_BLANK
from broker_core.tools.search.queues import Queues


def log_end(log: LogReader, queues: Queues, *, is_trusted: bool) -> int:
    """Offset after the last record of a log, or the end of its last file when that is unknown.

    ``is_trusted``: the store was closed in order, so its queues lead to the end; otherwise records may lie anywhere.
    """
    files_end = max((base + log.file_bytes for path, base in log.files if path.stat().st_size), default=log.min_offset)
    if not is_trusted:
        return files_end
    end = _behind_queues(log, queues)
    while end is not None and end < files_end:
        rest = log.file_bytes - end % log.file_bytes
        head = log.record(end, FILLER.size) if rest >= FILLER.size else None
        if head is None:
            return files_end
        size, magic = FILLER.unpack_from(head)
        if not size and not magic:
            return end
        if magic != MAGIC_BLANK or size != rest:
            return files_end  # a record that no queue knows
        end += rest
    return files_end


def _behind_queues(log: LogReader, queues: Queues) -> int | None:
    """End of the last record that a queue names; None when no queue names one."""
    ends = []
    for span in queues.spans():
        if span.end == span.first:
            continue
        units = queues.units(span.topic, span.queue_id, span.end - 1, 1)
        if len(units) and int(units[0]["record_bytes"]) > 0:
            ends.append(int(units[0]["physical_offset"]) + int(units[0]["record_bytes"]))
    return max((end for end in ends if end > log.min_offset), default=None)
