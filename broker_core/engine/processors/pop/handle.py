"""Queues as a group sees them, topics of pops, and the lists of offsets in a pop's answer.

    startOffsetInfo   <flag> <queue id> <first offset>;…
    msgOffsetInfo     <flag> <queue id> <offset>,<offset>…;…
    orderCountInfo    <flag> <queue id> <times>;<flag> qo<queue id>%<offset> <times>;…

Source: docs/spec/remoting.md §2.6.1; 5.3.3 gives the same bytes. Receipt handles are in `protocol.message.receipt_handle`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker_core.protocol.names import REVIVE_LOG_PREFIX


class QueueOf(NamedTuple):
    """A queue as one group consumes it."""

    topic: str
    group: str
    queue_id: int


def revive_topic(cluster_name: str) -> str:
    """The topic of checkpoints and acks."""
    return REVIVE_LOG_PREFIX + cluster_name


def start_offset_item(flag: str, queue_id: int, offset: int) -> str:
    """One item of startOffsetInfo."""
    return f"{flag} {queue_id} {offset}"


def message_offset_item(flag: str, queue_id: int, offsets: Sequence[int]) -> str:
    """One item of msgOffsetInfo."""
    return f"{flag} {queue_id} {','.join(map(str, offsets))}"


def order_count_items(flag: str, queue_id: int, counts: Mapping[int, int], messages: int) -> list[str]:
    """Items of orderCountInfo for one queue.

    Args:
        flag: Where the messages lie.
        queue_id: Their queue.
        counts: Offset → how often it was handed out before, for those that were.
        messages: Messages handed out now.
    """
    items = [f"{flag} qo{queue_id}%{offset} {times}" for offset, times in counts.items()]
    least = min(counts.values()) if counts and len(counts) == messages else 0
    return [*items, f"{flag} {queue_id} {least}"]
