from __future__ import annotations

from functools import lru_cache
from typing import NoReturn

from broker_core.engine.processors.message_filter import EVERYTHING, MessageFilter, retry_filter, sql_filter, tag_filter
from broker_core.engine.processors.plain.requests import PlainPull
from broker_core.engine.processors.pull_request import FLAG_SUBSCRIPTION, PullTerms
from broker_core.engine.tables.consumer_filters import SQL92, ConsumerFilters
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.topics import PERM_READ
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.filter.evaluator import compile_filter
from broker_core.protocol.subscription import Subscription, parse_subscription

_PARSED_EXPRESSIONS = 4096
_REMEMBERED_CHARS_MAX = 256
"""Longer expressions are parsed each time, because they could fill the memory."""


class PullAdmission:
    """Checks whether a consumer may read a queue, and which of its messages (Source: docs/spec/broker.md §5.1, §9).

    ``filters`` are the SQL92 filters of consumer groups.
    """

    def __init__(self, state: BrokerState, filters: ConsumerFilters) -> None:
        self._state = state
        self._filters = filters

    def admit(self, terms: PullTerms, *, lite: bool) -> MessageFilter:
        """Check a pull; returns the filter of its messages. Raises `RequestRefusedError` with code and remark."""
        self._check(terms, lite=lite)
        return self.wanted(terms)

    def admit_plain(self, pull: PlainPull) -> MessageFilter:
        """`admit` for a pull of the kernel: checked again only when a setting, a topic, a group or a subscription changed."""
        terms, grant, state = pull.terms, pull.grant, self._state
        subscription, is_broadcasting = None, False
        if not terms.flags & FLAG_SUBSCRIPTION and (group := state.consumers.group(terms.group)) is not None:
            subscription, is_broadcasting = group.subscriptions.get(terms.topic), group.broadcasting
        seen = state.config, state.groups.version, state.topics.version, subscription, is_broadcasting
        if grant.seen == seen:
            return EVERYTHING
        grant.seen = ()
        wanted = self.admit(terms, lite=pull.is_lite)
        if wanted.takes_all:
            # From before the check, so that a pull which created its group is checked once more.
            grant.seen = seen
        return wanted

    def suggested_broker(self, group: str, *, slow: bool) -> int:
        """Id of the broker to pull from next (Source: docs/spec/broker.md §5.3)."""
        config = self._state.groups.get(group) if self._state.config.slave_read else None
        if config is None:
            return 0
        return config.broker_id_when_slow if slow else config.broker_id

    def _check(self, terms: PullTerms, *, lite: bool) -> None:
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
        """The filter of a pull, by its own expression or by the group's heartbeats. Raises as `admit`."""
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


@lru_cache(maxsize=_PARSED_EXPRESSIONS)
def _parsed(topic: str, expression: str | None, expression_type: str | None) -> Subscription:
    # Go and C++ clients send their expression with every pull.
    return parse_subscription(topic, expression, expression_type=expression_type)


def filter_off_remark(expression_type: str) -> str:
    """Remark of an answer to a request for a filter that is switched off; clients know its first part."""
    return (
        f"The broker does not support consumer to filter message by {expression_type[:40]}; "
        "set enablePropertyFilter=true to have SQL92 filters"
    )


def _parse_failed(reason: str) -> RequestRefusedError:
    remark = f"parse the consumer's subscription failed: {reason}"
    return RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_PARSE_FAILED)


def _refuse(code: ResponseCode, remark: str) -> NoReturn:
    raise RequestRefusedError(remark, code=code)
