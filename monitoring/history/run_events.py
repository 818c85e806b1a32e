"""Texts of the events at the begin and end of a recorded run: of a broker, or of a connection to one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunWords:
    began_kind: str
    began: str
    began_again: str
    ended_kind: str
    ended: str


OF_BROKER = RunWords(
    "broker_started",
    "The broker started",
    "The broker started again; it had ended unexpectedly",
    "broker_stopped",
    "The broker stopped",
)
OF_CONNECTION = RunWords(
    "recording_began",
    "The recording of this connection began",
    "The recording of this connection began again; it had ended unexpectedly",
    "recording_ended",
    "The recording of this connection ended",
)
"""For a broker that runs elsewhere, whose start is unknown here."""
