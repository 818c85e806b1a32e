"""Changes of a message before it is stored: half messages, timers and delays enter a queue of the broker's own first.

    half (TRAN_MSG) ── else ── delay level (DELAY) ── else ── timer (TIMER_*) ── else ── stored as it is

Each kind is one function from draft to draft. A message whose service does not run is refused.

Source: docs/spec/broker.md §2.8 step 8, §3.2, §3.6, §4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from broker_core.errors import RequestRefusedError
from broker_core.outside import signed_of
from broker_core.protocol import names
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK

TIMER_PROPERTIES = ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS")


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDraft:
    """The part of a message that decides its place in the store; a rewrite changes topic and queue to the internal ones."""

    topic: str
    queue_id: int
    properties: dict[str, str]
    sys_flag: int = 0
    reconsume_times: int = 0
    is_batch: bool = False
    was_accepted: bool = False
    """Whether a client's send of it was answered, so that limits of sends hold no longer."""


Rewrite = Callable[[PutDraft], PutDraft]


class PutRewrites:
    """The rewrites of one broker. The transaction service replaces ``half``, the timer service ``timer``."""

    def __init__(self, levels: DelayLevels) -> None:
        self._levels = levels
        self.half: Rewrite = refuse_half
        self.timer: Rewrite = refuse_timer

    def place(self, draft: PutDraft) -> PutDraft:
        """The place of a client's message, or the same draft. Raises `RequestRefusedError` where it may not be stored so."""
        if is_half(draft):
            refuse_batch(draft, props.TRANSACTION_PREPARED)
            return self.half(draft)
        return self.schedule(draft)

    def schedule(self, draft: PutDraft) -> PutDraft:
        """`place` for a message that is no half message: a commit, a retry."""
        if delay_level(draft) > 0:
            refuse_batch(draft, props.DELAY)
            return rewrite_delayed(draft, self._levels)
        timer = next((name for name in TIMER_PROPERTIES if name in draft.properties), None)
        if timer is not None:
            refuse_batch(draft, timer)
            return self.timer(draft)
        return draft


def is_half(draft: PutDraft) -> bool:
    """Whether a send is the first phase of a transaction.

    A retry with a delay is none: old clients leave the mark in the message (Source: docs/spec/broker.md §2.8 step 8).
    """
    if draft.reconsume_times > 0 and delay_level(draft) > 0:
        return False
    marked = draft.properties.get(props.TRANSACTION_PREPARED, "").lower() == "true"
    return marked or bool(draft.sys_flag & TRANSACTION_MASK)


def delay_level(draft: PutDraft) -> int:
    """The DELAY property as a number; 0 without one. Raises `RequestRefusedError` for any other text."""
    text = draft.properties.get(props.DELAY, "0")
    level = signed_of(text)
    if level is None:
        remark = f"the delay level {props.DELAY}={text[:40]} is no whole number; send a level from 1 up"
        raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)
    return level


def rewrite_delayed(draft: PutDraft, levels: DelayLevels) -> PutDraft:
    """Send a message to the queue of its delay level; one above the last is the last (Source: docs/spec/broker.md §3.2).

    A timer property beside the level does not count (Source: docs/spec/broker.md §3.6).
    """
    level = min(delay_level(draft), levels.count)
    properties = {name: value for name, value in draft.properties.items() if name not in TIMER_PROPERTIES}
    properties[props.DELAY] = str(level)
    return to_internal_queue(replace(draft, properties=properties), names.SCHEDULE_TOPIC, level - 1)


def to_internal_queue(draft: PutDraft, topic: str, queue_id: int) -> PutDraft:
    """Change the place of a message; its properties keep the requested one."""
    real = {props.REAL_TOPIC: draft.topic, props.REAL_QUEUE_ID: str(draft.queue_id)}
    return replace(draft, topic=topic, queue_id=queue_id, properties=draft.properties | real)


def refuse_batch(draft: PutDraft, name: str) -> None:
    """Refuse a batch with a property that only single messages can have."""
    if draft.is_batch:
        wrong = f"{name}={draft.properties[name]}" if name in draft.properties else name
        remark = f"a batch may be neither delayed nor transactional; this one has {wrong}"
        raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)


def refuse_half(_draft: PutDraft) -> PutDraft:
    """Answer of a broker without a transaction service."""
    remark = "transactional messages are not supported by this version of the broker; send without a transaction"
    raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)


def refuse_timer(draft: PutDraft) -> PutDraft:
    """Answer of a broker without a timer service."""
    timer = next(name for name in TIMER_PROPERTIES if name in draft.properties)
    remark = (
        f"messages with a time of their own are not supported by this version of the broker ({timer}="
        f"{draft.properties[timer][:40]}); send with a delay level"
    )
    raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)
