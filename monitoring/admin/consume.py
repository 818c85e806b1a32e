"""One message for one consumer, outside of its queue: request and result. Pure.

Source: docs/spec/remoting.md §2.4 (309), §4.8 (ConsumeMessageDirectlyResult).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from broker_core.api import JsonBodyError, RequestCode, parse_object
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.stored_messages import MessageDetail


class Outcome(Enum):
    """What a listener answered, by RocketMQ's name; `UNKNOWN` for names that later versions bring."""

    SUCCESS = "CR_SUCCESS"
    LATER = "CR_LATER"
    ROLLBACK = "CR_ROLLBACK"
    COMMIT = "CR_COMMIT"
    THREW = "CR_THROW_EXCEPTION"
    RETURNED_NULL = "CR_RETURN_NULL"
    UNKNOWN = ""

    @property
    def is_consumed(self) -> bool:
        """Whether the listener took the message."""
        return self in (Outcome.SUCCESS, Outcome.COMMIT)


@dataclass(frozen=True, slots=True)
class ConsumeResult:
    """Answer of a consumer that was given one message."""

    outcome: Outcome
    name: str
    """As the consumer wrote it."""
    remark: str
    """Of an exception its text, often with the stack."""
    spent_ms: int
    """-1 unknown"""
    is_orderly: bool


def consume_request(group: str, client_id: str, detail: MessageDetail) -> AskBroker:
    """Give a stored message to one client's listener. It moves no offset; what the listener does, it does."""
    fields = {
        "consumerGroup": group,
        "clientId": client_id,
        "msgId": detail.offset_message_id,
        "topic": detail.topic,
    }
    return AskBroker(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)


def read_consume_result(body: bytes) -> ConsumeResult:
    """What the listener made of it.

    Raises:
        JsonBodyError: The body is no such result.
    """
    found = parse_object(body)
    name, spent = found.get("consumeResult"), found.get("spentTimeMills")
    if not isinstance(name, str):
        raise JsonBodyError("the consumer's answer names no consumeResult")
    known = {outcome.value: outcome for outcome in Outcome}
    return ConsumeResult(
        outcome=known.get(name, Outcome.UNKNOWN),
        name=name,
        remark=str(found.get("remark") or ""),
        spent_ms=spent if isinstance(spent, int) else -1,
        is_orderly=found.get("order") is True,
    )
