"""Explanations of the runtime figures of a cluster's brokers. Plain data, as `gui.words.term_texts`.

Source: docs/spec/remoting.md §2.5.3, docs/spec/broker.md §11.3.
"""

from __future__ import annotations

from gui.words.term_origins import Origin, Term

_TEXTS = {
    "store/Figure": "A figure that brokers report of themselves; F1 on its row explains it.",
    "store/What it is": "What the figure means, as F1 on its row says it with its unit.",
    "store/Of each broker": (
        "What the broker with this name reports. In amber: far from those of the other brokers. A dash: it is not reported."
    ),
    "store/Note": "Whether a broker is far from the others in this figure; how far that is depends on the figure.",
    "store/RocketMQ": "Version of RocketMQ that the broker runs.",
    "store/Started": "When the broker was started, by its clock.",
    "store/Log kept": "Commit log from the first to the last offset that is kept. [bytes]",
    "store/Log begins at": "First physical offset that the commit log still has; what lies before was deleted. [bytes]",
    "store/Log ends at": "Physical offset at which the next message is written. [bytes]",
    "store/Oldest message": "When the first message was stored that the commit log still has. [time]",
    "store/Not flushed": "End of the commit log that is written and not synced to the disk yet. [bytes]",
    "store/Not committed": (
        "Messages in the buffers of the transient pool that are not in the file yet (transientStorePoolEnable). [bytes]"
    ),
    "store/Not dispatched": (
        "End of the commit log that consume queues and index do not have yet: nobody gets these messages. [bytes]"
    ),
    "store/Disk of the log": "Used part of the disk that holds the commit log, whoever uses it. [%]",
    "store/Disk of the queues": "Used part of the disk that holds the consume queues, whoever uses it. [%]",
    "store/Disk size": "Size of the disk that holds the store. [bytes]",
    "store/Disk free": "Free part of the disk that holds the store. [bytes]",
    "store/Put rate, 10 s": "Messages that the broker stored a second, mean of the last 10 s. [messages/s]",
    "store/Put rate, 10 min": (
        "Messages that the broker stored a second, mean of the last 10 min; reported once it has run for so long. [messages/s]"
    ),
    "store/Put latency p99": (
        "Time in which all but one of a hundred puts of the last whole minute were stored; a dash where nothing was put. [ms]"
    ),
    "store/Put latency p99.9": (
        "Time in which all but one of a thousand puts of the last whole minute were stored; a dash where nothing was put. [ms]"
    ),
    "store/Longest put": "The longest put since the start of the broker; a dash where there was none. [ms]",
    "store/Page cache busy": (
        "How long the put that is under way has held the lock of the log: much of it means that the system writes pages back, "
        "and from osPageCacheBusyTimeOutMills on the broker refuses messages. [ms]"
    ),
    "store/Failed puts": "Puts that failed since the start of the broker. [messages]",
    "store/Put since the start": "Messages that the broker stored since its start. [messages]",
    "store/Put today": "Messages that the broker stored since midnight, by its clock. [messages]",
    "store/Mean message size": "Mean size of the records stored since the start; a dash where there is none. [bytes]",
    "store/Messages out, 10 s": (
        "Messages that the broker gave to consumers and consoles a second, mean of the last 10 s. [messages/s]"
    ),
    "store/Reads with messages, 10 s": "Reads of queues that found messages, a second, mean of the last 10 s. [reads/s]",
    "store/Reads without any, 10 s": "Reads of queues that found nothing new, a second, mean of the last 10 s. [reads/s]",
    "store/Longest read": "The longest read of a queue since the start of the broker; a dash where there was none. [ms]",
    "store/Got today": "Messages that the broker gave out since midnight, by its clock. [messages]",
    "store/Sends that wait": "Sends that wait for a thread of the broker (sendThreadPoolQueueSize). [a count]",
    "store/Sends: longest wait": (
        "How long the first of the waiting sends has waited; after waitTimeMillsInSendQueue it is refused as busy. [ms]"
    ),
    "store/Pulls that wait": "Pulls that wait for a thread of the broker (pullThreadPoolQueueSize). [a count]",
    "store/Pulls: longest wait": "How long the first of the waiting pulls has waited. [ms]",
    "store/Queries that wait": (
        "Queries by key or ID that wait for a thread of the broker (queryThreadPoolQueueSize). [a count]"
    ),
    "store/Queries: longest wait": "How long the first of the waiting queries has waited. [ms]",
    "store/Ends of transactions that wait": (
        "Commits and rollbacks that wait for a thread of the broker (EndTransactionQueueSize). [a count]"
    ),
    "store/Wheel behind the clock": "How late the timer wheel is (timerReadBehind). [time]",
    "store/Not in the wheel yet": (
        "Messages with a time of their own that are stored and not in the timer wheel yet (timerOffsetBehind). [messages]"
    ),
    "store/In the wheel": (
        "Entries of the timer wheel (timerCongestNum): messages with a time of their own, their cancels, and checkpoints of "
        "pops. [entries]"
    ),
}
RUNTIME_TERMS = {title: Term.of(said, Origin.RUNTIME) for title, said in _TEXTS.items()}
"""By page and title; a part of `gui.words.term_texts.TERMS`."""
