"""A broker over a store with a damaged configuration file: what it refuses, rebuilds and reports, and the ways to go on."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import CorruptStoreError
from broker_core.protocol import names
from broker_core.protocol.codes import RequestCode as Q
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.embedded.stored_engine import StoredEngine
from tests.support.broker_bench import SMALL_FILES, consumer_heartbeat, send_fields
from tests.support.embedded import started
from tests.support.store_bench import message
from tests.unit.engine.broker.test_lifecycle import asking

OFFSET = {"consumerGroup": "CG", "topic": "T", "queueId": 0}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with messages, a group, its offset, a delayed message, and a configuration item of the name server."""
    root = tmp_path_factory.mktemp("filled")

    async def scenario():
        async with (
            started(config_of(root)) as broker,
            asking(broker.broker_address) as ask,
            asking(broker.name_server_address) as named,
        ):
            await ask(Q.HEART_BEAT, {}, consumer_heartbeat("me", T="*"))
            for _number in range(3):
                await ask(Q.SEND_MESSAGE_V2, send_fields("T"), b"x")
            await ask(Q.SEND_MESSAGE_V2, send_fields("T", properties="DELAY\x0118"), b"later")
            await ask(Q.UPDATE_CONSUMER_OFFSET, OFFSET | {"commitOffset": 2})
            await named(Q.PUT_KV_CONFIG, {"namespace": "N", "key": "k", "value": "v"})
            await named(Q.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=false")
            await ask(Q.UPDATE_BROKER_CONFIG, {}, b"brokerPermission=4")

    asyncio.run(scenario())
    return root


@pytest.fixture
def root(filled, tmp_path):
    return shutil.copytree(filled, tmp_path / "store")


def state_of(root):
    return {path.name: path.read_bytes() for path in (root / "config").iterdir() if path.name != "orbitActions.log"}


def refusal_of(root, **settings):
    async def scenario():
        broker = EmbeddedBroker(config_of(root, **settings))
        with pytest.raises(CorruptStoreError) as caught:
            await broker.start()
        return caught.value.message

    return asyncio.run(scenario())


def config_of(root, **settings):
    return BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES, **settings))


def events_of(engine):
    return [event.text for event in Sampler(engine, clock=lambda: 5).events() if event.kind == "config_damaged"]


def found_of(root, **settings):
    """Offset of the group, topics and events of a broker that starts."""

    async def scenario():
        async with started(config_of(root, **settings)) as broker:
            return broker.offsets.get("CG", "T", 0), broker.topics.get("T"), events_of(broker)

    return asyncio.run(scenario())


def damage(root, name, data=b""):
    (root / "config" / name).write_bytes(data)
    (root / "config" / f"{name}.bak").unlink(missing_ok=True)


def test_a_sound_store_is_opened_without_a_word(root):
    offset, topic, events = found_of(root)
    assert (offset, topic.write_queues, events) == (2, 4, [])


@pytest.mark.parametrize("backup", [None, b"", b"[1]"])
@pytest.mark.parametrize("data", [b"", bytes(40), b'{"offsetTable":{"T@CG"', b"{}"])
@pytest.mark.parametrize(
    "name",
    [
        "consumerOffset.json",
        "subscriptionGroup.json",
        "delayOffset.json",
        "orbitDelay.json",
        "messageRequestMode.json",
        "timerPrecision.json",
        "kvConfig.json",
        "namesrv.properties",
        "broker.properties",
    ],
)
def test_what_nothing_gives_back_is_refused_and_no_file_is_changed(root, name, data, backup):
    damage(root, name, data)
    if backup is not None:
        (root / "config" / f"{name}.bak").write_bytes(backup)
    before = state_of(root)
    refusal = refusal_of(root)
    assert str(root / "config" / name) in refusal
    assert "to start without it, move it and its .bak away" in refusal
    after = state_of(root)
    assert {one: after.get(one) for one in (name, f"{name}.bak")} == {one: before.get(one) for one in (name, f"{name}.bak")}
    assert not [one for one in after if ".damaged-" in one]
    assert refusal == refusal_of(root)


