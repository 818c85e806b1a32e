"""The official admin tool against our name server and broker: many commands in one Java machine."""

import asyncio
import json
import os
import queue
import re
import subprocess
import threading

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.protocol.message.message_id import offset_message_id
from tests.support.broker_process import running_broker
from tests.support.remoting_peer import eventually, eventually_answers
from tests.support.toolchains import SHORT_LIVED, java_class_path

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

VERSIONS = ["4.9.4", "5.3.3"]
COMMAND_SECONDS = 60.0


class Tool:
    """The admin tool in one Java machine; `run` gives what a command prints."""

    def __init__(self, class_path, home, name_server):
        options = [*SHORT_LIVED, f"-Duser.home={home}", f"-Drocketmq.home.dir={home}", "-Dfile.encoding=UTF-8", "-Xmx256m"]
        options += ["-Drocketmq.client.logUseSlf4j=true", f"-Djava.io.tmpdir={home}"]
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "ROCKETMQ_HOME": str(home)}
        self._process = subprocess.Popen(
            ["java", *options, "-cp", class_path, "MqAdmin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=home,  # where some commands write files
        )
        self._name_server = name_server
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name="admin tool output", daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("@@END")

    def run(self, *arguments):
        self._process.stdin.write("\t".join([arguments[0], "-n", self._name_server, *map(str, arguments[1:])]) + "\n")
        self._process.stdin.flush()
        lines = []
        while (line := self._lines.get(timeout=COMMAND_SECONDS)) != "@@END":
            lines.append(line)
        return "\n".join(lines)

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._reader.join(60)
        self._process.stdout.close()


@pytest.fixture(scope="module", params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture(scope="module")
def class_path(version, tmp_path_factory):
    return java_class_path(tmp_path_factory.mktemp("mqadmin"), version, "MqAdmin.java")


@pytest.fixture(scope="module")
def broker(class_path, tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as running:
        yield running


@pytest.fixture(scope="module")
def tool(class_path, broker, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "conf").mkdir()
    (home / "conf" / "logback_tools.xml").write_text("<configuration/>")  # the 4.x tool insists on it
    tool = Tool(class_path, home, broker.name_server)
    yield tool
    tool.close()


@pytest.fixture(scope="module")
def shop(broker):
    """A topic with 40 messages of two tags, and a group that has consumed those of one."""

    async def fill():
        async with AdminClient(broker.name_server) as admin:
            await admin.create_topic("Shop", queues=4)
        async with Producer(broker.name_server, "PG-SHOP") as producer:
            for number in range(40):
                tag, key = f"Tag{'AB'[number % 2]}", f"key-{number}"
                await producer.send(Message("Shop", f"body {number}".encode(), tags=tag, keys=(key,)))
        got = []
        consumer = PushConsumer(
            broker.name_server, "CG-SHOP", {"Shop": "TagA"}, got.extend, consume_from=ConsumeFrom.FIRST_OFFSET
        )
        async with consumer:
            await eventually(lambda: len(got) == 20, seconds=60)
        return got

    return asyncio.run(fill())


def lags(broker, group="CG-SHOP"):
    async def ask():
        async with AdminClient(broker.name_server) as admin:
            return sum(queue.lag_messages for queue in (await admin.consume_stats(group, "Shop")).values())

    return asyncio.run(ask())


def test_cluster_and_broker(tool, broker):
    assert re.search(r"DefaultCluster +broker-a +0 +127\.0\.0\.1:\d+ +V5_3_3 ", tool.run("clusterList"))
    assert "InTotalToday" in tool.run("clusterList", "-m")
    status = dict(line.split(": ", 1) for line in tool.run("brokerStatus", "-b", broker.broker).splitlines() if ": " in line)
    table = {key.strip(): value for key, value in status.items()}
    assert table["brokerVersionDesc"] == "V5_3_3"
    for key in ("putTps", "getTotalTps", "commitLogDiskRatio", "runtime", "putLatency99", "remainHowManyDataToFlush"):
        assert table[key]


def test_topics_are_made_changed_listed_and_deleted(tool, broker):
    assert "success" in tool.run("updateTopic", "-b", broker.broker, "-t", "Made", "-r", "3", "-w", "3")
    ordered = tool.run("updateTopic", "-c", "DefaultCluster", "-t", "Ordered", "-r", "2", "-w", "2", "-o", "true")
    assert "orderConf=[broker-a:2]" in ordered
    assert {"Made", "Ordered"} <= set(tool.run("topicList").splitlines())
    assert "DefaultCluster        Made" in tool.run("topicList", "-c")
    assert "DefaultCluster" in tool.run("topicClusterList", "-t", "Made")
    assert '"readQueueNums":3' in tool.run("topicRoute", "-t", "Made")
    assert tool.run("topicStatus", "-t", "Made").count("broker-a") == 3
    assert "from 6 to 4" in tool.run("updateTopicPerm", "-b", broker.broker, "-t", "Made", "-p", "4")
    assert '"perm":4' in tool.run("topicRoute", "-t", "Made")
    assert "conflict with system topic" in tool.run("updateTopic", "-b", broker.broker, "-t", "TBW102")
    assert "NameServer success" in tool.run("deleteTopic", "-c", "DefaultCluster", "-t", "Made")
    assert "CODE: 17" in tool.run("topicRoute", "-t", "Made")


def test_the_type_of_messages_is_declared(version, tool, broker):
    if version.startswith("4"):
        pytest.skip("the tool of 4.x has no attributes")
    make = ("updateTopic", "-b", broker.broker, "-t", "Typed", "-r", "2", "-w", "2", "-a")
    assert "success" in tool.run(*make, "+message.type=FIFO")

    async def attributes():
        async with AdminClient(broker.name_server) as admin:
            return (await admin.topic_configs(broker.broker))["Typed"].get("attributes")

    assert asyncio.run(attributes()) == {"message.type": "FIFO"}
    assert "allowed are UNSPECIFIED, NORMAL" in tool.run(*make, "+message.type=FIF0")
    assert "success" in tool.run(*make, "-message.type")
    assert not asyncio.run(attributes())


def test_messages_are_sent_found_and_printed(version, tool, broker, shop):
    assert "SEND_OK" in tool.run("sendMessage", "-t", "Shop", "-p", "from the tool", "-k", "tool-key", "-c", "TagT")
    assert tool.run("checkMsgSendRT", "-t", "Shop", "-a", "3", "-s", "10").count("true") == 3
    assert tool.run("sendMsgStatus", "-b", "broker-a", "-s", "10", "-c", "2").count("SEND_OK") == 2
    message = shop[0]
    by_unique_key = tool.run("queryMsgByUniqueKey", "-t", "Shop", "-i", message.message_id)
    assert f"[{message.keys[0]}]" in by_unique_key
    assert "consumerGroup=CG-SHOP, trackType=NOT_ONLINE" in by_unique_key, "the track of a message"
    offset_id = offset_message_id(message.stored.store_host, message.stored.physical_offset)
    newer = ["-t", "Shop"] if version.startswith("5") else []
    assert f"[{message.keys[0]}]" in tool.run("queryMsgById", "-i", offset_id, *newer)
    assert message.message_id in tool.run("queryMsgByKey", "-t", "Shop", "-k", message.keys[0])
    place = ["-b", "broker-a", "-i", message.queue.queue_id, "-o", message.queue_offset]
    assert message.keys[0] in tool.run("queryMsgByOffset", "-t", "Shop", *place)
    assert tool.run("printMsg", "-t", "Shop", "-s", "TagA").count("MSGID") == 20
    printed = tool.run(
        "printMsgByQueue", "-t", "Shop", "-a", "broker-a", "-i", message.queue.queue_id, "-p", "true", "-f", "true"
    )
    assert "Tag: TagA" in printed
    consumed = tool.run("consumeMessage", "-t", "Shop", "-g", "CG-TOOL", "-b", "broker-a", "-i", "0", "-o", "0", "-c", "2")
    assert "Consume ok" in consumed
    entries = tool.run("queryCq", "-t", "Shop", "-q", "0", "-i", "0", "-c", "2", "-b", broker.broker)
    assert entries.count("physicOffset=") == 2


def test_groups_are_made_shown_moved_copied_and_deleted(tool, broker, shop):
    assert "success" in tool.run("updateSubGroup", "-b", broker.broker, "-g", "CG-COPY", "-s", "true")
    assert "success" in tool.run("updateSubGroup", "-c", "DefaultCluster", "-g", "CG-TWO", "-r", "5", "-q", "2")
    assert re.search(r"retryMaxTimes += +5", tool.run("getConsumerConfig", "-g", "CG-TWO"))
    assert re.search(r"Shop +broker-a +0 ", tool.run("consumerProgress", "-g", "CG-SHOP"))
    assert "CG-SHOP" in tool.run("consumerProgress")
    assert "CG-SHOP" in tool.run("brokerConsumeStats", "-b", broker.broker)
    assert "consumer offset by specified" in tool.run("resetOffsetByTime", "-g", "CG-SHOP", "-t", "Shop", "-s", "0")
    assert lags(broker) >= 40, "offline, at the start"
    tool.run("skipAccumulatedMessage", "-g", "CG-SHOP", "-t", "Shop", "-f", "true")
    assert lags(broker) == 0
    assert "success" in tool.run("cloneGroupOffset", "-s", "CG-SHOP", "-d", "CG-COPY", "-t", "Shop")
    assert lags(broker, "CG-COPY") == 0
    assert "CODE: 206" in tool.run("consumerConnection", "-g", "CG-SHOP")
    assert "success" in tool.run("deleteSubGroup", "-b", broker.broker, "-g", "CG-TWO", "-r", "true")
    assert "CG-TWO" not in tool.run("getConsumerConfig", "-g", "CG-TWO")


def test_members_that_are_online_are_seen_and_moved(tool, broker, shop):
    """What the tool asks of a group with members goes on to them: here to a Java consumer."""

    def count():
        return int(re.search(r"count (\d+)", tool.run("@count"))[1])

    async def counted(wanted):
        await eventually_answers(lambda: asyncio.to_thread(lambda: count() >= wanted), seconds=90)

    tool.run("@consume", "Shop", "CG-LIVE")
    asyncio.run(counted(40))
    connected = tool.run("consumerConnection", "-g", "CG-LIVE")
    assert "ConsumeType: CONSUME_PASSIVELY" in connected
    assert re.search(r"Shop +\*", connected)
    assert re.search(r"@\S+ +V[45]_", tool.run("consumerStatus", "-g", "CG-LIVE"))
    assert re.search(r"CG-LIVE +1 +V[45]", tool.run("consumerProgress"))
    before = count()
    reset = tool.run("resetOffsetByTime", "-g", "CG-LIVE", "-t", "Shop", "-s", "0")
    assert re.search(r"broker-a +0 +0", reset), "a client that is online goes to the start itself"
    asyncio.run(counted(before + 40))


def test_producers_that_are_online_are_seen(tool, broker, shop):
    async def scenario():
        async with Producer(broker.name_server, "PG-LIVE") as producer:
            await producer.send(Message("Shop", b"online"))
            return await asyncio.to_thread(tool.run, "producerConnection", "-g", "PG-LIVE", "-t", "Shop")

    assert re.search(r"127\.0\.0\.1:\d+ +PYTHON", asyncio.run(scenario()))


def test_settings_of_broker_and_name_server(tool, broker):
    assert re.search(r"fileReservedTime += +72", tool.run("getBrokerConfig", "-b", broker.broker))
    assert "success" in tool.run("updateBrokerConfig", "-b", broker.broker, "-k", "fileReservedTime", "-v", "48")
    assert re.search(r"fileReservedTime += +48", tool.run("getBrokerConfig", "-b", broker.broker))
    refused = tool.run("updateBrokerConfig", "-b", broker.broker, "-k", "brokerConfigPath", "-v", "/tmp/x")
    assert "CODE: 16" in refused
    assert "CODE: 16" in tool.run("updateBrokerConfig", "-b", broker.broker, "-k", "storePathRootDir", "-v", "/tmp/x")
    assert "success" in tool.run("updateBrokerConfig", "-b", broker.broker, "-k", "transactionCheckMax", "-v", "20")
    assert "no slaves" in tool.run("updateBrokerConfig", "-b", broker.broker, "-k", "haListenPort", "-v", "1")
    shown = tool.run("getNamesrvConfig")
    assert re.search(r"orderMessageEnable += +false", shown)
    assert re.search(r"kvConfigPath += +\S+kvConfig", shown)
    assert "CODE: 16" in tool.run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "/tmp/x")
    assert "success" in tool.run("updateKvConfig", "-s", "NS", "-k", "k", "-v", "v")
    assert "success" in tool.run("deleteKvConfig", "-s", "NS", "-k", "k")
    assert "success" in tool.run("updateOrderConf", "-t", "Shop", "-v", "broker-a:4", "-m", "put")
    assert "broker-a:4" in tool.run("updateOrderConf", "-t", "Shop", "-m", "get")
    assert "success" in tool.run("updateOrderConf", "-t", "Shop", "-m", "delete")


def test_write_permission_is_taken_and_given_back(tool, broker, shop):
    assert "OK" in tool.run("wipeWritePerm", "-b", "broker-a")
    assert '"perm":4' in tool.run("topicRoute", "-t", "Shop")
    assert "OK" in tool.run("addWritePerm", "-b", "broker-a")
    assert '"perm":6' in tool.run("topicRoute", "-t", "Shop")


def test_housekeeping(tool, broker):
    for command in ("cleanExpiredCQ", "cleanUnusedTopic", "deleteExpiredCommitLog"):
        assert "success" in tool.run(command, "-b", broker.broker)


def test_statistics_and_allocation(tool, broker, shop):
    async def scenario():
        """Statistics are read every ten seconds and tell of the last minute: there is traffic until they show it."""
        got = []
        consumer = PushConsumer(broker.name_server, "CG-STATS", {"Shop": "*"}, got.extend)

        async def counted():
            await producer.send(Message("Shop", b"counted"))
            lines = (await asyncio.to_thread(tool.run, "statsAll", "-t", "Shop")).splitlines()
            row = next((line.split() for line in lines if line.startswith("Shop") and "CG-STATS" in line), ["0"] * 7)
            return int(row[5]) > 0 and int(row[6]) > 0

        async with Producer(broker.name_server, "PG-STATS") as producer, consumer:
            await eventually_answers(counted, seconds=90)

    asyncio.run(scenario())
    assert '"queueId":0' in tool.run("allocateMQ", "-t", "Shop", "-i", "127.0.0.1,127.0.0.2")


def only_in_4(tool, broker, tmp_path):
    assert "access control is off" in tool.run("getAclConfig", "-b", broker.broker)
    assert "access control is off" in tool.run("clusterAclConfigVersion", "-b", broker.broker)


def only_in_5(tool, broker, tmp_path):
    topics, groups = tmp_path / "topics.json", tmp_path / "groups.json"
    topics.write_text(json.dumps([{"topicName": name, "readQueueNums": 2, "writeQueueNums": 2} for name in ("L1", "L2")]))
    groups.write_text(json.dumps([{"groupName": name} for name in ("GL1", "GL2")]))
    assert "success" in tool.run("updateTopicList", "-b", broker.broker, "-f", topics)
    assert "success" in tool.run("updateSubGroupList", "-b", broker.broker, "-f", groups)
    assert {"L1", "L2"} <= set(tool.run("topicList").splitlines())
    assert "GL2" in tool.run("getConsumerConfig", "-g", "GL2")
    assert "success" in tool.run("setConsumeMode", "-b", broker.broker, "-t", "Shop", "-g", "CG-SHOP", "-m", "POP", "-q", "0")
    assert "success" in tool.run("setConsumeMode", "-b", broker.broker, "-t", "Shop", "-g", "CG-SHOP", "-m", "PULL", "-q", "0")
    assert re.search(r"#SlaveNum\s+0", tool.run("haStatus", "-b", broker.broker))
    assert "success" in tool.run("resetMasterFlushOffset", "-b", broker.broker, "-o", "0")
    assert "error" not in tool.run("exportPopRecord", "-c", "DefaultCluster", "-d", "true")
    place = ["-b", broker.broker, "-q", "0", "-o", "3", "-s", "0"]
    assert "offset to 3" in tool.run("resetOffsetByTime", "-g", "CG-SHOP", "-t", "Shop", *place)
    assert "there is no RocksDB" in tool.run("checkRocksdbCqWriteProgress", "-c", "DefaultCluster")
    assert "plain_acl.yml" in tool.run("listUser", "-b", broker.broker)


def test_commands_that_one_version_has(version, tool, broker, shop, tmp_path):
    {"4": only_in_4, "5": only_in_5}[version[0]](tool, broker, tmp_path)


def test_exports(tool, broker, tmp_path):
    for command, file in (
        ("exportConfigs", "configs.json"),
        ("exportMetadata", "metadata.json"),
        ("exportMetrics", "metrics.json"),
    ):
        assert "success" in tool.run(command, "-c", "DefaultCluster", "-f", tmp_path)
        assert (tmp_path / file).stat().st_size
