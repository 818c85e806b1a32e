"""Events of the history as rows and as files, and their groups. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.api import csv_bytes, utc_text
from broker_core.worker.questions.history import EventPage


class EventGroup(Enum):
    """The subject of an event; the values are stable because settings store them."""

    REBALANCE = "rebalance"
    RESTART = "restart"
    RESET = "reset"
    TOPIC = "topic"
    DISK = "disk"
    ALERT = "alert"
    ACTION = "action"
    NOTE = "note"
    OTHER = "other"


_GROUPS = {
    "members_changed": EventGroup.REBALANCE,
    "broker_started": EventGroup.RESTART,
    "broker_stopped": EventGroup.RESTART,
    "broker_lost": EventGroup.RESTART,
    "broker_back": EventGroup.RESTART,
    "master_lost": EventGroup.RESTART,
    "master_back": EventGroup.RESTART,
    "slave_lost": EventGroup.RESTART,
    "slave_back": EventGroup.RESTART,
    "name_server_lost": EventGroup.RESTART,
    "name_server_back": EventGroup.RESTART,
    "offsets_moved_back": EventGroup.RESET,
    "topic_created": EventGroup.TOPIC,
    "topic_deleted": EventGroup.TOPIC,
    "writes_refused": EventGroup.DISK,
    "writes_accepted": EventGroup.DISK,
    "message_set_aside": EventGroup.TOPIC,
    "config_damaged": EventGroup.DISK,
    "alert": EventGroup.ALERT,
    "unjudged": EventGroup.ALERT,
    "action": EventGroup.ACTION,
    "note": EventGroup.NOTE,
    "recording_began": EventGroup.OTHER,
    "recording_ended": EventGroup.OTHER,
    "recording_taken_over": EventGroup.OTHER,
}


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event. ``number`` distinguishes equal events of the same moment."""

    at_ms: int
    number: int
    kind: str
    subject: str
    text: str

    @property
    def group(self) -> EventGroup:
        return group_of(self.kind)

    @property
    def key(self) -> tuple[int, str, str, str, int]:
        return self.at_ms, self.kind, self.subject, self.text, self.number


def group_of(kind: str) -> EventGroup:
    return _GROUPS.get(kind, EventGroup.OTHER)


def kinds_of(group: EventGroup) -> list[str]:
    return [kind for kind, known in _GROUPS.items() if known is group]


def event_rows(page: EventPage) -> list[EventRow]:
    """Rows of a page, newest first."""
    seen: dict[tuple[int, str, str, str], int] = {}
    rows = []
    for event in zip(page.at_ms, page.kind, page.subject, page.text, strict=True):
        number = seen[event] = seen.get(event, -1) + 1
        at_ms, kind, subject, text = event
        rows.append(EventRow(at_ms, number, kind, subject, text))
    return rows


def counts_by_part(rows: Iterable[EventRow], group: EventGroup, from_ms: int, to_ms: int, parts: int) -> list[int]:
    """Events of a group in each of ``parts`` equal intervals of ``[from_ms, to_ms)``."""
    counts = [0] * parts
    width = max(1, to_ms - from_ms)
    for row in rows:
        if row.group is group and from_ms <= row.at_ms < to_ms:
            counts[(row.at_ms - from_ms) * parts // width] += 1
    return counts


def events_csv(rows: Sequence[EventRow]) -> bytes:
    """Events as a CSV file; times in ms since the epoch and in UTC."""
    head = ("at_ms", "time_utc", "kind", "subject", "text")
    return csv_bytes([head, *((row.at_ms, utc_text(row.at_ms), row.kind, row.subject, row.text) for row in rows)])


def events_json_lines(rows: Sequence[EventRow]) -> bytes:
    lines = (
        json.dumps(
            {"atMs": row.at_ms, "time": utc_text(row.at_ms), "kind": row.kind, "subject": row.subject, "text": row.text},
            ensure_ascii=False,
        )
        + "\n"
        for row in rows
    )
    return "".join(lines).encode("utf-8", "surrogatepass")
