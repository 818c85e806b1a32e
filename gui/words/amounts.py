"""Values of recorded series with their units, as alerts, events and lists show them; `online_text` shows members of a group."""

from __future__ import annotations

import re

from gui.words.text import UNKNOWN, bytes_text, duration_text, tr
from monitoring.alert_rules import unit_of
from monitoring.alert_watch import amount_text, full_amount_text
from monitoring.state import MEMBERS_UNLISTED, MEMBERS_UNREAD

SECOND_MS = 1_000
_AMOUNT = re.compile(r"(-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?) (ms|B|[a-z]{4,})")
_COUNTS = {
    "message": "{count} messages", "member": "{count} members", "connection": "{count} connections",
    "client": "{count} clients", "transaction": "{count} transactions",
}  # fmt: skip
"""By what is counted, in the singular."""


def value_text(series: str, value: float) -> str:
    """A value or a threshold of a series: ``10 min``, ``212 ms``, ``1.9 KiB``, ``15,000``."""
    return _text_of(unit_of(series), value) or amount_text(series, value)


def full_value_text(series: str, value: float) -> str:
    """A value of a series with what it counts, too: ``16,870 messages``."""
    return told_text(full_amount_text(series, value))


def told_text(amount: str) -> str:
    """An amount of the history of events in the same form: ``600,000 ms`` as ``10 min``, after any subject."""
    subject, colon, figure = amount.rpartition(": ")
    found = _AMOUNT.fullmatch(figure)
    if found is None:
        return amount
    words = _COUNTS.get(found[2].removesuffix("s"))
    shown = tr(words, count=found[1]) if words else _text_of(found[2], float(found[1].replace(",", "")))
    return f"{subject}{colon}{shown or figure}"


def online_text(members: int) -> str:
    """Number of online members of a group, from `monitoring.state.ClusterState.group_members`."""
    if members == MEMBERS_UNLISTED:
        return tr("not listed")
    if members == MEMBERS_UNREAD:
        return UNKNOWN
    return tr("offline") if members <= 0 else str(members)


def _text_of(unit: str, value: float) -> str:
    """Empty where the plain number with its unit is readable."""
    if unit == "B":
        return bytes_text(value)
    return duration_text(value) if unit == "ms" and value >= SECOND_MS else ""
