"""Finds settings that no store can use, before anything is changed."""

from __future__ import annotations

from broker_core.config import BODY_BYTES_MAX, StoreConfig
from broker_core.engine.store.cleanup import parse_hours
from broker_core.engine.store.consume_queue import UNIT_BYTES
from broker_core.engine.store.index_file import Geometry
from broker_core.errors import UsageError

COMMIT_LOG_FILE_BYTES_MIN = 4096
FILE_BYTES_MAX = (1 << 31) - 1


def check_settings(config: StoreConfig) -> None:
    """Check settings: files must hold a record or a unit, and have positions of 32 bits, as in fillers and other brokers.

    Raises:
        UsageError: A setting cannot be used.
    """
    for key, value, least in (
        ("mappedFileSizeCommitLog", config.commit_log_file_bytes, COMMIT_LOG_FILE_BYTES_MIN),
        ("mappedFileSizeConsumeQueue", config.consume_queue_file_bytes, UNIT_BYTES),
    ):
        if not least <= value <= FILE_BYTES_MAX:
            raise UsageError(f"{key} is {value:,}; it can be {least:,} to {FILE_BYTES_MAX:,} bytes", key=key)
    if not 1 <= config.max_message_bytes <= BODY_BYTES_MAX:
        raise UsageError(
            f"maxMessageSize is {config.max_message_bytes:,}; it can be 1 to {BODY_BYTES_MAX:,} bytes, "
            "because no client takes an answer with a larger message",
            key="maxMessageSize",
        )
    for key, value, least in (("maxHashSlotNum", config.max_hash_slots, 1), ("maxIndexNum", config.max_index_items, 2)):
        if value < least:
            raise UsageError(f"{key} is {value:,}; it must be at least {least}", key=key)
    index_bytes = Geometry(config.max_hash_slots, config.max_index_items).file_bytes
    if index_bytes > FILE_BYTES_MAX:
        raise UsageError(
            f"maxHashSlotNum and maxIndexNum make index files of {index_bytes:,} bytes; they can have {FILE_BYTES_MAX:,}",
            key="maxIndexNum",
        )
    if config.file_reserved_hours < 0:
        raise UsageError(f"fileReservedTime is {config.file_reserved_hours}; it is a number of hours", key="fileReservedTime")
    parse_hours(config.delete_when)
