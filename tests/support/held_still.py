"""What an idle cluster is made of, so that two pictures of it can be compared: nothing that watches may change it."""

from __future__ import annotations

from typing import Any

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.cluster.link import refused_as
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, parse_object
from broker_core.worker.attached.cluster import AttachedCluster
from broker_core.worker.attached.queries import ClusterQueries
from broker_core.worker.questions.administration import ListMembers
from broker_core.worker.questions.delays import DelayedMessages, ListDelayed
from broker_core.worker.questions.searches import ContinueSearch, SearchHits, SearchStarted, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, ReadMessage
from broker_core.worker.questions.transactions import ListTransactions
from tests.support.attached import told

MESSAGES, CONSUMED = 10, 4
_TABLES = (
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_ALL_DELAY_OFFSET,
)
_COUNTED = ("putMessageTimesTotal", "commitLogMaxOffset", "commitLogMinOffset", "msgPutTotalTodayNow", "putMessageSizeTotal")
"""Runtime figures that only messages change."""


async def furnish(cluster: AttachedCluster, broker: str) -> None:
    """Make a topic, a group that lags, and a message that waits; nobody is connected afterwards."""
    await cluster.link.create_topic("T", queues=2)
    await cluster.link.set_group("g")
    async with Producer(cluster.link.name_servers) as producer:
        for number in range(MESSAGES):
            await producer.send(Message("T", b"%d" % number, keys=(f"k{number}",)), queue=MessageQueue("T", broker, 1))
        await producer.send(Message("T", b"later", properties={"DELAY": "18"}))
    async with PullConsumer(cluster.link.name_servers, "g") as consumer:
        await consumer.commit(MessageQueue("T", broker, 1), CONSUMED)


async def look_at_everything(queries: ClusterQueries) -> None:
    """What a person does who only looks."""
    page = await told(queries, BrowseQueue("T", -1, 0, 50), MessagePage)
    await queries.answer(ReadMessage(page.physical_offset[0]))
    await queries.answer(ListMembers("g"))
    assert (await told(queries, ListDelayed(18, 0, 10), DelayedMessages)).store_ms
    await queries.answer(ListTransactions(0, 10))
    started = await told(queries, StartSearch('topic = "T"'), SearchStarted)
    while not (hits := await told(queries, ContinueSearch(started.search_id), SearchHits)).is_over:
        pass
    assert hits.found == MESSAGES


async def picture_of(cluster: AttachedCluster, broker: str) -> dict[str, Any]:
    """Tables, offsets, queues and counts of a broker as it tells them, with the versions of its tables."""
    link = cluster.link
    found: dict[str, Any] = {code.name: await _table(cluster, broker, code) for code in _TABLES}
    delays = found[RequestCode.GET_ALL_DELAY_OFFSET.name]
    if isinstance(delays, dict):
        # 5.x brokers count the version of this table up every 20 s while a message waits, also when nobody is connected.
        delays.pop("dataVersion", None)
    for topic in await link.topics():
        try:
            stats = await link.ask(broker, RemotingCommand(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}))
        except RemoteError as error:
            if not refused_as(error, ResponseCode.TOPIC_NOT_EXIST):
                raise
            continue
        table = parse_object(stats.body).get("offsetTable") or {}
        found[topic] = {key: queue for key, queue in table.items() if queue["maxOffset"]}
    runtime = await _table(cluster, broker, RequestCode.GET_BROKER_RUNTIME_INFO)
    found["counts"] = {key: runtime["table"].get(key) for key in _COUNTED}
    return found


async def _table(cluster: AttachedCluster, broker: str, code: RequestCode) -> Any:
    try:
        return parse_object((await cluster.link.ask(broker, RemotingCommand(code))).body)
    except RemoteError as error:
        # Real brokers refuse to tell of a table that is empty.
        return error.message
