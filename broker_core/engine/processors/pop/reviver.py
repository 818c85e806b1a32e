"""Revives messages that were not acked in time: copies them to the retry topic or to the dead letters.

RocketMQ's broker repeats them without end and relies on the client's limit. Orbit makes a message a dead letter after
``retryMaxTimes`` repetitions, as for a message that a pull consumer sends back.

Source: docs/spec/broker.md §6.7 (revive), §8.1.
"""

from __future__ import annotations

import logging

from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.outstanding import Outstanding
from broker_core.engine.processors.retried_copies import put_counted, put_dead_letter, retried_copy
from broker_core.engine.store.paths import is_topic_name
from broker_core.engine.store.results import NEVER_STORED, PutResult, PutStatus
from broker_core.engine.tables.set_aside import STAYS, dead_letter_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RecordError, RequestRefusedError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.receipt_handle import FLAG_RETRY_V1, FLAG_RETRY_V2, pop_retry_topic
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from broker_core.protocol.retry_names import KnownNames, origins_of, possible_owners, topic_popped_by

logger = logging.getLogger(__name__)

RUN_MESSAGES_MAX = 500
"""Messages revived in one run, so that the broker's loop is not blocked for long; the next run continues."""

TRY_AGAIN_MS = 1_000
"""Pause after the store refused a message."""


class Reviver:
    """Revives the messages of due checkpoints."""

    def __init__(self, state: BrokerState, outstanding: Outstanding) -> None:
        self._state = state
        self._store = state.store
        self._outstanding = outstanding

    def run(self) -> int:
        """Revive due checkpoints; returns the number of messages sent again."""
        now_ms = self._state.clock()
        revived = 0
        while revived < RUN_MESSAGES_MAX:
            checkpoint = self._outstanding.ledger.due(now_ms)
            if checkpoint is None:
                break
            revived += self._revive(checkpoint, now_ms)
        return revived

    def _revive(self, checkpoint: PopCheckpoint, now_ms: int) -> int:
        key = checkpoint.key
        if key.topic not in self._state.topics or self._state.groups.get(key.group) is None:
            self._outstanding.drop(checkpoint)
            return 0
        settled = []
        revived = 0
        for offset in checkpoint.pending():
            message = self._read(checkpoint, offset)
            if message is not None:
                if not self._put_again(checkpoint, message):
                    break
                revived += 1
            settled.append(offset)
        try:
            if settled:
                self._outstanding.settle(checkpoint, tuple(settled))
        except RequestRefusedError as error:
            # The copies are stored; after a kill before this succeeds, they are stored once more.
            logger.warning("messages that came again are not noted yet: %s", error.message)
            for offset in settled:
                checkpoint.mark(offset)
            if checkpoint.is_done:
                self._outstanding.drop(checkpoint)
                return revived
        if not checkpoint.is_done:
            self._outstanding.ledger.schedule(checkpoint, now_ms + TRY_AGAIN_MS)
        return revived

    def _read(self, checkpoint: PopCheckpoint, offset: int) -> StoredMessage | None:
        """The message; None when it is expired or damaged, or its topic was deleted and created again.

        A message of the new topic is stored after the pop. The clock alone does not say so, because it may have been set back.
        """
        key = checkpoint.key
        for record in self._store.get_messages(key.topic, key.queue_id, offset, 1).records:
            try:
                message = decode_record(record)
            except RecordError as error:
                logger.error("message %d of topic %s is damaged: %s", offset, key.topic, error.message)
                return None
            is_older = message.physical_offset < checkpoint.popped_before or message.store_timestamp_ms <= key.pop_time_ms
            if message.queue_offset == offset and is_older:
                return message
        return None

    def _put_again(self, checkpoint: PopCheckpoint, message: StoredMessage) -> bool:
        """Store a copy, or set the message aside if no copy can be stored; False when the store refuses now."""
        key = checkpoint.key
        group = self._state.groups.get(key.group)
        topic, result = DLQ_PREFIX + key.group, None
        if group is not None and message.reconsume_times < group.retry_times_max:
            topic = self._retry_topic(key.group, key.topic)
            result = self._put_retry(key, topic, message)
        retry_status = result.status if result is not None and result.status in NEVER_STORED else None
        if result is None or retry_status is not None:
            result = self._put_dead(key, message)
        if result.status in NEVER_STORED:
            self._state.set_aside.note(message.physical_offset, topic, result.status, STAYS)
            return True
        if result.status is not PutStatus.PUT_OK:
            text = "message %s of topic %s does not come again yet: %s %s"
            logger.warning(text, message.queue_offset, key.topic, result.status.value, self._store.write_refusal)
            return False
        if retry_status is not None:
            self._state.set_aside.note(message.physical_offset, topic, retry_status, dead_letter_of(key.group))
        self._state.counters.consume_failed(key.group)
        return True

    def _put_retry(self, key: CheckpointKey, topic: str, message: StoredMessage) -> PutResult:
        if not is_topic_name(topic):
            return PutResult(PutStatus.MESSAGE_ILLEGAL)
        self._state.topics.ensure(topic, queues=1)
        if self._state.offsets.get(key.group, topic, 0) < 0:
            self._state.offsets.commit(key.group, topic, 0, 0)
        encoded = props.encode_fitting({props.FIRST_POP_TIME: str(key.pop_time_ms)} | message.properties)
        if encoded is None:
            encoded = message.properties_bytes
        return put_counted(self._state, retried_copy(message, topic, 0, encoded, self._state.store_host))

    def _put_dead(self, key: CheckpointKey, message: StoredMessage) -> PutResult:
        origin = {
            props.RETRY_TOPIC: self._origin(key),
            props.ORIGIN_MESSAGE_ID: offset_message_id(message.store_host, message.physical_offset),
            props.FIRST_POP_TIME: str(key.pop_time_ms),
        }
        return put_dead_letter(self._state, message, key.group, origin | message.properties, self._state.store_host)

    def _origin(self, key: CheckpointKey) -> str:
        """The topic that the group popped; the name of its retry topic where another group and topic share that."""
        state, popped = self._state, topic_popped_by(key.group, key.topic) or key.topic
        topics = frozenset(owner.topic for owner in possible_owners(key.topic) if owner.topic in state.topics)
        if topics <= {popped}:
            return popped
        known = KnownNames(state.groups.all().keys() | state.offsets.groups(), topics)  # takes time, and is seldom needed
        origins = origins_of({props.RETRY_TOPIC: key.topic}, key.group, known)
        return popped if len(origins) == 1 else key.topic

    def _retry_topic(self, group: str, topic: str) -> str:
        if topic.startswith(RETRY_PREFIX):
            return topic
        flag = FLAG_RETRY_V2 if self._state.config.pop_retry_topic_v2 else FLAG_RETRY_V1
        return pop_retry_topic(group, topic, flag=flag)
