from __future__ import annotations

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.settings_check import check_settings
from broker_core.errors import UsageError


def test_the_defaults_are_good():
    check_settings(StoreConfig())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"max_message_bytes": 0}, "maxMessageSize is 0; it can be 1 to 16,711,680 bytes"),
        ({"max_message_bytes": 16_711_681}, "maxMessageSize is 16,711,681; it can be 1 to 16,711,680 bytes"),
        ({"commit_log_file_bytes": 4095}, "mappedFileSizeCommitLog is 4,095; it can be 4,096 to"),
        ({"consume_queue_file_bytes": 1 << 31}, "mappedFileSizeConsumeQueue is 2,147,483,648"),
        ({"max_hash_slots": 0}, "maxHashSlotNum is 0; it must be at least 1"),
        ({"max_index_items": 1}, "maxIndexNum is 1; it must be at least 2"),
        ({"max_index_items": 1 << 30}, "make index files of 21,494,836,520 bytes"),
        ({"file_reserved_hours": -1}, "fileReservedTime is -1"),
        ({"delete_when": "24"}, "“24” is no hour"),
    ],
)
def test_what_cannot_work_is_named_with_its_key(changes, text):
    with pytest.raises(UsageError, match=text):
        check_settings(StoreConfig(**changes))
