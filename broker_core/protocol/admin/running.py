"""A consumer's report of itself (ConsumerRunningInfo), and its result of one message (ConsumeMessageDirectlyResult).

Source: docs/spec/remoting.md §2.4 (309), §4.8 (203, 307), docs/spec/broker.md §10.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from broker_core.protocol.admin.values import Body, items_of, members_of, number_or_nan
from broker_core.protocol.json_body import JsonBodyError, as_message_queue, parse_object


@dataclass(frozen=True, slots=True)
class ProcessQueueInfo:
    """A queue as its owner sees it. Times in ms since the epoch, 0: never."""

    topic: str
    broker_name: str
    queue_id: int
    held_messages: int
    held_mib: int
    commit_offset: int
    last_pull_ms: int
    last_consume_ms: int
    is_locked: bool
    is_dropped: bool


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """The report of one client of a group. Rates in messages/s, times in ms; NaN and -1 are unknown."""

    client_id: str
    version: str
    is_orderly: bool
    start_ms: int
    threads: int
    subscriptions: tuple[tuple[str, str], ...]
    """Topic and filter expression, by topic."""
    queues: tuple[ProcessQueueInfo, ...]
    consumed_rate: float
    failed_rate: float
    consume_ms: float
    stacks: str
    properties: tuple[tuple[str, str], ...]

    @property
    def held_messages(self) -> int:
        return sum(queue.held_messages for queue in self.queues)


class ConsumeOutcome(Enum):
    """What a listener answered, by RocketMQ's name; `UNKNOWN` for names of later versions."""

    SUCCESS = "CR_SUCCESS"
    LATER = "CR_LATER"
    ROLLBACK = "CR_ROLLBACK"
    COMMIT = "CR_COMMIT"
    THREW = "CR_THROW_EXCEPTION"
    RETURNED_NULL = "CR_RETURN_NULL"
    UNKNOWN = ""

    @property
    def is_consumed(self) -> bool:
        return self in (ConsumeOutcome.SUCCESS, ConsumeOutcome.COMMIT)


@dataclass(frozen=True, slots=True)
class DirectConsumeResult:
    """Answer of a consumer to one message that was sent to its listener."""

    outcome: ConsumeOutcome
    name: str
    """The outcome in the words of the consumer."""
    remark: str
    """Of an exception its text, often with the stack."""
    spent_ms: int
    """-1 unknown"""
    is_orderly: bool


def read_running_info(client_id: str, body: Body) -> RunningInfo:
    """A ConsumerRunningInfo, from GET_CONSUMER_RUNNING_INFO; missing values are unknown. Raises `JsonBodyError`."""
    value = parse_object(body)
    properties = {str(key): str(text) for key, text in members_of(value.get("properties")).items()}
    statuses = [members_of(status) for status in members_of(value.get("statusTable")).values()]
    times = [number_or_nan(status["consumeRT"]) for status in statuses if "consumeRT" in status]
    return RunningInfo(
        client_id=client_id,
        version=properties.get("PROP_CLIENT_VERSION", ""),
        is_orderly=properties.get("PROP_CONSUMEORDERLY", "false").lower() == "true",
        start_ms=_whole(properties.get("PROP_CONSUMER_START_TIMESTAMP"), -1),
        threads=_whole(properties.get("PROP_THREADPOOL_CORE_SIZE"), -1),
        subscriptions=tuple(sorted(_subscription(members_of(item)) for item in items_of(value.get("subscriptionSet")))),
        queues=tuple(sorted(_queues(members_of(value.get("mqTable"))), key=lambda queue: (queue.topic, queue.queue_id))),
        consumed_rate=_sum(statuses, "consumeOKTPS"),
        failed_rate=_sum(statuses, "consumeFailedTPS"),
        consume_ms=max(times, default=math.nan),
        stacks=str(value.get("jstack") or ""),
        properties=tuple(sorted(properties.items())),
    )


def read_consume_result(body: Body) -> DirectConsumeResult:
    """A ConsumeMessageDirectlyResult, from CONSUME_MESSAGE_DIRECTLY; raises `JsonBodyError`."""
    value = parse_object(body)
    name, spent = value.get("consumeResult"), value.get("spentTimeMills")
    if not isinstance(name, str):
        raise JsonBodyError("the consumer's answer names no consumeResult")
    known = {outcome.value: outcome for outcome in ConsumeOutcome}
    return DirectConsumeResult(
        outcome=known.get(name, ConsumeOutcome.UNKNOWN),
        name=name,
        remark=str(value.get("remark") or ""),
        spent_ms=spent if isinstance(spent, int) else -1,
        is_orderly=value.get("order") is True,
    )


def _queues(table: Mapping[Any, Any]) -> list[ProcessQueueInfo]:
    rows = [(as_message_queue(key), members_of(value)) for key, value in table.items()]
    return [
        ProcessQueueInfo(
            topic=queue.topic,
            broker_name=queue.broker_name,
            queue_id=queue.queue_id,
            held_messages=_whole(held.get("cachedMsgCount"), 0),
            held_mib=_whole(held.get("cachedMsgSizeInMiB"), 0),
            commit_offset=_whole(held.get("commitOffset"), -1),
            last_pull_ms=_whole(held.get("lastPullTimestamp"), 0),
            last_consume_ms=_whole(held.get("lastConsumeTimestamp"), 0),
            is_locked=bool(held.get("locked")),
            is_dropped=bool(held.get("droped")),
        )
        for queue, held in rows
        if queue is not None
    ]


def _subscription(item: Mapping[Any, Any]) -> tuple[str, str]:
    return str(item.get("topic", "")), str(item.get("subString", ""))


def _whole(value: object, unknown: int) -> int:
    number = number_or_nan(value)
    return round(number) if abs(number) < 1 << 62 else unknown


def _sum(statuses: Sequence[Mapping[Any, Any]], key: str) -> float:
    known = [number_or_nan(status[key]) for status in statuses if key in status]
    return sum(known) if known else math.nan
