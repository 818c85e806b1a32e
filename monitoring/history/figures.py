"""The recorded part of a `ClusterState`: subjects by kind, and their figures in columns (docs/history.md, “Subjects”). Pure.

``owner`` is the number of a client in the table ``clients``. An unknown value is NaN, never -1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from broker_core.worker.questions.figures import Catalog
from monitoring.alert_rules import known, members_known
from monitoring.history.tiers import rounded
from monitoring.series import Floats
from monitoring.state import ClusterState

TOTALS, TOPIC, GROUP, QUEUE, POSITION, LEVEL = "totals", "topic", "group", "queue", "position", "level"
FIGURES = {
    TOPIC: ("put_rate", "got_rate", "kept_messages"),
    GROUP: ("lag_messages", "behind_ms", "got_rate", "members", "lost_messages", "beyond_messages"),
    QUEUE: ("min_offset", "max_offset", "put_rate"),
    POSITION: ("offset", "lag_messages", "behind_ms", "owner", "lost_messages", "beyond_messages"),
    LEVEL: ("pending", "overdue_ms", "delivered_rate", "late_p50_ms", "late_p99_ms"),
}


@dataclass(frozen=True, slots=True)
class KindSample:
    """All subjects of one kind at one moment."""

    kind: str
    names: Sequence[str]
    figures: tuple[str, ...]
    values: Floats
    """[subjects, figures]"""


class Names:
    """Names of the subjects of a catalog, built once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        topics, groups = catalog.topics, catalog.groups
        places = zip(catalog.queue_topic, catalog.queue_id, strict=True)
        self.queues = [sys.intern(f"{topics[topic]}/{queue_id}") for topic, queue_id in places]
        """Interned, as the positions: the database knows their numbers by the same names, and the next catalog has them too."""
        positions = zip(catalog.position_group, catalog.position_queue, strict=True)
        self.positions = [sys.intern(f"{groups[group]}/{self.queues[queue]}") for group, queue in positions]


def samples_of(state: ClusterState, names: Names, client_number: Callable[[str], int]) -> list[KindSample]:
    """All samples of a state; ``client_number`` returns the number of a client id."""
    totals = sorted(state.totals)
    standing = state.position_standings
    of_groups = standing.summed(state.catalog.position_group, len(state.catalog.groups))
    numbers = np.array([client_number(client) for client in state.owners] + [np.nan])
    delays = state.delays
    levels = [str(level) for level in delays.level.tolist()]
    late = (delays.late_p50_ms, delays.late_p99_ms)
    return [
        KindSample(TOTALS, ("",), tuple(totals), np.array([[state.totals[name] for name in totals]], np.float64)),
        _kind(TOPIC, names.catalog.topics, state.topic_put_rate, state.topic_got_rate, known(state.topic_kept_messages)),
        _kind(
            GROUP,
            names.catalog.groups,
            state.group_lag_messages,
            state.group_behind_ms,
            state.group_got_rate,
            members_known(state),
            of_groups.lost,
            of_groups.beyond,
        ),
        _kind(QUEUE, names.queues, known(state.queue_min_offset), known(state.queue_max_offset), state.queue_put_rate),
        _kind(
            POSITION,
            names.positions,
            known(state.position_offset),
            state.position_lag_messages,
            state.position_behind_ms,
            numbers[np.maximum(state.position_owner, -1)],
            standing.lost,
            standing.beyond,
        ),
        _kind(LEVEL, levels, known(delays.pending), known(delays.overdue_ms), delays.delivered_rate, *late),
    ]


def _kind(kind: str, names: Sequence[str], *columns: Floats) -> KindSample:
    figures = FIGURES[kind]
    table = np.empty((len(names), len(figures)))
    for place, (name, values) in enumerate(zip(figures, columns, strict=True)):
        # Digits of a rate beyond the seventh are noise, and cannot be compressed.
        table[:, place] = rounded(values) if name.endswith("_rate") else values
    return KindSample(kind, names, figures, table)


def split_name(name: str) -> tuple[str, str, str]:
    """Kind, subject and figure of a series name (``group:billing.lag_messages``, ``totals.put_rate``), else a `ValueError`."""
    subject, dot, figure = name.rpartition(".")
    kind, colon, rest = subject.partition(":")
    if not dot or not figure or (kind not in FIGURES and subject != TOTALS) or (kind in FIGURES and not colon):
        raise ValueError(f"“{name}” names no series of the history, such as totals.put_rate or group:billing.lag_messages")
    return (TOTALS, "", figure) if subject == TOTALS else (kind, rest, figure)
