"""Owners of a group's queues over time: intervals of the recorded figure ``owner``. Reads only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from broker_core.worker.questions.history import HistoryLines, Ownership
from monitoring.history.figures import POSITION
from monitoring.series import Floats, Ints

AFTER_SLASH = "0"
"""The character after the slash between group and topic: upper bound of a range of names."""


@dataclass(frozen=True, slots=True, order=True)
class PositionPlace:
    """A recorded position: a queue of a topic, and the name of its subject."""

    topic: str
    queue_id: int
    subject: str


def positions_of(connection: sqlite3.Connection, group: str) -> list[PositionPlace]:
    """All positions that were ever recorded of a group, by topic and queue."""
    rows = connection.execute(
        "SELECT name FROM subjects WHERE kind=? AND name>=? AND name<?", (POSITION, f"{group}/", f"{group}{AFTER_SLASH}")
    )
    places = []
    for (name,) in rows:
        topic, _slash, queue_id = str(name).removeprefix(f"{group}/").rpartition("/")
        if topic and queue_id.isdigit():
            places.append(PositionPlace(topic, int(queue_id), str(name)))
    return sorted(places)


def client_names(connection: sqlite3.Connection) -> dict[int, str]:
    return {int(number): str(name) for number, name in connection.execute("SELECT id, name FROM clients")}


def owned_stretches(
    places: Sequence[PositionPlace], lines: HistoryLines, names: Mapping[int, str], places_max: int
) -> Ownership:
    """Merge the points of the first ``places_max`` places into intervals of one owner each."""
    answer = Ownership([], [], [], [], [], left_out=max(0, len(places) - places_max))
    for place, times, last in zip(places, lines.times_ms, lines.last, strict=False):
        for from_ms, to_ms, owner in _stretches(np.frombuffer(times, "<i8"), np.frombuffer(last, "<f8"), lines.step_ms):
            answer.topic.append(place.topic)
            answer.queue_id.append(place.queue_id)
            answer.from_ms.append(from_ms)
            answer.to_ms.append(to_ms)
            answer.client.append(names.get(owner, ""))
    return answer


def _stretches(times_ms: Ints, owner: Floats, step_ms: int) -> Iterator[tuple[int, int, int]]:
    if not len(times_ms):
        return
    ends = np.append(times_ms[1:], times_ms[-1] + step_ms)
    changes = np.flatnonzero(owner[1:] != owner[:-1]) + 1
    for first, last in zip([0, *changes.tolist()], [*changes.tolist(), len(owner)], strict=True):
        if not np.isnan(owner[first]):
            yield int(times_ms[first]), int(ends[last - 1]), int(owner[first])
