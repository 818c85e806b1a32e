"""Values of recorded series as they are shown: the one way in which alerts, events and lists write them with their units.

`online_text` does so for how many members a group has.
"""

from __future__ import annotations

import re

from gui.words.text import UNKNOWN, bytes_text, duration_text, tr
from monitoring.alert_rules import unit_of
from monitoring.alert_watch import amount_text
from monitoring.state import MEMBERS_UNREAD

SECOND_MS = 1_000
_AMOUNT = re.compile(r"(-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?) (ms|B)")


def value_text(series: str, value: float) -> str:
    """A value or a threshold of a series: ``10 min``, ``212 ms``, ``1.9 KiB``, ``15,000``."""
    return _text_of(unit_of(series), value) or amount_text(series, value)


def told_text(amount: str) -> str:
    """The same of an amount as the history of events keeps it: ``600,000 ms`` is shown as ``10 min``, whatever is before it."""
    subject, colon, figure = amount.rpartition(": ")
    found = _AMOUNT.fullmatch(figure)
    shown = _text_of(found[2], float(found[1].replace(",", ""))) if found is not None else ""
    return f"{subject}{colon}{shown or figure}"


def online_text(members: int) -> str:
    """How many members of a group are online, as `monitoring.state.ClusterState.group_members` says it."""
    if members == MEMBERS_UNREAD:
        return UNKNOWN
    return tr("offline") if members <= 0 else str(members)


def _text_of(unit: str, value: float) -> str:
    """Empty where the plain number with its unit reads well."""
    if unit == "B":
        return bytes_text(value)
    return duration_text(value) if unit == "ms" and value >= SECOND_MS else ""
