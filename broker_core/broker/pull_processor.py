"""Pulls: checks, reading, holding until a message comes (Source: spec broker §5, remoting §2.2.3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import NoReturn

from broker_core.broker import names
from broker_core.broker.consumer_filters import SQL92, ConsumerFilters
from broker_core.broker.message_filter import MessageFilter, retry_filter, sql_filter, tag_filter
from broker_core.broker.peer import Peer
from broker_core.broker.pull_holds import HeldPull, PullHolds
from broker_core.broker.state import BrokerState
from broker_core.broker.subscription import Subscription, parse_subscription
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.filter.evaluator import compile_filter
from broker_core.nameserver.registration import PERM_READ
from broker_core.remoting.codes import RequestCode, ResponseCode
from broker_core.remoting.fields import int_field, long_field, text_field
from broker_core.remoting.frame import RemotingCommand
from broker_core.store.results import Arrival, GetResult, GetStatus, Place

logger = logging.getLogger(__name__)

FLAG_COMMIT_OFFSET = 1
FLAG_SUSPEND = 2
FLAG_SUBSCRIPTION = 4

SUSPEND_MS_MAX = 300_000
"""Longest time a pull is held, whatever the client asks for."""

BEHIND_TICK_MS = 5_000
"""How often held pulls are checked for messages that their filter does not want (Source: spec broker §5.4)."""

PULL_MESSAGES_MAX = 10_000
"""Largest count that a client may ask for; the store's own limits are smaller as a rule."""

COLD_READS_MAX = 16
"""Reads of old messages by threads at a time; for one more pull the loop itself waits."""

_PARSED_EXPRESSIONS = 4096

_CODES = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}
_EMPTY_QUEUE = (GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.NO_MESSAGE_IN_QUEUE)


@dataclass(frozen=True, slots=True)
class PullHeader:
    """What a consumer asks for."""

    group: str
    topic: str
    queue_id: int
    offset: int
    count_max: int
    flags: int
    commit_offset: int
    suspend_ms: int
    expression: str | None
    expression_type: str | None
    subscription_version: int


@dataclass(frozen=True, slots=True)
class _Pull:
    """A pull that passed all checks."""

    command: RemotingCommand
    header: PullHeader
    wanted: MessageFilter


def parse_pull_header(command: RemotingCommand) -> PullHeader:
    """Read the header of a pull.

    Raises:
        RequestRefusedError: A mandatory field is missing or not a number.
    """
    fields = command.ext_fields
    return PullHeader(
        group=text_field(fields, "consumerGroup"),
        topic=text_field(fields, "topic"),
        queue_id=int_field(fields, "queueId"),
        offset=long_field(fields, "queueOffset"),
        count_max=min(max(int_field(fields, "maxMsgNums"), 1), PULL_MESSAGES_MAX),
        flags=int_field(fields, "sysFlag", 0),
        commit_offset=long_field(fields, "commitOffset", 0),
        suspend_ms=min(max(long_field(fields, "suspendTimeoutMillis", 0), 0), SUSPEND_MS_MAX),
        expression=fields.get("subscription"),
        expression_type=fields.get("expressionType"),
        subscription_version=long_field(fields, "subVersion", 0),
    )


