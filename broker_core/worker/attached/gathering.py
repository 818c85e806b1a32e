"""Requests to several brokers at the same time, and how their answers become one.

Brokers share one time limit; the answer names a broker that fails or is late, and holds what the others returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker_core.cluster.link import ClusterLink, refused_as
from broker_core.errors import RemoteError
from broker_core.protocol.admin.groups import read_group_configs
from broker_core.protocol.admin.topics import read_topic_configs
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.worker.attached.lost_brokers import LostParts
from broker_core.worker.questions.administration import BrokerAnswer

TABLES = frozenset(
    {
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.GET_CONSUME_STATS,
        RequestCode.GET_CONSUMER_CONNECTION_LIST,
        RequestCode.GET_PRODUCER_CONNECTION_LIST,
        RequestCode.GET_ALL_TOPIC_CONFIG,
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
        RequestCode.QUERY_TOPICS_BY_CONSUMER,
        RequestCode.QUERY_CONSUME_TIME_SPAN,
    }
)
"""Tables of which each broker has a part."""
OF_EACH = frozenset(
    {
        RequestCode.GET_TOPIC_CONFIG,
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.GET_BROKER_RUNTIME_INFO,
    }
)
"""Of which each broker has its own."""
_OF_QUEUES = frozenset(
    {
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.GET_CONSUME_STATS,
        RequestCode.GET_CONSUMER_RUNNING_INFO,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    }
)
"""Whose answers have tables by queue."""
_ONE_OF_TABLE = {
    RequestCode.GET_TOPIC_CONFIG: (RequestCode.GET_ALL_TOPIC_CONFIG, read_topic_configs, "topic"),
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, read_group_configs, "group"),
}
"""Request for one config → request for all of them, the reader of its answer, and the field that names the one."""
_ABSENT = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.TOPIC_NOT_EXIST)


async def ask_one(link: ClusterLink, broker: str, command: RemotingCommand) -> BrokerAnswer:
    """The answer of one broker. Raises `RemoteError` where it refuses, `NetworkError` where it does not answer."""
    return numbered(link, await _ask_own(link, broker, command), command.code)


async def ask_table(link: ClusterLink, brokers: list[str], command: RemotingCommand, lost: LostParts) -> BrokerAnswer:
    """The parts of a table as one; a broker without a part is left out, unless all are. ``lost`` collects what is missing.

    Raises `RemoteError` where all brokers refuse it, `NetworkError` where none answers.
    """
    answers: dict[str, RemotingCommand] = {}
    absent: list[RemoteError] = []

    async def ask(broker: str) -> None:
        try:
            answers[broker] = await link.ask(broker, _copy(command))
        except RemoteError as error:
            if not any(refused_as(error, code) for code in _ABSENT):
                raise
            absent.append(error)

    await lost.each(brokers, ask, within_ms=link.settings.page_ms)
    if not answers:
        # The part of a missing broker may be just the one asked for, so nobody can say that there is nothing.
        raise lost.nobody() if lost.notice() else absent[0]
    told = merged_answer([answers[broker] for broker in brokers if broker in answers])
    return replace(numbered(link, told, command.code), notice=lost.notice())


async def ask_each(link: ClusterLink, brokers: list[str], command: RemotingCommand, lost: LostParts) -> BrokerAnswer:
    """The answer of the first broker, with the bodies of all; errors as `ask_table`."""
    answers: dict[str, BrokerAnswer] = {}

    async def ask(broker: str) -> None:
        answers[broker] = await _ask_own(link, broker, _copy(command))

    await lost.each(brokers, ask, within_ms=link.settings.page_ms)
    told = {broker: answers[broker] for broker in brokers if broker in answers}
    first = next(iter(told.values()))
    bodies = {broker: answer.body for broker, answer in told.items()} if len(brokers) > 1 else {}
    return replace(first, notice=lost.notice(), bodies=bodies)


async def ask_any(link: ClusterLink, brokers: list[str], command: RemotingCommand, lost: LostParts) -> BrokerAnswer:
    """The answer of the first broker that can answer; errors as `ask_table`."""
    found: list[BrokerAnswer] = []

    async def ask(broker: str) -> None:
        found.append(await ask_one(link, broker, _copy(command)))

    for broker in brokers:
        if not found and not lost.is_lost(broker):
            await lost.one(broker, ask, within_ms=link.settings.page_ms)
    if not found:
        raise lost.nobody()
    return found[0]


def answer_of(command: RemotingCommand) -> BrokerAnswer:
    """A response in the window's form."""
    return BrokerAnswer(command.ext_fields, bytes(command.body) + b"".join(command.body_slices))


def merged_answer(answers: list[RemotingCommand]) -> BrokerAnswer:
    """Tables of several brokers as one; the first broker wins a conflict. Raises `JsonBodyError` where one is no table."""
    if len(answers) == 1:
        return answer_of(answers[0])
    merged: Any = None
    for answer in answers:
        if answer.body:
            body = parse_object(answer.body)
            merged = body if merged is None else _merged(merged, body)
    return BrokerAnswer(answers[0].ext_fields, b"" if merged is None else emit(merged))


def _copy(command: RemotingCommand) -> RemotingCommand:
    return RemotingCommand(command.code, dict(command.ext_fields), command.body)


async def _ask_own(link: ClusterLink, broker: str, command: RemotingCommand) -> BrokerAnswer:
    """Ask a broker for its own config, or for all configs where 4.x returns no single one (docs/spec/remoting.md §2.6.5)."""
    try:
        return answer_of(await link.ask(broker, command))
    except RemoteError as error:
        if command.code not in _ONE_OF_TABLE or not refused_as(error, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
            raise
        refusal = error
    code, read, field = _ONE_OF_TABLE[RequestCode(command.code)]
    name = command.ext_fields.get(field, "")
    row = read((await link.ask(broker, RemotingCommand(code, {}))).body).get(name)
    if row is None:
        raise RemoteError(f"broker {broker} has no {field} {name}", code=ResponseCode.SYSTEM_ERROR) from refusal
    return BrokerAnswer({}, emit(row))


def numbered(link: ClusterLink, answer: BrokerAnswer, code: int) -> BrokerAnswer:
    """An answer whose tables have queues under the numbers that the window knows."""
    if code not in _OF_QUEUES or len(link.numbers.names) < 2:
        return answer
    tables = parse_object(answer.body)
    for name, table in tables.items():
        if isinstance(table, dict):
            tables[name] = {_shown_key(link, key): value for key, value in table.items()}
    return replace(answer, body=emit(tables))


def _shown_key(link: ClusterLink, key: object) -> object:
    queue = as_message_queue(key)
    if queue is None or queue.broker_name not in link.numbers.names:
        return key
    return MessageQueue(queue.topic, queue.broker_name, link.numbers.shown_queue(queue.broker_name, queue.queue_id))


def _merged(first: object, second: object) -> object:
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: _merged(first[key], second[key]) if key in first and key in second else first.get(key, second.get(key))
            for key in {**first, **second}
        }
    if isinstance(first, list) and isinstance(second, list):
        return first + [item for item in second if item not in first]
    return first
