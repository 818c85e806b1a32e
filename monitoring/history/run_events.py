"""What the events say with which a recorded run begins and ends: of a broker, or of a connection to one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunWords:
    """Kinds and English texts of the events that say when a run begins and ends."""

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
"""Of a broker that runs elsewhere nobody here knows when it started."""
