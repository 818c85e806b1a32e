"""Administration that the window asks for by its remoting code: to which broker it goes, and how several answers become one.

One that names a queue goes to that queue's broker; one that reads goes to a broker that has its topic, tables of all brokers
are put together; one that acts on a cluster goes to every broker, one after the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from broker_core.errors import NetworkError, OrbitError, RemoteError, UsageError
from broker_core.ipc.schema import AskBroker, BrokerAnswer, CreateTopic
from broker_core.remoting.administration import ACTING, READING
from broker_core.remoting.codes import RequestCode, ResponseCode
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.worker.attached.link import ClusterLink, refused_as

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
_TABLES = frozenset(
    {
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.GET_CONSUME_STATS,
        RequestCode.GET_CONSUMER_CONNECTION_LIST,
        RequestCode.GET_PRODUCER_CONNECTION_LIST,
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
        RequestCode.QUERY_TOPICS_BY_CONSUMER,
        RequestCode.QUERY_CONSUME_TIME_SPAN,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    }
)
_OF_QUEUES = frozenset({RequestCode.GET_TOPIC_STATS_INFO, RequestCode.GET_CONSUME_STATS, RequestCode.GET_CONSUMER_RUNNING_INFO})
"""Whose answers have tables by queue."""
_ONE_OF_TABLE = {
    RequestCode.GET_TOPIC_CONFIG: (RequestCode.GET_ALL_TOPIC_CONFIG, "topicConfigTable", "topic"),
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: (
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroupTable", "group",
    ),
}  # fmt: skip
"""Request for one config → that for all of them, the table in its answer, and the field that names the one."""
_ABSENT = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.TOPIC_NOT_EXIST)


async def ask_brokers(link: ClusterLink, query: AskBroker, *, topics_on: Callable[[str], list[str]]) -> BrokerAnswer:
    """Carry one request out.

    Args:
        link: To the cluster.
        query: What is asked.
        topics_on: Brokers that have a topic.

    Raises:
        UsageError: The window may not send it, or the broker would do something else than what is asked.
        RemoteError: It was refused.
        NetworkError: Nobody answers.
    """
    if query.code not in READING | ACTING:
        raise UsageError(f"request {query.code} is not one of administration; the console sends no others")
    command = RemotingCommand(query.code, dict(query.fields), query.body)
    if query.name_server or query.code in _OF_NAME_SERVER:
        return _answer(await link.ask_name_server(command))
    brokers = _receivers(link, query, command.ext_fields, topics_on)
    if query.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
        for broker in brokers:
            link.check_reset(broker, command.ext_fields)
    if query.code in ACTING:
        _check_masters(link, brokers)
        return await _act(link, brokers, command)
    if query.code in _ONE_OF_TABLE:
        answer = await _ask_config(link, brokers[0], command)
    elif query.code not in _TABLES or len(brokers) == 1:
        answer = _answer(await link.ask(brokers[0], command))
    else:
        answer = await _ask_all(link, brokers, command)
    return _numbered(link, answer) if query.code in _OF_QUEUES else answer


async def create_topic(link: ClusterLink, topic: CreateTopic) -> None:
    """Create or change a topic on every broker; raises as `ask_brokers`."""
    fields = {
        "topic": topic.topic,
        "defaultTopic": "TBW102",
        "readQueueNums": str(topic.read_queues),
        "writeQueueNums": str(topic.write_queues),
        "perm": str(topic.permission),
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    await _act(link, _masters(link), RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))


def _receivers(link: ClusterLink, query: AskBroker, fields: dict[str, str], topics_on: Callable[[str], list[str]]) -> list[str]:
    """Brokers that a request goes to; a queue among its fields gets the number that its broker knows."""
    if query.broker_name:
        link.address_of(query.broker_name)
        return [query.broker_name]
    shown = fields.get("queueId", "")
    if shown.isdecimal():
        broker, queue_id = link.numbers.queue_of(int(shown))
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
    """Refuse where a slave would be asked: some changes it would take, and lose at its next look at its master."""
    without = [name for name in brokers if not link.brokers[name].has_master]
    if without:
        raise UsageError(f"broker {', '.join(without)} has no master now; nothing was changed. Try again when it has one")


def _masters(link: ClusterLink) -> list[str]:
    _check_masters(link, link.brokers)
    if not link.brokers:
        raise NetworkError(f"no broker of {link.name_servers} is known yet; try again in a moment", address=link.name_servers)
    return sorted(link.brokers)


async def _act(link: ClusterLink, brokers: list[str], command: RemotingCommand) -> BrokerAnswer:
    """Have brokers do something, one after the other; a failure says which of them have done it."""
    done: list[str] = []
    answers = []
    for broker in brokers:
        logger.info("the console asks broker %s for %s: %s", broker, command.code, command.ext_fields)
        request = RemotingCommand(command.code, dict(command.ext_fields), command.body)
        try:
            answers.append(await link.ask(broker, request))
        except OrbitError as error:
            if done:
                # One that does not answer may have done it.
                did = "did not do it" if isinstance(error, RemoteError) else "did not say that it did it"
                text = f"broker {broker} {did} ({error.message}), but {', '.join(done)} did; do it again"
                raise type(error)(text, **error.context) from error
            raise
        done.append(broker)
    return _answer(answers[0]) if len(answers) == 1 else _together(answers)


async def _ask_config(link: ClusterLink, broker: str, command: RemotingCommand) -> BrokerAnswer:
    """Ask for one config; of a broker that does not know that request, 4.x, for all (Source: spec remoting §2.6.5)."""
    try:
        return _answer(await link.ask(broker, command))
    except RemoteError as error:
        if not refused_as(error, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
            raise
        refusal = error
    code, table, field = _ONE_OF_TABLE[RequestCode(command.code)]
    name = command.ext_fields.get(field, "")
    rows = parse_object((await link.ask(broker, RemotingCommand(code, {}))).body).get(table)
    row = rows.get(name) if isinstance(rows, dict) else None
    if not isinstance(row, dict):
        raise RemoteError(f"broker {broker} has no {field} {name}", code=ResponseCode.SYSTEM_ERROR) from refusal
    return BrokerAnswer({}, emit(row))


async def _ask_all(link: ClusterLink, brokers: list[str], command: RemotingCommand) -> BrokerAnswer:
    """Ask several brokers for a table at the same time; one that has nothing to say is left out, unless none has."""
    asks = (link.ask(broker, RemotingCommand(command.code, dict(command.ext_fields), command.body)) for broker in brokers)
    told = await asyncio.gather(*asks, return_exceptions=True)
    answers: list[RemotingCommand] = []
    refusal: RemoteError | None = None
    for one in told:
        if isinstance(one, RemoteError) and any(refused_as(one, code) for code in _ABSENT):
            refusal = one
        elif isinstance(one, BaseException):
            raise one
        else:
            answers.append(one)
    if refusal is not None and not answers:
        raise refusal
    return _together(answers)


def _answer(command: RemotingCommand) -> BrokerAnswer:
    return BrokerAnswer(command.ext_fields, bytes(command.body) + b"".join(command.body_slices))


def _numbered(link: ClusterLink, answer: BrokerAnswer) -> BrokerAnswer:
    """An answer whose tables have queues under the numbers that the window knows."""
    if len(link.numbers.names) < 2:
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


def _together(answers: list[RemotingCommand]) -> BrokerAnswer:
    """Tables of several brokers as one."""
    merged: Any = None
    for answer in answers:
        if answer.body:
            body = parse_object(answer.body)
            merged = body if merged is None else _merged(merged, body)
    return BrokerAnswer(answers[0].ext_fields, b"" if merged is None else emit(merged))


def _merged(first: Any, second: Any) -> Any:  # noqa: ANN401  what JSON can hold
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: _merged(first[key], second[key]) if key in first and key in second else first.get(key, second.get(key))
            for key in {**first, **second}
        }
    if isinstance(first, list) and isinstance(second, list):
        return first + [item for item in second if item not in first]
    return first
