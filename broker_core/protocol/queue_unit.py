"""The unit of a consume queue, on the disk and in answers (Source: docs/spec/store.md §4.1, docs/spec/remoting.md §2.5)."""

from __future__ import annotations

from typing import NamedTuple


class QueueUnit(NamedTuple):
    physical_offset: int
    record_bytes: int
    tags_code: int
