"""Answers the window's queries and commands.

Tables are read on the loop. Messages are read on a thread in small batches, so that a producer waits for a batch at most; a
request that was given up ends at the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

from broker_core.clock import wall_clock_ms
from broker_core.engine.broker.console_put import ConsolePut
from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.transaction.history import HistoryStore, read_history
from broker_core.errors import BugError, UsageError
from broker_core.protocol.codes import version_name
from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.channel.acting import acts, refusal
from broker_core.worker.channel.schema import Answer, Query
from broker_core.worker.connections import ConnectionEngine, close_connection, list_connections
from broker_core.worker.delay_views import act_on_delayed, delayed_messages
from broker_core.worker.embedded.action_events import note_event
from broker_core.worker.embedded.atomic_views import AtomicTransactions, list_atomic
from broker_core.worker.embedded.engine import EngineView, StoreFigures
from broker_core.worker.embedded.queue_measures import MeasuredStore, QueueMeasures
from broker_core.worker.embedded.store_views import InsideStore, store_picture
from broker_core.worker.embedded.timer_views import act_on_timers, first_step, forecast, pending_timers
from broker_core.worker.field_views import field_reader, joined
from broker_core.worker.follows import Follows
from broker_core.worker.history import HistoryKeeper, HistoryQuery
from broker_core.worker.lifeline.gather import LifelineStore
from broker_core.worker.lifelines import read_lifeline
from broker_core.worker.message_views import (
    BATCH_MESSAGES,
    PAGE_MESSAGES_MAX,
    MessageHead,
    StoreReader,
    newest_first,
    page_of,
    read_batch,
    read_detail,
    read_detail_by_id,
)
from broker_core.worker.questions.administration import (
    AskBroker,
    BrokerAnswer,
    CloseConnection,
    CreateTopic,
    ListConnections,
    ListMembers,
    MeasureTopics,
    Members,
    ReadStore,
)
from broker_core.worker.questions.delays import ActOnDelayed, ActOnTimers, ForecastTimers, ListDelayed, ListTimers
from broker_core.worker.questions.history import NoteEvent
from broker_core.worker.questions.lifecycle import Done, Shutdown
from broker_core.worker.questions.searches import ContinueFollow, ContinueSearch, EndFollow, EndSearch, StartFollow, StartSearch
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    FoundOffset,
    MessagePage,
    ReadFields,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
    SendMessage,
    SendReceipt,
)
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
)
from broker_core.worker.searches import Searches, SearchStore
from broker_core.worker.transactions import (
    Transactions,
    end_as_chosen,
    half_of,
    history_columns,
    list_transactions,
)

THREADS = 2

TransactionQuery = ListTransactions | ReadTransactionHistory | EndTransaction | CheckTransaction | ResumeTransaction

_T = TypeVar("_T")


class QueryStore(StoreFigures, StoreReader, HistoryStore, SearchStore, MeasuredStore, InsideStore, LifelineStore, Protocol):
    """What queries need of the store."""

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int: ...


class QueryEngine(EngineView, ConnectionEngine, Protocol):
    """What queries need of the engine."""

    @property
    def store(self) -> QueryStore: ...

    async def put_from_console(
        self, topic: str, queue_id: int, body: bytes, properties: Mapping[str, str], flag: int = 0
    ) -> ConsolePut: ...

    async def create_topic(self, name: str, read_queues: int, write_queues: int, permission: int) -> None: ...

    async def answer_console(self, command: RemotingCommand, *, name_server: bool) -> RemotingCommand: ...


class Queries:
    """Answers queries about one engine. To be called on the engine's loop.

    Args:
        engine: What to ask.
        shut_down: Called for the command to stop.
        history: Of the figures; None: none is kept.
        read_only: Whether to refuse what would change something.
    """

    def __init__(
        self,
        engine: QueryEngine,
        *,
        shut_down: Callable[[], None],
        history: HistoryKeeper | None = None,
        read_only: bool = False,
    ) -> None:
        self._engine = engine
        self._read_only = read_only
        self._shut_down = shut_down
        self._history = history
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="query")
        self._measures = QueueMeasures(engine.store)
        self._searches = Searches(engine.store, clock=wall_clock_ms)
        self._follows = Follows(engine.store, clock=wall_clock_ms)

    def close(self) -> None:
        """End the threads; queries still running fail."""
        self._searches.close()
        self._follows.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def answer(self, query: Query) -> Answer:
        """Answer one query or carry out one command.

        Raises:
            OrbitError: It cannot be answered; the message says why.
        """
        if self._read_only and acts(query):
            raise refusal(query)
        if isinstance(query, HistoryQuery):
            if self._history is None:
                raise UsageError("no history is kept by this broker process")
            return await self._run(partial(self._history.answer, query))
        if isinstance(query, ListConnections | CloseConnection | ReadStore | NoteEvent):
            return await self._answer_on_plumbing(query)
        if isinstance(query, StartFollow | ContinueFollow | EndFollow):
            return await self._follows.answer(query)
        return await self._answer_of_engine(query)

    async def _answer_of_engine(self, query: Query) -> Answer:
        match query:
            case BrowseQueue():
                return await self._browse(query)
            case FindOffset() | ReadMessage() | ReadMessageById() | MeasureTopics() | ReadFields() | ReadLifeline():
                return await self._read(query)
            case SendMessage():
                return await self._send(query)
            case CreateTopic(topic, read_queues, write_queues, permission):
                await self._engine.create_topic(topic, read_queues, write_queues, permission)
                return Done()
            case ListMembers(group):
                return self._members(group)
            case ListDelayed() | ActOnDelayed() | ForecastTimers() | ListTimers() | ActOnTimers():
                return await self._answer_on_waiting(query)
            case ListTransactions() | ReadTransactionHistory() | EndTransaction() | CheckTransaction() | ResumeTransaction():
                return await self._answer_transactions(query)
            case ListAtomic() | AbortAtomic():
                return await self._answer_atomic(query)
            case StartSearch() | ContinueSearch() | EndSearch():
                return await self._searches.answer(query)
            case AskBroker():
                return await self._ask_broker(query)
            case Shutdown():
                self._shut_down()
                return Done()
        raise BugError(f"no answer is known to {type(query).__name__}")

    async def _send(self, message: SendMessage) -> SendReceipt:
        """Store a message, or a half message that is decided at once where that is asked for."""
        if not message.transaction:
            return await self._put(message)
        half = half_of(message)
        self._transactions.actions.check_loaded()
        receipt = await self._put(half)
        await end_as_chosen(self._transactions.actions, message.transaction, receipt.queue_offset)
        return receipt

    async def _put(self, message: SendMessage) -> SendReceipt:
        stored = await self._engine.put_from_console(
            message.topic, message.queue_id, message.body, message.properties, message.flag
        )
        return SendReceipt(*stored)

    async def _answer_on_plumbing(self, query: ListConnections | CloseConnection | ReadStore | NoteEvent) -> Answer:
        match query:
            case ListConnections():
                return list_connections(self._engine, now_ms=wall_clock_ms())
            case CloseConnection():
                await close_connection(self._engine, query)
                return Done()
            case NoteEvent():
                await note_event(self._engine.journal, query)
                return Done()
            case ReadStore():
                return await self._run(lambda: store_picture(self._engine.store, now_ms=wall_clock_ms()))

    async def _ask_broker(self, query: AskBroker) -> BrokerAnswer:
        command = RemotingCommand(query.code, dict(query.fields), query.body)
        answer = await self._engine.answer_console(command, name_server=query.name_server)
        return BrokerAnswer(answer.ext_fields, bytes(answer.body) + b"".join(answer.body_slices))

    async def _read(
        self, query: FindOffset | ReadMessage | ReadMessageById | MeasureTopics | ReadFields | ReadLifeline
    ) -> Answer:
        store = self._engine.store
        match query:
            case FindOffset(topic, queue_id, timestamp_ms):
                return FoundOffset(await self._run(lambda: store.offset_by_time(topic, queue_id, timestamp_ms)))
            case ReadMessage(physical_offset):
                return await self._run(lambda: read_detail(store, physical_offset))
            case ReadMessageById(message_id):
                return await self._run(partial(read_detail_by_id, store, message_id))
            case ReadFields():
                parts = [await self._run(part) for part in field_reader(store, query)]
                return joined(parts, len(query.fields))
            case MeasureTopics(topics):
                return await self._run(partial(self._measures.measure, topics))
            case ReadLifeline(place):
                offsets, now_ms = self._engine.offsets, wall_clock_ms()
                return await read_lifeline(place, store, offsets, self._history, run=self._run, now_ms=now_ms)

    async def _answer_on_waiting(self, query: ListDelayed | ActOnDelayed | ForecastTimers | ListTimers | ActOnTimers) -> Answer:
        if isinstance(query, ListDelayed | ActOnDelayed):
            return await self._answer_delays(query)
        return await self._answer_on_timers(query)

    async def _answer_delays(self, query: ListDelayed | ActOnDelayed) -> Answer:
        if isinstance(query, ActOnDelayed):
            return await act_on_delayed(self._delays(), query)
        read = self._delays().page_reader(query.level, query.start_offset, query.count)
        return delayed_messages(query.level, await self._run(read))

    async def _answer_atomic(self, query: ListAtomic | AbortAtomic) -> Answer:
        if isinstance(query, ListAtomic):
            return list_atomic(query, self._atomic, self._engine.store)
        await self._atomic.abort_by_hand(query.name)
        return Done()

    def _delays(self) -> DelayConsole:
        delays = self._engine.delays
        if delays is None:
            raise UsageError("this broker delivers no delayed messages at the moment")
        return delays

    async def _answer_transactions(self, query: TransactionQuery) -> Answer:
        match query:
            case ListTransactions():
                return await list_transactions(query, self._transactions, self._engine.store, now_ms=wall_clock_ms)
            case ReadTransactionHistory(before, count, halves_back):
                progress = self._transactions.engine.ledger.half_progress
                read = partial(
                    read_history,
                    self._engine.store,
                    before=before,
                    count=count,
                    half_progress=progress,
                    halves_back=halves_back,
                )
                return history_columns(await self._run(read))
            case EndTransaction(origin, commit):
                await self._transactions.actions.end(origin, commit=commit)
            case CheckTransaction(origin):
                await self._transactions.actions.check(origin)
            case ResumeTransaction(physical_offset):
                await self._transactions.actions.resume(physical_offset)
        return Done()

    @property
    def _atomic(self) -> AtomicTransactions:
        atomic = self._engine.atomic
        if atomic is None:
            raise UsageError("atomic transactions are off: start the broker with orbitAtomicTransactions=true")
        return atomic

    @property
    def _transactions(self) -> Transactions:
        transactions = self._engine.transactions
        if transactions is None:
            raise UsageError("the broker serves no transactions now: it is starting or stopping")
        return transactions

    async def _answer_on_timers(self, query: ForecastTimers | ListTimers | ActOnTimers) -> Answer:
        timers = self._engine.timers
        if timers is None:
            raise UsageError("this broker delivers no timer messages at the moment")
        if isinstance(query, ForecastTimers):
            return forecast(timers)
        if isinstance(query, ActOnTimers):
            return await act_on_timers(timers, query)
        page = first_step(timers, query)
        return pending_timers(page, await self._run(lambda: timers.describe(page.timers)))

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _browse(self, query: BrowseQueue) -> MessagePage:
        if not 1 <= query.count <= PAGE_MESSAGES_MAX:
            raise UsageError(f"a page has 1 to {PAGE_MESSAGES_MAX} messages, not {query.count}")
        if query.topic not in self._engine.topics and not self._queue_ids(query.topic):
            raise UsageError(f"there is no topic {query.topic} on this broker", topic=query.topic)
        return await (self._browse_all(query) if query.queue_id < 0 else self._browse_one(query))

    async def _browse_one(self, query: BrowseQueue) -> MessagePage:
        store, topic, queue_id = self._engine.store, query.topic, query.queue_id
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        offset = min(max(query.start_offset, low), high)
        heads: list[MessageHead] = []
        missing = 0
        while len(heads) < query.count and offset < high:
            batch = await self._run(partial(read_batch, store, topic, queue_id, offset, query.count - len(heads)))
            heads += batch.heads
            missing += batch.missing
            if batch.next_offset <= offset:
                break
            offset = batch.next_offset
        return page_of(topic, heads, min_offset=low, max_offset=high, next_offset=offset, missing=missing)

    async def _browse_all(self, query: BrowseQueue) -> MessagePage:
        newest = newest_first(self._engine.store, query.topic, self._queue_ids(query.topic), query.count)
        heads: list[MessageHead] = []
        while batch := await self._run(lambda: list(islice(newest, BATCH_MESSAGES))):
            heads += batch
        return page_of(query.topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)

    def _queue_ids(self, topic: str) -> list[int]:
        return sorted(queue_id for known, queue_id in self._engine.store.queues() if known == topic)

    def _members(self, group: str) -> Members:
        found = self._engine.consumers.group(group)
        clients = list(found.members.values()) if found else []
        wanted = found.subscriptions if found else {}
        topics = {topic: subscription.expression for topic, subscription in wanted.items()}
        kinds = {topic: subscription.expression_type for topic, subscription in wanted.items()}
        return Members(
            client_id=[client.client_id for client in clients],
            address=[client.address for client in clients],
            language=[client.language for client in clients],
            version=[version_name(client.version) for client in clients],
            last_heartbeat_ms=[client.last_heartbeat_ms for client in clients],
            # The broker keeps one subscription for all members of a group.
            subscriptions=[topics for _client in clients],
            expression_types=[kinds for _client in clients],
        )
