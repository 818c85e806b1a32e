"""Success of administration is told when the disk has the change, to whoever asked, and nothing else waits for that."""

import asyncio
import json
import threading

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.processors import written_answers
from broker_core.engine.processors.written_answers import FILES_OF, WrittenAnswers
from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables import config_files
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import RequestRefusedError, StoreFullError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import ONEWAY_FLAG, RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, RecordingPeer, consumer_heartbeat
from tests.support.held_saves import HeldSaves
from tests.support.remoting_peer import eventually

TIMEOUT_MS = 60_000
TOPIC = {"defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6", "topicFilterType": "SINGLE_TAG"}
AT = {"consumerGroup": "G", "topic": "Known", "queueId": "0", "commitOffset": "0"}
MODE = {"topic": "Known", "consumerGroup": "G", "mode": "POP", "popShareQueueNum": 0}
RESET = {"group": "G", "topic": "Known", "timestamp": "-1", "isForce": "true", "queueId": "0", "offset": "0"}

CHANGES = {
    Q.UPDATE_AND_CREATE_TOPIC: ({"topic": "New", **TOPIC}, b""),
    Q.UPDATE_AND_CREATE_TOPIC_LIST: ({}, emit({"topicConfigList": [{"topicName": "Listed"}]})),
    Q.DELETE_TOPIC_IN_BROKER: ({"topic": "Old"}, b""),
    Q.LET_TOPIC_TAKE_PART: ({"topic": "Atomic"}, b""),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: ({}, emit({"groupName": "NewGroup"})),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: ({}, emit({"groupConfigList": [{"groupName": "ListedGroup"}]})),
    Q.DELETE_SUBSCRIPTIONGROUP: ({"groupName": "OldGroup"}, b""),
    Q.UPDATE_AND_GET_GROUP_FORBIDDEN: ({"group": "G", "topic": "Known", "readable": "false"}, b""),
    Q.SET_MESSAGE_REQUEST_MODE: ({}, emit(MODE)),
    Q.UPDATE_BROKER_CONFIG: ({}, b"fileReservedTime=48\n"),
    Q.UPDATE_CONSUMER_OFFSET: (AT, b""),
    Q.INVOKE_BROKER_TO_RESET_OFFSET: (RESET, b""),
    Q.CLONE_GROUP_OFFSET: ({"srcGroup": "G", "destGroup": "H", "topic": "Known"}, b""),
    Q.PUT_KV_CONFIG: ({"namespace": "N", "key": "K", "value": "V"}, b""),
    Q.DELETE_KV_CONFIG: ({"namespace": "N", "key": "Old"}, b""),
    Q.UPDATE_NAMESRV_CONFIG: ({}, b"orderMessageEnable=true\n"),
}
OF_NAME_SERVER = {Q.GET_KV_CONFIG, Q.PUT_KV_CONFIG, Q.DELETE_KV_CONFIG, Q.UPDATE_NAMESRV_CONFIG}


@pytest.fixture
def gate(monkeypatch):
    saves = HeldSaves(monkeypatch)
    yield saves
    saves.open.set()


def command(code, fields=None, body=b"", **more):
    return RemotingCommand(code, dict(fields or {}), body, **more)


class Client:
    """One connection to the broker, one to its name server."""

    def __init__(self, broker, connection, name_server):
        self.broker, self.connection, self._name_server = broker, connection, name_server

    def ask(self, code, fields=None, body=b""):
        connection = self._name_server if code in OF_NAME_SERVER else self.connection
        return connection.request(command(code, fields, body), TIMEOUT_MS)


def run_client(root, scenario, gate=None, **settings):
    async def run():
        store = StoreConfig(root=root, **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store, **settings))
        await broker.start()
        try:
            client = Client(broker, await connect(broker.broker_address), await connect(broker.name_server_address))
            await scenario(client)
        finally:
            if gate is not None:
                gate.open.set()
            await broker.stop()

    asyncio.run(run())


def test_each_change_waits_for_the_disk_and_nothing_else_does(tmp_path, gate):
    assert {int(code) for code in CHANGES} == set(FILES_OF), "a change is not tried here"

    async def scenario(client):
        for name in ("Known", "Old"):
            await client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": name, **TOPIC})
        for name in ("G", "H", "OldGroup"):
            await client.ask(Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, emit({"groupName": name}))
        await client.ask(Q.PUT_KV_CONFIG, {"namespace": "N", "key": "Old", "value": "V"})
        gate.open.clear()
        waiting = {code: client.ask(code, *change) for code, change in CHANGES.items()}
        answered = await client.ask(Q.GET_BROKER_CONFIG)
        assert b"fileReservedTime=48" in bytes(answered.body), "the changes are in effect"
        known = await client.ask(Q.GET_KV_CONFIG, {"namespace": "N", "key": "K"}, b"")
        assert known.code == R.SUCCESS
        assert [code.name for code, answer in waiting.items() if answer.done()] == []
        gate.open.set()
        answers = await asyncio.gather(*waiting.values())
        assert [(answer.code, answer.remark) for answer in answers] == [(R.SUCCESS, None)] * len(answers)

    run_client(tmp_path, scenario, gate, atomic_transactions=True)


