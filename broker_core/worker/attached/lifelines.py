"""The life of a message that lies in an attached cluster: what its brokers' indexes, queues and tables hold of it.

Requests stay within the budgets of the brokers, and within `REQUESTS_MAX` for one life. Copies of a message are searched under
its topics, those of the brokers themselves, and retry and dead letter topics of the groups that have offsets in its topics; the
answer names what was not searched.

Source: docs/spec/broker.md §4.2 to §4.5, §8.1, §13.1; docs/spec/remoting.md §2.2.6 (queries).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import AskGently, ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.cluster.records import split_records
from broker_core.cluster.time_bounds import first_stored_from
from broker_core.engine.store.results import GetResult, GetStatus
from broker_core.errors import NetworkError, RecordError, RemoteError
from broker_core.protocol.admin.offsets import read_offset, read_queue_units
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import HEADS, decode_record, read_head
from broker_core.protocol.message.sys_flag import HOST_V6_MASK
from broker_core.protocol.names import DLQ_PREFIX, TRACE_TOPIC
from broker_core.protocol.queue_unit import QueueUnit
from broker_core.protocol.retry_names import possible_groups, possible_owners
from broker_core.tools.search.cluster import KEY_ANSWER_MESSAGES
from broker_core.tools.search.fields import state_of_topic
from broker_core.worker.attached.browsing import whole_queue
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import PART_ERRORS, LostParts
from broker_core.worker.history import HistoryService
from broker_core.worker.lifeline.gather import Reach
from broker_core.worker.lifelines import read_lifeline
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.stored_messages import Lifeline, ReadLifeline

T = TypeVar("T")

REQUESTS_MAX = 400
"""For one life; with the budget of a broker some eight seconds of its requests."""
LIFE_SECONDS = 20.0
"""For one life: later answers of slow brokers are missing."""
OPS_MAX = 2_000
OTHER_TOPICS_MAX = 20
AT_A_TIME = 2
_DAY_MS = 86_400_000


class ClusterLifelines:
    """Reads lives, `AT_A_TIME` at once. ``history`` is None where none is kept. On one event loop."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures, history: HistoryService | None) -> None:
        self._link = link
        self._figures = figures
        self._history = history
        self._turns = asyncio.Semaphore(AT_A_TIME)

    def handlers(self) -> list[Handler]:
        return [ReadLifeline.answered_by(self.read)]

    async def read(self, query: ReadLifeline) -> Lifeline:
        """The life of the message at a place that the window knows. Raises `UsageError` where none starts."""
        async with self._turns:
            loop = asyncio.get_running_loop()
            records = ClusterRecords(self._link, self._figures, loop, until_s=loop.time() + LIFE_SECONDS)
            try:
                told = await read_lifeline(
                    query.physical_offset,
                    records,
                    _Offsets(self._link, self._figures),
                    self._history,
                    run=asyncio.to_thread,
                    now_ms=wall_clock_ms(),
                    reach=Reach(records.place_of, OPS_MAX, OTHER_TOPICS_MAX),
                    known=self._figures.known_names(),
                )
            finally:
                # A thread cannot be cancelled, so its requests are refused from now on.
                records.end()
        return replace(told, missing=[*told.missing, *records.missing])


