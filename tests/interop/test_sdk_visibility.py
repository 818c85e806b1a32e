"""What the window is told of a group in which SDKs of two languages and a client of remoting are members."""

import asyncio
import contextlib
from collections import Counter

import pytest

from broker_core.client.admin import AdminClient
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.worker.embedded.connections import list_connections
from broker_core.worker.embedded.in_flight import in_flight_handlers
from broker_core.worker.embedded.messages import StoredMessages
from broker_core.worker.embedded.queries import member_handlers
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.questions.administration import ListMembers
from broker_core.worker.questions.in_flight import ListInFlight
from broker_core.worker.questions.stored_messages import ReadLifeline
from monitoring.admin.clients import FindingKind, findings
from monitoring.admin.connections import ConnectionRates, client_rows
from tests.support.broker_thread import broker_thread
from tests.support.grpc_stub import RawClient, message
from tests.support.own_consumer import own_consumer
from tests.support.sdk_programs import node_program, python_program
from tests.support.toolchains import NODE_SDK, PYTHON_SDK
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(300)]

TOPIC, GROUP = "shared", "shared-group"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return [
        make(tmp_path_factory.mktemp("sdk"), tmp_path_factory.mktemp("home"), "sdk_conformance")
        for make in (python_program, node_program)
    ]


@pytest.fixture
def running(tmp_path):
    config = BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=tmp_path / "store"))
    with broker_thread(tmp_path / "store", config) as running:
        running.create(TOPIC, 1)
        yield running


class Window:
    """Answers to questions of the window."""

    def __init__(self, running):
        self._running = running
        self._broker = running.broker

    def _ask(self, handlers, question):
        (handler,) = handlers
        return self._running.thread.call(handler.answer(question))

    def members(self):
        return self._ask(member_handlers(self._broker), ListMembers(GROUP))

    def in_flight(self):
        return sum(self._ask(in_flight_handlers(self._broker), ListInFlight(GROUP)).messages)

    def clients(self):
        async def listed():
            page = list_connections(self._broker, now_ms=0)
            return client_rows(page, ConnectionRates().add(page))

        return {row.program: row for row in self._running.thread.call(listed()) if row.group == GROUP}

    def member_count(self):
        async def sampled():
            sampler = Sampler(self._broker, clock=lambda: 0)
            groups = sampler.catalog().groups
            return dict(zip(groups, memoryview(sampler.snapshot().groups["members"]).cast("q"), strict=True))[GROUP]

        return self._running.thread.call(sampled())

    def life(self, offset):
        """Kind → protocol, of a message of the topic."""

        async def read():
            messages = StoredMessages(self._broker, None, asyncio.to_thread)
            (unit,) = self._broker.store.queue_units(TOPIC, 0, offset, 1)
            return await messages._read_lifeline(ReadLifeline(unit.physical_offset))

        line = self._running.thread.call(read())
        return dict(zip(line.kind, line.protocol, strict=True))

    def findings(self):
        """What the page of the group warns of."""

        async def asked():
            async with AdminClient(self._running.name_server) as admin:
                return [await admin.running_info(GROUP, member.client_id) for member in await admin.members(GROUP)]

        return findings(asyncio.run(asked()), 0)


def test_members_of_two_sdks_and_of_remoting(running, programs):
    window = Window(running)
    grpc = f"127.0.0.1:{running.broker.grpc.server.port}"
    with contextlib.ExitStack() as stack:
        sdks = [stack.enter_context(program.start(grpc, "member")) for program in programs]
        for sdk in sdks:
            sdk.until_it_waits()
        with RawClient(running.broker.grpc.server.port) as sender:
            sender.send(message(TOPIC, b"held"))
        wait_until(lambda: window.in_flight() == 1)
        assert window.findings() == []
        pulled = stack.enter_context(own_consumer(running.name_server, GROUP, TOPIC))
        wait_until(lambda: window.member_count() == 3)

        clients, members = window.clients(), window.members()
        versions = {PYTHON_SDK.rpartition("==")[2]: "Python", NODE_SDK.rpartition("@")[2]: "Node.js"}
        of_sdks = {f"{language} {version}" for version, language in versions.items()}
        assert {name for name, one in clients.items() if one.protocol == "gRPC"} == of_sdks
        assert Counter(one.protocol for one in clients.values()) == {"gRPC": 2, "remoting": 1}
        assert {one.kind for one in clients.values()} == {"push consumer"}
        assert sorted(one.leases for one in clients.values()) == [-1, 0, 1]
        assert Counter(members.protocol) == {"gRPC": 2, "remoting": 1}
        assert [(found.kind, len(found.clients)) for found in window.findings()] == [(FindingKind.TWO_PROTOCOLS, 3)]
        assert window.life(0)["produced"] == "gRPC"

        for sdk in sdks:
            sdk.go_on()
        wait_until(lambda: window.in_flight() == 0)
        running.send(TOPIC, 0, [b"by remoting"])
        wait_until(lambda: b"by remoting" in pulled)
        assert window.life(1)["produced"] == "remoting"
        assert pulled == [b"by remoting"]
