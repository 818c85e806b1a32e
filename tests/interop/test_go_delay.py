"""Delay levels and retries with the Go client; needs Go, and its module proxy or cache."""

import asyncio
import os
import shutil
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import CHECKOUT, running_broker

pytestmark = [pytest.mark.go, pytest.mark.timeout(400)]

CLIENT = "github.com/apache/rocketmq-client-go/v2@v2.1.2"
COUNT = 20
DELAY_MS = 1_000


def built(folder):
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    shutil.copy(CHECKOUT / "tests" / "support" / "go_delay.go", folder)
    for command in (["mod", "init", "delay"], ["get", CLIENT], ["build", "-o", "go_delay", "go_delay.go"]):
        done = subprocess.run(["go", *command], check=False, cwd=folder, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr[-1000:]
    return folder / "go_delay"


async def create(name_server, *topics):
    """The client looks for new topics every 20 or 30 s; those that are there from the start it finds at once."""
    async with AdminClient(name_server) as admin:
        for topic in topics:
            await admin.create_topic(topic, queues=2)


def test_it_gets_delayed_messages_in_time_and_a_failed_one_again(tmp_path):
    program = built(tmp_path)
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
