"""What an administrator was told is there after a kill: topics, groups, deletions, settings, offsets, configuration items."""

import asyncio

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit, parse_object
from broker_core.transport.client import connect
from tests.support.broker_bench import send_fields
from tests.support.broker_process import running_broker

TIMEOUT_MS = 60_000
SMALL = ("--set", "mappedFileSizeCommitLog=1048576", "--set", "maxHashSlotNum=1000", "--set", "maxIndexNum=4000")
AT = {"consumerGroup": "Admins", "topic": "T1", "queueId": 0}


async def ask(address, *requests):
    """Send all at once; returns the answers when the last one has come."""
    connection = await connect(address)
    commands = [
        RemotingCommand(code, {name: str(value) for name, value in fields.items()}, body) for code, fields, body in requests
    ]
    answers = await asyncio.gather(*(connection.request(command, TIMEOUT_MS) for command in commands))
    connection.close()
    return answers


def topic(name):
    queues = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG"}
    return Q.UPDATE_AND_CREATE_TOPIC, {"topic": name, "defaultTopic": "TBW102", **queues}, b""


def group(name):
    return Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, emit({"groupName": name, "retryMaxTimes": 3})


def told_before_kill(store, *requests, name_server=()):
    """Start, make changes, and kill when all of them are told to be made."""

    async def change(broker):
        groups = [(broker.broker, requests), (broker.name_server, name_server)]
        several = await asyncio.gather(*(ask(address, *items) for address, items in groups if items))
        return [answer for answers in several for answer in answers]

    with running_broker(store, *SMALL) as broker:
        answers = asyncio.run(change(broker))
        broker.kill()
    assert [(answer.code, answer.remark) for answer in answers] == [(R.SUCCESS, None)] * len(answers)


def found_after(store):
    async def look(broker):
        topics, groups, settings, offset, modes = await ask(
            broker.broker,
            (Q.GET_ALL_TOPIC_CONFIG, {}, b""),
            (Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {}, b""),
            (Q.GET_BROKER_CONFIG, {}, b""),
            (Q.QUERY_CONSUMER_OFFSET, {**AT, "setZeroIfNotFound": "false"}, b""),
            (Q.GET_ALL_MESSAGE_REQUEST_MODE, {}, b""),
        )
        (item,) = await ask(broker.name_server, (Q.GET_KV_CONFIG, {"namespace": "N", "key": "K"}, b""))
        return {
            "topics": {name for name in parse_object(topics.body)["topicConfigTable"] if name[0] == "T" and name[1:].isdigit()},
            "groups": {name for name in parse_object(groups.body)["subscriptionGroupTable"] if name.startswith("Admins")},
            "setting": b"fileReservedTime=48\n" in bytes(settings.body),
            "offset": offset.ext_fields.get("offset"),
            "mode": b"POP" in bytes(modes.body),
            "item": item.ext_fields.get("value"),
        }

    with running_broker(store, *SMALL) as broker:
        found = asyncio.run(look(broker))
        broker.kill()
    return found


@pytest.mark.crash
@pytest.mark.usefixtures("both_platforms")
@pytest.mark.timeout(300)
def test_what_was_told_is_there_after_a_kill(tmp_path):
    store = tmp_path / "store"
    names = {f"T{number}" for number in range(20)}
    told_before_kill(
        store,
        *map(topic, sorted(names)),
        group("Admins"),
        group("AdminsGone"),
        (Q.UPDATE_BROKER_CONFIG, {}, b"fileReservedTime=48\n"),
        (Q.UPDATE_CONSUMER_OFFSET, {**AT, "commitOffset": 0}, b""),
        (Q.SEND_MESSAGE_V2, send_fields("T2"), b"of a topic that is deleted below"),
        name_server=[(Q.PUT_KV_CONFIG, {"namespace": "N", "key": "K", "value": "V"}, b"")],
    )
    mode = {"topic": "T1", "consumerGroup": "Admins", "mode": "POP", "popShareQueueNum": 0}
    told_before_kill(
        store,
        (Q.DELETE_TOPIC_IN_BROKER, {"topic": "T2"}, b""),
        (Q.DELETE_SUBSCRIPTIONGROUP, {"groupName": "AdminsGone"}, b""),
        (Q.SET_MESSAGE_REQUEST_MODE, {}, emit(mode)),
    )
    made = {"setting": True, "offset": "0", "mode": True, "item": "V"}
    assert found_after(store) == {"topics": names - {"T2"}, "groups": {"Admins"}, **made}
