"""Which groups have consumed a message, by their offsets in its queue. Pure: no widget, no text, no I/O.

A group has read a message if its offset is past it. Offsets do not say how it ended: a failed message is pending as a retry or
is dead by then, and one that the group's filter left out was never delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gui.models.stored_order import Int64s
from monitoring.state import ClusterState

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.models.hit_columns import HitColumns

TOPICS_KEPT_MAX = 200


@dataclass(frozen=True, slots=True)
class Consumed:
    """Groups with a position on the topic of a message, by name."""

    done: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Their offset in the queue is not known."""

    @property
    def count(self) -> int:
        return len(self.done) + len(self.waiting) + len(self.unknown)


class Consumption:
    """Compares messages with the offsets of the newest state."""

    def __init__(self) -> None:
        self._state: ClusterState | None = None
        self._catalog: object = None
        self._topics: dict[str, tuple[tuple[str, ...], dict[int, list[tuple[str, int]]]]] = {}
        """Topic → its groups; queue → group and the place of its position."""

    def take_state(self, state: ClusterState) -> None:
        self._state = state
        if state.catalog is not self._catalog:
            self._catalog = state.catalog
            self._topics = {}

    def of(self, topic: str, queue_id: int, queue_offset: int) -> Consumed:
        """Groups that have read a message of a queue, and those that have not."""
        if self._state is None:
            return Consumed()
        groups, queues = self._places(topic)
        offsets = {group: int(self._state.position_offset[place]) for group, place in queues.get(queue_id, ())}
        known = {group: offset for group, offset in offsets.items() if offset >= 0}
        return Consumed(
            done=tuple(group for group in groups if known.get(group, -1) > queue_offset),
            waiting=tuple(group for group in groups if group in known and known[group] <= queue_offset),
            unknown=tuple(group for group in groups if group not in known),
        )

    def order(self, hits: HitColumns) -> Callable[[], Int64s]:
        """A function that sorts all hits by the number of groups that have read them, ascending; for another thread."""
        queues, offsets = hits.numbers["queue_id"].values.copy(), hits.numbers["queue_offset"].values.copy()
        names, topics = list(hits.topic.names), hits.topic.ranks()
        bounds = {(name, queue): self._bounds(name, queue) for name in names for queue in np.unique(queues).tolist()}
        stored, names = hits.stored_order, sorted(names)

        def sort() -> Int64s:
            done = np.zeros(len(offsets), dtype=np.int64)
            for rank, name in enumerate(names):
                for queue in np.unique(queues[topics == rank]).tolist():
                    mine = (topics == rank) & (queues == queue)
                    reached = bounds[name, queue]
                    done[mine] = len(reached) - np.searchsorted(reached, offsets[mine], side="right")
            if stored is None:
                return np.argsort(done, kind="stable").astype(np.int64)
            return stored[np.argsort(done[stored], kind="stable")]

        return sort

    def _bounds(self, topic: str, queue_id: int) -> Int64s:
        """Known offsets of the groups in a queue, rising."""
        state = self._state
        places = [place for _group, place in self._places(topic)[1].get(queue_id, ())] if state is not None else []
        found = state.position_offset[places] if state is not None and places else np.zeros(0, np.int64)
        return np.sort(found[found >= 0]).astype(np.int64)

    def _places(self, topic: str) -> tuple[tuple[str, ...], dict[int, list[tuple[str, int]]]]:
        known = self._topics.get(topic)
        if known is None:
            if len(self._topics) >= TOPICS_KEPT_MAX:
                self._topics.clear()
            known = self._topics[topic] = self._find(topic)
        return known

    def _find(self, topic: str) -> tuple[tuple[str, ...], dict[int, list[tuple[str, int]]]]:
        assert self._state is not None
        catalog = self._state.catalog
        if topic not in catalog.topics or not catalog.position_queue:
            return (), {}
        number = catalog.topics.index(topic)
        topic_of = np.asarray(catalog.queue_topic, np.int64)[np.asarray(catalog.position_queue, np.int64)]
        queues: dict[int, list[tuple[str, int]]] = {}
        for place in np.flatnonzero(topic_of == number).tolist():
            group = catalog.groups[catalog.position_group[place]]
            queues.setdefault(catalog.queue_id[catalog.position_queue[place]], []).append((group, place))
        return tuple(sorted({group for found in queues.values() for group, _place in found})), queues
