"""The handlers of a worker that watches an attached cluster: they send requests that every broker serves.

Questions about what only a broker itself knows are refused with the reason (`broker_core.worker.refusals`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.cluster.time_bounds import first_stored_from
from broker_core.config import ClientConfig
from broker_core.errors import UsageError
from broker_core.protocol.admin.connections import GroupMember, read_members, read_subscriptions
from broker_core.protocol.codes import RequestCode, ResponseCode, version_name
from broker_core.protocol.filter.rejection import Wanted
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.properties import KEYS, TAGS
from broker_core.protocol.retry_names import NOTHING_KNOWN
from broker_core.worker.attached.admin_requests import ask_brokers, create_topic
from broker_core.worker.attached.browsing import Edge, browse_from, browse_newest, browse_one, record_of, whole_queue
from broker_core.worker.attached.connections import ClusterConnections
from broker_core.worker.attached.delayed_messages import list_delayed
from broker_core.worker.attached.fields import read_fields
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.follows import ClusterFollows
from broker_core.worker.attached.lifelines import ClusterLifelines
from broker_core.worker.attached.lost_brokers import LostParts, body_unless, too_slow
from broker_core.worker.attached.sampling import Sampling
from broker_core.worker.attached.searches import ClusterSearches
from broker_core.worker.attached.transactions import ClusterTransactions
from broker_core.worker.handlers import Handlers
from broker_core.worker.history import HistoryService, history_handlers
from broker_core.worker.message_views import check_page_size, detail_of, message_handlers
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.administration import (
    AskBroker,
    BrokerAnswer,
    CreateTopic,
    ListMembers,
    MeasureTopics,
    Members,
    TopicMeasures,
)
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.lifecycle import Done, Shutdown
from broker_core.worker.questions.question import Handler, Question
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    BrowseTopic,
    FieldValues,
    FindOffset,
    FoundOffset,
    MessageDetail,
    MessagePage,
    ReadFields,
    ReadMessageById,
    SendMessage,
    SendReceipt,
    TopicPage,
)
from broker_core.worker.refusals import OUTSIDE, cluster_refusal

_Answer = TypeVar("_Answer")
_T = TypeVar("_T")

PRODUCER_GROUP = "orbit-console"
"""Producer group of messages that a person sends from the window."""


class ClusterQueries:
    """Answers questions about one cluster. On one event loop.

    ``sampling`` keeps ``figures`` true; ``history`` is None where none is kept; ``read_only`` refuses questions that act.
    """

    def __init__(
        self,
        link: ClusterLink,
        figures: ClusterFigures,
        sampling: Sampling,
        *,
        shut_down: Callable[[], None],
        history: HistoryService | None = None,
        read_only: bool = False,
    ) -> None:
        self._link = link
        self._figures = figures
        self._sampling = sampling
        self._shut_down = shut_down
        self._searches = ClusterSearches(link, figures)
        self._transactions = ClusterTransactions(link, figures)
        self._follows = ClusterFollows(link, figures)
        self._lifelines = ClusterLifelines(link, figures, history)
        self._connections = ClusterConnections(link, figures, clock=wall_clock_ms)
        self._producer: asyncio.Task[Producer] | None = None
        self._table = Handlers(self._handlers(history), refusal=cluster_refusal, read_only=read_only)

    async def close(self) -> None:
        """End searches, live tails and the producer."""
        self._follows.close()
        await self._searches.close()
        if self._producer is not None:
            self._producer.cancel()
            (producer,) = await asyncio.gather(self._producer, return_exceptions=True)
            if isinstance(producer, Producer):
                await producer.close()

    def _handlers(self, history: HistoryService | None) -> list[Handler]:
        return [
            *history_handlers(history, run=asyncio.to_thread, missing="no history is kept of this connection"),
            *message_handlers(self._view, self._shown_queue),
            BrowseQueue.answered_by(self._browse),
            BrowseTopic.answered_by(self._browse_topic),
            FindOffset.answered_by(self._find_offset),
            ReadMessageById.answered_by(self._read_by_id),
            ReadFields.answered_by(self._read_fields),
            SendMessage.answered_by(self._send),
            ListMembers.answered_by(self._list_members),
            ListDelayed.answered_by(partial(list_delayed, self._link, self._figures)),
            MeasureTopics.answered_by(self._measure),
            AskBroker.answered_by(self._ask_brokers),
            CreateTopic.answered_by(partial(create_topic, self._link)),
            *self._searches.handlers(),
            *self._follows.handlers(),
            *self._lifelines.handlers(),
            *self._connections.handlers(),
            *self._transactions.handlers(),
            Shutdown.answered_by(self._stop),
        ]

    async def answer(self, question: Question[_Answer]) -> _Answer:
        return await self._table.answer(question)

    async def _stop(self, _command: Shutdown) -> Done:
        self._shut_down()
        return Done()

    async def _ask_brokers(self, query: AskBroker) -> BrokerAnswer:
        return await ask_brokers(self._link, query, LostParts(self._figures), topics_on=self._brokers_of)

    async def _measure(self, query: MeasureTopics) -> TopicMeasures:
        # Their rows are on the screen.
        self._sampling.asked_about(query.topics)
        raise cluster_refusal(query)

    # ---- messages ----

    def _brokers_of(self, topic: str) -> list[str]:
        """Brokers that have a topic, by number; all of them for an unknown one."""
        names = self._link.numbers.names
        return [name for name in names if topic in self._figures.of(name).topics] or names

    def _queues_of(self, topic: str) -> list[MessageQueue]:
        found = []
        for name in self._brokers_of(topic):
            of = self._figures.of(name)
            row = of.topics.get(topic)
            if row is not None:
                found += [MessageQueue(topic, name, queue) for queue in range(row.read_queues)]
        return found

    async def _browse(self, query: BrowseQueue) -> MessagePage:
        check_page_size(query.count)
        self._sampling.asked_about([query.topic])
        if query.queue_id >= 0:
            broker, queue_id = self._link.numbers.queue_of(query.queue_id)
            queue = MessageQueue(query.topic, broker, queue_id)
            return await browse_one(self._link, queue, query.start_offset, query.count)
        queues = await self._readable_queues(query.topic)
        return await browse_newest(self._link, query.topic, queues, query.count, LostParts(self._figures))

    async def _browse_topic(self, query: BrowseTopic) -> TopicPage:
        check_page_size(query.count)
        self._sampling.asked_about([query.topic])
        queues = await self._readable_queues(query.topic)
        offsets = dict(zip(query.edge_queue, query.edge_offset, strict=False))
        edge = Edge(offsets, query.at_ms, newer=query.newer or query.at_ms >= 0)
        return await browse_from(self._link, query.topic, queues, query.count, lost=LostParts(self._figures), edge=edge)

    async def _readable_queues(self, topic: str) -> list[MessageQueue]:
        # The name server knows topics that are newer than the last look at the tables.
        queues = self._queues_of(topic) or (await self._link.readable_route(topic)).subscribe_queues()
        if not queues:
            raise UsageError(f"topic {topic} has no queue that may be read", topic=topic)
        return queues

    async def _find_offset(self, query: FindOffset) -> FoundOffset:
        broker, queue_id = self._link.numbers.queue_of(query.queue_id)
        page_ms = self._link.settings.page_ms
        try:
            async with asyncio.timeout(page_ms / 1000):
                part = await whole_queue(self._link, MessageQueue(query.topic, broker, queue_id))
                return FoundOffset(await first_stored_from(Puller(self._link), part, query.timestamp_ms))
        except TimeoutError as error:
            raise too_slow(broker, page_ms) from error

    async def _read_by_id(self, query: ReadMessageById) -> MessageDetail:
        host, offset = parse_offset_message_id(query.offset_message_id)
        broker = self._link.broker_at(str(host))
        if broker is None:
            raise UsageError(f"the id names the broker at {host}, which is none of this cluster's", address=str(host))
        record = await record_of(self._link, broker, offset)
        detail = detail_of(record, shown_offset=self._link.numbers.shown_place(broker, offset))
        return replace(detail, queue_id=self._link.numbers.shown_queue(broker, detail.queue_id))

    async def _read_fields(self, query: ReadFields) -> FieldValues:
        known = self._figures.known_names() if "group" in query.fields else NOTHING_KNOWN
        return await read_fields(self._link, query, LostParts(self._figures), known)

    async def _view(self, place: int, view: Callable[[bytes | memoryview], _T]) -> _T:
        return view(await record_of(self._link, *self._link.numbers.place_of(place)))

    def _shown_queue(self, place: int, queue_id: int) -> int:
        broker, _offset = self._link.numbers.place_of(place)
        return self._link.numbers.shown_queue(broker, queue_id)

    async def _send(self, message: SendMessage) -> SendReceipt:
        if message.transaction:
            raise UsageError(f"{OUTSIDE[Ability.SEND_IN_TRANSACTION]}; nothing was sent")
        queue = None
        if message.queue_id >= 0:
            broker, queue_id = self._link.numbers.queue_of(message.queue_id)
            queue = MessageQueue(message.topic, broker, queue_id)
        self._check_taken(message.topic, queue)
        properties = dict(message.properties)
        tags, keys = properties.pop(TAGS, ""), properties.pop(KEYS, "")
        content = Message(message.topic, message.body, tags, keys, properties, message.flag)
        result = await (await self._opened_producer()).send(content, queue=queue)
        shown = self._link.numbers.shown_queue(result.queue.broker_name, result.queue.queue_id)
        return SendReceipt(result.offset_message_id, shown, result.queue_offset, -1)

    def _check_taken(self, topic: str, queue: MessageQueue | None) -> None:
        """Refuse a message that only slaves would receive."""
        having = [queue.broker_name] if queue is not None else self._figures.brokers_of_topics().get(topic, set())
        places = [place for name in having if (place := self._link.brokers.get(name)) is not None]
        if places and not any(place.has_master for place in places):
            names = ", ".join(sorted(place.name for place in places))
            raise UsageError(f"broker {names} has no master now; nothing was sent. Try again when it has one")

    async def _opened_producer(self) -> Producer:
        task = self._producer
        if task is None or (task.done() and task.exception() is not None):
            task = self._producer = asyncio.create_task(self._open_producer(), name="open the producer")
        return await asyncio.shield(task)

    async def _open_producer(self) -> Producer:
        # The person sees that no answer arrived; a repeated message would be a copy that nobody sees.
        once = ClientConfig(repeats_unanswered=False)
        producer = Producer(self._link.name_servers, PRODUCER_GROUP, config=once, security=self._link.security)
        await producer.start()
        return producer

    # ---- groups ----

    async def _list_members(self, query: ListMembers) -> Members:
        rows: dict[str, tuple[GroupMember, dict[str, Wanted]]] = {}
        lost = LostParts(self._figures)

        async def ask(broker: str) -> None:
            command = RemotingCommand(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": query.group})
            body = await body_unless(self._link.ask(broker, command), ResponseCode.CONSUMER_NOT_ONLINE)
            subscriptions = read_subscriptions(body)
            # Each member is connected to every broker.
            rows.update({member.client_id: (member, subscriptions) for member in read_members(body)})

        await lost.each(self._link.numbers.names, ask, within_ms=self._link.settings.page_ms)
        behind = await self._link.proxies.members(query.group)
        for members_there in behind.members.values():
            for member in members_there:
                rows.setdefault(member.client_id, (member, dict(behind.subscriptions)))
        members = [rows[client] for client in sorted(rows)]
        return Members(
            client_id=sorted(rows),
            address=[member.address for member, _subscriptions in members],
            language=[member.language for member, _subscriptions in members],
            version=["" if member.version is None else version_name(member.version) for member, _subscriptions in members],
            # Brokers do not report when a heartbeat arrived.
            last_heartbeat_ms=[-1 for _member in members],
            subscriptions=[{topic: one.expression for topic, one in wanted.items()} for _member, wanted in members],
            expression_types=[{topic: one.kind for topic, one in wanted.items()} for _member, wanted in members],
            notice=" ".join(filter(None, (behind.unknown, lost.notice()))),  # as everywhere: the lost brokers come last
            # A broker names clients of its own gRPC port, as Orbit's does, like those of remoting.
            protocol=["" for _member in members],
        )
