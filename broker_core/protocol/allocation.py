"""Which member of a group consumes which queues. Pure functions; all members must use the same one.

Every strategy takes the own client id, all queues sorted and all client ids sorted, and returns the queues of this client: none
if it is not among the ids.

Source: docs/spec/broker.md §7.3.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue

Strategy = Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]

DEFAULT_VIRTUAL_NODES = 10

T = TypeVar("T")


def allocate_average(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
    """Runs of neighbouring queues, as even as possible: RocketMQ's default."""
    if client_id not in client_ids:
        return []
    index = client_ids.index(client_id)
    size, rest = divmod(len(queues), len(client_ids))
    start = index * size + min(index, rest)
    return list(queues[start : start + size + (1 if index < rest else 0)])


def allocate_by_circle(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
    """Every n-th queue."""
    if client_id not in client_ids:
        return []
    return list(queues[client_ids.index(client_id) :: len(client_ids)])


def allocate_fixed(mine: Collection[MessageQueue]) -> Strategy:
    """The queues named by the user that exist: RocketMQ's CONFIG."""
    wanted = frozenset(mine)

    def fixed(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
        return [queue for queue in queues if queue in wanted] if client_id in client_ids else []

    return fixed


def allocate_by_machine_room(rooms: Collection[str]) -> Strategy:
    """Runs of neighbouring queues among those of some rooms; queues of other rooms get no consumer.

    A queue is in room R when its broker's name is ``R@name``.
    """
    wanted = frozenset(rooms)

    def by_room(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        kept = [queue for queue in queues if _room_of(queue) in wanted]
        index = client_ids.index(client_id)
        size, rest = divmod(len(kept), len(client_ids))
        mine = kept[index * size : (index + 1) * size]
        return mine + kept[len(client_ids) * size + index :][:1] if index < rest else mine

    return by_room


def allocate_near(
    inner: Strategy, *, room_of_queue: Callable[[MessageQueue], str | None], room_of_client: Callable[[str], str | None]
) -> Strategy:
    """Queues of a room for the clients in it; those of a room without clients for all (RocketMQ's MACHINE_ROOM_NEARBY).

    ``inner`` allocates the queues of each room. The strategy raises `UsageError` when a queue or a client has no room.
    """

    def near(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        clients_by_room = _grouped(client_ids, room_of_client)
        mine: list[MessageQueue] = []
        for room, room_queues in sorted(_grouped(queues, room_of_queue).items()):
            mine += inner(client_id, room_queues, clients_by_room.get(room, client_ids))
        return mine

    return near


def allocate_by_consistent_hash(virtual_nodes: int = DEFAULT_VIRTUAL_NODES) -> Strategy:
    """Queues by their place on a hash ring: uneven, but few of them move when a member joins or leaves.

    Each client has ``virtual_nodes`` places on the ring; raises `UsageError` for less than 1.
    """
    if virtual_nodes < 1:
        raise UsageError(f"a client needs at least 1 place on the hash ring, not {virtual_nodes}")

    def by_hash(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        ring = sorted((ring_hash(f"{owner}-{number}"), owner) for owner in client_ids for number in range(virtual_nodes))
        places = [place for place, _ in ring]
        return [
            queue for queue in queues if ring[bisect_left(places, ring_hash(_queue_text(queue))) % len(ring)][1] == client_id
        ]

    return by_hash


def ring_hash(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


def _queue_text(queue: MessageQueue) -> str:
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def _room_of(queue: MessageQueue) -> str | None:
    room, sign, name = queue.broker_name.partition("@")
    return room if sign and name and "@" not in name else None


def _grouped(items: Iterable[T], room_of: Callable[[T], str | None]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        room = room_of(item)
        if not room:
            raise UsageError(f"{item} is in no machine room: the resolver must name one for every queue and client")
        groups.setdefault(room, []).append(item)
    return groups
