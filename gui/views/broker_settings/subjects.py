"""What a setting is about, by words of its key: brokers of RocketMQ have hundreds, most of them not known here."""

from __future__ import annotations

import re
from functools import lru_cache

OTHER = "Other settings"
_SUBJECTS = {
    "Files and indexes": r"mappedFile(?!.*timer)|hashSlot|maxIndex|indexEnable|consumeQueueExt|inMemoryMaxRatio|rocksdb",
    "Transactions": r"transaction|^orbitAtomic",
    "Delay and timers": r"timer|delay|recall",
    "Access and encryption": r"^acl|^auth|tls|insecure|password|secret",
    "Flush and sync": r"^flush|sync|crc|pageCache|warmMapedFile|transientStore|dledger|^ha[A-Z]|slave",
    "Consumption": r"pull|pop|consumer|consume|polling|revive|filter|lite|transfer(bytes|count)|retry|ack|msgsNum|queryMaxNum",
    "Disk and cleaning": r"disk|clean|delete|reserved|storePath|commitLogStore|tiered|compaction",
    "Topics and groups": r"topic|subscription|autoCreate|lmq|multiDispatch|permission",
    "Messages": r"message|msg|batch|reply|trace|property",
    "Address and network": r"^broker(id|ip|name|cluster|role)|bind|port$|listen|namesrv|nameServer|regi|netty|heartbeat|grpc",
    "Load and threads": r"thread|capacity|waitTime|fastFailure|busy|startAccept|limit",
    "Orbit": r"^orbit",
}
"""English heading → words of keys; the first that fits, in this order of looking."""
SUBJECTS = (
    "Topics and groups", "Messages", "Consumption", "Transactions", "Delay and timers", "Disk and cleaning", "Flush and sync",
    "Files and indexes", "Address and network", "Access and encryption", "Load and threads", "Orbit", OTHER,
)  # fmt: skip
"""All headings, in the order of the table."""


@lru_cache(maxsize=4_096)
def subject_of(key: str) -> str:
    """English heading of a setting; shown through `tr`."""
    return next((one for one, words in _SUBJECTS.items() if re.search(words, key, re.IGNORECASE)), OTHER)
