"""Delay levels, retries and dead letters with the official Java client."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker
from tests.support.java_tools import JavaProgram

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

COUNT = 20
DELAY_MS = 1_000


async def create(name_server, *topics):
    """The client looks for new topics every 20 or 30 s; those that are there from the start it finds at once."""
    async with AdminClient(name_server) as admin:
        for topic in topics:
            await admin.create_topic(topic, queues=2)


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_it_gets_delayed_messages_in_time_and_failed_ones_again_until_they_are_dead(tmp_path, version):
    java = JavaProgram.compile("JavaDelay.java", version, tmp_path)
    with running_broker(tmp_path / "store", "--set", "messageDelayLevel=1s 2s") as broker:
        asyncio.run(create(broker.name_server, "later", "%RETRY%CG-LATER"))
        lines = [line.split() for line in java.run("JavaDelay", broker.name_server, "later", "CG-LATER", COUNT)]
    keys = [f"key-{number}" for number in range(COUNT)]
    got = {key: (level, int(waited_ms)) for what, key, *rest in lines if what == "got" for level, waited_ms in [rest]}
    assert sorted(got) == sorted(keys)
    assert {level for level, _ in got.values()} == {"1"}
    # Stored a second after it was stored first, which was not before it was made.
    assert min(waited_ms for _, waited_ms in got.values()) >= DELAY_MS
    assert [line[1:] for line in lines if line[0] == "tried"] == [["bad", "0"], ["bad", "1"], ["bad", "2"]]
    assert [line[1:] for line in lines if line[0] == "dead"] == [["bad", "3"]]
