"""`OffsetsOfTime`: the offset of each queue at a time, and the time that a reset of the whole topic would need for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.api import JsonBodyError, OrbitError, read_offset
from broker_core.worker.questions.administration import BrokerAnswer
from broker_core.worker.questions.stored_messages import FindOffset, FoundOffset
from gui.operations.requests import RequestChain
from monitoring.admin.offsets import ask_offset_of_time
from monitoring.sources.base import ClusterSource

_EARLIER_MS = (0, 1)
"""A broker that goes to the nearest message finds the first of many of one millisecond from the millisecond before."""


@dataclass(frozen=True, slots=True)
class TimedOffsets:
    """The queues at a time.

    Attributes:
        offsets: Queue id → the first offset stored at or after the time; the end of the queue if there is none.
        request_ms: The time for which the broker itself moves every queue to these offsets; None where no such is known.
    """

    offsets: dict[int, int]
    request_ms: int | None


class OffsetsOfTime:
    """A `Pending` of `TimedOffsets`; ``has_members`` also looks for the time of one request for the whole topic."""

    def __init__(self, source: ClusterSource, topic: str, queue_ids: Sequence[int], at_ms: int, *, has_members: bool) -> None:
        self._source = source
        self._topic = topic
        self._queue_ids = queue_ids
        self._at_ms = at_ms
        self._times = [at_ms - earlier for earlier in _EARLIER_MS] if has_members else []
        self._found: dict[int, int] = {}
        self._open: RequestChain[Any] | None = None
        self._callbacks: tuple[Callable[[TimedOffsets], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[TimedOffsets], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        exact = RequestChain(self._source, [FindOffset(self._topic, one, self._at_ms) for one in self._queue_ids])
        self._open = exact
        exact.then(self._take, self._failed)

    def cancel(self) -> None:
        """Ask no more."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    def _take(self, answers: list[FoundOffset]) -> None:
        self._found = {queue: answer.offset for queue, answer in zip(self._queue_ids, answers, strict=True)}
        self._try_next()

    def _try_next(self) -> None:
        if not self._times:
            self._done(None)
            return
        at_ms = self._times.pop(0)
        asked = RequestChain(self._source, [ask_offset_of_time(self._topic, one, at_ms) for one in self._queue_ids])
        self._open = asked
        asked.then(lambda answers: self._compare(at_ms, answers), self._failed)

    def _compare(self, at_ms: int, answers: list[BrokerAnswer]) -> None:
        try:
            told = {queue: read_offset(answer.fields) for queue, answer in zip(self._queue_ids, answers, strict=True)}
        except JsonBodyError as error:
            self._failed(error)
            return
        if told == self._found:
            self._done(at_ms)
        else:
            self._try_next()

    def _done(self, request_ms: int | None) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[0](TimedOffsets(self._found, request_ms))

    def _failed(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[1](error)
