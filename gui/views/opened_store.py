"""The words of all pages for a store that is only read, without a broker."""

from __future__ import annotations

from broker_core.worker.questions.lifecycle import Ready
from gui.theme.tokens import State
from gui.words.text import tr


def opened_chip(ready: Ready | None) -> tuple[str, State] | None:
    """The chip of a store that is only read; None where a broker runs."""
    return None if ready is None or ready.runs_broker else (tr("Read-only"), State.PLAIN)