class PullProcessor:
    """Serves PULL_MESSAGE and LITE_PULL_MESSAGE.

    Register `arrived` as arrival listener of the store: it runs inside of the put, so a held pull is answered in the same turn
    of the loop in which its message was stored. Call `tick` once a second.
    """

    def __init__(self, state: BrokerState, filters: ConsumerFilters) -> None:
        self._state = state
        self._filters = filters
        self._store = state.store
        self._counters = state.counters
        self._next_behind_ms = 0
        self._cold_reads = 0
        self.holds = PullHolds()

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve a pull on its first arrival; None when it is held."""
        try:
            header = parse_pull_header(command)
            self._check(header, lite=command.code == RequestCode.LITE_PULL_MESSAGE)
            wanted = self._wanted(header)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message)
        self._state.consumers.pulled(peer, header.group, header.topic, header.queue_id)
        pull = _Pull(command, header, wanted)
        if header.flags & FLAG_COMMIT_OFFSET:
            self._state.offsets.commit(header.group, header.topic, header.queue_id, header.commit_offset)
        result = self._read(pull)
        code = _code(result.status, header.offset)
        if code == ResponseCode.PULL_NOT_FOUND and header.flags & FLAG_SUSPEND and self._hold(peer, pull):
            return None
        if result.far_back and self._cold_reads < COLD_READS_MAX:
            if not self._store.is_in_memory(result.far_back):
                # Answered when a thread has read the records: the loop, and so the producers, do not wait for the disk.
                self._read_in_thread(self._store.bring_to_memory, result, lambda: self._answer_again(peer, pull))
                return None
            if not self._store.is_ahead_in_memory(result.far_back):
                self._read_in_thread(self._store.read_ahead, result, lambda: None)
        return self._answer(pull, result, code)

    def _answer_again(self, peer: Peer, pull: _Pull) -> None:
        """Read once more what is in memory now: only there can be seen whether units lead to records."""
        result = self._read(pull)
        peer.send(self._answer(pull, result, _code(result.status, pull.header.offset)))

    def _read_in_thread(self, read: Callable[[Sequence[Place]], None], result: GetResult, then: Callable[[], object]) -> None:
        def done(reading: asyncio.Future[None]) -> None:
            self._cold_reads -= 1
            if reading.cancelled():
                return
            if (error := reading.exception()) is not None:
                logger.warning("old messages could not be read ahead: %s", error)
            then()

        self._cold_reads += 1
        asyncio.get_running_loop().run_in_executor(None, read, result.far_back).add_done_callback(done)

    # ---- checks ----

    def _check(self, header: PullHeader, *, lite: bool) -> None:
        state = self._state
        if not state.config.permission & PERM_READ or (lite and not state.config.lite_pull):
            _refuse(ResponseCode.NO_PERMISSION, f"the broker[{state.config.advertised_host}] pulling message is forbidden")
        group = state.groups.find(header.group)
        if group is None:
            remark = f"subscription group [{header.group}] does not exist, See {names.FAQ_URL} for further details."
            _refuse(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group.consume_enabled:
            _refuse(ResponseCode.NO_PERMISSION, f"subscription group no permission, {header.group}")
        if not state.groups.may_read(header.group, header.topic):
            remark = f"the consumer group[{header.group}] is forbidden for topic[{header.topic}]"
            _refuse(ResponseCode.NO_PERMISSION, remark)
        topic = state.topics.get(header.topic)
        if topic is None:
            remark = f"topic[{header.topic}] not exist, apply first please! See {names.FAQ_URL} for further details."
            _refuse(ResponseCode.TOPIC_NOT_EXIST, remark)
        if not topic.readable:
            _refuse(ResponseCode.NO_PERMISSION, f"the topic[{header.topic}] pulling message is forbidden")
        if not 0 <= header.queue_id < topic.read_queues:
            remark = (
                f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] "
                f"topicConfig.readQueueNums:[{topic.read_queues}] consumer:[{header.group}]"
            )
            _refuse(ResponseCode.SYSTEM_ERROR, remark)

    def _wanted(self, header: PullHeader) -> MessageFilter:
        """Which messages the pull is for, by its own expression or by the group's heartbeats."""
        inline = bool(header.flags & FLAG_SUBSCRIPTION)
        subscription = self._inline(header) if inline else self._registered(header)
        if subscription.is_tag:
            if self._state.config.filter_support_retry and header.topic == names.retry_topic(header.group):
                return retry_filter(header.group, self._filters)
            return tag_filter(header.topic, subscription)
        if not self._state.config.property_filter:
            _refuse(ResponseCode.SYSTEM_ERROR, filter_off_remark(subscription.expression_type))
        return self._inline_sql(subscription) if inline else self._registered_sql(header)

    def _inline(self, header: PullHeader) -> Subscription:
        try:
            return _parsed(header.topic, header.expression, header.expression_type)
        except CodecError as error:
            raise _parse_failed(error.message) from error

    def _inline_sql(self, subscription: Subscription) -> MessageFilter:
        if subscription.expression_type != SQL92:
            raise _parse_failed(f"there is no filter type {subscription.expression_type[:40]}; write TAG or SQL92")
        try:
            return sql_filter(compile_filter(subscription.expression))
        except CodecError as error:
            raise _parse_failed(error.message) from error

    def _registered_sql(self, header: PullHeader) -> MessageFilter:
        data = self._filters.get(header.topic, header.group)
        if data is None:
            remark = f"the filter data of group[{header.group}] on topic[{header.topic}] not exist; a heartbeat must come first"
            _refuse(ResponseCode.FILTER_DATA_NOT_EXIST, remark)
        if data.client_version < header.subscription_version:
            remark = (
                f"the consumer's filter data is not latest: {data.client_version} is known, {header.subscription_version} asked"
            )
            _refuse(ResponseCode.FILTER_DATA_NOT_LATEST, remark)
        return sql_filter(data.compiled)

    def _registered(self, header: PullHeader) -> Subscription:
        """The subscription from the group's heartbeats."""
        group = self._state.consumers.group(header.group)
        if group is None:
            remark = f"the consumer's group info not exist, group: {header.group}; a heartbeat must come first"
            _refuse(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        config = self._state.groups.get(header.group)
        if group.broadcasting and config is not None and not config.broadcast_enabled:
            _refuse(ResponseCode.NO_PERMISSION, f"the consumer group[{header.group}] can not consume by broadcast way")
        subscription = group.subscriptions.get(header.topic)
        if subscription is None:
            remark = f"the consumer's subscription not exist, group: {header.group}, topic: {header.topic}"
            _refuse(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if subscription.version < header.subscription_version:
            remark = (
                f"the consumer's subscription not latest: {subscription.version} is known, {header.subscription_version} asked"
            )
            _refuse(ResponseCode.SUBSCRIPTION_NOT_LATEST, remark)
        return subscription

    # ---- reading ----

    def _read(self, pull: _Pull) -> GetResult:
        header = pull.header
        started = perf_counter()
        wanted = pull.wanted
        result = self._store.get_messages(
            header.topic, header.queue_id, header.offset, header.count_max, accepts=wanted.accepts, matches=wanted.matches
        )
        self._counters.get_took(perf_counter() - started)
        return result

    def _answer(self, pull: _Pull, result: GetResult, code: ResponseCode) -> RemotingCommand:
        header = pull.header
        if code == ResponseCode.SUCCESS:
            self._counters.got(header.topic, header.group, len(result.records), result.total_bytes)
        else:
            self._counters.get_missed += 1
        fields = {
            "suggestWhichBrokerId": str(self._suggested_broker(header.group, result)),
            "nextBeginOffset": str(result.next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
        }
        return pull.command.reply(code, result.status.value, fields, body_slices=result.records)

    def _suggested_broker(self, group: str, result: GetResult) -> int:
        """Id of the broker to pull from next (Source: spec broker §5.3)."""
        config = self._state.groups.get(group) if self._state.config.slave_read else None
        if config is None:
            return 0
        return config.broker_id_when_slow if result.suggest_slave else config.broker_id

    # ---- holding ----

    def _hold(self, peer: Peer, pull: _Pull) -> bool:
        header, config = pull.header, self._state.config
        hold_ms = header.suspend_ms if config.long_polling else config.short_polling_ms
        deadline_ms = self._state.clock() + hold_ms
        wanted = pull.wanted
        held = HeldPull(
            peer, header.topic, header.queue_id, header.offset, deadline_ms, wanted.accepts, pull, matches=wanted.matches
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
            self._answer_held(held)

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

    def _answer_held(self, held: HeldPull) -> None:
        pull: _Pull = held.request
        result = self._read(pull)
        held.peer.send(self._answer(pull, result, _code(result.status, pull.header.offset)))


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
