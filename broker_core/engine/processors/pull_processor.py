"""Pulls: checks, reading, holding until a message comes (Source: docs/spec/broker.md §5, docs/spec/remoting.md §2.2.3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple, NoReturn

from broker_core.engine.nameserver.registration import PERM_READ
from broker_core.engine.processors.message_filter import EVERYTHING, MessageFilter, retry_filter, sql_filter, tag_filter
from broker_core.engine.processors.moved_offsets import MovedOffsets
from broker_core.engine.processors.pull_answers import answer_fields
from broker_core.engine.processors.pull_holds import HeldPull, PullHolds
from broker_core.engine.processors.pull_request import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullTerms,
    TermsReader,
)
from broker_core.engine.store.results import Arrival, GetResult, GetStatus, Place, Run
from broker_core.engine.tables.consumer_filters import SQL92, ConsumerFilters
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.tables.subscription import Subscription, parse_subscription
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.codes import RequestCode, ResponseCode, SerializeType
from broker_core.protocol.fields import long_field
from broker_core.protocol.filter.evaluator import compile_filter
from broker_core.protocol.frame import RemotingCommand, reply_to

logger = logging.getLogger(__name__)

BEHIND_TICK_MS = 5_000
"""How often held pulls are checked for messages that their filter does not want (Source: docs/spec/broker.md §5.4)."""

COLD_READS_MAX = 16
"""Reads of old messages by threads at a time; for one more pull the loop itself waits."""

_PARSED_EXPRESSIONS = 4096
_REMEMBERED_CHARS_MAX = 256
"""Longer expressions are parsed each time, for they could fill the memory."""

_CODES = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}
_FOUND = GetStatus.FOUND.value
_EMPTY_QUEUE = (GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.NO_MESSAGE_IN_QUEUE)


class _Pull(NamedTuple):
    """A pull that passed all checks, with what its answer needs; the request itself is not kept, for many are held."""

    opaque: int
    serialize_type: SerializeType
    terms: PullTerms
    offset: int
    wanted: MessageFilter


class PullProcessor:
    """Serves PULL_MESSAGE and LITE_PULL_MESSAGE.

    `broker_core.engine.processors.pull_express` serves the plain ones; it asks here what they may have.

    Register `arrived` as arrival listener of the store: it runs inside of the put, so a held pull is answered in the same turn
    of the loop in which its message was stored. Call `tick` once a second.

    Attributes:
        holds: Pulls that wait.
        terms: Reads what pulls ask for.
    """

    def __init__(self, state: BrokerState, filters: ConsumerFilters) -> None:
        self._state = state
        self._filters = filters
        self._store = state.store
        self._counters = state.counters
        self._moved = MovedOffsets(state)
        self._next_behind_ms = 0
        self._cold_reads = 0
        self.terms = TermsReader()
        self.holds = PullHolds()

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve a pull on its first arrival; None when it is held."""
        fields = command.ext_fields
        try:
            terms = self.terms.read(fields)
            offset = long_field(fields, "queueOffset")
            committed = long_field(fields, "commitOffset", 0) if terms.flags & FLAG_COMMIT_OFFSET else 0
            self.check(terms, lite=command.code == RequestCode.LITE_PULL_MESSAGE)
            wanted = self.wanted(terms)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message)
        self._state.consumers.pulled(peer, terms.group, terms.topic, terms.queue_id)
        if terms.flags & FLAG_COMMIT_OFFSET:
            self._state.offsets.commit(terms.group, terms.topic, terms.queue_id, committed)
        pull = _Pull(command.opaque, command.serialize_type, terms, offset, wanted)
        if wanted.takes_all and (run := self.read_run(terms, offset)) is not None:
            return self._answer_run(pull, run)
        return self._serve(peer, pull)

    def _serve(self, peer: Peer, pull: _Pull) -> RemotingCommand | None:
        """Answer a pull in the ordinary way, now or later."""
        result = self._read(pull)
        code = _code(result.status, pull.offset)
        if code == ResponseCode.PULL_NOT_FOUND and pull.terms.flags & FLAG_SUSPEND:
            if self._hold(peer, pull):
                return None
            # Answered at once it would come again at once, for ever: more queues than can be held are asked in turn instead.
            peer.slow_down()
        if result.far_back and self._cold_reads < COLD_READS_MAX:
            if not self._store.is_in_memory(result.far_back):
                # Answered when a thread has read the records: the loop, and so the producers, do not wait for the disk.
                self._read_in_thread(self._store.bring_to_memory, result.far_back, lambda: self._answer_again(peer, pull))
                return None
            if not self._store.is_ahead_in_memory(result.far_back):
                self._read_in_thread(self._store.read_ahead, result.far_back, lambda: None)
        return self._answer(pull, result, code)

    def _answer_again(self, peer: Peer, pull: _Pull) -> None:
        """Read once more what is in memory now: only there can be seen whether units lead to records."""
        result = self._read(pull)
        peer.send(self._answer(pull, result, _code(result.status, pull.offset)))

    def _read_in_thread(
        self, read: Callable[[Sequence[Place]], None], places: Sequence[Place], then: Callable[[], object]
    ) -> None:
        def done(reading: asyncio.Future[None]) -> None:
            self._cold_reads -= 1
            if reading.cancelled():
                return
            if (error := reading.exception()) is not None:
                logger.warning("old messages could not be read ahead: %s", error)
            then()

        self._cold_reads += 1
        asyncio.get_running_loop().run_in_executor(None, read, places).add_done_callback(done)

    # ---- checks ----

    def check(self, terms: PullTerms, *, lite: bool) -> None:
        """Refuse what may not be had.

        Raises:
            RequestRefusedError: With the code and remark of the answer.
        """
        state = self._state
        if not state.config.permission & PERM_READ or (lite and not state.config.lite_pull):
            _refuse(ResponseCode.NO_PERMISSION, f"the broker[{state.config.advertised_host}] pulling message is forbidden")
        group = state.groups.find(terms.group)
        if group is None:
            remark = f"subscription group [{terms.group}] does not exist, See {names.FAQ_URL} for further details."
            _refuse(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group.consume_enabled:
            _refuse(ResponseCode.NO_PERMISSION, f"subscription group no permission, {terms.group}")
        if not state.groups.may_read(terms.group, terms.topic):
            remark = f"the consumer group[{terms.group}] is forbidden for topic[{terms.topic}]"
            _refuse(ResponseCode.NO_PERMISSION, remark)
        topic = state.topics.get(terms.topic)
        if topic is None:
            remark = f"topic[{terms.topic}] not exist, apply first please! See {names.FAQ_URL} for further details."
            _refuse(ResponseCode.TOPIC_NOT_EXIST, remark)
        if not topic.readable:
            _refuse(ResponseCode.NO_PERMISSION, f"the topic[{terms.topic}] pulling message is forbidden")
        if not 0 <= terms.queue_id < topic.read_queues:
            remark = (
                f"queueId[{terms.queue_id}] is illegal, topic:[{terms.topic}] "
                f"topicConfig.readQueueNums:[{topic.read_queues}] consumer:[{terms.group}]"
            )
            _refuse(ResponseCode.SYSTEM_ERROR, remark)

    def wanted(self, terms: PullTerms) -> MessageFilter:
        """Which messages the pull is for, by its own expression or by the group's heartbeats.

        Raises:
            RequestRefusedError: As `check`.
        """
        filters_retries = self._state.config.filter_support_retry and terms.topic == names.retry_topic(terms.group)
        if terms.takes_all and not filters_retries:
            return EVERYTHING
        inline = bool(terms.flags & FLAG_SUBSCRIPTION)
        subscription = self._inline(terms) if inline else self._registered(terms)
        if subscription.is_tag:
            if filters_retries:
                return retry_filter(terms.group, self._filters)
            return tag_filter(terms.topic, subscription)
        if not self._state.config.property_filter:
            _refuse(ResponseCode.SYSTEM_ERROR, filter_off_remark(subscription.expression_type))
        return self._inline_sql(subscription) if inline else self._registered_sql(terms)

    def _inline(self, terms: PullTerms) -> Subscription:
        try:
            parse = _parsed if len(terms.expression or "") <= _REMEMBERED_CHARS_MAX else _parsed.__wrapped__
            return parse(terms.topic, terms.expression, terms.expression_type)
        except CodecError as error:
            raise _parse_failed(error.message) from error

    def _inline_sql(self, subscription: Subscription) -> MessageFilter:
        if subscription.expression_type != SQL92:
            raise _parse_failed(f"there is no filter type {subscription.expression_type[:40]}; write TAG or SQL92")
        try:
            is_short = len(subscription.expression) <= _REMEMBERED_CHARS_MAX
            return sql_filter((compile_filter if is_short else compile_filter.__wrapped__)(subscription.expression))
        except CodecError as error:
            raise _parse_failed(error.message) from error

    def _registered_sql(self, terms: PullTerms) -> MessageFilter:
        data = self._filters.get(terms.topic, terms.group)
        if data is None:
            remark = f"the filter data of group[{terms.group}] on topic[{terms.topic}] not exist; a heartbeat must come first"
            _refuse(ResponseCode.FILTER_DATA_NOT_EXIST, remark)
        if data.client_version < terms.subscription_version:
            remark = (
                f"the consumer's filter data is not latest: {data.client_version} is known, {terms.subscription_version} asked"
            )
            _refuse(ResponseCode.FILTER_DATA_NOT_LATEST, remark)
        return sql_filter(data.compiled)

    def _registered(self, terms: PullTerms) -> Subscription:
        """The subscription from the group's heartbeats."""
        group = self._state.consumers.group(terms.group)
        if group is None:
            remark = f"the consumer's group info not exist, group: {terms.group}; a heartbeat must come first"
            _refuse(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        config = self._state.groups.get(terms.group)
        if group.broadcasting and config is not None and not config.broadcast_enabled:
            _refuse(ResponseCode.NO_PERMISSION, f"the consumer group[{terms.group}] can not consume by broadcast way")
        subscription = group.subscriptions.get(terms.topic)
        if subscription is None:
            remark = f"the consumer's subscription not exist, group: {terms.group}, topic: {terms.topic}"
            _refuse(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if subscription.version < terms.subscription_version:
            remark = (
                f"the consumer's subscription not latest: {subscription.version} is known, {terms.subscription_version} asked"
            )
            _refuse(ResponseCode.SUBSCRIPTION_NOT_LATEST, remark)
        return subscription

    # ---- reading ----

    def read_run(self, terms: PullTerms, offset: int) -> Run | None:
        """What most pulls find that want everything, read in the quick way; None where it is not to be had so."""
        started = perf_counter()
        run = self._store.read_run(terms.topic, terms.queue_id, offset, terms.count_max)
        if run is not None:
            self._counters.get_took(perf_counter() - started)
            if run.read_ahead is not None and self._cold_reads < COLD_READS_MAX:
                self._read_in_thread(self._store.read_ahead, [run.read_ahead], lambda: None)
        return run

    def _read(self, pull: _Pull) -> GetResult:
        terms, wanted = pull.terms, pull.wanted
        started = perf_counter()
        result = self._store.get_messages(
            terms.topic, terms.queue_id, pull.offset, terms.count_max, accepts=wanted.accepts, matches=wanted.matches
        )
        self._counters.get_took(perf_counter() - started)
        return result

    def _answer_run(self, pull: _Pull, run: Run) -> RemotingCommand:
        terms = pull.terms
        self._counters.got(terms.topic, terms.group, run.record_count, run.total_bytes)
        bounds = run.next_offset, run.min_offset, run.max_offset
        fields = answer_fields(self.suggested_broker(terms.group, slow=False), *bounds)
        return reply_to(pull.opaque, pull.serialize_type, ResponseCode.SUCCESS, _FOUND, fields, body_slices=run.slices)

    def _answer(self, pull: _Pull, result: GetResult, code: ResponseCode) -> RemotingCommand:
        terms = pull.terms
        if code == ResponseCode.SUCCESS:
            self._counters.got(terms.topic, terms.group, len(result.records), result.total_bytes)
        else:
            self._counters.get_missed += 1
            if code == ResponseCode.PULL_OFFSET_MOVED:
                moved_to = result.next_offset
                self._moved.note(terms.group, terms.topic, terms.queue_id, asked=pull.offset, moved_to=moved_to)
        broker_id = self.suggested_broker(terms.group, slow=result.suggest_slave)
        fields = answer_fields(broker_id, result.next_offset, result.min_offset, result.max_offset)
        return reply_to(pull.opaque, pull.serialize_type, code, result.status.value, fields, body_slices=result.records)

    def suggested_broker(self, group: str, *, slow: bool) -> int:
        """Id of the broker to pull from next (Source: docs/spec/broker.md §5.3)."""
        config = self._state.groups.get(group) if self._state.config.slave_read else None
        if config is None:
            return 0
        return config.broker_id_when_slow if slow else config.broker_id

    # ---- holding ----

    def _hold(self, peer: Peer, pull: _Pull) -> bool:
        terms, config = pull.terms, self._state.config
        hold_ms = terms.suspend_ms if config.long_polling else config.short_polling_ms
        deadline_ms = self._state.clock() + hold_ms
        wanted = pull.wanted
        held = HeldPull(
            peer,
            terms.topic,
            terms.queue_id,
            pull.offset,
            deadline_ms,
            wanted.accepts,
            pull,
            matches=wanted.matches,
            filter_bytes=terms.filter_bytes,
        )
        return self.holds.hold(held)

    def arrived(self, arrival: Arrival) -> None:
        """Answer the pulls that wait for this message, unless they may not see it yet.

        With long polling off they wait for their time or the next look.
        """
        if not len(self.holds) or not self._state.config.long_polling:
            return
        visibility = self._store.visibility
        if visibility is not None:
            end = visibility.end(arrival.topic, arrival.queue_id)
            if end is not None and arrival.queue_offset >= end:
                return
        woken = self.holds.arrived(
            arrival.topic,
            arrival.queue_id,
            arrival.queue_offset,
            arrival.tags_code,
            lambda: self._store.record_at(arrival.physical_offset),
        )
        for held in woken:
            self._answer_held(held, held.peer.send_now)

    def tick(self) -> None:
        """Answer the pulls whose time is over, and now and then those whose queue moved on without a message for them."""
        now_ms = self._state.clock()
        for held in self.holds.due(now_ms):
            self._answer_held(held)
        if now_ms >= self._next_behind_ms:
            config = self._state.config
            self._next_behind_ms = now_ms + (BEHIND_TICK_MS if config.long_polling else config.short_polling_ms)
            for held in self.holds.behind(self._store.max_offset):
                self._answer_held(held)

    def became_visible(self) -> None:
        """Answer the pulls that wait for messages that were hidden so far."""
        for held in self.holds.behind(self._store.max_offset):
            self._answer_held(held)

    def forget(self, peer: Peer) -> None:
        """Drop the pulls of a connection that ended."""
        self.holds.drop_peer(peer)

    def answer_all(self) -> None:
        """Answer every held pull: the broker stops."""
        for held in self.holds.release_all():
            self._answer_held(held)

    def _answer_held(self, held: HeldPull, send: Callable[[RemotingCommand], object] | None = None) -> None:
        pull: _Pull = held.request
        result = self._read(pull)
        (send or held.peer.send)(self._answer(pull, result, _code(result.status, pull.offset)))


@lru_cache(maxsize=_PARSED_EXPRESSIONS)
def _parsed(topic: str, expression: str | None, expression_type: str | None) -> Subscription:
    # Go and C++ clients send their expression with every pull.
    return parse_subscription(topic, expression, expression_type=expression_type)


def filter_off_remark(expression_type: str) -> str:
    """Remark of an answer to whoever wants a filter that is switched off; clients know its first part."""
    return (
        f"The broker does not support consumer to filter message by {expression_type[:40]}; "
        "set enablePropertyFilter=true to have SQL92 filters"
    )


def _parse_failed(reason: str) -> RequestRefusedError:
    remark = f"parse the consumer's subscription failed: {reason}"
    return RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_PARSE_FAILED)


def _code(status: GetStatus, asked_offset: int) -> ResponseCode:
    if status in _EMPTY_QUEUE:
        return ResponseCode.PULL_OFFSET_MOVED if asked_offset else ResponseCode.PULL_NOT_FOUND
    return _CODES[status]


def _refuse(code: ResponseCode, remark: str) -> NoReturn:
    raise RequestRefusedError(remark, code=code)
