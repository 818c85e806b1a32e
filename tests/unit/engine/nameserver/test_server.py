"""The name server on a socket: what happens to brokers whose connection ends or who fall silent."""

import asyncio

import pytest

from broker_core.engine.nameserver import server as server_module
from broker_core.engine.nameserver.kv_config import KvConfig
from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.engine.nameserver.server import NameServer
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import connect
from tests.support.clock import ManualClock
from tests.support.remoting_peer import eventually

BODY = Registration(DataVersion(5, 1), {"T": TopicConfig("T", 4, 4)}).to_bytes()
BROKER = {"brokerName": "a", "brokerAddr": "10.0.0.1:1", "clusterName": "C", "brokerId": "0"}


def run(scenario):
    async def main():
        clock = ManualClock()
        server = NameServer("127.0.0.1", 0, clock=clock, kv=KvConfig())
        await server.start()
        try:
            broker = await connect(f"127.0.0.1:{server.port}")
            answer = await broker.request(RemotingCommand(Q.REGISTER_BROKER, dict(BROKER), BODY))
            assert answer.code == R.SUCCESS
            await scenario(server, broker, clock)
        finally:
            await server.stop()

    asyncio.run(main())


def test_a_broker_is_gone_when_its_connection_ends():
    async def scenario(server, broker, _clock):
        assert server.routes.topics() == ["T"]
        broker.close()
        await eventually(lambda: server.routes.topics() == [])

    run(scenario)


def test_a_silent_broker_is_dropped_and_its_connection_closed(monkeypatch):
    monkeypatch.setattr(server_module, "SCAN_SECONDS", 0.01)

    async def scenario(server, broker, clock):
        clock.advance(120_001)
        await eventually(lambda: broker.is_closed)
        assert server.routes.topics() == []

    run(scenario)


def test_a_stopped_server_frees_its_port():
    async def scenario(server, _broker, _clock):
        port = server.port
        await server.stop()
        again = NameServer("127.0.0.1", port, clock=ManualClock(), kv=KvConfig())
        await again.start()
        await again.stop()

    run(scenario)


@pytest.mark.parametrize("code", [1, 200050])
def test_codes_nobody_serves_are_answered(code):
    async def scenario(_server, broker, _clock):
        answer = await broker.request(RemotingCommand(code))
        assert answer.code == R.REQUEST_CODE_NOT_SUPPORTED

    run(scenario)
