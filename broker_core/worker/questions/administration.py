"""Topics, groups, clients and connections, and the store from inside."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.protocol.administration import READING
from broker_core.protocol.filter.rejection import Wanted, wanted_topics
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------

PRODUCER, CONSUMER = "producer", "consumer"
"""Roles in a `ConnectionPage`."""
REMOTING, GRPC = "remoting", "gRPC"
"""Protocols of clients, in the words of the field."""
CONSUMER_KINDS = {"CONSUME_PASSIVELY": "push consumer", "CONSUME_ACTIVELY": "pull consumer"}
"""How a heartbeat of remoting names the type of a consumer → the word in ``ConnectionPage.member_kind``."""


@dataclass(frozen=True, slots=True)
class Members:
    """Parallel lists, one item a client."""

    client_id: list[str]
    address: list[str]
    language: list[str]
    version: list[str]
    last_heartbeat_ms: list[int]
    subscriptions: list[dict[str, str]]
    notice: str = ""
    expression_types: list[dict[str, str]] = field(default_factory=list)
    """Topic → TAG or SQL92; none where that is unknown."""
    protocol: list[str] = field(default_factory=list)
    """`REMOTING` or `GRPC`; empty where that is unknown."""

    def wanted(self, client: int) -> dict[str, Wanted]:
        """What a client subscribes to, by topic."""
        kinds = self.expression_types[client] if self.expression_types else {}
        return wanted_topics(self.subscriptions[client], kinds)


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """A remoting response with code SUCCESS; others come as a `Failure` with code and remark."""

    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    notice: str = ""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Broker → its body, where each has its own, such as settings; ``body`` is that of the first."""


@dataclass(frozen=True, slots=True)
class TopicMeasures:
    """Parallel lists, one item a queue that has, or had, messages."""

    topic: list[str]
    queue_id: list[int]
    oldest_ms: list[int]
    """Store time of the oldest message; -1 when there is none."""
    log_bytes: list[int]
    """Of the records in the commit log."""
    queue_bytes: list[int]
    """Of the units in the consume queue."""
    is_estimate: list[bool]
    """Whether ``log_bytes`` comes from a part of the records."""


@dataclass(frozen=True, slots=True)
class ConnectionPage:
    """Parallel lists: the first have one item a connection, those that begin with ``member`` one a group that a client is in.

    ``side`` is ``broker``, ``grpc`` (a client of the broker's gRPC port) or ``name server`` for connections that these serve,
    ``registration`` for the broker's own to its name server; ``address`` is the other end's. Bytes and requests count from
    the begin of the connection. -1 is a number or time that the broker does not report.
    """

    taken_ms: int
    side: list[str]
    address: list[str]
    local_address: list[str]
    language: list[str]
    version: list[str]
    connected_ms: list[int]
    last_active_ms: list[int]
    bytes_in: list[int]
    bytes_out: list[int]
    requests: list[int]
    member_row: list[int]
    member_role: list[str]
    """``producer`` or ``consumer``."""
    member_client_id: list[str]
    member_group: list[str]
    member_heartbeat_ms: list[int]
    member_topics: list[dict[str, str]]
    """Topic → filter expression of the group; empty for producers, which subscribe to nothing."""
    notice: str = ""
    protocol: list[str] = field(default_factory=list)
    """`REMOTING` or `GRPC`; as the next two one a connection, and none at all where that is unknown."""
    streams: list[int] = field(default_factory=list)
    """Open calls of a connection of gRPC; -1 for remoting, which has no streams."""
    leases: list[int] = field(default_factory=list)
    """Deliveries that the broker keeps invisible for a push consumer of gRPC; -1 for others, whose group has them."""
    member_kind: list[str] = field(default_factory=list)
    """``producer``, ``push consumer``, ``pull consumer`` or ``simple consumer``; empty where that is unknown."""


@dataclass(frozen=True, slots=True)
class StorePicture:
    """The store from inside; lists of one prefix are parallel. Offsets are physical, sizes bytes."""

    taken_ms: int
    log_file_bytes: int
    log_base: list[int]
    log_first_ms: list[int]
    """Store time of the first record, -1 without one and for all but the 64 newest files."""
    log_modified_ms: list[int]
    log_min: int
    log_end: int
    """End of the written log; the same put fills the consume queues, so dispatch ends here too."""
    log_flushed: int
    indexed: int
    """End of the indexed log, -1 without an index."""
    queue_topic: list[str]
    queue_count: list[int]
    queue_entries: list[int]
    queue_bytes: list[int]
    queue_behind: list[int]
    """Entries in memory that are not in the files yet."""
    index_name: list[str]
    index_entries: list[int]
    index_capacity: list[int]
    index_begin_ms: list[int]
    index_end_ms: list[int]
    index_bytes: list[int]
    clean_ms: list[int]
    """Runs of cleaning that deleted something or failed, oldest first."""
    clean_trigger: list[str]
    clean_log_files: list[int]
    clean_queue_files: list[int]
    clean_index_files: list[int]
    clean_log_bytes: list[int]
    clean_error: list[str]
    overdue_files: int
    """Files of the log past their time."""
    flush_ms: list[int]
    """Newest syncs of the log, oldest first: when each ended, how long it took, the bytes it made durable."""
    flush_took_us: list[int]
    flush_bytes: list[int]
    disk_used_bytes: int
    disk_total_bytes: int
    store_bytes: int
    max_used_percent: int
    """Above this, files past their time are deleted at any hour; above the next, files before their time; above the third,
    puts are refused.
    """
    clean_forcibly_percent: int
    refuse_percent: int
    clean_forcibly: bool
    delete_when: str
    file_reserved_hours: int
    flush_disk_type: str
    flush_interval_ms: int
    refusal: str
    """Why puts are refused; empty while they are accepted."""
    machine_code: str
    """``used``, ``off`` or ``not used``: see `orbitNative` in docs/broker.md."""


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=True)
class CreateTopic(Question[Done]):
    """Create or change a topic."""

    topic: str
    read_queues: int
    write_queues: int
    permission: int = 6
    message_type: str = ""
    """One of `broker_core.protocol.admin.topics.MESSAGE_TYPES`; empty: not declared, or as it is."""


@question(acts=False)
class ListMembers(Question[Members]):
    group: str


@question(acts=lambda asked: asked.code not in READING)
class AskBroker(Question[BrokerAnswer]):
    """A remoting request of administration, as mqadmin would send it, without an account."""

    code: int
    """`broker_core.protocol.codes.RequestCode`"""
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    name_server: bool = False
    broker_name: str = ""
    """The broker of a cluster; empty: the only one, or any."""


@question(acts=False)
class MeasureTopics(Question[TopicMeasures]):
    """Disk use of at most 100 topics."""

    topics: list[str]


@question(acts=False)
class ListConnections(Question[ConnectionPage]):
    """Every connection of broker and name server, and its client."""


@question(acts=True)
class CloseConnection(Question[Done]):
    """Close a connection, named as `ConnectionPage` does; its client may connect again. Recorded."""

    side: str
    address: str


@question(acts=False)
class ReadStore(Question[StorePicture]):
    """The store from inside."""
