"""What window and worker say to each other: tagged, versioned messages.

On the channel a message is a msgpack array ``[tag, field, field, …]`` in a length-prefixed frame (`broker_core.ipc.framing`).
Fields keep their order for ever; a new field comes last and has a default, so that an older peer's shorter array still
reads and a newer peer's longer one is cut. `PROTOCOL_VERSION` changes only when that is not enough.

Live figures travel as columns: a `Catalog` names topics, queues, groups and positions whenever that set changes, and each
`Snapshot` carries arrays of the same lengths and order, valid for the catalog of the same ``revision``. An array is the raw
little-endian bytes of its items (``i8`` = int64, ``f8`` = float64), so that ``numpy.frombuffer`` reads it without a copy.
An unknown value is -1 in an int64 column (offsets, times, counts) and NaN in a float64 column; it is shown as unknown,
never as zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PROTOCOL_VERSION = 1

Columns = dict[str, bytes]


# ---- worker → window, unasked ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """First message of the worker."""

    protocol_version: int
    pid: int
    orbit_version: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress of a long step (opening, recovery, stopping). ``total`` 0 = not known."""

    text: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Ready:
    """Name server and broker accept connections."""

    name_server: str
    broker: str
    store_directory: str
    cluster_name: str
    broker_name: str
    started_ms: int
    startup_ms: int
    notice: str = ""
    """What the user should know, e.g. that another port was taken because 9876 is in use."""
    read_only: bool = False
    """Whether requests that act are refused (`broker_core.ipc.acting`); clients are served as ever."""
    commit_log: str = ""
    """Directories of the commit log, apart by commas, where the store has not only its own."""


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
    """Index into the queue rows."""
    group_is_system: list[bool] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Figures at one moment. Shapes: T topics, Q queues, G groups, P positions of the catalog of ``revision``."""

    revision: int
    taken_ms: int
    queues: Columns
    """``min_offset``, ``max_offset``, ``last_store_ms`` — i8[Q]."""
    topics: Columns
    """``put_messages``, ``put_bytes``, ``got_messages``, ``got_bytes`` — i8[T], counted since the worker started."""
    groups: Columns
    """``members``, ``got_messages``, ``consume_failed`` — i8[G] (members -1: offline)."""
    positions: Columns
    """``offset`` (-1 unknown), ``next_store_ms`` (store time of the next message to consume, -1 none) — i8[P]; ``owner`` —
    i8[P], index into ``owners`` or -1."""
    owners: list[str]
    totals: dict[str, float]
    """put_messages, put_bytes, got_messages, got_bytes, put_failed, put_p50_ms, put_p99_ms, put_max_ms (last 10 s, NaN
    none), connections, producers, consumers, commit_log_min, commit_log_max, flushed, store_bytes, disk_used_bytes,
    disk_total_bytes, flush_max_ms (longest sync of the log in the last 10 s, NaN none), held_pulls, process_cpu_s,
    process_rss_bytes; transactions_pending, _checking, _waiting (no producer is connected), _committed, _rolled_back,
    _unknown, _given_up, _expired, _checks (counted since the start), _half_end (of the half queue), _half_lag and _op_lag
    (offsets behind the ends of the two queues), _next_round_ms, _unread (records that a start has still to read before all
    that is undecided is known); where atomic transactions are on also atomic_open, _oldest_ms (start of the oldest open one,
    -1 none), _held_back (messages that readers do not get yet), _committed, _aborted, _timed_out (since the start)."""
    delays: Columns = field(default_factory=dict)
    """One row a delay level: ``level``, ``delay_ms``, ``pending``, ``next_due_ms`` (-1 none), ``overdue_ms`` (0 none),
    ``delivered``, ``skipped`` (since the start) — i8[L]; ``late_p50_ms``, ``late_p99_ms`` (last minute, NaN none) — f8[L]."""
    timers: dict[str, float] = field(default_factory=dict)
    """pending, next_due_ms (-1 none), overdue_ms (0 none), delivered, cancelled, rolled, lost (since the start), late_p50_ms,
    late_p99_ms (last minute, NaN none), not_yet_in_wheel; empty while timers are not served."""
    faults: dict[str, str] = field(default_factory=dict)
    """Of an attached cluster: the parts that do not answer as they should (a broker's name, ``name server``), and why."""


@dataclass(frozen=True, slots=True)
class Occurred:
    """Something worth telling a person: a rebalance, a topic made, a disk filling up."""

    kind: str
    text: str
    at_ms: int
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Fatal:
    """The worker cannot start or go on; it ends after this."""

    kind: str
    message: str
    context: dict[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistorySample:
    """What is handed to the history within the worker: figures of a moment, and what happened since the one before."""

    catalog: Catalog | None
    """A new one, when there is one."""
    snapshot: Snapshot
    events: list[Occurred]


# ---- window → worker ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrowseQueue:
    """Message heads of one queue, from an offset on. Answer: `MessagePage`.

    ``count`` is at most 1,000. ``queue_id`` -1 means the newest ``count`` messages of all queues (``start_offset`` is then
    unused).
    """

    topic: str
    queue_id: int
    start_offset: int
    count: int


@dataclass(frozen=True, slots=True)
class FindOffset:
    """First offset of a queue whose store time is at or after ``timestamp_ms``. Answer: `FoundOffset`."""

    topic: str
    queue_id: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One whole message. Answer: `MessageDetail`."""

    physical_offset: int


@dataclass(frozen=True, slots=True)
class ReadMessageById:
    """One whole message by its offset message id. Answer: `MessageDetail`."""

    offset_message_id: str


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Store a message as a producer's send would, with the same checks. Answer: `SendReceipt`. ``queue_id`` -1: any."""

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    flag: int = 0


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create or change a topic. Answer: `Done`."""

    topic: str
    read_queues: int
    write_queues: int
    permission: int = 6


@dataclass(frozen=True, slots=True)
class ListMembers:
    """Clients of a group. Answer: `Members`."""

    group: str


@dataclass(frozen=True, slots=True)
class ListDelayed:
    """Messages that wait in a delay level, from an offset of its queue on. Answer: `DelayedMessages`.

    ``start_offset`` 0 begins with the first that waits; ``count`` is at most 1,000.
    """

    level: int
    start_offset: int
    count: int


@dataclass(frozen=True, slots=True)
class ActOnDelayed:
    """Do something to messages that wait in a delay level, at most 1,000. Answer: `DelayedActed`.

    ``action`` is ``deliver`` (now), ``cancel`` (never) or ``move`` (to ``due_ms``). The two lists name the messages as
    `DelayedMessages` did; what no longer waits there is left alone and counted.
    """

    action: str
    level: int
    queue_offset: list[int]
    physical_offset: list[int]
    due_ms: int = -1


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """Undecided transactions in the order of their half offsets, or those that ended last. Answer: `TransactionPage`.

    Attributes:
        start: Rows to leave out.
        count: Rows at most, 1 to 1,000.
        group: Only of this producer group; empty for all.
        ended: Whether to list ended ones, the newest first, instead of undecided ones.
        words: Only those with all these words in key, unique key, tag, topic or group, letter case aside; empty for all.
            Every one is looked at, not only those of the page.
    """

    start: int
    count: int
    group: str = ""
    ended: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class ListAtomic:
    """Transactional ids of producers with atomic transactions, open ones first. Answer: `AtomicPage`. ``count`` ≤ 1,000."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class AbortAtomic:
    """Abort an open atomic transaction by the transactional id. Answer: `Done`. Recorded in the journal of actions."""

    name: str


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """Commit or roll back an undecided transaction by hand. Recorded in the journal of actions. Answer: `Done`."""

    origin: int
    commit: bool


@dataclass(frozen=True, slots=True)
class CheckTransaction:
    """Ask a producer about an undecided transaction now. Recorded. Answer: `Done`."""

    origin: int


@dataclass(frozen=True, slots=True)
class ResumeTransaction:
    """Bring a given-up message back into the half topic, to be checked anew. Recorded. Answer: `Done`.

    ``physical_offset`` is that of the message in the discard topic.
    """

    physical_offset: int


@dataclass(frozen=True, slots=True)
class ReadTransactionHistory:
    """Transactions of the store whose first half lies before a half offset (-1: the end). Answer: `TransactionHistory`.

    Half messages are read from ``halves_back`` before that place to the end of their queue: the fewer, the cheaper.
    """

    before: int = -1
    count: int = 100
    halves_back: int = 20_000


@dataclass(frozen=True, slots=True)
class ForecastTimers:
    """How many timer messages are due when. Answer: `TimerForecast`."""


@dataclass(frozen=True, slots=True)
class ListTimers:
    """Timer messages that wait, by the time they are due. Answer: `PendingTimers`.

    ``slot_ms`` and ``position`` are 0 and -1 for the first page, a time and -1 to begin there, or as the page before said;
    ``count`` is at most 1,000; ``topic`` empty means all.
    """

    slot_ms: int
    position: int
    count: int
    topic: str = ""


@dataclass(frozen=True, slots=True)
class ActOnTimers:
    """Do something to timer messages that wait, at most 1,000. Answer: `TimersActed`.

    ``action`` is ``deliver`` (now), ``cancel`` (never) or ``move`` (to ``due_ms``). The two lists name the messages as
    `PendingTimers` did; what no longer waits there is left alone and counted.
    """

    action: str
    slot_ms: list[int]
    position: list[int]
    due_ms: int = -1


@dataclass(frozen=True, slots=True)
class StartSearch:
    """Search the store for messages that pass a filter. Answer: `SearchStarted`. ``limit`` -1: all of them.

    The search waits until `ContinueSearch` asks for hits, so not asking is a pause.
    """

    filter: str
    limit: int = -1
    body_starts: bool = True
    """Whether the hits bring the first bytes of their bodies; a long list reads them as they are seen (`ReadFields`)."""


@dataclass(frozen=True, slots=True)
class ContinueSearch:
    """Go on with a search for a moment. Answer: `SearchHits`."""

    search_id: int


@dataclass(frozen=True, slots=True)
class EndSearch:
    """Give a search up; one that has ended by itself is gone already. Answer: `Done`."""

    search_id: int


@dataclass(frozen=True, slots=True)
class StartFollow:
    """Follow what arrives from now on. Answer: `FollowStarted`.

    Attributes:
        topics: At most 100; empty: all, also those of the system.
        filter: In the language of searches; empty: everything.
        rules: At most 8 filters; `Followed` says which of them a message passes first.
        position: Physical offset to go on from, as `Followed` gave it; -1: the end of the log.
    """

    topics: list[str]
    filter: str = ""
    rules: list[str] = field(default_factory=list)
    position: int = -1


@dataclass(frozen=True, slots=True)
class ContinueFollow:
    """Wait for what arrives, for a second at most. Answer: `Followed`. One question of a follow is open at a time."""

    follow_id: int


@dataclass(frozen=True, slots=True)
class EndFollow:
    """End a follow. Answer: `Done`."""

    follow_id: int


@dataclass(frozen=True, slots=True)
class ReadFields:
    """Read fields of messages for the columns of a list. Answer: `FieldValues`.

    ``places`` are physical offsets, at most 1,000; ``fields`` are those of the filter language (``prop.region``,
    ``body.items[0].sku``), at most 50.
    """

    places: list[int]
    fields: list[str]


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """Series of the recorded history, thinned out. Answer: `HistoryLines`.

    Attributes:
        names: At most 200, e.g. ``totals.put_rate``, ``topic:<name>.put_rate``, ``group:<name>.lag_messages``,
            ``queue:<topic>/<id>.max_offset``, ``position:<group>/<topic>/<id>.lag_messages``, ``level:<n>.pending``.
        from_ms: Begin, ms since the epoch.
        to_ms: End, exclusive.
        points: Stretches that the range is cut into, 2 to 20,000.
    """

    names: list[str]
    from_ms: int
    to_ms: int
    points: int = 600


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """What happened, newest first. Answer: `EventPage`. Without ``kinds`` of any kind, without ``subject`` of any."""

    from_ms: int
    to_ms: int
    count: int = 1_000
    kinds: list[str] = field(default_factory=list)
    subject: str = ""


@dataclass(frozen=True, slots=True)
class AskBroker:
    """A remoting request of administration, as mqadmin would send it; no account is asked for. Answer: `BrokerAnswer`."""

    code: int
    """`broker_core.remoting.codes.RequestCode`"""
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    name_server: bool = False
    """To the name server, not to the broker."""
    broker_name: str = ""
    """Which broker of a cluster; empty: the only one, or any."""


@dataclass(frozen=True, slots=True)
class MeasureTopics:
    """How much of the disk topics take, at most 100 of them at once. Answer: `TopicMeasures`."""

    topics: list[str]


@dataclass(frozen=True, slots=True)
class ReadOwnership:
    """Which client of a group owned which queue when, from the history. Answer: `Ownership`."""

    group: str
    from_ms: int
    to_ms: int
    points: int = 600


@dataclass(frozen=True, slots=True)
class ListConnections:
    """Every connection of broker and name server, and who uses it. Answer: `ConnectionPage`."""


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """End a connection, named as `ConnectionPage` does; its client connects again if it wants. Recorded. Answer: `Done`."""

    side: str
    address: str


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """Have something written into the history of events that the worker cannot know. Recorded. Answer: `Done`.

    ``kind`` is ``alert`` for what the window's rules found and ``note`` for a person's own words.
    """

    kind: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class ReadStore:
    """The store from inside. Answer: `StorePicture`."""


@dataclass(frozen=True, slots=True)
class ReadLifeline:
    """What is known of the life of a message, from its place in the commit log. Answer: `Lifeline`."""

    physical_offset: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stop cleanly. Answer: `Done`, then the worker ends."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query or a command, answered by exactly one `Reply` or `Failure` with the same ``request_id``."""

    request_id: int
    body: Query


@dataclass(frozen=True, slots=True)
class Cancel:
    """The answer is no longer wanted."""

    request_id: int


# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Heads in order of queue offset (newest first for queue -1). All lists have one item a message."""

    topic: str
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    store_ms: list[int]
    born_ms: list[int]
    body_bytes: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_start: list[bytes]
    """First 200 bytes of the decompressed body."""
    min_offset: int
    max_offset: int
    next_offset: int
    notice: str = ""


@dataclass(frozen=True, slots=True)
class FoundOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class MessageDetail:
    """Everything stored about one message. ``body`` is decompressed; ``stored_body_bytes`` is its size on disk."""

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    offset_message_id: str
    store_bytes: int
    body: bytes
    stored_body_bytes: int
    body_crc: int
    flag: int
    sys_flag: int
    born_ms: int
    born_host: str
    store_ms: int
    store_host: str
    reconsume_times: int
    prepared_transaction_offset: int
    properties: dict[str, str]
    notice: str = ""
    """Why the body could not be decompressed, if so."""


@dataclass(frozen=True, slots=True)
class SendReceipt:
    offset_message_id: str
    queue_id: int
    queue_offset: int
    store_ms: int


@dataclass(frozen=True, slots=True)
class Members:
    """Parallel lists, one item a client."""

    client_id: list[str]
    address: list[str]
    language: list[str]
    version: list[str]
    last_heartbeat_ms: list[int]
    subscriptions: list[dict[str, str]]
    """Topic → filter expression."""


@dataclass(frozen=True, slots=True)
class DelayedMessages:
    """Waiting messages in the order of their queue; parallel lists. ``topic`` and ``queue_id`` are where they will go."""

    level: int
    queue_offset: list[int]
    physical_offset: list[int]
    due_ms: list[int]
    store_ms: list[int]
    topic: list[str]
    queue_id: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    next_offset: int
    max_offset: int
    """Equal to ``next_offset`` when there is nothing more."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class TransactionPage:
    """Parallel lists, one item a transaction; -1 where something is not known or not there."""

    total: int
    """Transactions that the query means, not only those of this page."""
    check_times_max: int
    origin: list[int]
    """Half offset of the first half: its name in commands."""
    half_offset: list[int]
    op_offset: list[int]
    """Op record that decided it; of an undecided one, where the next one will be."""
    physical_offset: list[int]
    """Of the half message, for `ReadMessage`; of a given-up one, that of its half."""
    real_offset: list[int]
    state: list[str]
    """``prepared``, ``checking``, ``waiting`` (no producer is connected), ``committed``, ``rolled back``, ``given up``,
    ``expired``."""
    group: list[str]
    producers: list[int]
    """Connected members of the group."""
    topic: list[str]
    queue_id: list[int]
    keys: list[str]
    tag: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    born_ms: list[int]
    check_times: list[int]
    asked_ms: list[int]
    next_check_ms: list[int]
    """When a producer is asked next; -1 where nobody can be asked, and for ended ones."""
    ended_ms: list[int]


@dataclass(frozen=True, slots=True)
class AtomicPage:
    """Parallel lists: the first have one item a transactional id, those that begin with ``queue`` one a queue it holds back."""

    total: int
    name: list[str]
    producer_id: list[int]
    epoch: list[int]
    state: list[str]
    """``empty``, ``open``, ``deciding``, ``committed``, ``aborted``: of the open or the last transaction."""
    start_ms: list[int]
    """When the open one began, -1 where none is open."""
    update_ms: list[int]
    timeout_ms: list[int]
    offsets: list[int]
    """Consumer positions in the open one."""
    queue_row: list[int]
    """Index into the first lists."""
    queue_topic: list[str]
    queue_id: list[int]
    queue_first_offset: list[int]
    """Readers get no message from here on."""
    queue_held_back: list[int]
    """Messages stored from there on."""


@dataclass(frozen=True, slots=True)
class TransactionHistory:
    """Transactions, newest first, and their steps. The first lists have one item a transaction, the last ones one a step."""

    next_before: int
    """For the next page; -1 when this is the last."""
    origin: list[int]
    state: list[str]
    """``prepared``, ``checking``, ``committed``, ``rolled back``, ``given up``, ``done with``."""
    group: list[str]
    topic: list[str]
    queue_id: list[int]
    keys: list[str]
    tag: list[str]
    unique_key: list[str]
    born_ms: list[int]
    check_times: list[int]
    op_offset: list[int]
    deliveries: list[int]
    """Real messages; more than one where consumers got it again."""
    step_row: list[int]
    """Index of the transaction of each step; steps of a transaction are together, in the order of time."""
    step_kind: list[str]
    """``prepared``, ``checked``, ``postponed``, ``resumed``, ``decided``, ``delivered``, ``given up``."""
    step_ms: list[int]
    step_queue_offset: list[int]
    step_physical_offset: list[int]
    notice: str = ""


@dataclass(frozen=True, slots=True)
class HistoryLines:
    """One item a series asked for, in that order; empty for what was never recorded. N differs from series to series."""

    step_ms: int
    """Length of a stretch."""
    begin_ms: int
    """When the record begins; -1 when there is none."""
    times_ms: list[bytes]
    """i8[N]: the first sample of each stretch."""
    low: list[bytes]
    """f8[N], as the next two; the smallest value of the stretch. NaN: from here to the next there was no sample."""
    high: list[bytes]
    last: list[bytes]


@dataclass(frozen=True, slots=True)
class EventPage:
    """Parallel lists, one item an event."""

    total: int
    """Events that the query means, not only those of this page."""
    at_ms: list[int]
    kind: list[str]
    subject: list[str]
    text: list[str]


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
class Ownership:
    """Parallel lists, one item a stretch of time in which one client owned a queue, by queue and time."""

    topic: list[str]
    queue_id: list[int]
    from_ms: list[int]
    to_ms: list[int]
    """Exclusive."""
    client: list[str]
    left_out: int = 0
    """Queues of the group beyond those that one answer has room for."""


@dataclass(frozen=True, slots=True)
class DelayedActed:
    """``done`` messages were changed; those at the offsets ``gone`` no longer waited."""

    done: int
    gone: list[int]


@dataclass(frozen=True, slots=True)
class TimerForecast:
    """Messages due in each of the next 60 minutes and 48 hours, from ``taken_ms`` on, and on each day (UTC) until the last.

    ``first_day`` counts days since the epoch. What is overdue is in the first of each.
    """

    taken_ms: int
    minutes: list[int]
    hours: list[int]
    first_day: int
    days: list[int]


@dataclass(frozen=True, slots=True)
class PendingTimers:
    """Timer messages by time, within a second the last sent first; parallel lists. ``topic`` is where they will go.

    ``due_ms`` is the time that was asked for, at the end of its second; ``slot_ms`` and ``position`` name the message to
    `ActOnTimers`. A message that cannot be read has ``due_ms`` -1.
    """

    slot_ms: list[int]
    position: list[int]
    due_ms: list[int]
    store_ms: list[int]
    physical_offset: list[int]
    topic: list[str]
    queue_id: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    is_cancelled: list[bool]
    next_slot_ms: int
    """-1 when there is nothing more."""
    next_position: int


@dataclass(frozen=True, slots=True)
class TimersActed:
    """``done`` messages were changed; those in the slots ``gone`` no longer waited, or cannot be cancelled."""

    done: int
    gone: list[int]


@dataclass(frozen=True, slots=True)
class SearchStarted:
    """A search that can be continued. ``plan`` says in words what it will look at, about ``total`` messages."""

    search_id: int
    plan: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What a moment of search brought: at most 511 heads in the order of the log, all lists with one item a message.

    ``scanned`` of about ``total`` messages were looked at so far, ``found`` passed. While ``is_over`` is False there is more
    to come; then it says whether everything was found (``reasons`` is empty), or why not.
    """

    search_id: int
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    store_ms: list[int]
    born_ms: list[int]
    body_bytes: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_start: list[bytes]
    scanned: int
    total: int
    found: int
    is_over: bool = False
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FollowStarted:
    """A follow that can be continued, from the physical offset ``position`` on."""

    follow_id: int
    position: int


@dataclass(frozen=True, slots=True)
class Followed:
    """What arrived: at most 500 heads in the order of the log, all lists with one item a message; none after a quiet second."""

    follow_id: int
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    store_ms: list[int]
    born_ms: list[int]
    body_bytes: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_start: list[bytes]
    rule: list[int]
    """Number of the first rule that a message passes, -1 for none."""
    left_out: int = 0
    """Messages more than a batch may have; those that only their bodies decide are all counted."""
    skipped_bytes: int = 0
    """Of the log, passed over without a look, as reading fell behind."""
    position: int = -1
    """Physical offset from which the next answer goes on."""
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class FieldValues:
    """Fields of messages, each list with one item a message: its values as text, empty where there is none."""

    texts: list[list[str]]
    """One list for each field."""
    body_start: list[bytes]
    """First 200 bytes of the decompressed bodies."""


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """A remoting response with code SUCCESS; others come as a `Failure` with code and remark."""

    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ConnectionPage:
    """Parallel lists: the first have one item a connection, those that begin with ``member`` one a group that a client is in.

    ``side`` is ``broker`` or ``name server`` for connections that these serve, ``registration`` for the broker's own to its
    name server; ``address`` is the other end's. Bytes and requests count since the connection stands.
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
    """Index of the connection."""
    member_role: list[str]
    """``producer`` or ``consumer``."""
    member_client_id: list[str]
    member_group: list[str]
    member_heartbeat_ms: list[int]
    member_topics: list[dict[str, str]]
    """Topic → filter expression of the group; empty for producers, who do not say."""


@dataclass(frozen=True, slots=True)
class StorePicture:
    """The store from inside; lists of one prefix are parallel. Offsets are physical, sizes bytes."""

    taken_ms: int
    log_file_bytes: int
    log_base: list[int]
    log_first_ms: list[int]
    """Store time of the first record, -1 where none is and for all but the 64 newest files."""
    log_modified_ms: list[int]
    log_min: int
    log_end: int
    """End of what is written; consume queues are filled by the same put, so dispatch ends here too."""
    log_flushed: int
    indexed: int
    """End of what the index knows, -1 when none is kept."""
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
    """Newest syncs of the log, oldest first: when each ended, how long it took, what it made durable."""
    flush_took_us: list[int]
    flush_bytes: list[int]
    disk_used_bytes: int
    disk_total_bytes: int
    store_bytes: int
    max_used_percent: int
    """Above this, files past their time go at any hour; above the next, files go before their time; above the third, puts
    are refused."""
    clean_forcibly_percent: int
    refuse_percent: int
    clean_forcibly: bool
    delete_when: str
    file_reserved_hours: int
    flush_disk_type: str
    flush_interval_ms: int
    refusal: str
    """Why puts are refused; empty while they are taken."""


@dataclass(frozen=True, slots=True)
class Lifeline:
    """Events by time, those of unknown time last; parallel lists, as `broker_core.lifeline.model.Event` describes them."""

    unique_key: str
    at_ms: list[int]
    kind: list[str]
    evidence: list[str]
    source: list[str]
    until_ms: list[int]
    group: list[str]
    number: list[int]
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    outcome: list[str]
    host: list[str]
    missing: list[str]
    """What could not be found, a sentence each, with the reason."""


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class Reply:
    request_id: int
    body: Answer


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as `broker_core.errors.error_from_wire` takes it."""

    request_id: int
    kind: str
    message: str
    context: dict[str, str | int | float | bool | None] = field(default_factory=dict)


Query = (
    BrowseQueue
    | FindOffset
    | ReadMessage
    | ReadMessageById
    | SendMessage
    | CreateTopic
    | ListMembers
    | ListDelayed
    | ActOnDelayed
    | ForecastTimers
    | ListTimers
    | ActOnTimers
    | Shutdown
    | ListTransactions
    | EndTransaction
    | CheckTransaction
    | ResumeTransaction
    | ReadTransactionHistory
    | ListAtomic
    | AbortAtomic
    | StartSearch
    | ContinueSearch
    | EndSearch
    | StartFollow
    | ContinueFollow
    | EndFollow
    | ReadFields
    | ReadHistory
    | ReadEvents
    | AskBroker
    | MeasureTopics
    | ReadOwnership
    | ListConnections
    | CloseConnection
    | ReadStore
    | NoteEvent
    | ReadLifeline
)
Answer = (
    MessagePage
    | FoundOffset
    | MessageDetail
    | SendReceipt
    | Members
    | DelayedMessages
    | DelayedActed
    | Done
    | TransactionPage
    | TransactionHistory
    | AtomicPage
    | TimerForecast
    | PendingTimers
    | TimersActed
    | SearchStarted
    | SearchHits
    | FollowStarted
    | Followed
    | FieldValues
    | HistoryLines
    | EventPage
    | BrokerAnswer
    | TopicMeasures
    | Ownership
    | ConnectionPage
    | StorePicture
    | Lifeline
)
WorkerMessage = Hello | Stage | Ready | Catalog | Snapshot | Occurred | Fatal | Reply | Failure
WindowMessage = Request | Cancel
