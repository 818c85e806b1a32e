"""An attached cluster: our own broker over loopback, and peers that fail."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import NetworkError, ReadOnlyConnectionError, RemoteError, UsageError
from broker_core.protocol.admin.topics import read_topic_settings
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.commands import cluster as cluster_command
from broker_core.worker.field_views import FieldReader
from broker_core.worker.questions.administration import AskBroker, CreateTopic, ListMembers, MeasureTopics
from broker_core.worker.questions.delays import ListTimers
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, StartSearch
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    MessageBody,
    ReadBody,
    ReadFields,
    ReadMessage,
    ReadMessageById,
    SendMessage,
)
from tests.support.attached import BROKER, QUICK, asking, attached, broker_on
from tests.support.fake_cluster import FakeBroker, FakeCluster, refused
from tests.support.remoting_peer import BROKER as PEER_BROKER
from tests.support.remoting_peer import Peer, eventually

DEADLINE_S = 60


async def until(condition):
    await eventually(condition, DEADLINE_S)


def play(tmp_path, scenario, *, read_only=False):
    """Ten messages in each of the two queues of T, of which the group g got three of queue 0."""

    async def run():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await cluster.link.create_topic("T", queues=2)
            async with Producer(broker.name_server_address) as producer:
                for number in range(20):
                    message = Message("T", b"body %d" % number, "tag", (f"k{number}",))
                    await producer.send(message, queue=MessageQueue("T", BROKER, number % 2))
            await cluster.link.set_group("g")
            await cluster.link.set_consumer_offset("g", MessageQueue("T", BROKER, 0), 3)
            await cluster.sampling.once()
            async with asking(cluster, read_only=read_only) as queries:
                await scenario(cluster, queries)

    asyncio.run(run())


def test_figures_are_those_of_the_broker(tmp_path):
    async def scenario(cluster, _queries):
        catalog, snapshot = cluster.figures.catalog(), cluster.figures.snapshot()
        topic = catalog.topics.index("T")
        rows = [row for row, place in enumerate(catalog.queue_topic) if place == topic]
        high = memoryview(snapshot.queues["max_offset"]).cast("q")
        assert [high[row] for row in rows] == [10, 10]
        assert "g" in catalog.groups
        assert list(memoryview(snapshot.positions["offset"]).cast("q")) == [3]
        assert snapshot.faults == {}
        assert snapshot.totals["put_messages"] == 20

    play(tmp_path, scenario)


def test_messages_are_browsed_found_and_read(tmp_path):
    async def scenario(_cluster, queries):
        page = await queries.answer(BrowseQueue("T", 1, 4, 3))
        assert (page.queue_offset, page.min_offset, page.max_offset, page.next_offset) == ([4, 5, 6], 0, 10, 7)
        assert (page.keys[0], page.tag[0], page.body_start[0]) == ("k9", "tag", b"body 9")
        newest = await queries.answer(BrowseQueue("T", -1, 0, 15))
        assert len(newest.store_ms) == 15
        assert newest.store_ms == sorted(newest.store_ms, reverse=True)
        detail = await queries.answer(ReadMessage(page.physical_offset[0]))
        assert await queries.answer(ReadBody(page.physical_offset[0])) == MessageBody(detail.body)
        assert (detail.body, detail.queue_id, detail.queue_offset) == (b"body 9", 1, 4)
        assert await queries.answer(ReadMessageById(detail.offset_message_id)) == detail
        assert (await queries.answer(FindOffset("T", 1, 0))).offset == 0
        with pytest.raises(UsageError, match="1 to 1000 messages"):
            await queries.answer(BrowseQueue("T", 0, 0, 0))
        with pytest.raises(RemoteError, match="there is no topic nowhere"):
            await queries.answer(BrowseQueue("nowhere", -1, 0, 5))
        with pytest.raises(UsageError, match="none of this cluster's"):
            await queries.answer(ReadMessageById("0A0000010000277600000000000001F4"))

    play(tmp_path, scenario)


def test_reading_moves_nobody(tmp_path):
    async def scenario(cluster, queries):
        before = dict(cluster.figures.of(BROKER).positions)
        await queries.answer(BrowseQueue("T", 0, 0, 10))
        await queries.answer(BrowseQueue("T", -1, 0, 20))
        groups = set(await cluster.link.groups())
        cluster.sampling.start()
        await until(lambda: cluster.figures.of(BROKER).next_store.get(("g", "T", 0)))
        assert cluster.figures.of(BROKER).positions == before
        assert set(await cluster.link.groups()) == groups

    play(tmp_path, scenario)


def test_messages_are_sent_and_topics_created(tmp_path):
    async def scenario(cluster, queries):
        receipt = await queries.answer(SendMessage("T", 1, b"new", {"KEYS": "a b", "TAGS": "t", "own": "x"}))
        assert (receipt.queue_id, receipt.queue_offset) == (1, 10)
        detail = await queries.answer(ReadMessageById(receipt.offset_message_id))
        assert (detail.body, detail.properties["KEYS"], detail.properties["own"]) == (b"new", "a b", "x")
        await queries.answer(CreateTopic("U", 3, 2, message_type="FIFO"))
        settings = await queries.answer(AskBroker(RequestCode.GET_TOPIC_CONFIG, {"topic": "U"}))
        assert read_topic_settings(settings.body).attributes == {"message.type": "FIFO"}
        await cluster.sampling.once()
        row = cluster.figures.of(BROKER).topics["U"]
        assert (row.read_queues, row.write_queues) == (3, 2)

    play(tmp_path, scenario)


def test_a_search_goes_through_the_cluster(tmp_path):
    async def scenario(_cluster, queries):
        started = await queries.answer(StartSearch('topic = "T" and body contains "body 1"'))
        keys = []
        while True:
            hits = await queries.answer(ContinueSearch(started.search_id))
            keys += hits.keys
            if hits.is_over:
                break
        assert sorted(keys) == sorted(f"k{number}" for number in range(20) if str(number).startswith("1"))
        assert (hits.scanned, hits.reasons) == (20, [])
        with pytest.raises(UsageError, match="there is no search"):
            await queries.answer(ContinueSearch(started.search_id))
        other = await queries.answer(StartSearch('topic = "T"'))
        await queries.answer(EndSearch(other.search_id))

    play(tmp_path, scenario)


def test_fields_of_hits_are_read_beside_the_loop_and_what_is_gone_shows_nothing(tmp_path, monkeypatch):
    made_of, made_on = FieldReader.values, set()

    def values(reader, messages):
        made_on.add(threading.current_thread())
        return made_of(reader, messages)

    monkeypatch.setattr(FieldReader, "values", values)

    async def scenario(_cluster, queries):
        page = await queries.answer(BrowseQueue("T", 0, 0, 3))
        places = [*page.physical_offset, page.physical_offset[-1] + 1]
        values = await queries.answer(ReadFields(places, ["tag", "key"], "body"))
        assert values.texts == [["tag", "tag", "tag", ""], ["k0", "k2", "k4", ""]]
        assert values.body_start == [b"body 0", b"body 2", b"body 4", b""]
        assert threading.current_thread() not in made_on

    play(tmp_path, scenario)


def test_a_transaction_is_refused_and_nothing_is_sent(tmp_path):
    async def scenario(_cluster, queries):
        with pytest.raises(UsageError, match="through the embedded broker alone; nothing was sent"):
            await queries.answer(SendMessage("T", 0, b"x", {}, 0, "commit"))

    play(tmp_path, scenario)


def test_administration_is_forwarded_and_refusals_come_back(tmp_path):
    async def scenario(_cluster, queries):
        answer = await queries.answer(AskBroker(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "1"}))
        assert answer.fields["offset"] == "10"
        answer = await queries.answer(AskBroker(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
        assert "T" in json.loads(answer.body)["topicList"]
        with pytest.raises(RemoteError):
            await queries.answer(AskBroker(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "nobody"}))
        with pytest.raises(UsageError, match="no others"):
            await queries.answer(AskBroker(RequestCode.SEND_MESSAGE))
        with pytest.raises(UsageError, match="no broker x; it has broker-a"):
            await queries.answer(AskBroker(RequestCode.GET_BROKER_CONFIG, broker_name="x"))
        assert (await queries.answer(ListMembers("g"))).client_id == []

    play(tmp_path, scenario)


@pytest.mark.parametrize("known", [True, False])
def test_one_queue_is_not_reset_where_the_broker_would_reset_them_all(tmp_path, known):
    async def scenario(cluster, queries):
        cluster.link.versions[BROKER] = 412
        if not known:
            cluster.link.versions.clear()
        fields = {"topic": "T", "group": "g", "timestamp": "0", "isForce": "true", "queueId": "0", "offset": "1"}
        with pytest.raises(UsageError, match="would reset the whole topic"):
            await queries.answer(AskBroker(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields))
        cluster.link.versions[BROKER] = 413
        cluster.link.check_reset(BROKER, fields)
        cluster.link.versions[BROKER] = 412
        cluster.link.check_reset(BROKER, {**fields, "queueId": "-1", "offset": ""})

    play(tmp_path, scenario)


def test_what_cannot_be_known_from_outside_says_why(tmp_path):
    async def scenario(_cluster, queries):
        with pytest.raises(UsageError, match="not available on an attached cluster: the list of timers; it is known inside"):
            await queries.answer(ListTimers(0, -1, 10))
        with pytest.raises(UsageError, match="no sizes of topics"):
            await queries.answer(MeasureTopics(["T"]))

    play(tmp_path, scenario)


def test_a_read_only_connection_acts_on_nothing(tmp_path):
    async def scenario(cluster, queries):
        for acting in (
            SendMessage("T", 0, b"x", {}),
            CreateTopic("U", 1, 1),
            AskBroker(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}),
        ):
            with pytest.raises(ReadOnlyConnectionError):
                await queries.answer(acting)
        assert (await queries.answer(BrowseQueue("T", 0, 0, 1))).queue_offset == [0]
        await cluster.sampling.once()
        assert sum(held.max_offset for held in cluster.figures.of(BROKER).offsets["T"].values()) == 20

    play(tmp_path, scenario, read_only=True)


def test_the_overview_is_printed_as_text_and_as_json(tmp_path, capsys):
    async def scenario(cluster, _queries):
        name_server = cluster.link.name_servers
        assert await asyncio.to_thread(cluster_command.main, ["--ns", name_server]) == 0
        text = capsys.readouterr().out
        assert BROKER in text
        assert [line.split() for line in text.splitlines() if line.split()[:1] == ["T"]] == [["T", "2", "RW", "20"]]
        assert [line.split() for line in text.splitlines() if line.split()[:1] == ["g"]] == [["g", "0", "1", "7"]]
        assert await asyncio.to_thread(cluster_command.main, ["--ns", name_server, "--json"]) == 0
        overview = json.loads(capsys.readouterr().out)
        assert (overview["brokers"][0]["name"], overview["faults"]) == (BROKER, {})

    play(tmp_path, scenario)


def test_what_no_broker_tells_is_not_counted_as_none(capsys):
    async def scenario():
        broker = FakeBroker("a", {"orders": 4})
        broker.answer_all(refused)
        async with FakeCluster([broker]) as fake:
            assert await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server]) == 1

    asyncio.run(scenario())
    text = capsys.readouterr().out
    assert "Topics: ?" in text
    assert "Groups: ?" in text
    assert "in part" in text
    assert "asks for keys, and this connection has none" in text


def test_a_name_server_that_knows_no_broker_is_no_cluster_where_all_is_well(capsys):
    async def scenario():
        async with FakeCluster([]) as fake:
            for words in ([], ["--json"]):
                assert await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server, *words]) == 1

    asyncio.run(scenario())
    text = capsys.readouterr().out
    assert "name server: no broker is registered there now" in text
    assert "Topics: ?" in text
    assert json.loads(text[text.index("{") :])["faults"] == {"name server": cluster_command.NO_BROKER}


def test_groups_of_brokers_are_counted_apart(capsys):
    async def scenario():
        groups = ["CID_RMQ_SYS_TRANS", "g"]
        positions = {f"orders@{group}": {0: 0} for group in groups}
        async with FakeCluster([FakeBroker("a", {"orders": 1}, {"orders": 5}, groups, positions)]) as fake:
            assert await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server]) == 0

    asyncio.run(scenario())
    text = capsys.readouterr().out
    assert "Groups: 1, and 1 of the brokers' own" in text
    assert "CID_RMQ_SYS_TRANS" not in text


@pytest.mark.parametrize(
    ("offset", "figures", "words"),
    [
        (2_000_000, (None, 0, 1_999_995), "BEYOND THE END by 1,999,995"),
        (5, (0, 0, 0), ""),
        (3, (2, 0, 0), ""),
    ],
)
def test_a_group_beyond_the_end_is_no_group_without_lag(capsys, offset, figures, words):
    async def scenario():
        broker = FakeBroker("a", {"orders": 1}, {"orders": 5}, ["g"], {"orders@g": {0: offset}})
        async with FakeCluster([broker]) as fake:
            for more in ([], ["--json"]):
                assert await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server, *more]) == 0

    asyncio.run(scenario())
    text = capsys.readouterr().out
    group = next(one for one in json.loads(text[text.index("{") :])["groups"] if one["name"] == "g")
    assert (group["lag_messages"], group["lost_messages"], group["beyond_messages"]) == figures
    (line,) = [line for line in text.splitlines() if line.split()[:1] == ["g"]]
    assert line.endswith(words or str(figures[0]))


def test_without_a_name_server_the_overview_says_so(capsys):
    assert cluster_command.main(["--ns", "127.0.0.1:1"]) == NetworkError.exit_code
    assert "cannot connect to 127.0.0.1:1" in capsys.readouterr().err


# ---- faults ------------------------------------------------------------------------------------------------------------


def test_a_broker_that_ends_is_lost_and_comes_back(tmp_path):
    async def scenario():
        root = tmp_path / "store"
        async with broker_on(root) as broker:
            # The name server goes with its broker: both are lost.
            config = replace(
                broker.config,
                listen_port=int(broker.broker_address.rpartition(":")[2]),
                name_server_port=int(broker.name_server_address.rpartition(":")[2]),
            )
            cluster = AttachedCluster(AttachOptions(broker.name_server_address, QUICK))
            await cluster.connect()
            cluster.sampling.start()
            await until(lambda: cluster.figures.of(BROKER).runtime)
        try:
            # Lost, and not only told of in part: a restart in the midst of a round would have nothing to come back from.
            await until(lambda: cluster.figures.of(BROKER).is_lost and cluster.figures.name_server_fault)
            assert set(cluster.figures.faults()) == {"name server", BROKER}
            again = EmbeddedBroker(config)
            await again.start()
            try:
                await until(lambda: not cluster.figures.faults())
            finally:
                await again.stop()
        finally:
            await cluster.close()
        kinds = [event.kind for event in cluster.figures.events()]
        assert {"broker_lost", "broker_back", "name_server_lost", "name_server_back"} <= set(kinds)

    asyncio.run(scenario())


def test_a_broker_that_does_not_answer_in_time_is_lost():
    async def scenario():
        async with Peer() as peer, attached(peer.address, replace(QUICK, timeout_ms=500)) as cluster:
            peer.script[RequestCode.GET_ALL_TOPIC_CONFIG] = [lambda _connection, _command: None] * 1_000
            await cluster.sampling.once()
            assert "did not answer within 500 ms" in cluster.figures.faults()[PEER_BROKER]

    asyncio.run(scenario())


def test_an_answer_that_cannot_be_read_is_a_fault_of_its_part_only():
    async def scenario():
        async with Peer() as peer, attached(peer.address) as cluster:
            peer.script[RequestCode.GET_ALL_TOPIC_CONFIG] = [lambda _connection, command: command.reply(body=b"<html>")]
            peer.script[RequestCode.GET_BROKER_RUNTIME_INFO] = [
                lambda _connection, command: command.reply(body=b'{"table":{"brokerVersion":"401"}}')
            ]
            peer.script[RequestCode.GET_ALL_CONSUMER_OFFSET] = [
                lambda _connection, command: command.reply(body=b'{"offsetTable":{}}')
            ]
            await cluster.sampling.once()
            assert ": topics and groups: " in cluster.figures.faults()[PEER_BROKER]
            assert not cluster.figures.of(PEER_BROKER).is_lost
            assert cluster.link.versions == {PEER_BROKER: 401}

    asyncio.run(scenario())


def test_the_name_server_is_watched_on_after_a_fault_of_our_own(monkeypatch, caplog):
    async def scenario():
        async with Peer() as peer, attached(peer.address, QUICK) as cluster:
            find = cluster.link.find_brokers

            async def fail():
                raise RuntimeError("a defect")

            monkeypatch.setattr(cluster.link, "find_brokers", fail)
            cluster.sampling.start()
            await until(lambda: "a defect" in cluster.figures.name_server_fault)
            monkeypatch.setattr(cluster.link, "find_brokers", find)
            await until(lambda: not cluster.figures.name_server_fault)

    asyncio.run(scenario())


def test_connecting_goes_on_until_a_name_server_answers():
    async def scenario():
        told = asyncio.Event()
        cluster = AttachedCluster(AttachOptions("127.0.0.1:1", QUICK))
        connecting = asyncio.create_task(cluster.connect_in_time(lambda _reason: told.set()))
        async with asyncio.timeout(DEADLINE_S):
            await told.wait()
        assert not connecting.done()
        connecting.cancel()
        await cluster.close()

    asyncio.run(scenario())


def test_the_port_of_grpc_that_a_broker_of_orbit_has_is_known(tmp_path):
    async def run():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await cluster.sampling.once()
            assert cluster.figures.listed().grpc == [broker.grpc_address]

    asyncio.run(run())
