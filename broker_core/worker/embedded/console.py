"""Handlers of questions that only a running broker can answer: messages sent, topics created, administration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, CreateTopic
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.stored_messages import SendMessage, SendReceipt
from broker_core.worker.transactions import Transactions, end_as_chosen, half_of, serving

if TYPE_CHECKING:
    from broker_core.engine.broker.embedded import EmbeddedBroker


def console_handlers(console: EmbeddedBroker, transactions: Callable[[], Transactions | None]) -> list[Handler]:
    """Handlers on the engine's loop."""

    async def put(message: SendMessage) -> SendReceipt:
        stored = await console.put_from_console(message.topic, message.queue_id, message.body, message.properties, message.flag)
        return SendReceipt(*stored)

    async def send(message: SendMessage) -> SendReceipt:
        """Store a message, or a half message that is decided at once where that is requested."""
        if not message.transaction:
            return await put(message)
        half = half_of(message)
        actions = serving(transactions()).actions
        actions.check_loaded()
        receipt = await put(half)
        await end_as_chosen(actions, message.transaction, receipt.queue_offset)
        return receipt

    async def create_topic(topic: CreateTopic) -> Done:
        await console.create_topic(topic.topic, topic.read_queues, topic.write_queues, topic.permission)
        return Done()

    async def ask(query: AskBroker) -> BrokerAnswer:
        command = RemotingCommand(query.code, dict(query.fields), query.body)
        answer = await console.answer_console(command, name_server=query.name_server)
        return BrokerAnswer(answer.ext_fields, bytes(answer.body) + b"".join(answer.body_slices))

    return [SendMessage.answered_by(send), CreateTopic.answered_by(create_topic), AskBroker.answered_by(ask)]
