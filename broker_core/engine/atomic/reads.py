from __future__ import annotations

from collections.abc import Callable

from broker_core.engine.atomic.state import AtomicState
from broker_core.errors import RecordError
from broker_core.protocol.atomic import QueueKey
from broker_core.protocol.message.record import decode_record

_EVERYTHING = 1 << 62


class CommittedReads:
    """The readers' view of a store, decided messages only: `broker_core.engine.store.visibility.Visibility`.

    Source: docs/spec/kafka.md §3.5.
    """

    def __init__(self, state: AtomicState, is_atomic: Callable[[str], bool]) -> None:
        self._state = state
        self._is_atomic = is_atomic

    def end(self, topic: str, queue_id: int) -> int | None:
        """The last stable offset; None for queues of other topics."""
        if not self._is_atomic(topic):
            return None
        first = self._state.first_open_offset(QueueKey(topic, queue_id))
        return _EVERYTHING if first is None else first

    def hides(self, topic: str, queue_id: int, offset: int) -> bool:
        """Whether a message was aborted."""
        return self._state.is_aborted(QueueKey(topic, queue_id), offset)

    def hides_record(self, record: memoryview) -> bool:
        """Whether a record belongs to an open or an aborted transaction."""
        try:
            message = decode_record(record)
        except RecordError:
            return False
        if not self._is_atomic(message.topic):
            return False
        queue = QueueKey(message.topic, message.queue_id)
        first = self._state.first_open_offset(queue)
        return (first is not None and message.queue_offset >= first) or self._state.is_aborted(queue, message.queue_offset)
