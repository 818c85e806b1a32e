"""The handle of a timer message, which a producer receives and sends to cancel it.

    base64 (URL-safe) of: v1 <topic> <broker name> <time> <unique key>, single spaces

The time is ``TIMER_OUT_MS`` + 1, which aligns to the same slot again.

Source: docs/spec/remoting.md §2.6.4, docs/spec/broker.md §3.6.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from broker_core.engine.schedule.timer.messages import OUT_MS
from broker_core.protocol.message.properties import (
    ITEM_SEPARATOR,
    NAME_SEPARATOR,
    REAL_TOPIC,
    UNIQUE_KEY,
    find_property,
    number_of,
)
from broker_core.protocol.names import RETRY_PREFIX

_VERSION = "v1"
_PARTS = 5


class RecallHandle(NamedTuple):
    """The content of a handle; ``deliver_ms`` is the time of the message."""

    topic: str
    broker_name: str
    deliver_ms: int
    unique_key: str


def encode_handle(topic: str, broker_name: str, out_ms: int, unique_key: str) -> str:
    """Handle of a message in the slot ``out_ms``."""
    text = " ".join((_VERSION, topic, broker_name, str(out_ms + 1), unique_key))
    return base64.urlsafe_b64encode(text.encode()).decode()


def recall_fields(properties: bytes, broker_name: str) -> dict[str, str]:
    """More fields for the answer to a send, from the properties of a message put into the wheel topic."""
    topic, out, unique_key = (find_property(properties, name) for name in (REAL_TOPIC, OUT_MS, UNIQUE_KEY))
    out_ms = number_of(out)
    if topic is None or unique_key is None or topic.startswith(RETRY_PREFIX) or out_ms < 0:
        return {}
    return {"recallHandle": encode_handle(topic, broker_name, out_ms, unique_key)}


def decode_handle(text: str) -> RecallHandle | None:
    """A handle's content; None for an invalid one."""
    try:
        data = base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    parts = data.split(" ")
    if len(parts) < _PARTS or parts[0] != _VERSION:
        return None
    topic, broker_name, time, unique_key = parts[1:_PARTS]
    if not topic or not unique_key or any(separator in data for separator in (NAME_SEPARATOR, ITEM_SEPARATOR)):
        return None  # its parts become properties, where a separator would begin another one
    return RecallHandle(topic, broker_name, number_of(time), unique_key)