def test_a_change_is_in_its_file_when_it_is_told(tmp_path):
    def stored(name):
        return (tmp_path / "config" / name).read_text()

    async def scenario(client):
        topic = CHANGES[Q.UPDATE_AND_CREATE_TOPIC][0]
        for name in ("Known", "New"):
            await client.ask(Q.UPDATE_AND_CREATE_TOPIC, {**topic, "topic": name})
            assert name in json.loads(stored("topics.json"))["topicConfigTable"]
        await client.ask(Q.DELETE_TOPIC_IN_BROKER, {"topic": "New"})
        assert "New" not in json.loads(stored("topics.json"))["topicConfigTable"]
        await client.ask(Q.UPDATE_CONSUMER_OFFSET, AT)
        assert json.loads(stored("consumerOffset.json"))["offsetTable"]["Known@G"] == {"0": 0}
        await client.ask(Q.UPDATE_BROKER_CONFIG, *CHANGES[Q.UPDATE_BROKER_CONFIG])
        assert "fileReservedTime=48" in stored("broker.properties")
        await client.broker.create_topic("FromConsole", 1, 1, 6)
        assert "FromConsole" in json.loads(stored("topics.json"))["topicConfigTable"]
        item = command(Q.PUT_KV_CONFIG, *CHANGES[Q.PUT_KV_CONFIG])
        await client.broker.answer_console(item, name_server=True)
        assert '"K":"V"' in stored("kvConfig.json")

    run_client(tmp_path, scenario)


def test_what_a_consumer_commits_for_itself_does_not_wait(tmp_path, gate):
    async def scenario(client):
        await client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "Known", **TOPIC})
        await client.ask(Q.HEART_BEAT, {}, emit(consumer_heartbeat("c1", "G", Known="*")))
        gate.open.clear()
        assert (await client.ask(Q.UPDATE_CONSUMER_OFFSET, AT)).code == R.SUCCESS
        by_another = (await connect(client.broker.broker_address)).request(command(Q.UPDATE_CONSUMER_OFFSET, AT), TIMEOUT_MS)
        await client.ask(Q.GET_BROKER_CONFIG)
        assert not by_another.done()
        gate.open.set()
        assert (await by_another).code == R.SUCCESS

    run_client(tmp_path, scenario, gate)


def test_a_full_disk_is_told_and_the_change_is_made_good(tmp_path, gate, monkeypatch):
    monkeypatch.setattr(config_files, "RETRY_SECONDS", 0.01)
    path = tmp_path / "config" / "topics.json"

    async def scenario(client):
        await client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "Known", **TOPIC})
        gate.faults = [StoreFullError("topics.json cannot be written: no space left")] * 1_000_000
        answer = await client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "New", **TOPIC})
        assert answer.code == R.SYSTEM_ERROR
        assert "in effect, but would be lost with a crash: topics.json cannot be written: no space left" in answer.remark
        with pytest.raises(RequestRefusedError, match="no space left"):
            await client.broker.create_topic("FromConsole", 1, 1, 6)
        gate.faults.clear()
        await eventually(lambda: {"New", "FromConsole"} <= json.loads(path.read_text())["topicConfigTable"].keys())

    run_client(tmp_path, scenario, gate)


def test_a_client_that_is_gone_and_one_that_waits_for_no_answer_hold_up_nobody(tmp_path, gate):
    async def scenario(client):
        other = await connect(client.broker.broker_address)
        before = len(gate.writes)
        gate.open.clear()
        lost = client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "A", **TOPIC})
        await eventually(lambda: len(gate.writes) > before)
        client.connection.close()
        with pytest.raises(Exception, match="ended"):
            await lost
        oneway = command(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "B", **TOPIC}, flag=ONEWAY_FLAG)
        other.send(oneway)
        told = other.request(command(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "C", **TOPIC}), TIMEOUT_MS)
        await eventually(lambda: client.broker.topics.get("C"))
        gate.open.set()
        assert (await told).code == R.SUCCESS
        assert {"A", "B", "C"} <= json.loads((tmp_path / "config" / "topics.json").read_text())["topicConfigTable"].keys()

    run_client(tmp_path, scenario, gate)


def test_those_who_wait_when_the_broker_stops_are_told(tmp_path, gate):
    async def scenario(client):
        before = len(gate.writes)
        gate.open.clear()
        waiting = client.ask(Q.UPDATE_AND_CREATE_TOPIC, {"topic": "A", **TOPIC})
        await eventually(lambda: len(gate.writes) > before)
        gate.open.set()
        await client.broker.stop()
        assert (await waiting).code == R.SUCCESS

    run_client(tmp_path, scenario, gate)


