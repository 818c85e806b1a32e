"""Messages from the fields of the composer: variables and times of delivery. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo

from broker_core.outside import whole_of
from broker_core.worker.questions.stored_messages import SendMessage
from gui.models.messages import ALL_QUEUES, MessageDraft, message_to_send, parse_time
from monitoring.compose.delivery import DELAY_LEVELS, SHARDING_KEY, When, queue_of_key
from monitoring.compose.template import Moment, Template

BURST_MESSAGES_MAX = 100_000
BURST_RATE_MAX = 2_000
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|m|min|h|d)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def delivery_value(when: When, text: str, *, now_ms: int, zone: tzinfo | None) -> str | None:
    """Value of the property that delays a delivery; None where the text is not valid.

    Args:
        when: Kind of the text: a level from 1 to 18, a duration such as ``30s`` or ``2h``, or a time as `parse_time` reads it.
        text: As entered.
        now_ms: The present, for times of today.
        zone: Of the times entered; None: local.

    Raises:
        UnclearTimeError: The local time comes twice, or never.
    """
    text = text.strip()
    if when is When.LEVEL:
        level = whole_of(text)
        return str(level) if level is not None and 1 <= level <= DELAY_LEVELS else None
    if when is When.AFTER:
        found = _DURATION.fullmatch(text)
        return str(round(float(found[1]) * _UNIT_MS[found[2]])) if found else None
    at_ms = parse_time(text, now_ms=now_ms, zone=zone) if text else None
    return None if at_ms is None else str(at_ms)


class DraftTemplate:
    """Makes messages from a draft without fault, one for each moment.

    Args:
        draft: Without fault.
        queues: Writable queues of the topic; empty where they are not known.
        fills: Whether variables are filled in: in tag, keys, values of properties, and the body where it is text.

    Raises:
        TemplateError: A variable cannot be read.
    """

    def __init__(self, draft: MessageDraft, *, queues: Sequence[int], fills: bool) -> None:
        self._draft = draft
        self._queues = queues
        read: Callable[[str], Callable[[Moment], str]] = (lambda text: Template(text).fill) if fills else _as_it_is
        self._tag = read(draft.tag)
        self._keys = read(draft.keys)
        self._properties = [(name, read(value)) for name, value in draft.properties]
        self._body = self._read_body(draft.body) if fills else None

    @staticmethod
    def _read_body(body: bytes) -> Template | None:
        try:
            made = Template(body.decode())
        except UnicodeDecodeError:
            return None
        return made if made.varies or b"$${" in body else None

    def message(self, moment: Moment) -> SendMessage:
        """The message of a moment; a sharding key chooses its queue."""
        draft = replace(
            self._draft,
            tag=self._tag(moment),
            keys=self._keys(moment),
            properties=tuple((name, value(moment)) for name, value in self._properties),
            body=self._draft.body if self._body is None else self._body.fill(moment).encode(),
        )
        return in_its_queue(message_to_send(draft), self._queues)


def in_its_queue(message: SendMessage, queues: Sequence[int]) -> SendMessage:
    """A message in the queue that its sharding key chooses, unless a queue was chosen."""
    key = message.properties.get(SHARDING_KEY)
    if key and message.queue_id == ALL_QUEUES and queues:
        return replace(message, queue_id=queues[queue_of_key(key, len(queues))])
    return message


def _as_it_is(text: str) -> Callable[[Moment], str]:
    return lambda _moment: text
