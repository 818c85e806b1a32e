"""Units of the numbers in broker settings: bytes, time, shares. Pure.

Sources: RocketMQ's `BrokerConfig` and `MessageStoreConfig`; for a setting that Orbit does not know, the end of its name.
"""

from __future__ import annotations

import re
from enum import Enum


class SettingUnit(Enum):
    BYTES = "bytes"
    MILLISECONDS = "ms"
    SECONDS = "s"
    HOURS = "h"
    PERCENT = "%"
    PAGES = "pages"
    """Of 4 KiB, as commit log and consume queue are flushed."""


_KNOWN = {
    "maxMessageSize": SettingUnit.BYTES,
    "consumerFallbehindThreshold": SettingUnit.BYTES,
    "transactionOpMsgMaxSize": SettingUnit.BYTES,
    "popCkStayBufferTime": SettingUnit.MILLISECONDS,
    "fileReservedTime": SettingUnit.HOURS,
    "popFromRetryProbability": SettingUnit.PERCENT,
}
_BY_NAME = (
    (re.compile(r"mappedFileSize|Bytes"), SettingUnit.BYTES),
    (re.compile(r"Interval|Mill[is]|Ms$|Period$|Time[Oo]ut$"), SettingUnit.MILLISECONDS),
    (re.compile(r"Sec$|Seconds$"), SettingUnit.SECONDS),
    (re.compile(r"Ratio$"), SettingUnit.PERCENT),
    (re.compile(r"LeastPages$"), SettingUnit.PAGES),
)


def setting_unit(key: str) -> SettingUnit | None:
    """Unit of a setting; None for a plain count or no number."""
    if key in _KNOWN:
        return _KNOWN[key]
    return next((unit for pattern, unit in _BY_NAME if pattern.search(key)), None)
