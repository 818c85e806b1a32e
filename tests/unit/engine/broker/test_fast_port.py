import asyncio
import contextlib
import logging
import socket

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.broker.fast_port import open_fast_port
from broker_core.errors import NetworkError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import connect
from broker_core.transport.server import RemotingServer
from tests.support.broker_bench import SMALL_FILES, pull_fields, send_fields
from tests.support.real_broker import free_port


def broker_at(root, port):
    return EmbeddedBroker(BrokerConfig(listen_port=port, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES)))


async def ask(port, code, fields, body=b""):
    connection = await connect(f"127.0.0.1:{port}")
    command = RemotingCommand(code, {name: str(value) for name, value in fields.items()}, body)
    answer = await connection.request(command, 10_000)
    connection.close()
    await connection.wait_closed()
    return answer


async def refuses(port):
    with contextlib.suppress(NetworkError):
        (await connect(f"127.0.0.1:{port}")).close()
        return False
    return True


def test_what_is_sent_to_the_second_port_is_read_from_the_first(tmp_path):
    async def scenario():
        port = free_port()
        broker = broker_at(tmp_path, port)
        await broker.start()
        assert (await ask(port - 2, Q.SEND_MESSAGE_V2, send_fields("T"), b"fast")).code == R.SUCCESS
        found = await ask(port, Q.PULL_MESSAGE, pull_fields("T"))
        assert (found.code, b"fast" in bytes(found.body)) == (R.SUCCESS, True)
        await broker.stop()
        assert await refuses(port - 2)

    asyncio.run(scenario())


def test_connections_of_both_ports_are_the_brokers(tmp_path):
    async def scenario():
        port = free_port()
        broker = broker_at(tmp_path, port)
        await broker.start()
        clients = [await connect(f"127.0.0.1:{at}") for at in (port, port - 2)]
        for client in clients:
            # Answered, so the broker has the connection.
            assert (await client.request(RemotingCommand(Q.GET_BROKER_CONFIG), 10_000)).code == R.SUCCESS
        served = {connection.local_address: connection for connection in broker.client_connections}
        assert {f"127.0.0.1:{port}", f"127.0.0.1:{port - 2}"} <= served.keys()
        assert broker.connections == len(served)
        assert all(connection.express is not None for connection in served.values())
        await broker.stop()
        assert all(connection.express is None for connection in served.values()), "a send could still reach the closed store"

    asyncio.run(scenario())


def test_a_second_port_in_use_is_told_and_the_broker_serves_all_the_same(tmp_path, caplog):
    async def scenario():
        port = free_port()
        with socket.socket() as other:
            other.bind(("127.0.0.1", port - 2))
            other.listen()
            broker = broker_at(tmp_path, port)
            with caplog.at_level(logging.WARNING):
                await broker.start()
            assert (await ask(port, Q.SEND_MESSAGE_V2, send_fields("T"), b"x")).code == R.SUCCESS
            await broker.stop()
        assert f"port {port - 2} on 127.0.0.1 is in use" in caplog.text

    asyncio.run(scenario())


def test_a_port_of_chance_has_no_second_one(tmp_path):
    async def scenario():
        assert await open_fast_port(0, lambda port: RemotingServer("127.0.0.1", port, lambda *_: None)) is None

    asyncio.run(scenario())
