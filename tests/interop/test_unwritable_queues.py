"""A topic of a real cluster with queues that may be read but no longer written: their messages count everywhere."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import ReadLimits, SurveyRequest
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import connect
from tests.support.broker_process import CHECKOUT
from tests.support.real_broker import RealBroker

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

QUEUES, LEFT, SENT = 4, 1, 400


@pytest.fixture(params=["4.9.4", "5.3.3"])
def broker(request, tmp_path) -> Iterator[RealBroker]:
    """It holds a hundred messages in each of four queues, three of which may no longer be written."""
    made = RealBroker(request.param, tmp_path, {})
    made.start()
    try:
        made.until_registered()
        asyncio.run(_fill(made))
        yield made
    finally:
        made.stop()


async def _fill(broker: RealBroker) -> None:
    async with AdminClient(broker.name_server) as admin, Producer(broker.name_server) as producer:
        await admin.create_topic("orders", queues=QUEUES)
        queues = await producer.queues("orders")
        for number in range(SENT):
            await producer.send(Message("orders", b"%d" % number), queue=queues[number % QUEUES])
    await _shrink(broker, read_queues=QUEUES)


async def _shrink(broker: RealBroker, *, read_queues: int) -> None:
    connection = await connect(broker.address)
    fields = {
        "topic": "orders", "defaultTopic": "TBW102", "readQueueNums": str(read_queues), "writeQueueNums": str(LEFT),
        "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    try:
        answer = await connection.request(RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    finally:
        connection.close()
        await connection.wait_closed()
    assert answer.code == ResponseCode.SUCCESS


def _told(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(CHECKOUT / "main.py"), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def test_their_messages_are_found_counted_and_reported(broker):
    found = _told("search", "--ns", broker.name_server, 'topic = "orders"')
    assert f"complete: {SENT} hits in {SENT} messages" in found.stderr, found.stderr
    overview = _told("cluster", "--ns", broker.name_server, "--json")
    (topic,) = [one for one in json.loads(overview.stdout)["topics"] if one["name"] == "orders"]
    assert topic["messages"] == SENT
    with SliceReader(broker.name_server, limits=ReadLimits(0, 0)) as reader:
        survey = reader.survey(SurveyRequest(topics=("orders",)))
    assert sum(one.end - one.first for one in survey.slices) == SENT
    assert survey.unknown == ()

    asyncio.run(_shrink(broker, read_queues=LEFT))
    found = _told("search", "--ns", broker.name_server, 'topic = "orders"')
    assert f"complete: {SENT} hits in {SENT} messages" in found.stderr, found.stderr
    with SliceReader(broker.name_server, limits=ReadLimits(0, 0)) as reader:
        survey = reader.survey(SurveyRequest(topics=("orders",)))
    assert (sum(one.end - one.first for one in survey.slices), survey.unknown) == (SENT, ())
