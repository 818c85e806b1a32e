"""Queues of a group, topics of pops, and the lists of offsets in a pop's answer.

    startOffsetInfo   <flag> <queue id> <first offset>;…
    msgOffsetInfo     <flag> <queue id> <offset>,<offset>…;…
    orderCountInfo    <flag> <queue id> <times>;<flag> qo<queue id>%<offset> <times>;…

Source: docs/spec/remoting.md §2.6.1; 5.3.3 sends the same bytes. Receipt handles are in `protocol.message.receipt_handle`.
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
    return f"{flag} {queue_id} {offset}"


def message_offset_item(flag: str, queue_id: int, offsets: Sequence[int]) -> str:
    return f"{flag} {queue_id} {','.join(map(str, offsets))}"


def order_count_items(flag: str, queue_id: int, counts: Mapping[int, int], messages: int) -> list[str]:
    """Items of orderCountInfo for one queue.

    ``counts`` maps the offsets of messages that were handed out before to how often; ``messages`` counts all handed out now.
    """
    items = [f"{flag} qo{queue_id}%{offset} {times}" for offset, times in counts.items()]
    least = min(counts.values()) if counts and len(counts) == messages else 0
    return [*items, f"{flag} {queue_id} {least}"]
