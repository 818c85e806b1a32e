from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.cluster.link import V5
from broker_core.protocol.addresses import address_of, host_of
from broker_core.protocol.admin.brokers import BrokerPlace, grpc_port_of
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.admin.values import whole_number
from broker_core.worker.attached.delay_levels import BrokerLevels


class ReadsOfOthers:
    """One broker's count of pulled messages since its start, without the pulls of this process.

    A broker counts those of the console's pages, tails and searches, too.

    Source: docs/spec/remoting.md §2.5.3, ``msgGetTotalTodayNow``.
    """

    def __init__(self) -> None:
        self.others = -1
        """Messages that others got; -1: not reported."""
        self._told = 0
        self._own = self._own_at_start = 0

    def take(self, told: int | None, own: int) -> None:
        """Take a report of the broker: messages that all clients got from it, or None, and this process's pulls so far."""
        if told is None:
            self.others = -1
            return
        if told < self._told:
            # It was restarted and counts from 0: pulls since the previous report belong to the new count.
            self.others, self._own_at_start = -1, self._own
        # The broker has counted messages in transit already and this process has not: the count stays until they arrive.
        self.others = max(self.others, told - (own - self._own_at_start), 0)
        self._told, self._own = told, own


@dataclass(slots=True)
class BrokerFigures:
    """What one broker reported last."""

    topics: dict[str, TopicConfig] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    groups_at_first: frozenset[str] = frozenset()
    """Groups of the first look, with a config or an offset; others were created later."""
    has_told_tables: bool = False
    """Whether its topics and groups are known, perhaps from an earlier time."""
    has_told_positions: bool = False
    positions_ms: int = 0
    """When they were read last, ms since the epoch."""
    producers: frozenset[str] | None = None
    """Client ids of its producers; None: unknown."""
    offsets: dict[str, dict[int, QueueOffsets]] = field(default_factory=dict)
    offsets_ms: dict[str, int] = field(default_factory=dict)
    """Topic → when its queues were read, ms since the epoch."""
    positions: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    steady: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    """(group, topic, queue) → the offset of an earlier look and when it was read, of positions beyond an end that was read
    before them: together they would tell of messages that do not exist.
    """
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    """Group → clients online; a group that was not asked about is missing."""
    subscriptions: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Group → topic → type and text of the expression, of groups with members."""
    next_store: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    """(group, topic, queue) → an offset and the store time of the message there."""
    place: BrokerPlace | None = None
    """As the name server reported it last."""
    runtime: dict[str, str] = field(default_factory=dict)
    runtime_ms: int = 0
    reads_of_others: ReadsOfOthers = field(default_factory=ReadsOfOthers)
    console_got: int = 0
    """Messages that the console itself pulled from it."""
    config: dict[str, str] = field(default_factory=dict)
    version: str = ""
    """As RocketMQ prints it; empty before it is reported."""
    cannot: dict[str, str] = field(default_factory=dict)
    levels: BrokerLevels = field(default_factory=BrokerLevels)
    timers: dict[str, int] | None = None
    """Topic → pending timer messages; None: the broker has no timers, or did not report."""
    halves_unread: int = 0
    """Records of half and op queue that the last look at its transactions left for the next."""
    undecided: int = 0
    in_check: int = 0
    undecided_ms: int = -(1 << 62)
    """When these were counted, ms since the epoch."""
    fault: str = ""
    fault_ms: int = 0
    is_lost: bool = False
    lost_ms: int = 0
    no_master_ms: int = 0
    """When it lost its master, ms since the epoch; 0 while it has one."""
    slaves: frozenset[str] = frozenset()
    """Addresses of its slaves when it had a master last."""
    slaves_gone_ms: dict[str, int] = field(default_factory=dict)
    """Address of a slave that is gone → when that was seen, ms since the epoch."""
    unregistered_ms: int = 0
    """Since when the name server does not know it, ms since the epoch; 0 while it does."""
    master_log_end: int = -1
    """End of the commit log as its master reported last; -1: unknown."""
    slave_lags: dict[str, int] = field(default_factory=dict)
    """Address of a slave → bytes of the commit log that it lagged at its last report; a slave without a report is missing.

    Not the end of its log: the master is asked more often, and its growth since then would count as a lag.
    """
    is_runtime_former: bool = False
    """Whether ``runtime`` was read at another address than the present one."""
    uncounted_topics: set[str] = field(default_factory=set)
    """Topics not yet read since another address answers: a slave that lags would grow to its master's end, and the same
    messages would count twice.
    """
    positions_uncounted: bool = False
    """The same for its consumer offsets."""

    def move(self, place: BrokerPlace) -> None:
        """Take over the place where the name server finds it now."""
        if self.place is not None and self.place.address != place.address:
            self.uncounted_topics = set(self.offsets)
            self.positions_uncounted = self.is_runtime_former = True
        self.place = place
        self.slave_lags = {address: lag for address, lag in self.slave_lags.items() if address in place.slaves}

    @property
    def counts_system_reads(self) -> bool:
        """Whether ``msgGetTotalTodayNow`` counts pulls of system topics: that of 5.x does not, except for Orbit's brokers."""
        version = whole_number(self.runtime.get("brokerVersion"))
        return version is None or version < V5 or any(key.startswith("orbit") for key in self.config)

    @property
    def grpc_address(self) -> str:
        """``host:port`` for SDKs of gRPC where it serves them itself, as Orbit's brokers do; empty where it does not."""
        port = grpc_port_of(self.config)
        return (
            address_of(host_of(self.place.address), port) if port and self.place is not None and self.place.has_master else ""
        )

    def has_group(self, group: str) -> bool:
        """Whether a group has an offset here."""
        return any(name == group for name, _topic in self.positions)

    @property
    def log_end(self) -> int:
        """End of the commit log at the present address; -1 unknown."""
        end = whole_number(self.runtime.get("commitLogMaxOffset"))
        return -1 if end is None or self.is_runtime_former else end

    @property
    def slave_lag_bytes(self) -> int:
        """How far its last slave lags, or lagged when the master reported last; -1: unknown, or no slave."""
        if self.place is None:
            return -1
        if not self.place.has_master:
            return max(self.master_log_end - self.log_end, 0) if min(self.master_log_end, self.log_end) >= 0 else -1
        lags = [self.slave_lags.get(address, -1) for address in self.place.slaves]
        return max(lags) if lags and min(lags) >= 0 else -1

    def fault_without_master(self, now_ms: int) -> str:
        """The consequence of its missing master; empty while it has one."""
        if not self.no_master_ms or self.place is None:
            return ""
        lag = self.slave_lag_bytes
        behind = f"{lag:,} bytes behind what the master told last" if lag >= 0 else "nobody knows how far behind"
        seconds = max(now_ms - self.no_master_ms, 0) // 1000
        return f"no master for {seconds:,} s: slave {self.place.address} is read, {behind}, and takes no messages or changes"

    @property
    def reason_without_master(self) -> str:
        """The same without figures, which change."""
        if not self.no_master_ms or self.place is None:
            return ""
        return f"no master: slave {self.place.address} is read, and takes no messages or changes"

    @property
    def reason_unregistered(self) -> str:
        """As `fault_unregistered`, without the duration."""
        return (
            "unknown to the name server: clients do not find it until it registers there again" if self.unregistered_ms else ""
        )

    def fault_unregistered(self, now_ms: int) -> str:
        """The consequence of its missing registration; empty while it is registered."""
        if not self.unregistered_ms:
            return ""
        seconds = max(now_ms - self.unregistered_ms, 0) // 1000
        return f"unknown to the name server for {seconds:,} s: clients do not find it until it registers there again"


def used_queues(queues: dict[int, QueueOffsets]) -> frozenset[int]:
    """Queues that were ever written to."""
    return frozenset(queue for queue, held in queues.items() if held.max_offset > 0)
