"""Who of a group consumes which queues. Pure functions; all members must use the same one.

Source: spec broker §7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.remoting.json_body import MessageQueue

Strategy = Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]
"""(own client id, all queues sorted, all client ids sorted) → queues of this client."""


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
