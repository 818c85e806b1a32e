"""Messages of the store: read, sent, and their lives."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.question import Question, question

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
class MessageBody:
    """The whole body of a message: as it was sent, or as it is stored where it does not decompress."""

    body: bytes
    notice: str = ""
    """Why the body could not be decompressed, if so."""


@dataclass(frozen=True, slots=True)
class FieldValues:
    """Fields of messages, each list with one item a message: its values as text, empty where there is none."""

    texts: list[list[str]]
    body_start: list[bytes]
    """First 200 bytes of the decompressed bodies."""
    unread: list[int] = field(default_factory=list)
    """Numbers of messages whose broker did not answer in time; their items are empty."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Lifeline:
    """Events in their order (`worker.lifeline.order`), as parallel lists of the fields of `worker.lifeline.model.Event`."""

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
    branch: list[int] = field(default_factory=list)
    """The life of each event; empty: all of one."""
    protocol: list[str] = field(default_factory=list)
    """By which a client sent or received it; empty texts where that is unknown."""


@dataclass(frozen=True, slots=True)
class SendReceipt:
    """The place of a sent message; the store time is -1 where the broker does not report it."""

    offset_message_id: str
    queue_id: int
    queue_offset: int
    store_ms: int


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class BrowseQueue(Question[MessagePage]):
    """Message heads of one queue, from an offset on.

    ``count`` is at most 1,000. ``queue_id`` -1 means the newest ``count`` messages of all queues (``start_offset`` is then
    unused).
    """

    topic: str
    queue_id: int
    start_offset: int
    count: int


@dataclass(frozen=True, slots=True)
class TopicPage:
    """Messages of all queues of a topic, newest store time first, and the part of each queue that the page covers.

    ``queue``, ``first`` and ``end`` have one item for each queue that was read: offsets ``first`` to ``end`` (exclusive).
    """

    page: MessagePage
    queue: list[int]
    first: list[int]
    end: list[int]


@question(acts=False)
class BrowseTopic(Question[TopicPage]):
    """Message heads of all queues of a topic by store time: ``count`` (at most 1,000) before an edge, or after it.

    The edge is an offset for each queue (``edge_queue``, ``edge_offset``). A queue without one is read from its end, or for
    newer messages from its begin. With ``at_ms`` from 0 on the edge is that time, and newer messages are read.
    """

    topic: str
    count: int
    edge_queue: list[int] = field(default_factory=list)
    edge_offset: list[int] = field(default_factory=list)
    newer: bool = False
    at_ms: int = -1


@question(acts=False)
class FindOffset(Question[FoundOffset]):
    """First offset of a queue whose store time is at or after ``timestamp_ms``."""

    topic: str
    queue_id: int
    timestamp_ms: int


@question(acts=False)
class ReadMessage(Question[MessageDetail]):
    physical_offset: int


@question(acts=False)
class ReadMessageById(Question[MessageDetail]):
    """One whole message by its offset message id."""

    offset_message_id: str


@question(acts=False)
class ReadBody(Question[MessageBody]):
    """The bytes of one message's body, up to the size that a broker accepts."""

    physical_offset: int


@question(acts=False)
class ReadFields(Question[FieldValues]):
    """Read fields of messages for the columns of a list.

    ``places`` are physical offsets, at most 1,000; ``fields`` are those of the filter language (``prop.region``,
    ``body.items[0].sku``), at most 50. ``around`` is a regular expression: bodies then begin shortly before its first match.
    """

    places: list[int]
    fields: list[str]
    around: str = ""


@question(acts=False)
class ReadLifeline(Question[Lifeline]):
    """The life of a message, by its place in the commit log."""

    physical_offset: int


@question(acts=True)
class SendMessage(Question[SendReceipt]):
    """Store a message as a producer's send would, with the same checks. ``queue_id`` -1: any.

    ``transaction`` sends it as a half message and says how that ends: ``commit``, ``rollback``, or ``unknown`` for neither. The
    receipt is then that of the half message.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    flag: int = 0
    transaction: str = ""
