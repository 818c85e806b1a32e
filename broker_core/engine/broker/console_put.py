"""The result of a put by the console."""

from __future__ import annotations

from typing import NamedTuple


class ConsolePut(NamedTuple):
    """Where a message of the console was stored."""

    offset_message_id: str
    queue_id: int
    queue_offset: int
    store_ms: int
