"""Whether a timer message is accepted, and its slot (Source: docs/spec/broker.md §3.6, steps 1 to 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from broker_core.engine.schedule.timer.messages import ADDED_BYTES, ASKING, DELAY_MS, DELAY_SECONDS, DELETE_KEY, OUT_MS
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX, REAL_QUEUE_ID, REAL_TOPIC

_RESERVED_BYTES = ADDED_BYTES + len(f"{OUT_MS}=,{REAL_TOPIC}=,{REAL_QUEUE_ID}=,") + 160
_TIME_MAX = (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


class TimerFault(Enum):
    """Why a timer message is refused, by the put statuses of 5.x."""

    NOT_ENABLED = "WHEEL_TIMER_NOT_ENABLE"
    ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"
    FLOW_CONTROL = "WHEEL_TIMER_FLOW_CONTROL"
    NO_ROOM = "PROPERTIES_SIZE_EXCEEDED"


class TimerRefusal(NamedTuple):
    """A refusal, with the text for the client."""

    fault: TimerFault
    text: str


@dataclass(frozen=True, slots=True)
class TimerLimits:
    """Settings that decide about acceptance.

    Attributes:
        is_enabled: ``timerWheelEnable``.
        precision_ms: ``timerPrecisionMs``.
        delay_max_ms: ``timerMaxDelaySec``, in milliseconds.
        congest_messages: ``timerCongestNumEachSlot``.
    """

    is_enabled: bool
    precision_ms: int
    delay_max_ms: int
    congest_messages: int

    @property
    def of_accepted(self) -> TimerLimits:
        """The limits of a message that was accepted before: no delay is too long, and no slot too full."""
        return replace(self, delay_max_ms=_TIME_MAX, congest_messages=_TIME_MAX)


def slot_for(
    properties: Mapping[str, str],
    limits: TimerLimits,
    now_ms: int,
    *,
    congestion: Callable[[int], int],
    choose: Callable[[int], int],
) -> int | TimerRefusal | None:
    """``TIMER_OUT_MS`` of a message; None when it is due already and stored like any other.

    Args:
        properties: Of the message, including one of `ASKING`.
        limits: Settings.
        now_ms: Time.
        congestion: Messages in the slot of a time.
        choose: Returns a random number below its argument, for refusals between once and twice the congestion limit.
    """
    name = next(name for name in ASKING if name in properties)
    text = properties[name]
    asked = f"{name}={text[:40]}"
    if not limits.is_enabled:
        remark = f"accurate timer message is not enabled, timerWheelEnable is false ({asked}); send with a delay level"
        return TimerRefusal(TimerFault.NOT_ENABLED, remark)
    due_ms = _due_ms(name, text, now_ms)
    if due_ms is None:
        return TimerRefusal(TimerFault.ILLEGAL, f"timer message illegal: {asked} is no whole number of 64 bits")
    if due_ms <= now_ms:
        if DELETE_KEY not in properties:
            return None
        remark = f"timer message illegal: {asked} has passed, the message it is to cancel was delivered or is not known"
        return TimerRefusal(TimerFault.ILLEGAL, remark)
    if due_ms - now_ms > limits.delay_max_ms:
        remark = (
            f"timer message illegal, the delay time should not be bigger than the max delay {limits.delay_max_ms}ms "
            f"(timerMaxDelaySec); {asked} is {due_ms - now_ms}ms ahead"
        )
        return TimerRefusal(TimerFault.ILLEGAL, remark)
    no_room = _room_refusal(properties)
    if no_room is not None:
        return no_room
    out_ms = (due_ms - 1) // limits.precision_ms * limits.precision_ms
    waiting, limit = congestion(out_ms), limits.congest_messages
    if _is_congested(waiting, limit, choose):
        remark = (
            f"timer message is under flow control, max num limit is {2 * limit} or the current value is greater than {limit} "
            f"and less than {2 * limit}, trigger random flow control ({waiting} messages are due at that time)"
        )
        return TimerRefusal(TimerFault.FLOW_CONTROL, remark)
    return out_ms


def _room_refusal(properties: Mapping[str, str]) -> TimerRefusal | None:
    """The refusal of a message without room for the properties that a timer adds; None if there is room."""
    length = sum(len(key.encode()) + len(value.encode()) + 2 for key, value in properties.items())
    if length + _RESERVED_BYTES <= PROPERTIES_BYTES_MAX:
        return None
    remark = (
        f"timer message illegal: its properties have {length} bytes, {PROPERTIES_BYTES_MAX - _RESERVED_BYTES} are allowed, "
        "because the broker adds its own"
    )
    return TimerRefusal(TimerFault.NO_ROOM, remark)


def _due_ms(name: str, text: str, now_ms: int) -> int | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    if name == DELAY_SECONDS:
        number = now_ms + number * 1_000
    elif name == DELAY_MS:
        number += now_ms
    return number if -_TIME_MAX <= number <= _TIME_MAX else None


def _is_congested(waiting: int, limit: int, choose: Callable[[int], int]) -> bool:
    if waiting <= limit:
        return False
    # 5.x refuses less often the fuller the slot is; the opposite is meant (Source: docs/spec/broker.md §3.6 step 5).
    return waiting >= 2 * limit or choose(1_000) < 1_000 * (waiting - limit) // limit
