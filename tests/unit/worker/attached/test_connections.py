"""Who is connected to a cluster, as far as its brokers tell."""

import asyncio

import pytest

from broker_core.errors import UsageError
from broker_core.protocol.admin.proxies import HEARTBEAT_GROUP
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.json_body import emit, parse_object
from broker_core.protocol.names import INNER_PRODUCER_GROUP
from broker_core.worker.attached.connections import PARTLY_KNOWN
from broker_core.worker.questions.administration import AskBroker, CloseConnection, ListConnections
from monitoring.admin.connections import ConnectionNote, ConnectionRates, client_rows
from tests.support.attached import asking, attached
from tests.support.fake_cluster import FakeBroker, FakeCluster

PRODUCER = {"clientId": "p1", "remoteIP": "/10.0.0.1:40", "language": "JAVA", "version": 409, "lastUpdateTimestamp": 1_000}
MEMBER = {"clientId": "c1", "clientAddr": "10.0.0.2:41", "language": "GO", "version": 453}


def watch(broker, scenario):
    async def run():
        async with FakeCluster([broker]) as fake, attached(fake.name_server) as cluster, asking(cluster) as queries:
            await cluster.sampling.once()
            await scenario(cluster, queries)

    asyncio.run(run())


def members(_connection, command):
    if command.ext_fields["consumerGroup"] == HEARTBEAT_GROUP:
        return command.reply(ResponseCode.CONSUMER_NOT_ONLINE, "no proxy runs")
    wanted = {"T": {"topic": "T", "subString": "a || b", "expressionType": "TAG"}}
    return command.reply(body=emit({"connectionSet": [MEMBER], "subscriptionTable": wanted}))


@pytest.fixture
def broker():
    made = FakeBroker("a", topics={"T": 1}, groups=["g"])
    made.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = members
    made.answers[RequestCode.GET_ALL_PRODUCER_INFO] = lambda _, command: command.reply(body=emit({"data": {"pg": [PRODUCER]}}))
    return made


def test_members_of_groups_are_told_and_the_rest_is_unknown(broker, monkeypatch):
    monkeypatch.setattr("broker_core.worker.attached.connections.KEPT_S", 3_600.0)

    async def scenario(cluster, queries):
        page = await queries.answer(ListConnections())
        rows = client_rows(page, ConnectionRates().add(page))
        told = [(row.client_id, row.group, row.address, row.client, row.topics, row.heartbeat_ms) for row in rows]
        assert told == [
            ("p1", "pg", "10.0.0.1:40", "Java 4.9.8", (), 1_000),
            ("c1", "g", "10.0.0.2:41", "Go 5.2.0", (("T", "a || b"),), -1),
        ]
        assert {(row.bytes_in, row.requests, row.connected_ms) for row in rows} == {(-1, -1, -1)}
        assert rows[1].note is ConnectionNote.NONE, "who is never heard of is not silent"
        assert page.notice == f"{PARTLY_KNOWN}."
        assert cluster.figures.snapshot().totals["producers"] == 1
        asked = broker.asked[RequestCode.GET_ALL_PRODUCER_INFO]
        assert await queries.answer(ListConnections()) is page
        assert broker.asked[RequestCode.GET_ALL_PRODUCER_INFO] == asked, "it is kept for a moment"
        with pytest.raises(UsageError, match="no request that ends a connection"):
            await queries.answer(CloseConnection("broker", "10.0.0.2:41"))

    watch(broker, scenario)


@pytest.mark.parametrize(
    ("consume_type", "kind"),
    [("CONSUME_PASSIVELY", "push consumer"), ("CONSUME_ACTIVELY", "pull consumer"), (None, "")],
)
def test_the_type_of_a_client_is_that_of_its_group(broker, consume_type, kind):
    told = {"connectionSet": [MEMBER], "subscriptionTable": {}, "consumeType": consume_type}
    broker.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = lambda _, command: command.reply(body=emit(told))

    async def scenario(_cluster, queries):
        page = await queries.answer(ListConnections())
        assert page.member_kind == ["producer", kind]
        assert page.protocol == []

    watch(broker, scenario)


def test_the_producer_inside_a_java_client_is_not_counted(broker):
    inner = {"data": {"pg": [PRODUCER], INNER_PRODUCER_GROUP: [PRODUCER, PRODUCER | {"clientId": "c1"}]}}
    broker.answers[RequestCode.GET_ALL_PRODUCER_INFO] = lambda _, command: command.reply(body=emit(inner))

    async def scenario(cluster, _queries):
        assert cluster.figures.snapshot().totals["producers"] == 1

    watch(broker, scenario)


def test_a_broker_that_is_too_old_says_that_it_lists_no_producers(broker):
    del broker.answers[RequestCode.GET_ALL_PRODUCER_INFO]

    async def scenario(cluster, queries):
        page = await queries.answer(ListConnections())
        assert page.member_client_id == ["c1"]
        assert "Broker a does not list its producers" in page.notice
        assert "producers" not in cluster.figures.snapshot().totals
        assert cluster.figures.faults() == {}

    watch(broker, scenario)


def test_unknown_counters_are_no_rates(broker):
    async def scenario(_cluster, queries):
        page = await queries.answer(ListConnections())
        rates = ConnectionRates()
        rates.add(page)
        later = type(page)(**{name: getattr(page, name) for name in page.__slots__} | {"taken_ms": page.taken_ms + 1_000})
        assert [repr(one.requests) for one in rates.add(later)] == ["nan", "nan"]

    watch(broker, scenario)


@pytest.mark.parametrize(
    ("code", "field", "name", "told"),
    [
        (RequestCode.GET_TOPIC_CONFIG, "topic", "T", "topicName"),
        (RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, "group", "g", "groupName"),
    ],
)
def test_a_broker_that_knows_no_single_config_is_asked_for_all(broker, code, field, name, told):
    async def scenario(_cluster, queries):
        answer = await queries.answer(AskBroker(code, {field: name}))
        assert parse_object(answer.body)[told] == name

    watch(broker, scenario)
