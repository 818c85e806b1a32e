"""Notes about consumers that were sent to another offset, as messages of OFFSET_MOVED_EVENT (docs/spec/broker.md §5.3).

RocketMQ 4.x writes one for each answer PULL_OFFSET_MOVED. Here a group gets one for each ten seconds and queue, so that no
client can fill the disk by requests for missing offsets.
"""

from __future__ import annotations

from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.names import OFFSET_MOVED_TOPIC

ROUND_MS = 10_000
"""A group has one note about a queue in a round of this length; a client waits as long before it pulls again."""

NOTES_MAX = 10_000
"""Notes of one round; later ones are dropped."""


class MovedOffsets:
    """Writes the notes."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._round_ends_ms = 0
        self._noted: set[tuple[str, MessageQueue]] = set()

    def note(self, group: str, topic: str, queue_id: int, *, asked: int, moved_to: int) -> None:
        """Write that a group requested an offset and was sent to another one, at most once a round and queue."""
        now_ms = self._state.clock()
        if now_ms >= self._round_ends_ms:
            self._round_ends_ms = now_ms + ROUND_MS
            self._noted.clear()
        queue = MessageQueue(topic, self._state.config.broker_name, queue_id)
        if (group, queue) in self._noted or len(self._noted) >= NOTES_MAX:
            return
        self._noted.add((group, queue))
        body = emit({"consumerGroup": group, "messageQueue": queue, "offsetNew": moved_to, "offsetRequest": asked})
        host = self._state.store_host
        self._state.store.put(
            MessageToStore(
                topic=OFFSET_MOVED_TOPIC,
                queue_id=0,
                flag=0,
                sys_flag=0,
                born_timestamp_ms=now_ms,
                born_host=host,
                store_host=host,
                reconsume_times=0,
                prepared_transaction_offset=0,
                body=body,
                properties=props.encode_properties({props.KEYS: group, props.DELAY: "0", props.TAGS: group}),
            )
        )
