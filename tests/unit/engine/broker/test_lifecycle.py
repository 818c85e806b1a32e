"""The whole broker from start to stop: what is kept, in which order it ends, what a taken-over store brings."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.recovery import Recovery
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.protocol.json_body import emit, parse_object
from broker_core.transport.client import connect
from broker_core.transport.server import RemotingServer
from tests.support.broker_bench import SMALL_FILES, consumer_heartbeat, pull_fields, send_fields
from tests.support.embedded import started
from tests.support.golden import golden_store
from tests.support.remoting_peer import eventually


def config_for(root, **settings):
    return replace(BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES)), **settings)


def running(root, **settings):
    return started(config_for(root, **settings))


@asynccontextmanager
async def asking(address):
    connection = await connect(address)

    async def ask(code, fields=None, body=b""):
        ext = {name: str(value) for name, value in (fields or {}).items()}
        data = body if isinstance(body, bytes) else emit(body)
        return await connection.request(RemotingCommand(code, ext, data), 10_000)

    try:
        yield ask
    finally:
        connection.close()
        await connection.wait_closed()


def test_a_stop_says_goodbye_before_its_ports_close_and_leaves_nothing_to_recover(tmp_path, monkeypatch):
    order, cleanly = [], []

    async def scenario():
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            for _ in range(10):
                assert (await ask(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"x")).code == R.SUCCESS
            unregister, stop = broker.routes.unregister, RemotingServer.stop

            def unregistered(identity):
                order.append("unregistered")
                unregister(identity)

            async def stopped(server):
                order.append("port closed")
                await stop(server)

            monkeypatch.setattr(broker.routes, "unregister", unregistered)
            monkeypatch.setattr(RemotingServer, "stop", stopped)
            assert (tmp_path / "abort").exists()
        assert order[:2] == ["unregistered", "port closed"]
        assert not (tmp_path / "abort").exists()

        run = Recovery.run
        monkeypatch.setattr(Recovery, "run", lambda self, *, clean: (cleanly.append(clean), run(self, clean=clean))[1])
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            found = await ask(Q.PULL_MESSAGE, pull_fields("Orders"))
            assert (found.code, found.ext_fields["nextBeginOffset"]) == (R.SUCCESS, "10")
        assert cleanly == [True]

    asyncio.run(scenario())


def test_settings_changed_at_run_time_outlive_the_broker(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            answer = await ask(Q.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=48\nautoCreateTopicEnable=false")
            assert answer.code == R.SUCCESS
            names = await connect(broker.name_server_address)
            switched = await names.request(RemotingCommand(Q.UPDATE_NAMESRV_CONFIG, {}, b"orderMessageEnable=true"), 10_000)
            assert switched.code == R.SUCCESS
        text = (tmp_path / "config" / "broker.properties").read_text()
        assert text == "autoCreateTopicEnable=false\nfileReservedTime=48\n"

        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            assert broker.config.store.file_reserved_hours == 48
            assert (await ask(Q.SEND_MESSAGE_V2, send_fields("New"), b"x")).code == R.TOPIC_NOT_EXIST
            names = await connect(broker.name_server_address)
            kept = await names.request(RemotingCommand(Q.GET_NAMESRV_CONFIG), 10_000)
            assert b"orderMessageEnable=true" in kept.body.splitlines()

    asyncio.run(scenario())


def test_a_changed_permission_reaches_the_routes(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:

            def permission():
                return broker.routes.route("TBW102").queues[0].permission

            await ask(Q.UPDATE_BROKER_CONFIG, body=b"brokerPermission=4")
            await eventually(lambda: permission() == 4)
            assert (await ask(Q.SEND_MESSAGE_V2, send_fields("TBW102"), b"x")).code == R.SUCCESS, "only ordered topics refuse"
            await ask(Q.UPDATE_BROKER_CONFIG, body=b"brokerPermission=6")
            await eventually(lambda: permission() == 7)

    asyncio.run(scenario())


def test_sends_that_wait_too_long_behind_others_are_told_so(tmp_path):
    async def scenario():
        config = config_for(tmp_path, send_wait_max_ms=1)
        # Machine code serves a read of some 400 sends before any of them has waited.
        async with started(replace(config, store=replace(config.store, native="off"))) as broker:
            host, port = broker.broker_address.rsplit(":", 1)
            reader, writer = await asyncio.open_connection(host, int(port))
            fields = {name: str(value) for name, value in send_fields("T").items()}
            burst = [encode_command(RemotingCommand(Q.SEND_MESSAGE_V2, fields, b"x", opaque=n)) for n in range(5_000)]
            writer.write(b"".join(burst))
            seen = b""
            while b"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while" not in seen:
                seen = seen[-200:] + await asyncio.wait_for(reader.read(1 << 16), 60)
            writer.close()
            await writer.wait_closed()
            async with asking(broker.broker_address) as ask:
                assert (await ask(Q.SEND_MESSAGE_V2, send_fields("T"), b"x")).code == R.SUCCESS

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("topic", "code", "said"),
    [
        ("../x", R.SYSTEM_ERROR, "contains illegal characters"),
        ("x" * 128, R.SYSTEM_ERROR, "longer than topic max length 127"),
        ("SCHEDULE_TOPIC_XXXX", R.NO_PERMISSION, "is forbidden"),
        ("%DLQ%g", R.SUCCESS, ""),
    ],
)
def test_names_of_topics_that_may_and_may_not_be_sent_to(bench, topic, code, said):
    answer = bench.put(topic)
    assert (answer.code, said in (answer.remark or "")) == (code, True)


@pytest.mark.parametrize("name", ["consume", "consume-5"])
def test_a_store_of_a_real_broker_keeps_its_groups_offsets_and_settings(tmp_path, name):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    expected = golden.expected
    groups = {group["groupName"]: group for group in expected["subscriptionGroups"]}
    topics = {topic["topicName"]: topic for topic in expected["topics"]}
    kept_files = {path: as_of_now(path) for path in (root / "config").glob("consumerFilter.json*")}

    async def scenario():
        async with running(root) as broker, asking(broker.broker_address) as ask:
            served = parse_object((await ask(Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)).body)["subscriptionGroupTable"]
            for group, config in groups.items():
                assert _covers(served[group], config)
            offsets = parse_object((await ask(Q.GET_ALL_CONSUMER_OFFSET)).body)["offsetTable"]
            assert {key: offsets[key] for key in expected["consumerOffsets"]} == expected["consumerOffsets"]
            listed = parse_object((await ask(Q.GET_ALL_TOPIC_CONFIG)).body)["topicConfigTable"]
            for topic, config in topics.items():
                assert _covers(listed[topic], {key: value for key, value in config.items() if value != {}})
            await ask(Q.HEART_BEAT, {}, consumer_heartbeat("me", "NewGroup", ShopEvents="*"))

    asyncio.run(scenario())
    written = ConfigFile(root / "config" / "subscriptionGroup.json").look().value
    assert "NewGroup" in written["subscriptionGroupTable"]
    for group, config in groups.items():
        assert _covers(written["subscriptionGroupTable"][group], config), "nothing that 5.x keeps is lost"
    assert written["dataVersion"]["counter"] > expected["dataVersions"]["groups"]["counter"]
    offsets = ConfigFile(root / "config" / "consumerOffset.json").look().value["offsetTable"]
    assert {key: offsets[key] for key in expected["consumerOffsets"]} == expected["consumerOffsets"]
    assert (root / "config" / "subscriptionGroup.json.bak").exists()
    for path, content in kept_files.items():
        assert json.loads(path.read_bytes()) == content


def as_of_now(path):
    """What a file of filters holds, written anew as if its groups had just left: a day later a broker forgets them."""
    held = json.loads(path.read_bytes())
    now_ms = wall_clock_ms()
    for of_topic in held["filterDataByTopic"].values():
        for data in of_topic["groupFilterData"].values():
            data["bornTime"] = now_ms - 2_000
            data["deadTime"] = now_ms - 1_000 if data["deadTime"] else 0
    path.write_text(json.dumps(held), "utf-8")
    return held


def _covers(found, wanted):
    """Whether all fields of ``wanted`` are in ``found``."""
    return {key: found.get(key) for key in wanted} == wanted


def test_files_of_the_tables_are_replaced_and_their_former_content_kept(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            await ask(Q.HEART_BEAT, {}, consumer_heartbeat("me", T="*"))
            await ask(Q.SEND_MESSAGE_V2, send_fields("T"), b"x")
            place = {"consumerGroup": "CG", "topic": "T", "queueId": 0}
            await ask(Q.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": 1})
        async with running(tmp_path) as broker, asking(broker.broker_address) as ask:
            found = await ask(Q.QUERY_CONSUMER_OFFSET, place)
            assert found.ext_fields == {"offset": "1"}
            # A member, so that its commit is written once, at the end.
            await ask(Q.HEART_BEAT, {}, consumer_heartbeat("me", T="*"))
            await ask(Q.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": 0})

    asyncio.run(scenario())
    config = tmp_path / "config"
    for name in ("topics.json", "subscriptionGroup.json", "consumerOffset.json"):
        assert json.loads((config / name).read_text())
        assert json.loads((config / f"{name}.bak").read_text())
    assert json.loads((config / "consumerOffset.json").read_text())["offsetTable"] == {"T@CG": {"0": 0}}
    assert json.loads((config / "consumerOffset.json.bak").read_text())["offsetTable"] == {"T@CG": {"0": 1}}
