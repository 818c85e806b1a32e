"""`orbit cluster` on two real brokers, of which one hangs, and over a real name server that knows nobody.

Marked, as it needs Java and Maven.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.commands.cluster import EXIT_PARTIAL
from tests.support.broker_process import CHECKOUT
from tests.support.real_broker import RealBroker
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

A, B, GROUP = "broker-a", "broker-b", "settle"
QUEUES, SENT, READ = 2, 10, 4
REGISTERED_S = 120.0


def overview(name_servers: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of the command, as a process."""
    line = [sys.executable, str(CHECKOUT / "main.py"), "cluster", "--ns", name_servers, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, json.loads(done.stdout)


def row_of(found: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    (row,) = [one for one in found[kind] if one["name"] == name]
    return dict(row)


async def fill(name_server: str, alone_at: str) -> None:
    """Ten messages and a group that has read four, in each queue of a topic of both brokers; a topic that one has alone."""
    async with AdminClient(name_server) as admin:

        async def all_lead_there() -> bool:
            try:
                found = await admin.topics()
                stats = await admin.topic_stats("orders") if "orders" in found else {}
            except (NetworkError, RemoteError):
                return False
            return "stock" in found and len(stats) == 2 * QUEUES

        async def both_are_there() -> bool:
            try:
                return {A, B} <= set(await admin.master_addresses())
            except (NetworkError, RemoteError):
                return False

        await eventually_answers(both_are_there, REGISTERED_S)
        await admin.create_topic("orders", queues=QUEUES)
        address = (await admin.master_addresses())[alone_at]
        await admin.put_topic_config(address, "stock", {"readQueueNums": 1, "writeQueueNums": 1})
        await admin.set_group(GROUP)
        await eventually_answers(all_lead_there, REGISTERED_S)
        async with Producer(name_server) as producer:
            for broker in (A, B):
                for queue_id in range(QUEUES):
                    queue = MessageQueue("orders", broker, queue_id)
                    for number in range(SENT):
                        await producer.send(Message("orders", b"%d" % number), queue=queue)
                    await admin.set_consumer_offset(GROUP, queue, READ)


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_broker_that_hangs_and_a_name_server_that_knows_nobody(tmp_path: Path, version: str) -> None:
    with (
        running_peer(version, tmp_path / "b", brokerName=B) as steady,
        running_peer(version, tmp_path / "a", brokerName=A, namesrvAddr=steady.name_server) as other,
    ):
        asyncio.run(fill(steady.name_server, B))
        code, whole = overview(steady.name_server)
        assert (code, whole["faults"], whole["brokers_untold"]) == (0, {}, [])
        orders, group = row_of(whole, "topics", "orders"), row_of(whole, "groups", GROUP)
        assert (orders["messages"], orders["write_queues"]) == (2 * QUEUES * SENT, 2 * QUEUES)
        assert group["lag_messages"] == 2 * QUEUES * (SENT - READ)

        # The other's own name server was started with it, and both brokers register with the first one.
        code, found = overview(f"{other.name_server};{steady.name_server}")
        assert (code, row_of(found, "topics", "orders")["messages"]) == (0, orders["messages"])
        code, found = overview(other.name_server)
        assert (code, found["brokers"]) == (EXIT_PARTIAL, [])

        _with_one_that_hangs(steady, other)


def _with_one_that_hangs(steady: RealBroker, other: RealBroker) -> None:
    process = psutil.Process(int((other.folder / "broker.pid").read_text()))
    process.send_signal(signal.SIGSTOP)
    try:
        code, found = overview(steady.name_server)
    finally:
        process.send_signal(signal.SIGCONT)
    assert (code, found["brokers_untold"], list(found["faults"])) == (EXIT_PARTIAL, [A], [A])
    orders, group = row_of(found, "topics", "orders"), row_of(found, "groups", GROUP)
    assert (orders["messages"], orders["write_queues"]) == (None, None)
    assert (group["lag_messages"], group["members"]) == (None, None)
    assert row_of(found, "topics", "stock")["messages"] == 0

    async def is_whole_again() -> bool:
        code, again = await asyncio.to_thread(overview, steady.name_server)
        return code == 0 and row_of(again, "topics", "orders")["messages"] == 2 * QUEUES * SENT

    asyncio.run(eventually_answers(is_whole_again, REGISTERED_S))
