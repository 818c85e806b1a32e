"""Receipt handles: the name of one delivery of one message to a pop consumer, with the place of the message.

    <start offset> <pop time> <invisible ms> <revive queue> <flag> <broker> <queue id> <offset>

The flag says where the message lies: 0 in its topic, 1 and 2 in the group's retry topic of that topic, old and new name.

Source: docs/spec/remoting.md §2.6.1; 5.3.3 writes the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.errors import CodecError
from broker_core.outside import whole_of
from broker_core.protocol.names import RETRY_PREFIX

ORDER_REVIVE_QUEUE = 999
"""Revive queue of an orderly pop, which has no checkpoint."""

FLAG_NORMAL = "0"
FLAG_RETRY_V1 = "1"
FLAG_RETRY_V2 = "2"
_FLAGS = (FLAG_NORMAL, FLAG_RETRY_V1, FLAG_RETRY_V2)
_TOKENS = 8
_TEXT_MAX = 200


@dataclass(frozen=True, slots=True)
class ReceiptHandle:
    """Names one delivery of one message.

    Attributes:
        start_offset: First offset of the pop in that queue.
        pop_time_ms: Time of the pop, ms since the epoch.
        invisible_ms: For how long no other consumer gets the message.
        revive_queue: Queue of the revive topic that holds the checkpoint.
        flag: Where the message lies, see the module.
    """

    start_offset: int
    pop_time_ms: int
    invisible_ms: int
    revive_queue: int
    flag: str
    broker_name: str
    queue_id: int
    offset: int

    @property
    def is_order(self) -> bool:
        return self.revive_queue == ORDER_REVIVE_QUEUE

    def __str__(self) -> str:
        return (
            f"{self.start_offset} {self.pop_time_ms} {self.invisible_ms} {self.revive_queue} {self.flag} {self.broker_name} "
            f"{self.queue_id} {self.offset}"
        )


def parse_handle(text: str) -> ReceiptHandle:
    """Read a receipt handle; raises `CodecError` when it has not eight words, or one is of the wrong form."""
    words = text.split(" ")
    if len(words) != _TOKENS or words[4] not in _FLAGS:
        raise CodecError(f"“{text[:_TEXT_MAX]}” is no receipt handle: those have {_TOKENS} words, the fifth is 0, 1 or 2")
    start, pop_time, invisible, revive, queue_id, offset = (whole_of(words[place]) for place in (0, 1, 2, 3, 6, 7))
    if start is None or pop_time is None or invisible is None or revive is None or queue_id is None or offset is None:
        raise CodecError(f"“{text[:_TEXT_MAX]}” is no receipt handle: it holds text where a number belongs")
    return ReceiptHandle(start, pop_time, invisible, revive, words[4], words[5], queue_id, offset)


def pop_retry_topic(group: str, topic: str, *, flag: str = FLAG_RETRY_V1) -> str:
    """The topic of a group's messages of a topic that are delivered again."""
    separator = "+" if flag == FLAG_RETRY_V2 else "_"
    return f"{RETRY_PREFIX}{group}{separator}{topic}"


def flag_of(group: str, topic: str) -> str:
    """The flag of a topic that a group pops."""
    if not topic.startswith(RETRY_PREFIX):
        return FLAG_NORMAL
    return FLAG_RETRY_V2 if topic.startswith(f"{RETRY_PREFIX}{group}+") else FLAG_RETRY_V1


def real_topic(group: str, topic: str, flag: str) -> str:
    """The topic that holds a message, from the topic of its send and the flag of its handle."""
    if flag == FLAG_NORMAL or topic.startswith(RETRY_PREFIX):
        return topic
    return pop_retry_topic(group, topic, flag=flag)
