"""Administration that the window sends by remoting code: which broker gets it, and how several answers become one.

A request that names a queue is sent to the broker of that queue. A read is sent to all brokers that have the topic
(`broker_core.worker.attached.gathering`). A request that acts on a cluster is sent to one broker after the other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from broker_core.cluster.link import ClusterLink
from broker_core.errors import NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol.admin.topics import TopicSettings, topic_fields
from broker_core.protocol.administration import ACTING, READING
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.attached.gathering import (
    OF_EACH,
    TABLES,
    answer_of,
    ask_any,
    ask_each,
    ask_one,
    ask_table,
    merged_answer,
    numbered,
)
from broker_core.worker.attached.lost_brokers import LostParts
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, CreateTopic
from broker_core.worker.questions.lifecycle import Done

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
    if len(brokers) == 1:
        return await ask_one(link, brokers[0], command)
    if query.code in TABLES:
        return await ask_table(link, brokers, command, lost)
    if query.code in OF_EACH:
        return await ask_each(link, brokers, command, lost)
    return await ask_any(link, brokers, command, lost)


async def create_topic(link: ClusterLink, topic: CreateTopic) -> Done:
    """Create or change a topic on every broker; raises as `ask_brokers`."""
    fields = topic_fields(TopicSettings(topic.topic, topic.read_queues, topic.write_queues, topic.permission))
    await _act(link, _masters(link), RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    return Done()


def _receivers(link: ClusterLink, query: AskBroker, fields: dict[str, str], topics_on: Callable[[str], list[str]]) -> list[str]:
    """Brokers that a request is sent to; a queue among its fields gets the number that its broker knows."""
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
    return numbered(link, merged_answer(answers), command.code)
