"""Recorded actions as events of the history."""

from __future__ import annotations

from broker_core.broker.action_journal import JournalEntry
from broker_core.ipc.schema import Occurred

ACTION = "action"
DETAIL_MAX = 200
"""Characters of one detail; a list of a thousand offsets says no more than its beginning."""


def action_event(entry: JournalEntry) -> Occurred:
    """What a person did, as an event: ``topic.delete: orders (count=2)``."""
    details = ", ".join(f"{name}={_short(value)}" for name, value in entry.details.items() if value not in ("", None, []))
    text = f"{entry.action}: {entry.subject}" + (f" ({details})" if details else "")
    return Occurred(ACTION, text, entry.at_ms, entry.subject)


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= DETAIL_MAX else f"{text[:DETAIL_MAX]}…"
