"""Rows of the message pages, input of people there, and drafts. Pure: no widget, no I/O.

Nothing here changes a message; `monitoring.payload` reads bodies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from enum import Enum

import numpy as np

from broker_core.api import UnclearTimeError, instant_ms, read_document, resent_properties, retry_names
from broker_core.api import names as reserved
from broker_core.outside import whole_of
from broker_core.worker.questions.stored_messages import MessageDetail, MessagePage, SendMessage
from gui.models.table import first_word
from gui.models.topics import is_system_topic
from gui.words.error_words import error_text
from monitoring.payload.listed import ListMask
from monitoring.state import ClusterState

ALL_QUEUES = -1
PERMISSION_WRITE = 2

TAGS = "TAGS"
KEYS = "KEYS"
UNIQUE_KEY = "UNIQ_KEY"

_CLIENTS_OWN = frozenset({UNIQUE_KEY, "MSG_REGION", "TRACE_ON", "INNER_MULTI_DISPATCH"})
"""Set by clients for one send; a copy of them would give the new message a history that it does not have."""


# ---- rows --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageRow:
    """Head of one message."""

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    store_ms: int
    born_ms: int
    body_bytes: int
    tag: str
    keys: str
    unique_key: str
    body_start: str

    @property
    def key(self) -> tuple[int, int]:
        return self.queue_id, self.queue_offset

    @property
    def name(self) -> str:
        """Its first key, else its unique key, else its offset."""
        return first_word(self.keys) or self.unique_key or str(self.queue_offset)


def masked_row(row: MessageRow, mask: ListMask) -> MessageRow:
    """The masked row; its body is masked when it is read."""
    return replace(row, tag=mask.text(row.tag), keys=mask.text(row.keys)) if mask else row


def message_rows(page: MessagePage, mask: ListMask) -> list[MessageRow]:
    """Masked rows of a page, newest first."""
    rows = [
        MessageRow(
            topic=page.topic,
            queue_id=page.queue_id[i],
            queue_offset=page.queue_offset[i],
            physical_offset=page.physical_offset[i],
            store_ms=page.store_ms[i],
            born_ms=page.born_ms[i],
            body_bytes=page.body_bytes[i],
            tag=mask.text(page.tag[i]),
            keys=mask.text(page.keys[i]),
            unique_key=page.unique_key[i],
            body_start=mask.preview(page.body_start[i], page.body_bytes[i]),
        )
        for i in range(len(page.physical_offset))
    ]
    return sorted(rows, key=lambda row: (row.store_ms, row.physical_offset), reverse=True)


def message_name(detail: MessageDetail, mask: ListMask) -> str:
    """Name of a message: its first key, masked, else its unique ID, else its offset message ID."""
    key = first_word(mask.text(detail.properties.get(KEYS, "")))
    return key or detail.properties.get(UNIQUE_KEY) or detail.offset_message_id


# ---- topics -----------------------------------------------------------------------------------------------------------


def topic_names(state: ClusterState) -> list[str]:
    """Topics to choose from: the user's own first, then those of the system, each by name."""
    catalog = state.catalog
    pairs = zip(catalog.topic_is_system, catalog.topics, strict=True)
    return [name for _, name in sorted(pairs)]


def writable_topics(state: ClusterState) -> list[str]:
    catalog = state.catalog
    return sorted(
        name
        for name, is_system, permission in zip(catalog.topics, catalog.topic_is_system, catalog.topic_permission, strict=True)
        if not is_system and permission & PERMISSION_WRITE
    )


def busiest_topic(state: ClusterState) -> str:
    """The user's topic with the highest write rate, else with most messages; empty when there is none."""
    catalog = state.catalog
    own = [row for row in range(len(catalog.topics)) if not is_system_topic(catalog, row)]
    if not own:
        return ""

    def weight(row: int) -> tuple[float, int]:
        return float(np.nan_to_num(state.topic_put_rate[row])), int(state.topic_kept_messages[row])

    return catalog.topics[max(own, key=weight)]


