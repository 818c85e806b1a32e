"""Queues and messages of several brokers under numbers that fit the window's messages.

A queue of broker number b (in order of first sight, by name) is shown as ``b * 10,000 + queue id``, a place in its commit log
as ``b * 2**56 + offset``: with one broker all numbers are those of the broker itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import UsageError
from broker_core.protocol.message.message_id import PLACE_BITS, own_offset

QUEUES_OF_BROKER = 10_000


class BrokerNumbers:
    """Numbers brokers; a number stays as long as the cluster is watched."""

    def __init__(self) -> None:
        self._names: list[str] = []

    @property
    def names(self) -> list[str]:
        """Brokers seen so far, by number."""
        return list(self._names)

    def see(self, names: Iterable[str]) -> None:
        self._names += sorted(set(names) - set(self._names))

    def number_of(self, name: str) -> int:
        """Its number; raises `UsageError` when no such broker was seen."""
        if name not in self._names:
            raise UsageError(f"this cluster has no broker {name}; it has {', '.join(self._names) or 'none'}", broker=name)
        return self._names.index(name)

    def shown_queue(self, name: str, queue_id: int) -> int:
        """The number under which a queue is shown."""
        return self.number_of(name) * QUEUES_OF_BROKER + queue_id

    def queue_of(self, shown: int) -> tuple[str, int]:
        """Broker and queue id of a shown number; raises `UsageError` when it is none of this cluster's."""
        number, queue_id = divmod(shown, QUEUES_OF_BROKER)
        return self._name_of(number, f"queue {shown}"), queue_id

    def shown_place(self, name: str, physical_offset: int) -> int:
        """The number under which a place in a commit log is shown."""
        return (self.number_of(name) << PLACE_BITS) + physical_offset

    def place_of(self, shown: int) -> tuple[str, int]:
        """Broker and physical offset of a shown number; raises as `queue_of`."""
        return self._name_of(shown >> PLACE_BITS, f"place {shown}"), own_offset(shown)

    def _name_of(self, number: int, what: str) -> str:
        if not 0 <= number < len(self._names):
            raise UsageError(f"{what} is on none of the {len(self._names)} brokers of this cluster")
        return self._names[number]