def test_so_much_of_one_connection_waits_and_nothing_more_is_read_before_less_does(tmp_path, monkeypatch):
    monkeypatch.setattr(written_answers, "HELD_UP_BYTES", 1_500)
    monkeypatch.setattr(written_answers, "HELD_BYTES_MAX", 4_000)

    async def scenario():
        files, peer, other = ConfigFiles(tmp_path), RecordingPeer(), RecordingPeer()
        answers = WrittenAnswers(files, mark_offsets=lambda: None)
        files.serve("topics.json", dict)
        files.mark("topics.json")
        asked = command(Q.UPDATE_AND_CREATE_TOPIC)
        responses = [answers.hold(peer, asked, asked.reply()) for _ in range(12)]
        held = [response for response in responses if response is None]
        assert {response.code for response in responses if response is not None} == {R.SYSTEM_BUSY}
        assert 4 <= len(held) < 12
        assert peer.is_held_up
        assert answers.hold(other, asked, asked.reply()) is None
        assert not other.is_held_up
        assert answers.held_bytes(other) * len(held) == answers.held_bytes(peer)
        files.start()
        await eventually(lambda: len(peer.sent) == len(held))
        assert [response.code for response in peer.sent] == [R.SUCCESS] * len(held)
        assert not peer.is_held_up
        assert (answers.held_bytes(peer), answers.held_bytes(RecordingPeer())) == (0, 0)
        files.mark("topics.json")
        large = asked.reply(body=bytes(10_000))
        assert answers.hold(peer, asked, large) is None, "a large one alone is not refused"
        await eventually(lambda: peer.sent[-1] is large)
        assert answers.hold(peer, asked, asked.reply()) is not None, "nothing is left to write"
        await files.stop()

    asyncio.run(scenario())


def test_a_thousand_changes_of_one_connection_at_once_are_all_told(tmp_path, gate):
    async def scenario(client):
        (connection,) = client.broker.client_connections
        before = len(gate.writes)
        gate.open.clear()
        topics = [{"topic": f"T{number}", **TOPIC} for number in range(1_000)]
        waiting = [client.ask(Q.UPDATE_AND_CREATE_TOPIC, topic) for topic in topics]
        await eventually(lambda: connection._is_held_up)
        # What the first reads held is served, and no more while nothing is on the disk.
        assert client.broker._written.held_bytes(connection) <= written_answers.HELD_BYTES_MAX
        assert (client.broker.topics.get("T0") is None, client.broker.topics.get("T999") is None) == (False, True)
        gate.open.set()
        answers = await asyncio.gather(*waiting)
        assert {answer.code for answer in answers} == {R.SUCCESS}
        assert len(gate.writes) - before < 100
        table = json.loads((tmp_path / "config" / "topics.json").read_text())["topicConfigTable"]
        assert {topic["topic"] for topic in topics} <= table.keys()

    run_client(tmp_path, scenario, gate)


def test_what_the_name_server_is_told_while_the_store_still_opens_is_kept(tmp_path, monkeypatch):
    opens, may_open, old = threading.Event(), threading.Event(), {"namespace": "N", "key": "Old", "value": "V"}
    open_store = MessageStore.open

    def open_later(*args, **options):
        opens.set()
        assert may_open.wait(60)
        return open_store(*args, **options)

    monkeypatch.setattr(MessageStore, "open", open_later)

    async def scenario():
        ConfigFile(tmp_path / "config" / "kvConfig.json").save({"configTable": {"N": {"Old": "V", "Kept": "V"}}})
        store = StoreConfig(root=tmp_path, **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        starting = asyncio.create_task(broker.start())
        try:
            await eventually(opens.is_set)
            client = await connect(broker.name_server_address)
            changes = [(Q.PUT_KV_CONFIG, {**old, "key": "New"}), (Q.DELETE_KV_CONFIG, old)]
            waiting = [client.request(command(code, fields), TIMEOUT_MS) for code, fields in changes]
            known = await client.request(command(Q.GET_KV_CONFIG, {"namespace": "N", "key": "New"}), TIMEOUT_MS)
            assert (known.code, [answer.done() for answer in waiting]) == (R.SUCCESS, [False, False])
            may_open.set()
            assert [answer.code for answer in await asyncio.gather(*waiting)] == [R.SUCCESS] * 2
            stored = json.loads((tmp_path / "config" / "kvConfig.json").read_text())["configTable"]
            assert stored == {"N": {"Kept": "V", "New": "V"}}
        finally:
            may_open.set()
            await starting
            await broker.stop()

    asyncio.run(scenario())
