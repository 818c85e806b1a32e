"""Messages that the broker could not copy, as events: a retry, a delivery or a commit that no store takes.

The reader of a queue records such a message once and continues with the next.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple

from broker_core.engine.store.results import PutStatus
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX

EVENTS_MAX = 1_000
"""Events kept for the history; older ones are in the log only."""

STAYS = "it stays there and is not delivered"
GIVEN_UP = "its transaction is given up"
_WHY = {
    PutStatus.PROPERTIES_SIZE_EXCEEDED: f"its properties would be longer than {PROPERTIES_BYTES_MAX:,} bytes",
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: "it names new light queues, and maxLmqConsumeQueueNum is reached",
}
_ILLEGAL = "the name of the topic is too long, or the record does not fit into a file of the commit log"

logger = logging.getLogger(__name__)


class SetAsideEvent(NamedTuple):
    """One message; ``topic`` is the target of the failed copy."""

    topic: str
    text: str


class SetAside:
    """Events that `take` has not returned yet."""

    def __init__(self) -> None:
        self._events: deque[SetAsideEvent] = deque(maxlen=EVENTS_MAX)

    def note(self, physical_offset: int, topic: str, status: PutStatus, outcome: str) -> None:
        """Record that ``topic`` cannot get a copy of a message; ``outcome`` is `STAYS`, `GIVEN_UP` or `dead_letter_of`."""
        self._add(
            topic,
            f"The message at {physical_offset} of the commit log cannot be copied to {topic}: {why_never(status)}; {outcome}",
        )

    def note_commit(self, physical_offset: int, topic: str, refusal: str) -> None:
        """Record that a transaction is given up whose producer committed it: its last commit was refused."""
        self._add(
            topic,
            f"The transaction of the half message at {physical_offset} of the commit log is given up, because its commit to "
            f"{topic} was refused: {refusal}",
        )

    def _add(self, topic: str, text: str) -> None:
        logger.error("%s", text)
        self._events.append(SetAsideEvent(topic, text))

    def take(self) -> list[SetAsideEvent]:
        """Events since the last call, in order."""
        events = list(self._events)
        self._events.clear()
        return events


def why_never(status: PutStatus) -> str:
    """Why a store never takes a message."""
    return _WHY.get(status, _ILLEGAL)


def dead_letter_of(group: str) -> str:
    """The outcome of a message that becomes a dead letter of a group before its last retry."""
    return f"it is a dead letter of {group} now"