class _Offsets:
    """Offsets of all groups as the brokers reported them last, by the queues that the window knows."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures) -> None:
        self._numbers = link.numbers
        self._figures = figures

    def get(self, group: str, topic: str, queue_id: int) -> int:
        broker, own_id = self._numbers.queue_of(queue_id)
        return self._figures.of(broker).positions.get((group, topic), {}).get(own_id, -1)

    def groups_of(self, topic: str) -> list[str]:
        return groups_of(self._figures, topic)


def groups_of(figures: ClusterFigures, topic: str) -> list[str]:
    """Groups that have offsets in a topic on any broker."""
    brokers = list(figures.brokers.values())  # the loop may add one while a thread looks
    return sorted({group for of in brokers for group, consumed in of.positions if consumed == topic})


class ClusterRecords:
    """A `LifelineStore` that asks brokers. Called on a thread, which waits while the loop asks.

    Queues and places are those that the window knows, in the records as well. No request is sent after ``until_s``, a time of
    the loop. ``missing`` names what was not read, and why.
    """

    def __init__(
        self, link: ClusterLink, figures: ClusterFigures, loop: asyncio.AbstractEventLoop, *, until_s: float = math.inf
    ) -> None:
        self._link = link
        self._figures = figures
        self._loop = loop
        self._lost = LostParts(figures)
        self._puller = Puller(link, AskGently(link))
        self._asked = 0
        self._topics: set[str] = set()
        """Topics of users in which the message lies or lay."""
        self._cut = ""
        self._until_s = until_s

    def end(self) -> None:
        """Send no more requests."""
        self._until_s = 0.0

    @property
    def missing(self) -> list[str]:
        return [text for text in (self._cut, self._lost.notice()) if text]

    def place_of(self, host: HostAddress, physical_offset: int) -> int | None:
        """Place of a record by the parts of its id; None where its broker belongs to another cluster."""
        broker = self._link.broker_at(str(host))
        return None if broker is None else self._link.numbers.shown_place(broker, physical_offset)

    # ---- requests by place ----------------------------------------------------------------------------------------------

    def record_at(self, physical_offset: int) -> memoryview | None:
        broker, offset = self._link.numbers.place_of(physical_offset)
        try:
            record = self._viewed(broker, offset)
        except NetworkError as error:
            if not self._topics:  # the message that is asked about: there is nothing to tell
                raise
            self._lost.failed(broker, error)
            return None
        if record is not None:
            self._note_topics(record)
        return record

    def _viewed(self, broker: str, offset: int) -> memoryview | None:
        try:
            answer = self._wait(self._link.ask_gently(broker, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(offset)}))
        except RemoteError:
            return None
        return self._numbered(broker, bytes(answer.body))

    def _note_topics(self, record: memoryview) -> None:
        message = decode_record(record)
        named = (props.REAL_TOPIC, props.RETRY_TOPIC, props.DLQ_ORIGIN_TOPIC)
        self._topics |= {message.topic, *(message.properties.get(name, "") for name in named)} - {""}

    # ---- requests by key ------------------------------------------------------------------------------------------------

    def query(self, topic: str, key: str, *, max_count: int, unique: bool = False) -> list[memoryview]:
        found: list[memoryview] = []
        for broker in self._brokers_of(topic):
            if self._lost.is_lost(broker) or not self._may_ask():
                continue
            name = self._figures.of(broker).config.get("msgTraceTopicName") or topic if topic == TRACE_TOPIC else topic
            count = min(max_count, KEY_ANSWER_MESSAGES)
            try:
                body = self._wait(self._link.find_gently(broker, name, key, count=count, until_ms=self._later()))
            except PART_ERRORS as error:
                self._lost.failed(broker, error)
                continue
            records = [record for record in split_records(body) if _has(record, name, key, unique=unique)]
            found += [self._numbered(broker, record) for record in records]
        return found[:max_count]

    @staticmethod
    def _later() -> int:
        return wall_clock_ms() + _DAY_MS  # clocks of brokers may be ahead

    def _brokers_of(self, topic: str) -> list[str]:
        """Brokers that have a topic; all of them for topics that brokers keep to themselves, which are in no table."""
        names = self._link.numbers.names
        having = [name for name in names if topic in self._figures.of(name).topics]
        return having or ([] if state_of_topic(topic) in ("normal", "retry", "dead") and topic != TRACE_TOPIC else names)

    def queues(self) -> list[tuple[str, int]]:
        known = {topic for of in list(self._figures.brokers.values()) for topic in of.topics}
        groups = {group for topic in self._topics for group in (*groups_of(self._figures, topic), *possible_groups(topic))}
        near = {topic for topic in known if self._is_near(topic, groups)}
        others = {topic for topic in known if state_of_topic(topic) == "normal"}
        return [(topic, 0) for topic in sorted(near | others)]

    def _is_near(self, topic: str, groups: set[str]) -> bool:
        """Whether a topic may hold dead letters or retries that some groups have of the topics of the message."""
        if topic.startswith(DLQ_PREFIX):
            return topic.removeprefix(DLQ_PREFIX) in groups
        owners = possible_owners(topic)
        return any(owner.group in groups and (not owner.topic or owner.topic in self._topics) for owner in owners)

    # ---- requests by queue ----------------------------------------------------------------------------------------------

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int) -> list[QueueUnit]:
        broker, own_id = self._link.numbers.queue_of(queue_id)
        if not self._may_ask():
            return []
        try:
            units = self._units(broker, topic, own_id, offset, max_count)
        except PART_ERRORS as error:
            self._lost.failed(broker, error)
            return []
        return [unit._replace(physical_offset=self._link.numbers.shown_place(broker, unit.physical_offset)) for unit in units]

    def _units(self, broker: str, topic: str, queue_id: int, offset: int, count: int) -> list[QueueUnit]:
        fields = {"topic": topic, "queueId": str(queue_id), "index": str(offset), "count": str(count)}
        return read_queue_units(self._wait(self._link.ask_gently(broker, RequestCode.QUERY_CONSUME_QUEUE, fields)).body)

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        broker, own_id = self._link.numbers.queue_of(queue_id)
        try:
            part = self._wait(whole_queue(self._link, MessageQueue(topic, broker, own_id)))
            return self._wait(first_stored_from(self._puller, part, timestamp_ms))
        except PART_ERRORS as error:
            self._lost.failed(broker, error)
            return 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self._offset(RequestCode.GET_MAX_OFFSET, topic, queue_id)

    def _offset(self, code: RequestCode, topic: str, queue_id: int, **more: str) -> int:
        broker, own_id = self._link.numbers.queue_of(queue_id)
        fields = {"topic": topic, "queueId": str(own_id), **more}
        try:
            return read_offset(self._wait(self._link.ask_gently(broker, code, fields)).ext_fields)
        except PART_ERRORS as error:
            self._lost.failed(broker, error)
            return 0

    def get_messages(self, topic: str, queue_id: int, offset: int, max_count: int) -> GetResult:
        broker, own_id = self._link.numbers.queue_of(queue_id)
        records: list[memoryview] = []
        following = offset
        if self._may_ask():
            try:
                records, following = self._pulled(broker, topic, own_id, offset, max_count)
            except PART_ERRORS as error:
                self._lost.failed(broker, error)
        return GetResult(GetStatus.FOUND, records, following, 0, following, sum(map(len, records)), suggest_slave=False)

    def _pulled(self, broker: str, topic: str, queue_id: int, offset: int, count: int) -> tuple[list[memoryview], int]:
        part = self._link.slice_of(MessageQueue(topic, broker, queue_id))
        pulled = self._wait(self._puller.pull(part, offset, count))
        if self._puller.reads_singly(part):
            self._asked += pulled.following - offset
        return [self._numbered(broker, record) for record in pulled.records()], pulled.following

    # ---- asking --------------------------------------------------------------------------------------------------------

    def _may_ask(self) -> bool:
        if self._asked >= REQUESTS_MAX:
            self._cut = f"The brokers were asked {REQUESTS_MAX:,} times for this life line; what more would tell is missing."
        return self._asked < REQUESTS_MAX

    def _wait(self, asking: Coroutine[Any, Any, T]) -> T:
        """The answer. Raises `NetworkError` where the time for the life ends before it."""
        self._asked += 1
        return asyncio.run_coroutine_threadsafe(self._in_time(asking), self._loop).result()

    async def _in_time(self, asking: Coroutine[Any, Any, T]) -> T:
        try:
            async with asyncio.timeout_at(self._until_s):
                return await asking
        except TimeoutError as error:
            text = f"it was asked no more, as {LIFE_SECONDS:,.0f} s are over that a life line may take"
            raise NetworkError(text) from error

    def _numbered(self, broker: str, record: bytes) -> memoryview:
        """A record with the numbers that the window knows in place of its broker's own."""
        numbers, head = self._link.numbers, read_head(record, 0)
        half = head.prepared_transaction_offset
        shown = head._replace(
            queue_id=numbers.shown_queue(broker, head.queue_id),
            physical_offset=numbers.shown_place(broker, head.physical_offset),
            prepared_transaction_offset=numbers.shown_place(broker, half) if half > 0 else half,
        )
        made = bytearray(record)
        HEADS[(head.sys_flag & HOST_V6_MASK) >> 4].pack_into(made, 0, *shown)
        return memoryview(made)


def _has(record: bytes, topic: str, key: str, *, unique: bool) -> bool:
    """Whether a record has a key, because an index knows only the hash of a key."""
    try:
        message = decode_record(record)
    except RecordError:
        return False
    if message.topic != topic:
        return False
    if unique:
        return message.properties.get(props.UNIQUE_KEY) == key
    return key in message.properties.get(props.KEYS, "").split(props.KEY_SEPARATOR)
