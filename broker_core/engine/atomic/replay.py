"""Brings the state to the end of the log: from the newest snapshot, or from the first record of all."""

from __future__ import annotations

import logging
from typing import NamedTuple

from broker_core.engine.atomic.records import decode_state
from broker_core.engine.atomic.snapshot import SnapshotFiles
from broker_core.engine.atomic.state import AppliedOffsets, AtomicState
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import CodecError
from broker_core.protocol.atomic import PROPERTY, STATE_TOPIC, QueueKey, Stamp
from broker_core.protocol.message.properties import property_marker
from broker_core.protocol.message.record import decode_record

logger = logging.getLogger(__name__)

_MARKER = property_marker(PROPERTY)
_STATE_TOPIC = STATE_TOPIC.encode()


class Replayed(NamedTuple):
    """The state at the end of the log; `AtomicState.unfinished_batch` is still to be recorded.

    Attributes:
        applied: Consumer positions that decisions after the snapshot set, with the position of the decision, in order.
        snapshot_offset: Where reading began; 0 without a snapshot.
    """

    state: AtomicState
    applied: list[tuple[int, AppliedOffsets]]
    snapshot_offset: int


def replay(log: MessageStore, files: SnapshotFiles) -> Replayed:
    """Read the state back."""
    end = log.commit_log_max_offset
    found = files.newest(end)
    if found is not None:
        state, position = found
    else:
        state = AtomicState()
        first = log.first_physical_offset(STATE_TOPIC, 0)
        # No producer ever got an id before the first record of the state topic.
        position = end if first is None else first
    start = position
    applied: list[tuple[int, AppliedOffsets]] = []
    position = max(position, log.commit_log_min_offset)
    while position < end:
        record = log.record_at(position)
        if record is None:
            position = log.next_file_offset(position)
            continue
        changes = _take(state, record, position)
        if changes:
            applied.append((position, changes))
        position += len(record)
    return Replayed(state, applied, start if found is not None else 0)


def _take(state: AtomicState, record: memoryview, position: int) -> AppliedOffsets:
    data = bytes(record)
    if _MARKER not in data and _STATE_TOPIC not in data:
        return []
    message = decode_record(data)
    if message.topic == STATE_TOPIC:
        try:
            return state.record(decode_state(message.body), position, message.store_timestamp_ms)
        except CodecError as error:
            logger.error("the record of atomic transactions at %d is left out: %s", position, error.message)
            return []
    stamp = Stamp.parse(message.properties.get(PROPERTY, ""))
    if stamp is not None and stamp.producer_id < state.ids_end:
        queue = QueueKey(message.topic, message.queue_id)
        state.data(queue, message.queue_offset, position, stamp, message.store_timestamp_ms)
    return []
