"""Offsets that clients commit: stored where the queue has them, and nothing changed where it cannot have them.

RocketMQ stores any number (Source: docs/spec/broker.md §12.1). An offset behind the end of its queue then hides the messages
that come, and a negative one is as if there were none. A consumer that commits such an offset has its position from another
queue: of a deleted topic, or of messages that a crash lost. The answer to its next pull has the right offset, and so
nothing is lost with the commit.

An offset before the first message is stored, because consumers that are slower than retention have such offsets.
"""

from __future__ import annotations

from broker_core.engine.tables.state import BrokerState


def commit_fault(state: BrokerState, topic: str, queue_id: int, offset: int) -> str | None:
    """Why an offset cannot be one of a queue, with the queue's bounds; None if it can."""
    end = state.store.stored_max_offset(topic, queue_id)
    if 0 <= offset <= end:
        return None
    return f"Target offset {offset} not in consume queue range [0-{end}] of queue {queue_id} of topic {topic}"


def commit_of_client(state: BrokerState, group: str, topic: str, queue_id: int, offset: int) -> str | None:
    """Store a group's offset; returns why it was not stored, None if it was."""
    fault = commit_fault(state, topic, queue_id, offset)
    if fault is None:
        state.offsets.commit(group, topic, queue_id, offset)
    return fault
