"""Sending dead letters again: target, kept and changed parts, rate. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from broker_core.api import ORIGIN_LINK
from broker_core.worker.questions.stored_messages import MessageDetail
from monitoring.compose.delivery import SHARDING_KEY
from monitoring.dead_letters import DeadLetter

KEYS, TAGS = "KEYS", "TAGS"
PACE_DEFAULT, PACE_MAX = 20, 1_000
"""Messages per second."""
_ALWAYS_KEPT = frozenset({
    KEYS, TAGS, SHARDING_KEY, ORIGIN_LINK, "RETRY_TOPIC", "UNIQ_KEY", "WAIT", "MSG_REGION", "TRACE_ON", "INSTANCE_ID",
    "traceparent",
})  # fmt: skip
"""Properties set by clients and brokers, not by users; keys, tag and order key are chosen separately."""


class ResendTarget(Enum):
    GROUP = "group"
    TOPIC = "topic"
    OTHER = "other"


class Part(Enum):
    KEYS = "keys"
    TAG = "tag"
    PROPERTIES = "properties"
    ORDER_KEY = "order key"


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of bodies: every ``find`` in each body becomes ``put``, or a single body is replaced.

    Attributes:
        find: Text to replace; empty: none.
        put: The replacement.
        of: Offset message id of the only dead letter that is changed, to the body ``written``; empty: none.
    """

    find: str = ""
    put: str = ""
    of: str = ""
    written: str = ""

    @property
    def is_any(self) -> bool:
        return bool(self.find or self.of)

    def applied(self, letter: DeadLetter, text: str) -> str:
        """The text of a letter's body after the change."""
        if self.of:
            return self.written if letter.offset_message_id == self.of else text
        return text.replace(self.find, self.put) if self.find else text

    def changes(self, letter: DeadLetter) -> bool:
        """Whether the change alters a body that can be edited."""
        return letter.is_whole and self.applied(letter, letter.body) != letter.body


@dataclass(frozen=True, slots=True)
class ResendOrder:
    """The options of a resend.

    Attributes:
        topic: With `ResendTarget.OTHER`, the topic.
        keeps: Kept parts besides the body.
        rate: Messages per second at most.
        failures_max: Consecutive failures that end it.
    """

    target: ResendTarget = ResendTarget.GROUP
    topic: str = ""
    patch: Patch = Patch()
    keeps: frozenset[Part] = frozenset(Part)
    rate: int = PACE_DEFAULT
    failures_max: int = 1

    @property
    def changes(self) -> int:
        """Number of changes to each message."""
        return self.patch.is_any + len(set(Part) - self.keeps)


def resent_row(detail: MessageDetail, letter: DeadLetter, order: ResendOrder) -> dict[str, Any]:
    """A dead letter as a line of the file that a replay sends; the replay leaves out properties of brokers and consumers.

    ``detail`` and ``letter`` are the same message; a letter that was shown cut or masked is not edited.
    """
    body = order.patch.applied(letter, detail.body.decode()).encode() if order.patch.changes(letter) else detail.body
    properties = _kept(detail.properties, order.keeps)
    if letter.origin_topic:
        properties["RETRY_TOPIC"] = letter.origin_topic
    return {
        "topic": detail.topic,
        "queueId": detail.queue_id,
        "queueOffset": detail.queue_offset,
        "flag": detail.flag,
        "bornTimestamp": detail.born_ms,
        "storeTimestamp": detail.store_ms,
        "properties": properties,
        "body": b64encode(body).decode(),
        "offsetMsgId": detail.offset_message_id,
    }


def _kept(properties: Mapping[str, str], keeps: frozenset[Part]) -> dict[str, str]:
    dropped = {Part.KEYS: KEYS, Part.TAG: TAGS, Part.ORDER_KEY: SHARDING_KEY}
    left_out = {name for part, name in dropped.items() if part not in keeps}
    if Part.PROPERTIES not in keeps:
        left_out |= properties.keys() - _ALWAYS_KEPT
    return {name: value for name, value in properties.items() if name not in left_out}


@dataclass(frozen=True, slots=True)
class ResendOutcome:
    """The result of a resend for each dead letter.

    Attributes:
        sent: Offset message ids of those that the broker stored.
        refused: Ids of those that it did not store, and why.
        doubtful: Ids of those without an answer, and why: they may be stored.
        left: Ids of those that were not tried, because the resend ended first.
    """

    sent: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    doubtful: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()

    def followed_by(self, later: ResendOutcome) -> ResendOutcome:
        """The result after the letters that were not sent were tried again."""
        return replace(later, sent=self.sent + later.sent, doubtful=self.doubtful + later.doubtful)


def edit_counts(letters: Sequence[DeadLetter], patch: Patch) -> tuple[int, int]:
    """Numbers of dead letters: those that a change alters, and those that cannot be edited here."""
    return sum(map(patch.changes, letters)), sum(not letter.is_whole for letter in letters)
