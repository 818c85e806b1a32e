"""Pops: queues in turn, messages handed out for a time, requests held until there is one (Source: docs/spec/broker.md §6.7)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from broker_core.config import BrokerConfig
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.outstanding import Outstanding
from broker_core.engine.processors.pop.pop_holds import HeldPop, PopHolds
from broker_core.engine.processors.pop.queue_reader import PopAnswer, PopQueueReader, revive_queue_of
from broker_core.engine.processors.pop.request import (
    ANY_QUEUE,
    PopRequest,
    check_queue,
    find_topic,
    parse_notification,
    parse_pop,
    queue_remark,
)
from broker_core.engine.store.results import Arrival, GetStatus
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import int_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.receipt_handle import FLAG_RETRY_V1, FLAG_RETRY_V2, pop_retry_topic

LOOK_MS = 800
"""Time between two looks for messages that became visible (``popLongPollingForceNotifyInterval``)."""

_NAMES_KEPT = 1_024

NO_FIELDS = {"popTime": "0", "invisibleTime": "0", "reviveQid": "0", "restNum": "0"}
"""Fields of a refusal. A Java client reads them whatever the code is."""


class PopProcessor:
    """Serves POP_MESSAGE, NOTIFICATION and POLLING_INFO.

    The store calls `arrived` for each new message, `PopFamily` calls `tick`. ``chance`` returns random numbers in [0, 1).
    """

    def __init__(
        self,
        state: BrokerState,
        outstanding: Outstanding,
        reader: PopQueueReader,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._state = state
        self._outstanding = outstanding
        self._reader = reader
        self._chance = chance
        config = state.config
        limits = {"per_queue_max": config.pop_polling_size, "holds_max": config.pop_polling_size_total}
        self.holds = PopHolds(**limits)
        self.notices = PopHolds(**limits)
        self._next_look_ms = 0

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take over changed bounds; requests that are held beyond them stay."""
        for holds in (self.holds, self.notices):
            holds.per_queue_max, holds.holds_max = config.pop_polling_size, config.pop_polling_size_total

    # ---- pop ----

    def pop(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve a pop; None when it is held."""
        try:
            request = parse_pop(self._state, peer, command)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message, dict(NO_FIELDS))
        answer = self._collect(request, self.queues(request))
        if answer.records:
            return self._found(request, answer)
        if request.deadline_ms and not answer.is_behind and not self._outstanding.ledger.is_full:
            if self._hold(peer, request, answer.free_ms, self.holds):
                return None
            return self._empty(request, answer, ResponseCode.POLLING_FULL)
        if self._outstanding.ledger.is_full:
            return self._empty(request, answer, ResponseCode.POLLING_FULL)
        return self._empty(request, answer, ResponseCode.POLLING_TIMEOUT)

    def _collect(self, request: PopRequest, queues: Iterable[tuple[str, int]]) -> PopAnswer:
        answer = PopAnswer(self._state.clock(), revive_queue_of(request, self._outstanding))
        for topic, queue_id in queues:
            self._reader.read(request, topic, queue_id, answer)
        return answer

    def queues(self, request: PopRequest) -> Iterator[tuple[str, int]]:
        """The queues in reading order; ``popFromRetryProbability`` percent of the pops read the retry topics first."""
        retries = [] if request.order else [item for topic in self._retry_topics(request) for item in self._all_of(topic)]
        retries_first = self._chance() * 100 < self._state.config.pop_retry_probability_percent
        if retries_first:
            yield from retries
        if request.queue_id == ANY_QUEUE:
            yield from self._all_of(request.topic)
        else:
            yield request.topic, request.queue_id
        if not retries_first:
            yield from retries

    def _all_of(self, topic: str) -> list[tuple[str, int]]:
        """All queues of a topic, starting at a random one, so that no queue is always the last."""
        config = self._state.topics.get(topic)
        count = 0 if config is None else config.read_queues
        first = int(self._chance() * count)
        return [(topic, (first + step) % count) for step in range(count)]

    def _retry_topics(self, request: PopRequest) -> list[str]:
        """The names of new retries first. Those of a time with ``enableRetryTopicV2`` are read after it too."""
        config = self._state.config
        old, new = _retry_names(request.group, request.topic)
        if config.pop_retry_topic_v2:
            return [new, old] if config.pop_read_retry_topic_v1 else [new]
        return [old, new] if new in self._state.topics else [old]

    def _found(self, request: PopRequest, answer: PopAnswer) -> RemotingCommand:
        fields = self._fields(request, answer)
        return request.reply(ResponseCode.SUCCESS, GetStatus.FOUND.value, fields, body_slices=answer.records)

    def _empty(self, request: PopRequest, answer: PopAnswer, code: ResponseCode) -> RemotingCommand:
        self._state.counters.get_missed += 1
        return request.reply(code, GetStatus.NO_MESSAGE_IN_QUEUE.value, self._fields(request, answer))

    @staticmethod
    def _fields(request: PopRequest, answer: PopAnswer) -> dict[str, str]:
        fields = {
            "popTime": str(answer.pop_time_ms),
            "invisibleTime": str(request.invisible_ms),
            "reviveQid": str(answer.revive_queue),
            "restNum": str(answer.rest),
            "startOffsetInfo": ";".join(answer.start_offsets),
            "msgOffsetInfo": ";".join(answer.message_offsets),
        }
        if request.order:
            fields["orderCountInfo"] = ";".join(answer.order_counts)
        return fields

    # ---- notification ----

    def notification(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Answer whether there is a message to pop; None when the request is held until a message arrives."""
        request = parse_notification(self._state, peer, command)
        if self._has_message(request):
            return _notified(request, has_message=True)
        if not request.deadline_ms:
            return _notified(request, has_message=False)
        if self._hold(peer, request, 0, self.notices):
            return None
        return _notified(request, has_message=False, full=True)

    def _has_message(self, request: PopRequest) -> bool:
        return any(
            self._reader.has_message(request, QueueOf(topic, request.group, queue_id))
            for topic, queue_id in self.queues(request)
        )

    def polling_info(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Answer how many requests are held for a queue."""
        fields = command.ext_fields
        group, topic = text_field(fields, "consumerGroup"), text_field(fields, "topic")
        queue_id = int_field(fields, "queueId")
        config = find_topic(self._state, topic)
        if queue_id >= config.read_queues:
            raise RequestRefusedError(queue_remark(config, queue_id, peer), code=ResponseCode.INVALID_PARAMETER)
        check_queue(self._state, peer, group, topic, queue_id)
        return command.reply(ext_fields={"pollingNum": str(self.holds.count(topic, group, max(queue_id, ANY_QUEUE)))})

    # ---- holding ----

    def _hold(self, peer: Peer, request: PopRequest, retry_ms: int, holds: PopHolds) -> bool:
        topics = (request.topic,) if request.order else _same((request.topic, *self._retry_topics(request)))
        return holds.hold(
            HeldPop(
                peer,
                request.group,
                topics,
                request.queue_id,
                request.deadline_ms,
                request.wanted.accepts,
                request,
                retry_ms=retry_ms,
                size=request.size,
            )
        )

    def arrived(self, arrival: Arrival) -> None:
        """Answer requests that accept the new message, within its put; notifications first, because they take nothing."""
        config = self._state.topics.get(arrival.topic)
        if config is None or arrival.queue_id >= config.read_queues:
            return  # no pop reads it
        for held in self.notices.wakened(arrival.topic, arrival.queue_id, arrival.tags_code):
            self._notify(held)
        for held in self._wakened(arrival):
            # The others had nothing when it was held. Queues popped in order may have been freed since.
            self._try(held, None if held.request.order else ((arrival.topic, arrival.queue_id),))

    def _wakened(self, arrival: Arrival) -> list[HeldPop]:
        """Requests that a message wakes. Those of slow readers end without it: their answers would fill the memory."""
        while True:
            found = self.holds.wakened(arrival.topic, arrival.queue_id, arrival.tags_code)
            slow = [held for held in found if held.peer.reads_slowly]
            if not slow:
                return found
            for held in slow:
                self._give_up(held)

    def freed(self, topic: str, group: str) -> None:
        """Answer a group's held requests if its orderly pops are no longer blocked, else note when they will not be."""
        for held in self.notices.waiting(topic, group):
            self._notify(held)
        for held in self.holds.waiting(topic, group):
            self._try(held)

    def tick(self) -> None:
        """Answer the requests past their deadline, and try those again whose queue is no longer blocked."""
        now_ms = self._state.clock()
        for held in self.holds.to_try(now_ms):
            held.retry_ms = 0
            self._try(held)
        if self._state.store.visibility is not None and now_ms >= self._next_look_ms:
            # The store calls no arrival listener for messages that become visible.
            self._next_look_ms = now_ms + LOOK_MS
            for held in self.notices:
                self._notify(held)
            for held in self.holds:
                if self._has_message(held.request):
                    self._try(held)
        for held in self.notices.late(now_ms):
            self._answer(self.notices, held, _notified(held.request, has_message=False), at_once=False)
        for held in self.holds.late(now_ms):
            self._give_up(held)

    def forget(self, peer: Peer) -> None:
        self.notices.drop_peer(peer)
        self.holds.drop_peer(peer)

    def answer_all(self) -> None:
        """Answer every held request, because the broker stops."""
        for held in self.notices:
            self._answer(self.notices, held, _notified(held.request, has_message=False), at_once=False)
        for held in self.holds:
            self._give_up(held)

    def _notify(self, held: HeldPop) -> None:
        if self._has_message(held.request):
            self._answer(self.notices, held, _notified(held.request, has_message=True))

    def _try(self, held: HeldPop, queues: Iterable[tuple[str, int]] | None = None) -> None:
        """Answer a held request if there is a message in one of some queues, by default in all of its."""
        request: PopRequest = held.request
        if held.peer.reads_slowly:
            self._give_up(held)
            return
        answer = self._collect(request, self.queues(request) if queues is None else queues)
        if answer.records:
            self._answer(self.holds, held, self._found(request, answer))
        elif answer.is_behind:
            self._answer(self.holds, held, self._empty(request, answer, ResponseCode.POLLING_TIMEOUT))
        else:
            # Messages that could not be handed out are tried again at the next tick, in whichever queue they are.
            held.retry_ms = answer.free_ms or (answer.pop_time_ms if answer.rest else 0)

    def _give_up(self, held: HeldPop) -> None:
        request: PopRequest = held.request
        answer = PopAnswer(self._state.clock(), revive_queue_of(request, self._outstanding))
        self._answer(self.holds, held, self._empty(request, answer, ResponseCode.POLLING_TIMEOUT), at_once=False)

    @staticmethod
    def _answer(holds: PopHolds, held: HeldPop, response: RemotingCommand, *, at_once: bool = True) -> None:
        """Answer a held request; ``at_once`` is for messages, because many empty answers of one turn are cheaper together."""
        holds.release(held)
        if at_once:
            held.peer.send_now(response)
        else:
            held.peer.send(response)


@lru_cache(maxsize=_NAMES_KEPT)
def _retry_names(group: str, topic: str) -> tuple[str, str]:
    """A group's retry topics of a topic: of version 1, of version 2."""
    return pop_retry_topic(group, topic, flag=FLAG_RETRY_V1), pop_retry_topic(group, topic, flag=FLAG_RETRY_V2)


@lru_cache(maxsize=_NAMES_KEPT)
def _same(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names: requests that wait for the same topics share them."""
    return names


def _notified(request: PopRequest, *, has_message: bool, full: bool = False) -> RemotingCommand:
    fields = {"hasMsg": str(has_message).lower(), "pollingFull": str(full).lower()}
    return request.reply(fields=fields)
