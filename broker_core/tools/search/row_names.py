"""Names of the values of an exported message: a row. No engine code, so that the window can read such files."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

NAMES = (
    "topic", "queueId", "queueOffset", "physicalOffset", "storeSize", "bodyCrc", "sysFlag", "flag", "bornTimestamp", "bornHost",
    "storeTimestamp", "storeHost", "reconsumeTimes", "preparedTransactionOffset", "properties", "storedBodyLength",
    "bodyLength", "body", "bodySha256", "tagsCode", "recordCrc32", "offsetMsgId",
)  # fmt: skip

MASKED = "masked"
"""A further name, in files written with masking rules: what is hidden in the row, empty for nothing."""
