"""Clusters on IPv6 addresses, which brokers and Java spell in ways of their own."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys

import pytest

from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import decode_record
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessageById
from tests.support.attached import asking, attached
from tests.support.attached import told as answered
from tests.support.broker_process import CHECKOUT
from tests.support.fake_cluster import FakeBroker, FakeCluster, on_a_thread

SPELLINGS = ("", "[0:0:0:0:0:0:0:1]", "::1")


def _has_ipv6() -> bool:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


pytestmark = pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 loopback address")


@pytest.fixture(params=SPELLINGS, ids=lambda spelling: spelling or "as it listens")
def cluster(request):
    broker = FakeBroker("a", {"orders": 2}, {"orders": 20}, host="::1", announced=request.param)
    made = FakeCluster([broker], host="::1")
    with on_a_thread(made):
        yield made


def told(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECKOUT / "main.py"), *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )


def message_id(cluster: FakeCluster, queue: int, offset: int) -> str:
    """The id of a message, from a pull."""
    broker = cluster.brokers[0]
    return offset_message_id(HostAddress.parse(broker.address), _place(queue, offset, broker))


def _place(queue: int, offset: int, broker: FakeBroker) -> int:
    return decode_record(broker.record("orders", queue, offset)).physical_offset


def test_a_message_is_found_by_its_id_at_any_spelling_of_the_address(cluster):
    wanted = message_id(cluster, 1, 7)
    assert len(wanted) == 56
    for written in (wanted, wanted.lower()):
        done = told("search", "--ns", cluster.name_server, f'id = "{written}"')
        assert done.returncode == 0, done.stderr
        (row,) = [json.loads(line) for line in done.stdout.splitlines()]
        assert (row["queueId"], row["queueOffset"], row["offsetMsgId"]) == (1, 7, wanted)
        assert row["bornHost"] == row["storeHost"] == f"[::1]:{cluster.brokers[0].port}"
        assert "complete: 1 hit" in done.stderr


def test_the_overview_and_the_hosts_of_messages_have_one_spelling(cluster):
    overview = json.loads(told("cluster", "--ns", cluster.name_server, "--json").stdout)
    assert [broker["addresses"] for broker in overview["brokers"]] == [{"0": f"[::1]:{cluster.brokers[0].port}"}]
    done = told("search", "--ns", cluster.name_server, 'topic = "orders" and host = "0:0:0:0:0:0:0:1"')
    assert "complete: 40 hits in 40 messages" in done.stderr


@pytest.mark.parametrize("spelling", SPELLINGS[1:])
def test_a_name_server_is_reached_at_any_spelling(spelling):
    with on_a_thread(FakeCluster([FakeBroker("a", {"orders": 1}, {"orders": 3}, host="::1")], host="::1")) as cluster:
        done = told("search", "--ns", f"{spelling}:{cluster.port}", 'topic = "orders"')
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr
        way = told("doctor", "--ns", f"{spelling}:{cluster.port}").stdout
        assert f"[::1]:{cluster.port}" in way
        assert f"[::1]:{cluster.brokers[0].port}" in way
        assert "0:0" not in way


def test_an_address_without_a_port_is_refused_with_the_right_form():
    done = told("search", "--ns", "fe80::1", "size > 0")
    assert done.returncode == 4
    assert "give [HOST]:PORT for IPv6, such as [::1]:9876" in done.stderr


def test_the_window_finds_a_message_by_its_id(cluster):
    async def read() -> MessageDetail:
        async with attached(cluster.name_server) as watched, asking(watched) as queries:
            return await answered(queries, ReadMessageById(message_id(cluster, 0, 3)), MessageDetail)

    detail = asyncio.run(read())
    assert detail.born_host == detail.store_host == f"[::1]:{cluster.brokers[0].port}"
    assert detail.body == b"a orders 0 3"
