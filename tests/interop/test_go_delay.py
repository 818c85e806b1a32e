"""Delay levels and retries with the Go client; needs Go, and its module proxy or cache."""

import asyncio
import os
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker
from tests.support.toolchains import go_module, go_program

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

COUNT = 20
DELAY_MS = 1_000


async def create(name_server, *topics):
    """The client looks for new topics every 20 or 30 s; those that are there from the start it finds at once."""
    async with AdminClient(name_server) as admin:
        for topic in topics:
            await admin.create_topic(topic, queues=2)


def test_it_gets_delayed_messages_in_time_and_a_failed_one_again(tmp_path):
    program = go_program(go_module(tmp_path), "go_delay.go")
    with running_broker(tmp_path / "store", "--set", "messageDelayLevel=1s 2s") as broker:
        asyncio.run(create(broker.name_server, "later", "%RETRY%CG-LATER"))
        command = [program, broker.name_server, "later", "CG-LATER", str(COUNT)]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    got = {key: (level, int(waited_ms)) for what, key, *rest in lines if what == "got" for level, waited_ms in [rest]}
    assert sorted(got) == sorted(f"key-{number}" for number in range(COUNT))
    assert {level for level, _ in got.values()} == {"1"}
    assert min(waited_ms for _, waited_ms in got.values()) >= DELAY_MS
    assert [line[1:] for line in lines if line[0] == "tried"] == [["bad", "0"], ["bad", "1"]]