def test_a_file_without_positions_says_what_begins_again(root):
    damage(root, "consumerOffset.json", b'{"offsetTable":{}}')
    offset, _topic, (event,) = found_of(root)
    assert offset == -1
    assert event == "config/consumerOffset.json is missing or empty: these groups begin like new ones: CG"


def test_without_positions_the_broker_starts_when_a_person_removes_the_file_and_says_what_begins_again(root):
    damage(root, "consumerOffset.json")
    (root / "config" / "consumerOffset.json").unlink()
    offset, _topic, (event,) = found_of(root)
    assert offset == -1
    assert event == "config/consumerOffset.json is missing or empty: these groups begin like new ones: CG"


LIGHT = '{"groupTopicMap":{},"lmqOffsetTable":{"%LMQ%q@%LMQ%g":7},"offsetTable":{"T@CG":{0:1}}}'


def test_with_light_queues_positions_are_where_rocketmq_keeps_them(root):
    path = root / "config" / "lmqConsumerOffset.json"

    async def fill():
        async with started(config_of(root, lmq=True, multi_dispatch=True)) as broker, asking(broker.broker_address) as ask:
            for _number in range(8):
                await ask(Q.SEND_MESSAGE_V2, send_fields("T", properties="INNER_MULTI_DISPATCH\x01%LMQ%q"), b"x")

    asyncio.run(fill())
    path.write_text(LIGHT)

    async def scenario():
        async with started(config_of(root, lmq=True, multi_dispatch=True)) as broker:
            assert (broker.offsets.get("CG", "T", 0), broker.offsets.get("%LMQ%g", "%LMQ%q", 0)) == (1, 7)
            broker.offsets.commit("CG", "T", 0, 3)
            broker.offsets.commit("%LMQ%g", "%LMQ%q", 0, 8)

    asyncio.run(scenario())
    written = json.loads(path.read_text())
    assert (written["offsetTable"], written["lmqOffsetTable"]) == ({"T@CG": {"0": 3}}, {"%LMQ%q@%LMQ%g": 8})
    assert found_of(root)[::2] == (2, []), "the other file is that of brokers without light queues"


def test_the_positions_of_the_other_setting_are_read_where_there_are_no_own(root):
    config = root / "config"
    assert found_of(root, lmq=True)[::2] == (
        2,
        ["config/lmqConsumerOffset.json is missing: config/consumerOffset.json is read"],
    )
    assert found_of(root, lmq=True)[::2] == (2, [])
    for path in config.glob("consumerOffset.json*"):
        path.unlink()
    assert found_of(root)[::2] == (2, ["config/consumerOffset.json is missing: config/lmqConsumerOffset.json is read"])


@pytest.mark.parametrize("data", [b"", b"{}", LIGHT[:-3].encode(), LIGHT.replace("7", '"x"').encode()])
def test_damaged_positions_of_light_queues_are_refused(root, data):
    damage(root, "lmqConsumerOffset.json", data)
    assert "lmqConsumerOffset.json cannot be used" in refusal_of(root, lmq=True)


def test_positions_that_a_person_writes_as_the_error_says_are_taken(root):
    damage(root, "consumerOffset.json")
    assert '{"offsetTable":{"TOPIC@GROUP":{"QUEUE ID":OFFSET}}}' in refusal_of(root)
    (root / "config" / "consumerOffset.json").write_text('{"offsetTable":{"T@CG":{"0":3}}}')
    assert found_of(root)[::2] == (3, [])


def test_the_backup_of_positions_is_used_and_reported_once(root):
    config = root / "config"
    (config / "consumerOffset.json.bak").write_text('{"offsetTable":{"T@CG":{"0":1}}}')
    (config / "consumerOffset.json").write_bytes(bytes(500))
    offset, _topic, (event,) = found_of(root)
    assert offset == 1
    assert event.startswith("config/consumerOffset.json cannot be used (byte 0 of 500 is NUL): its backup is used")
    (kept,) = config.glob("consumerOffset.json.damaged-*")
    assert kept.name in event
    assert kept.read_bytes() == bytes(500)
    assert json.loads((config / "consumerOffset.json.bak").read_text())["offsetTable"] == {"T@CG": {"0": 1}}
    assert found_of(root)[::2] == (1, [])


