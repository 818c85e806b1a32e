"""Our client while its broker is killed and comes back on the same ports: nothing acknowledged is lost."""

import asyncio
import contextlib
import signal

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import ClientConfig
from broker_core.errors import NetworkError, RemoteError
from tests.support.broker_process import running_broker
from tests.support.remoting_peer import eventually

CONFIG = ClientConfig(
    commit_interval_ms=50, pull_retry_ms=50, rebalance_interval_ms=200, heartbeat_interval_ms=200, route_refresh_interval_ms=200
)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("flush", ["async", "sync"])
def test_clients_go_on_after_the_broker_is_killed_and_no_acknowledged_message_is_lost(tmp_path, flush):
    store = tmp_path / "store"
    acknowledged, consumed = set(), set()

    async def scenario():
        with contextlib.suppress(AssertionError), running_broker(store, "--flush", flush) as broker:
            ports = {
                "name_server_port": int(broker.name_server.rpartition(":")[2]),
                "port": int(broker.broker.rpartition(":")[2]),
            }
            producer = Producer(broker.name_server, config=CONFIG)
            consumer = PushConsumer(
                broker.name_server,
                "CG",
                {"restart": "*"},
                lambda messages: consumed.update(message.body for message in messages),
                consume_from=ConsumeFrom.FIRST_OFFSET,
                config=CONFIG,
            )
            await producer.start()
            await send_some(producer, 0, 100)
            await consumer.start()
            await eventually(lambda: len(consumed) == 100, seconds=30)
            broker.process.send_signal(signal.SIGKILL)
            broker.process.wait()
            # The exit code of the killed process fails the context; that is expected here.
        assert len(acknowledged) == 100
        with pytest.raises((NetworkError, RemoteError)):
            await producer.send(Message("restart", b"nobody there"), timeout_ms=300)
        with running_broker(store, "--flush", flush, **ports):
            await send_some(producer, 100, 200)
            await eventually(lambda: acknowledged <= consumed, seconds=60)
            await consumer.close()
            await producer.close()
        assert len(acknowledged) == 200

    async def send_some(producer, first, end):
        for number in range(first, end):
            body = b"%d" % number
            await producer.send(Message("restart", body))
            acknowledged.add(body)

    asyncio.run(scenario())
