"""Live figures: a catalog of names, and snapshots as columns beside it (`broker_core.worker.channel.schema` says how)."""

from __future__ import annotations

from dataclasses import dataclass, field

Columns = dict[str, bytes]
NO_ANSWER = "no answer for"
"""First words of the fault of a part that does not answer at all; others answer in part."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The set of things that the following snapshots measure."""

    revision: int
    topics: list[str]
    topic_read_queues: list[int]
    topic_write_queues: list[int]
    topic_permission: list[int]
    topic_is_system: list[bool]
    queue_topic: list[int]
    """Index into ``topics`` for each queue row, queues of a topic together and in order of queue id."""
    queue_id: list[int]
    groups: list[str]
    position_group: list[int]
    """Index into ``groups`` for each position row; a position is one group's offset in one queue."""
    position_queue: list[int]
    group_is_system: list[bool] = field(default_factory=list)
    brokers: list[str] = field(default_factory=list)
    """Names of the brokers of an attached cluster; empty for an embedded one. The next four have one item for each."""
    broker_version: list[str] = field(default_factory=list)
    """As RocketMQ prints it; empty while it is unknown."""
    broker_address: list[str] = field(default_factory=list)
    """Of its master, or of a slave where there is no master now."""
    broker_slaves: list[int] = field(default_factory=list)
    broker_cannot: list[dict[str, str]] = field(default_factory=list)
    """`Ability` → why this broker lacks it; any other ability it has, or may have."""
    cannot: dict[str, str] = field(default_factory=dict)
    """`Ability` → why the cluster as a whole lacks it, or every client from outside."""
    topic_in_part: list[bool] = field(default_factory=list)
    """Whether a broker that never reported its topics may hold a part: sums over its queues are unknown. Empty: none."""
    brokers_untold: list[str] = field(default_factory=list)
    """Brokers that never reported their topics and groups; there may be more of both than are listed."""
    brokers_without_offsets: list[str] = field(default_factory=list)
    """Brokers that never reported these, or the offsets of groups: no group's lag is known as a whole."""
    grpc: list[str] = field(default_factory=list)
    """``host:port`` for SDKs of gRPC, of the brokers of an attached cluster that serve them and of its proxies; empty for an
    embedded broker, whose address is in `Ready`."""


TOTALS_READ_MS, OFFSETS_READ_MS = "totals_read_ms", "offsets_read_ms"
"""Among the totals: when the brokers were asked for their own figures and for all offsets, ms; the mean of several brokers."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Figures at one moment. Shapes: T topics, Q queues, G groups, P positions of the catalog of ``revision``."""

    revision: int
    taken_ms: int
    queues: Columns
    """``min_offset``, ``max_offset``, ``last_store_ms`` — i8[Q]; of an attached cluster also ``read_ms``: when it was read."""
    topics: Columns
    """``put_messages``, ``put_bytes``, ``got_messages``, ``got_bytes`` — i8[T], counted since the worker started."""
    groups: Columns
    """``members``, ``got_messages``, ``consume_failed`` — i8[G] (members -1: offline, -2: not read yet, -3:
    brokers list none and a proxy may have some)."""
    positions: Columns
    """``offset`` (-1 unknown), ``next_store_ms`` (store time of the next message to consume, -1 none) — i8[P]; ``owner`` —
    i8[P], index into ``owners``, -1 nobody, -2 not known; of an attached cluster also ``read_ms``: when it was read."""
    owners: list[str]
    totals: dict[str, float]
    """put_messages, put_bytes, got_messages, got_bytes, put_failed, put_p50_ms, put_p99_ms, put_max_ms (last 10 s, NaN
    none), connections, producers, consumers, commit_log_min, commit_log_max, flushed, store_bytes, disk_used_bytes,
    disk_total_bytes, flush_max_ms (longest sync of the log in the last 10 s, NaN none), held_pulls, process_cpu_s,
    process_rss_bytes; transactions_pending, _checking, _waiting (no producer is connected), _committed, _rolled_back,
    _unknown, _given_up, _expired, _checks (counted since the start), _half_end (of the half queue), _half_lag and _op_lag
    (offsets behind the ends of the two queues), _next_round_ms, _unread (records that a start has still to read before all
    that is undecided is known); where atomic transactions are on also atomic_open, _oldest_ms (start of the oldest open one,
    -1 none), _held_back (messages that readers do not get yet), _committed, _aborted, _timed_out (since the start).
    Of an attached cluster also `TOTALS_READ_MS`, `OFFSETS_READ_MS`, and started_ms (of the broker that started last)."""
    delays: Columns = field(default_factory=dict)
    """One row a delay level: ``level``, ``delay_ms``, ``pending``, ``next_due_ms`` (-1 none), ``overdue_ms`` (0 none, -1
    unknown), ``delivered``, ``skipped`` (since the start) — i8[L]; ``late_p50_ms``, ``late_p99_ms`` (last minute, NaN none) —
    f8[L]."""
    timers: dict[str, float] = field(default_factory=dict)
    """pending, next_due_ms (-1 none, -2 not known), overdue_ms (0 none), delivered, cancelled, rolled, lost (since the
    start), late_p50_ms, late_p99_ms (last minute, NaN none), not_yet_in_wheel; empty while timers are not served.
    Of an attached cluster what its brokers tell: pending, overdue_ms and not_yet_in_wheel, -1 while a broker that may have
    timers is lost."""
    faults: dict[str, str] = field(default_factory=dict)
    """Of an attached cluster: the parts that do not answer as they should (a broker's name, ``name server``), and why."""
    slave_lag_bytes: list[int] = field(default_factory=list)
    """For each of the catalog's brokers, how far its last slave lags, in bytes of the commit log; -1 unknown."""
    lateness: Columns = field(default_factory=dict)
    """How late the deliveries of the last hour were, as counts of B buckets: ``from_ms`` (where each begins, rising from 0; it
    ends where the next begins, the last has no end), ``levels``, ``timers`` (empty while timers are not served) — i8[B];
    ``counted_s`` (how long of the hour this process has counted) — i8[1]. Empty where that is not known from inside."""


@dataclass(frozen=True, slots=True)
class Occurred:
    """An event for a person: a rebalance, a new topic, a disk filling up."""

    kind: str
    text: str
    at_ms: int
    subject: str = ""


Subscriptions = dict[str, dict[str, tuple[str, str]]]
"""Group → topic → type of its expression (``TAG``, ``SQL92``, empty: unknown) and its text; of groups with members."""


@dataclass(frozen=True, slots=True)
class HistorySample:
    """The history's input within the worker: figures of a moment, and events since the one before."""

    catalog: Catalog | None
    snapshot: Snapshot
    events: list[Occurred]
    subscriptions: Subscriptions | None = None
    """Of all groups, the same object as long as nothing changes; None: unknown."""
