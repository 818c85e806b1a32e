"""The unit of a consume queue, on the disk and in the answers of brokers (Source: spec store §4.1, remoting §2.5)."""

from __future__ import annotations

from typing import NamedTuple


class QueueUnit(NamedTuple):
    """One unit of a consume queue."""

    physical_offset: int
    record_bytes: int
    tags_code: int
