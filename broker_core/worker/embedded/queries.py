"""The handlers of a worker that runs a broker, or reads the files of one.

Tables are read on the loop, messages on threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from broker_core.clock import wall_clock_ms
from broker_core.engine.grpc.endpoint import ClientFacts
from broker_core.engine.tables.clients import Consumers
from broker_core.errors import BugError, OrbitError
from broker_core.protocol.codes import version_name
from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.delay_views import delay_handlers
from broker_core.worker.embedded.action_events import note_handlers
from broker_core.worker.embedded.atomic_views import atomic_handlers
from broker_core.worker.embedded.connections import connection_handlers
from broker_core.worker.embedded.engine import EngineView, known_names
from broker_core.worker.embedded.in_flight import in_flight_handlers
from broker_core.worker.embedded.messages import StoredMessages
from broker_core.worker.embedded.queue_measures import QueueMeasures
from broker_core.worker.embedded.store_views import store_handlers
from broker_core.worker.embedded.timer_views import timer_handlers
from broker_core.worker.follows import Follows
from broker_core.worker.handlers import Handlers, served
from broker_core.worker.history import HistoryService, history_handlers
from broker_core.worker.questions.administration import (
    GRPC,
    REMOTING,
    AskBroker,
    BrokerAnswer,
    CreateTopic,
    ListMembers,
    Members,
)
from broker_core.worker.questions.lifecycle import Done, Shutdown
from broker_core.worker.questions.question import Handler, Question
from broker_core.worker.questions.stored_messages import SendMessage, SendReceipt
from broker_core.worker.refusals import files_refusal
from broker_core.worker.searches import Searches
from broker_core.worker.transactions import NOT_SERVED, Transactions, end_as_chosen, half_of, transaction_handlers

if TYPE_CHECKING:
    from broker_core.engine.broker.embedded import EmbeddedBroker

THREADS = 2

_Answer = TypeVar("_Answer")
_T = TypeVar("_T")


class Queries:
    """Answers questions about one engine, on its loop.

    ``console`` is the running broker, None where the store is only read; ``history`` is None where none is kept; ``read_only``
    refuses questions that act.
    """

    def __init__(
        self,
        engine: EngineView,
        *,
        console: EmbeddedBroker | None,
        shut_down: Callable[[], None],
        history: HistoryService | None = None,
        read_only: bool = False,
    ) -> None:
        self._engine = engine
        self._shut_down = shut_down
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="query")
        self._searches = Searches(engine.store, clock=wall_clock_ms, known=partial(known_names, engine))
        self._follows = Follows(engine.store, clock=wall_clock_ms, known=partial(known_names, engine))
        handlers = self._handlers(engine, history)
        if console is not None:
            handlers += console_handlers(console, lambda: engine.transactions)
        self._table = Handlers(handlers, refusal=self._refusal, read_only=read_only)

    def _handlers(self, engine: EngineView, history: HistoryService | None) -> list[Handler]:
        store, run = engine.store, self._run
        return [
            *history_handlers(history, run=run, missing="no history is kept by this broker process"),
            *StoredMessages(engine, history, run).handlers(),
            *member_handlers(engine),
            *QueueMeasures(store).handlers(run),
            *store_handlers(store, run),
            *connection_handlers(engine),
            *in_flight_handlers(engine),
            *note_handlers(engine.journal),
            *delay_handlers(lambda: engine.delays, run),
            *timer_handlers(lambda: engine.timers, run),
            *transaction_handlers(lambda: engine.transactions, store, run),
            *atomic_handlers(lambda: engine.atomic, store),
            *self._searches.handlers(),
            *self._follows.handlers(),
            Shutdown.answered_by(self._stop),
        ]

    def close(self) -> None:
        """End the threads; questions still being answered fail."""
        self._searches.close()
        self._follows.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def answer(self, question: Question[_Answer]) -> _Answer:
        return await self._table.answer(question)

    async def _stop(self, _command: Shutdown) -> Done:
        self._shut_down()
        return Done()

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _refusal(self, question: Question[Any]) -> OrbitError:
        if isinstance(question, AskBroker):
            return files_refusal(self._engine.store.config.root)
        return BugError(f"no answer is known to {type(question).__name__}")


def member_handlers(engine: EngineView) -> list[Handler]:
    async def members(query: ListMembers) -> Members:
        facts: Mapping[Any, ClientFacts] = {} if engine.grpc is None else engine.grpc.facts()
        return members_of(engine.consumers, query.group, facts)

    return [ListMembers.answered_by(members)]


def members_of(consumers: Consumers[Any], group: str, facts: Mapping[Any, ClientFacts]) -> Members:
    """The clients of a group, none for an unknown one; ``facts`` has those of gRPC."""
    found = consumers.group(group)
    members = dict(found.members) if found else {}
    clients = list(members.values())
    wanted = found.subscriptions if found else {}
    topics = {topic: subscription.expression for topic, subscription in wanted.items()}
    kinds = {topic: subscription.expression_type for topic, subscription in wanted.items()}
    return Members(
        client_id=[client.client_id for client in clients],
        address=[client.address for client in clients],
        language=[client.language for client in clients],
        version=[facts[peer].sdk_version if peer in facts else version_name(one.version) for peer, one in members.items()],
        last_heartbeat_ms=[client.last_heartbeat_ms for client in clients],
        # The broker keeps one subscription for all members of a group.
        subscriptions=[topics for _client in clients],
        expression_types=[kinds for _client in clients],
        protocol=[GRPC if peer in facts else REMOTING for peer in members],
    )


def console_handlers(console: EmbeddedBroker, transactions: Callable[[], Transactions | None]) -> list[Handler]:
    """Handlers of questions that only a running broker can answer: messages sent, topics created, administration."""
    serving = served(transactions, NOT_SERVED)

    async def put(message: SendMessage) -> SendReceipt:
        stored = await console.put_from_console(message.topic, message.queue_id, message.body, message.properties, message.flag)
        return SendReceipt(*stored)

    async def send(message: SendMessage) -> SendReceipt:
        """Store a message, or a half message that is decided at once where that is requested."""
        if not message.transaction:
            return await put(message)
        half = half_of(message)
        actions = serving().actions
        actions.check_loaded()
        receipt = await put(half)
        await end_as_chosen(actions, message.transaction, receipt.queue_offset)
        return receipt

    async def create_topic(topic: CreateTopic) -> Done:
        queues = (topic.read_queues, topic.write_queues)
        await console.create_topic(topic.topic, *queues, topic.permission, message_type=topic.message_type)
        return Done()

    async def ask(query: AskBroker) -> BrokerAnswer:
        command = RemotingCommand(query.code, dict(query.fields), query.body)
        answer = await console.answer_console(command, name_server=query.name_server)
        return BrokerAnswer(answer.ext_fields, bytes(answer.body) + b"".join(answer.body_slices))

    return [SendMessage.answered_by(send), CreateTopic.answered_by(create_topic), AskBroker.answered_by(ask)]