_RELATIVE_TIME = re.compile(r"([-+])\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|d)")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,3})?)?")
_UNIT_MS = {"s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_time(text: str, now_ms: int, zone: tzinfo | None) -> int | None:
    """A moment as a person enters it, in ms since the epoch; None when it is not valid.

    Forms: ``10:15``, ``10:15:02.640`` (of today), ``yesterday 10:15``, ``2026-11-21 10:15``, ``-2h``, ``-90 s``, ``+10m`` and
    epoch milliseconds.

    Args:
        text: As entered.
        now_ms: The present, for relative times.
        zone: Zone of times of day; None: local.

    Raises:
        UnclearTimeError: The local time comes twice, or never.
    """
    text = text.strip().lower()
    whole = whole_of(text)
    if whole is not None and len(text) >= 12:
        return whole
    relative = _RELATIVE_TIME.fullmatch(text)
    if relative:
        distance_ms = round(float(relative[2]) * _UNIT_MS[relative[3]])
        return now_ms + distance_ms if relative[1] == "+" else now_ms - distance_ms
    day = datetime.fromtimestamp(now_ms / 1_000, tz=zone)
    if text.startswith("yesterday"):
        day -= timedelta(days=1)
        text = text.removeprefix("yesterday").strip() or "0:00"
    if _TIME_OF_DAY.fullmatch(text):
        text = f"{day:%Y-%m-%d} {text:0>5}" if len(text) <= 5 else f"{day:%Y-%m-%d} {text.zfill(8)}"
    try:
        return instant_ms(datetime.fromisoformat(text.upper()), zone)  # “Z” is capital there
    except (ValueError, OverflowError, OSError):  # no time, or one before the first that a clock can show
        return None


# ---- bodies -----------------------------------------------------------------------------------------------------------


def json_fault(text: str) -> str:
    """Where a text stops being JSON, or why it cannot be read; empty when it is JSON."""
    try:
        read_document(text)
    except json.JSONDecodeError as error:
        return f"{error.msg}, line {error.lineno} column {error.colno}"
    except ValueError as error:
        return str(error)
    return ""


# ---- sending -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """Input of a person for a message to send. ``queue_id`` -1 leaves the choice to the broker."""

    topic: str
    queue_id: int
    tag: str
    keys: str
    properties: tuple[tuple[str, str], ...]
    body: bytes
    flag: int = 0


def masked_draft(draft: MessageDraft, mask: ListMask) -> MessageDraft:
    """A draft as it may be shown; unchanged where nothing is masked."""
    properties = tuple((name, mask.text(value)) for name, value in draft.properties)
    tag, keys, body = mask.text(draft.tag), mask.text(draft.keys), mask.without_hidden(draft.body)
    return replace(draft, tag=tag, keys=keys, properties=properties, body=body)


class DraftFault(Enum):
    """Why a draft cannot be sent, in English; shown through `gui.words.text.tr`."""

    TOPIC = "Choose a topic."
    NAME = "A property has a value but no name."
    VALUE = "A property has a name but no value."
    TWICE = "Two properties have the same name."
    RESERVED = "KEYS and TAGS have fields of their own."
    CONTROL = "Names and values must not contain the characters U+0001 and U+0002."


def draft_fault(draft: MessageDraft) -> DraftFault | None:
    """The first fault of a draft, None when it can be sent."""
    if not draft.topic:
        return DraftFault.TOPIC
    names = [name for name, _ in draft.properties]
    checks = (
        (any(not name for name in names), DraftFault.NAME),
        (any(not value for _, value in draft.properties), DraftFault.VALUE),
        (len(set(names)) < len(names), DraftFault.TWICE),
        (bool({KEYS, TAGS} & set(names)), DraftFault.RESERVED),
        (_has_separator((draft.tag, draft.keys, *(text for pair in draft.properties for text in pair))), DraftFault.CONTROL),
    )
    return next((fault for found, fault in checks if found), None)


def _has_separator(texts: Sequence[str]) -> bool:
    return any("\x01" in text or "\x02" in text for text in texts)


def message_to_send(draft: MessageDraft) -> SendMessage:
    properties = dict(draft.properties)
    properties |= {name: text for name, text in ((KEYS, draft.keys), (TAGS, draft.tag)) if text}
    return SendMessage(draft.topic, draft.queue_id, draft.body, properties, draft.flag)


def resend_draft(detail: MessageDetail, known: retry_names.KnownNames) -> MessageDraft:
    """A draft of a stored message as it was sent: same keys, tag, own properties and body, any queue, no unique ID.

    It names its origin, so that the life of the message can be followed. The topic is empty for a retry or a dead letter whose
    first topic is not certain by the ``known`` groups and topics.
    """
    sent_again = resent_properties(detail.properties, detail.offset_message_id, without_delay=True)
    stored_in = "" if detail.topic.startswith((reserved.RETRY_PREFIX, reserved.DLQ_PREFIX)) else detail.topic
    return MessageDraft(
        topic=retry_names.first_topic(detail.topic, detail.properties, known)
        or detail.properties.get("REAL_TOPIC")
        or stored_in,
        queue_id=ALL_QUEUES,
        tag=detail.properties.get(TAGS, ""),
        keys=detail.properties.get(KEYS, ""),
        properties=tuple((name, value) for name, value in sent_again.items() if name not in _CLIENTS_OWN | {KEYS, TAGS}),
        body=detail.body,
        flag=detail.flag,
    )


def dropped_properties(detail: MessageDetail) -> list[str]:
    kept = resent_properties(detail.properties, "", without_delay=True)
    return sorted(name for name, value in detail.properties.items() if name not in kept or name in _CLIENTS_OWN or not value)


def entered_time(text: str, now_ms: int, zone: tzinfo | None) -> tuple[int | None, str]:
    """The moment of `parse_time` in ms since the epoch; else None, with the reason where a local time comes twice, or never."""
    try:
        return parse_time(text, now_ms, zone), ""
    except UnclearTimeError as error:
        return None, error_text(error)