def test_negative_offsets_are_none_and_reported(root):
    (root / "config" / "consumerOffset.json").write_text('{"offsetTable":{"T@CG":{"0":-1,"1":0}}}')
    offset, _topic, (event,) = found_of(root)
    assert (offset, event) == (-1, "config/consumerOffset.json holds negative offsets, which are none: T@CG 0: -1")


def test_after_a_crash_a_group_beyond_the_end_misses_nothing_that_is_sent(root):
    (root / "abort").touch()
    offsets = {"T@CG": {"0": 50, "1": 1 << 62}, "Deleted@CG": {"0": 9}, "%RETRY%CG@CG": {"0": 0}}
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}))

    async def scenario():
        async with started(config_of(root)) as broker:
            (event,) = events_of(broker)
            return {f"{topic}@{group}": queues for topic, group, queues in broker.offsets.items() if group == "CG"}, event

    found, event = asyncio.run(scenario())
    assert found == {"T@CG": {0: 3, 1: 0}, "Deleted@CG": {0: 0}, "%RETRY%CG@CG": {0: 0}}
    assert event == (
        "config/consumerOffset.json holds offsets beyond the end of their queues, moved to it: "
        "T@CG 0: 50 to 3, T@CG 1: 4,611,686,018,427,387,904 to 0, Deleted@CG 0: 9 to 0"
    )
    assert found_of(root)[2] == []


def test_after_a_clean_end_a_group_beyond_the_end_stays_there(root):
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": {"T@CG": {"0": 50}}}))
    assert found_of(root)[::2] == (50, [])


@pytest.mark.parametrize("value", ["four", "9" * 5_000, ""])
def test_a_value_that_cannot_be_is_reported(root, value):
    (root / "config" / "broker.properties").write_text(f"brokerPermission={value}\n")
    (event,) = found_of(root)[2]
    assert event.startswith("config/broker.properties holds values that cannot be used: brokerPermission")
    assert len(event) < 400


@pytest.mark.parametrize("data", [b"", bytes(4096), b"[]", b'{"topicConfigTable":{"T":', None])
def test_topics_come_back_from_their_queues_and_are_reported(root, data):
    damage(root, "topics.json", data or b"")
    if data is None:
        (root / "config" / "topics.json").unlink()
    _offset, topic, events = found_of(root)
    assert topic.write_queues == 1, "there is one queue"
    assert events[-1] == "config/topics.json is missing or empty: these topics are known by their queues: T"
    assert len(events) == (1 if data is None else 2)
    assert len(list((root / "config").glob("topics.json.damaged-*"))) == (data is not None)
    assert found_of(root)[2] == []


def test_topics_of_atomic_transactions_do_not_come_back_without_their_attribute(root):
    with MessageStore.open(StoreConfig(root=root, **SMALL_FILES)) as store:
        store.put(message(topic=names.ATOMIC_STATE_TOPIC))
    damage(root, "topics.json")
    assert "what is undecided or aborted is delivered" in refusal_of(root)
    assert (root / "config" / "topics.json").read_bytes() == b""


def test_a_file_that_clients_give_back_does_not_stop_the_start(root):
    damage(root, "consumerFilter.json")
    damage(root, "consumerOrderInfo.json", b"[")
    offset, _topic, events = found_of(root)
    assert (offset, len(events)) == (2, 2)


def test_a_damaged_store_is_looked_at_as_far_as_it_can_be_read(root):
    for name in ("topics.json", "consumerOffset.json", "delayOffset.json"):
        damage(root, name)
    before = state_of(root)

    async def scenario():
        engine = StoredEngine(config_of(root))
        await engine.start()
        try:
            return engine.topics.get("T"), events_of(engine)
        finally:
            await engine.stop()

    topic, events = asyncio.run(scenario())
    assert (topic.write_queues, len(events)) == (1, 3)
    assert state_of(root) == before


def test_an_empty_file_of_a_store_without_messages_does_not_stop_the_start(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (tmp_path / "commitlog").mkdir()
    for name in ("topics.json", "consumerOffset.json", "subscriptionGroup.json", "delayOffset.json", "kvConfig.json"):
        (config / name).touch()
    assert len(found_of(tmp_path)[2]) == 5
