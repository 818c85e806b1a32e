"""`EXPLANATIONS`: the effect of each setting that can be changed live; `subject_of`: the subject of any setting."""

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
"""English heading → words of keys; the first match in this order counts."""
SUBJECTS = (
    "Topics and groups", "Messages", "Consumption", "Transactions", "Delay and timers", "Disk and cleaning", "Flush and sync",
    "Files and indexes", "Address and network", "Access and encryption", "Load and threads", "Orbit", OTHER,
)  # fmt: skip
"""All headings, in the order of the table."""


@lru_cache(maxsize=4_096)
def subject_of(key: str) -> str:
    """English heading of a setting; shown through `tr`."""
    return next((one for one, words in _SUBJECTS.items() if re.search(words, key, re.IGNORECASE)), OTHER)


EXPLANATIONS = {
    "autoCreateSubscriptionGroup": "Whether a consumer group that nobody created comes into being with its first heartbeat.",
    "autoCreateTopicEnable": "Whether a topic that nobody created comes into being with the first message sent to it.",
    "brokerFastFailureEnable": "Whether sends are refused at once while the broker is too busy, instead of being served late.",
    "brokerPermission": "What clients may do with this broker: 2 write, 4 read, 6 both. Without write, producers go elsewhere.",
    "cleanFileForciblyEnable": "Whether the oldest files are deleted before their time when the disk is nearly full.",
    "cleanResourceInterval": "How often, in ms, the broker looks for files to delete and at the space on the disk.",
    "consumerFallbehindThreshold": "Bytes that a group may be behind before it counts as slow, where slow groups are stopped.",
    "defaultPopShareQueueNum": "How many queues of other consumers a popping consumer shares; -1 and 0 are all.",
    "defaultQueryMaxNum": "How many messages a query by key returns when it names no number.",
    "deleteFileBatchMax": "How many files one run of cleaning deletes at most.",
    "deleteWhen": "Hours of the day, local time, at which expired files are deleted; several as in 04;16.",
    "disableConsumeIfConsumerReadSlowly": "Whether groups that are too far behind are stopped from consuming.",
    "diskMaxUsedSpaceRatio": "Above this share of the disk, in percent, expired files are deleted at any hour.",
    "diskSpaceCleanForciblyRatio": "Above this share of the disk, in percent, files are deleted before their time.",
    "diskSpaceWarningLevelRatio": "Above this share of the disk, in percent, messages are refused.",
    "enablePopBufferMerge": "Whether pops are kept in memory first, so that early acks are not written.",
    "enablePropertyFilter": "Whether consumers may filter with SQL92 expressions over message properties.",
    "enableRetryTopicV2": "Whether retry topics of pops have names that no other group and topic can share.",
    "fileReservedTime": "How many hours a commit log file is kept after it was last written.",
    "filterSupportRetry": "Whether SQL92 filters apply to retried messages too.",
    "flushCommitLogLeastPages": "How many unsynced pages of the commit log make a sync worth its time.",
    "flushCommitLogThoroughInterval": "After how many ms any number of pages of the commit log is synced.",
    "flushConsumeQueueThoroughInterval": "After how many ms all queues are synced and the checkpoint is written.",
    "flushConsumerOffsetInterval": "How often, in ms, offsets are written to disk. A crash repeats what was consumed since.",
    "flushIntervalCommitLog": "How often, in ms, the commit log is synced where sends do not wait for it.",
    "flushIntervalConsumeQueue": "How often, in ms, queues and indexes are written.",
    "litePullMessageEnable": "Whether lite pull consumers are served.",
    "longPollingEnable": "Whether a pull that finds nothing is held until a message comes; off, it waits a fixed time.",
    "maxMessageSize": "The largest message accepted, in bytes of its body.",
    "maxMsgsNumBatch": "The most messages that a query by key returns.",
    "maxPopPollingSize": "How many pops may wait for a message in all.",
    "maxTransferBytesOnMessageInDisk": "The most bytes in one answer to a pull, for messages that must be read from disk.",
    "maxTransferBytesOnMessageInMemory": "The most bytes in one answer to a pull, for messages that are in memory.",
    "maxTransferCountOnMessageInDisk": "The most messages in one answer to a pull, for messages that must be read from disk.",
    "maxTransferCountOnMessageInMemory": "The most messages in one answer to a pull, for messages that are in memory.",
    "orbitAutoCreateGroupsMax": "With so many consumer groups, a first heartbeat makes no more; an administrator still can.",
    "orbitAutoCreateTopicsMax": "With so many topics, a first message makes no more; an administrator still can.",
    "osPageCacheBusyTimeOutMills": "A write that takes longer than this, in ms, means a busy disk; sends are then refused.",
    "popCkMaxBufferSize": "How many pops are kept in memory at most.",
    "popCkStayBufferTime": "How long, in ms, a pop stays in memory before it is written.",
    "popCkStayBufferTimeOut": "How long before its end, in ms, a pop is written in any case.",
    "popFromRetryProbability": "How many percent of pops read retried messages first.",
    "popPollingSize": "How many pops of a group may wait for a message of one queue.",
    "recallMessageEnable": "Whether producers may recall timer messages that are not due yet.",
    "registerNameServerPeriod": "How often, in ms, the broker registers at its name server.",
    "rejectTransactionMessage": "Whether transactional messages are refused.",
    "retrieveMessageFromPopRetryTopicV1": "Whether pops also read retry topics with names of the first kind.",
    "shortPollingTimeMills": "How long, in ms, a pull that finds nothing waits while long polling is off.",
    "slaveReadEnable": "Whether consumers that are far behind are sent to a replica to read.",
    "startAcceptSendRequestTimeStamp": "Sends before this moment, in ms since the epoch, are refused; 0 accepts all.",
    "storeReplyMessageEnable": "Whether replies of the request/reply pattern are stored.",
    "syncFlushTimeout": "How long, in ms, a send waits for the disk before its answer says so.",
    "transactionCheckInterval": "How often, in ms, producers are asked about undecided transactions.",
    "transactionCheckMax": "After how many checks an undecided transaction is given up.",
    "transactionOpMsgMaxSize": "Gathered decisions of transactions are written when their text has so many characters.",
    "transactionPendingMax": "With so many undecided transactions, further ones are refused.",
    "transactionTimeOut": "How old, in ms, a transactional message is when it is checked first.",
    "waitTimeMillsInSendQueue": "A send that waited longer than this, in ms, is refused instead of being served late.",
}
"""Setting → its effect as an English sentence; shown through `tr`."""
