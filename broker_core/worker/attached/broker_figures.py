"""What one broker of a cluster told last. A value that fills; who asks and who reads are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.attached.answers import BrokerPlace, QueueOffsets, TopicRow
from broker_core.worker.attached.levels import BrokerLevels


@dataclass(slots=True)
class BrokerFigures:
    """What one broker told last."""

    topics: dict[str, TopicRow] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    offsets: dict[str, dict[int, QueueOffsets]] = field(default_factory=dict)
    """Topic → queue → what it holds."""
    positions: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    """(group, topic) → queue → offset."""
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    """Group → clients online; a group that was not asked about is missing."""
    subscriptions: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Group → topic → type and text of the expression, of groups with members."""
    next_store: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    """(group, topic, queue) → an offset and the store time of the message there."""
    place: BrokerPlace | None = None
    """Where it is, as the name server said last."""
    runtime: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    version: str = ""
    """As RocketMQ prints it; empty before it told."""
    cannot: dict[str, str] = field(default_factory=dict)
    """`Ability` → why it cannot."""
    levels: BrokerLevels = field(default_factory=BrokerLevels)
    halves_unread: int = 0
    """Records of half and op queue that the last look at its transactions has left for the next."""
    fault: str = ""
    fault_ms: int = 0
    """Since when there is a fault, in ms since the epoch."""
    is_lost: bool = False
    lost_ms: int = 0


def used_queues(queues: dict[int, QueueOffsets]) -> frozenset[int]:
    """Queues that were ever written to."""
    return frozenset(queue for queue, held in queues.items() if held.max_offset > 0)
