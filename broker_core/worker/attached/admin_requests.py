"""Administration that the window sends by remoting code: which broker gets it, and how several answers become one.

A request that names a queue is sent to the broker of that queue. A read is sent to all brokers that have the topic at the
same time: they share one time limit; the answer names a broker that fails or is late, and holds what the others returned. A
request that acts on a cluster is sent to one broker after the other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from broker_core.cluster.link import ClusterLink, refused_as
from broker_core.errors import NetworkError, OrbitError, RemoteError, UsageError
from broker_core.outside import whole_of
from broker_core.protocol.admin.groups import read_group_configs
from broker_core.protocol.admin.topics import MESSAGE_TYPE, TopicConfig, read_topic_configs, topic_fields
from broker_core.protocol.administration import ACTING, READING
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.worker.attached.lost_brokers import LostParts
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, CreateTopic
from broker_core.worker.questions.lifecycle import Done

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

logger = logging.getLogger(__name__)

_OF_NAME_SERVER = frozenset(
    {
        RequestCode.GET_KV_CONFIG,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
    }
)


async def ask_brokers(
    link: ClusterLink, query: AskBroker, lost: LostParts, *, topics_on: Callable[[str], list[str]]
) -> BrokerAnswer:
    """Carry one request out; ``topics_on`` returns the brokers that have a topic, ``lost`` collects missing parts of a read.

    Raises `UsageError` where the window may not send it or the broker would do something else; `RemoteError`, `NetworkError`.
    """
    if query.code not in READING | ACTING:
        raise UsageError(f"request {query.code} is not one of administration; the console sends no others")
    command = RemotingCommand(query.code, dict(query.fields), query.body)
    if query.name_server or query.code in _OF_NAME_SERVER:
        return answer_of(await link.ask_name_server(command))
    brokers = _receivers(link, query, command.ext_fields, topics_on)
    if query.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
        for broker in brokers:
            link.check_reset(broker, command.ext_fields)
    if query.code in ACTING:
        _check_masters(link, brokers)
        return await _act(link, brokers, command)
    if query.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
        return await _ask_member(link, brokers, command, lost)
    if len(brokers) == 1:
        return await ask_one(link, brokers[0], command)
    if query.code in TABLES:
        return await ask_table(link, brokers, command, lost)
    if query.code in OF_EACH:
        return await ask_each(link, brokers, command, lost)
    return await ask_any(link, brokers, command, lost)


async def create_topic(link: ClusterLink, topic: CreateTopic) -> Done:
    """Create or change a topic on every broker; raises as `ask_brokers`."""
    config = TopicConfig(topic.topic, topic.read_queues, topic.write_queues, topic.permission)
    fields = topic_fields(config, f"+{MESSAGE_TYPE}={topic.message_type}" if topic.message_type else "")
    await _act(link, _masters(link), RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    return Done()


def _receivers(link: ClusterLink, query: AskBroker, fields: dict[str, str], topics_on: Callable[[str], list[str]]) -> list[str]:
    """Brokers that a request is sent to; a queue among its fields gets the number that its broker knows."""
    if query.broker_name:
        link.address_of(query.broker_name)
        return [query.broker_name]
    shown = whole_of(fields.get("queueId", ""))
    if shown is not None:
        broker, queue_id = link.numbers.queue_of(shown)
        fields["queueId"] = str(queue_id)
        return [broker]
    if query.code in ACTING:
        return _masters(link)
    topic = fields.get("topic", "")
    brokers = topics_on(topic) if topic else link.numbers.names
    if not brokers:
        raise NetworkError(f"no broker of {link.name_servers} is known yet; try again in a moment", address=link.name_servers)
    return brokers


def _check_masters(link: ClusterLink, brokers: Iterable[str]) -> None:
    """Refuse a change where a slave would receive it: a slave takes some, and loses them at its next sync with its master."""
    without = [name for name in brokers if not link.brokers[name].has_master]
    if without:
        raise UsageError(f"broker {', '.join(without)} has no master now; nothing was changed. Try again when it has one")


def _masters(link: ClusterLink) -> list[str]:
    _check_masters(link, link.brokers)
    if not link.brokers:
        raise NetworkError(f"no broker of {link.name_servers} is known yet; try again in a moment", address=link.name_servers)
    return sorted(link.brokers)


async def _act(link: ClusterLink, brokers: list[str], command: RemotingCommand) -> BrokerAnswer:
    """Send a request to one broker after the other; a failure names the brokers that have carried it out."""
    done: list[str] = []
    answers = []
    for broker in brokers:
        logger.info("the console asks broker %s for %s: %s", broker, command.code, command.ext_fields)
        request = RemotingCommand(command.code, dict(command.ext_fields), command.body)
        try:
            answers.append(await link.ask(broker, request))
        except OrbitError as error:
            if done:
                # A broker that does not answer may have done it.
                did = "did not do it" if isinstance(error, RemoteError) else "did not say that it did it"
                text = f"broker {broker} {did} ({error.message}), but {', '.join(done)} did; do it again"
                raise type(error)(text, **error.context) from error
            raise
        done.append(broker)
    return _numbered(link, merged_answer(answers), command.code)


async def ask_one(link: ClusterLink, broker: str, command: RemotingCommand) -> BrokerAnswer:
    """The answer of one broker. Raises `RemoteError` where it refuses, `NetworkError` where it does not answer."""
    return _numbered(link, await _ask_own(link, broker, command), command.code)


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
    return replace(_numbered(link, told, command.code), notice=lost.notice())


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


async def _ask_member(link: ClusterLink, brokers: list[str], command: RemotingCommand, lost: LostParts) -> BrokerAnswer:
    """The state of a member: from a broker that it is connected to, else from a proxy. Errors as `ask_table`."""
    try:
        return await ask_any(link, brokers, command, lost)
    except RemoteError:
        answer = await link.proxies.ask_member(command)
        if answer is None:
            raise
        return answer_of(answer)


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


def _numbered(link: ClusterLink, answer: BrokerAnswer, code: int) -> BrokerAnswer:
    """An answer whose tables have queues under the numbers that the window knows."""
    if code not in _OF_QUEUES or len(link.numbers.names) < 2:
        return answer
    tables = parse_object(answer.body)
    for name, table in tables.items():
        if isinstance(table, dict):
            tables[name] = {_shown_key(link, key): value for key, value in table.items()}
    return replace(answer, body=emit(tables))


def _shown_key(link: ClusterLink, key: Any) -> Any:  # noqa: ANN401  what JSON can hold
    queue = as_message_queue(key)
    if queue is None or queue.broker_name not in link.numbers.names:
        return key
    return MessageQueue(queue.topic, queue.broker_name, link.numbers.shown_queue(queue.broker_name, queue.queue_id))


def _merged(first: Any, second: Any) -> Any:  # noqa: ANN401  what JSON can hold
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: _merged(first[key], second[key]) if key in first and key in second else first.get(key, second.get(key))
            for key in {**first, **second}
        }
    if isinstance(first, list) and isinstance(second, list):
        return first + [item for item in second if item not in first]
    return first
