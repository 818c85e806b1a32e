"""A real RocketMQ takes over a store of ours in mid-transaction: what is pending is resolved, what is decided stays decided."""

import asyncio
import os
import random
import shutil
import socket
import subprocess

import pytest

from broker_core.api import CheckTransaction, ListTransactions
from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import StoreConfig
from broker_core.store.message_store import MessageStore
from broker_core.transaction.history import LifeState, read_history
from tests.support.foreign_transactions import SETTINGS, delivered
from tests.support.remoting_peer import eventually, eventually_answers
from tests.support.shared import shared_dir
from tests.support.worker_driver import WorkerDriver

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(400)]

COMMIT, ROLLBACK, UNKNOWN = LocalState.COMMIT, LocalState.ROLLBACK, LocalState.UNKNOWN
DECIDED = {b"commit-1": COMMIT, b"rollback-1": ROLLBACK, b"commit-2": COMMIT}
OPEN = (b"open-commit-1", b"open-rollback-1", b"open-commit-2", b"asked-commit-1", b"asked-rollback-1")


def fate(message):
    return COMMIT if b"commit" in message.body else ROLLBACK


def free_port():
    """A port that is free now with its neighbours, which RocketMQ takes too."""
    for _ in range(100):
        port = random.randrange(21_000, 32_000)
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            try:
                for used, number in ((first, port), (second, port + 1), (third, port - 2)):
                    used.bind(("127.0.0.1", number))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def leave_in_mid_transaction(store):
    """Decided, open and already asked transactions, then a clean stop."""
    quiet = [setting for setting in SETTINGS if not setting.startswith("transactionCheckInterval")]
    with WorkerDriver(store, [word for setting in quiet for word in ("--set", setting)]) as driver:
        name_server = driver.wait_ready().name_server

        async def produce():
            async with TransactionProducer(name_server, "shop-tx", lambda _message: UNKNOWN) as producer:
                for body, state in DECIDED.items():
                    await producer.send_in_transaction(Message("Shop", body), lambda _message, state=state: state)
                for body in OPEN:
                    await producer.begin(Message("Shop", body))

                async def decided():
                    return (await asyncio.to_thread(driver.ask, ListTransactions(0, 20))).total == len(OPEN)

                await eventually_answers(decided)
                for origin in (await asyncio.to_thread(driver.ask, ListTransactions(0, 20))).origin[-2:]:
                    await asyncio.to_thread(driver.ask, CheckTransaction(origin))

        asyncio.run(produce())
        assert driver.end_input() == 0


def resolve_with_rocketmq(folder, version):
    """Start a real broker on the store and let a producer of the group answer its checks."""
    program = shared_dir() / "peer" / "peer"
    if not program.exists() or not shutil.which("java") or not shutil.which("mvn"):
        pytest.skip("a real RocketMQ needs the shared peer program, Java and Maven")
    ports = {"PEER_NS_PORT": str(free_port()), "PEER_PORT": str(free_port()), "PEER_HEAP": "256m"}
    environment = {**os.environ, **ports}
    times = ("transactionTimeOut=500", "transactionCheckInterval=1000", "transactionCheckMax=100")
    sizes = [setting for setting in SETTINGS if not setting.startswith("transaction")]
    command = [program, "start", version, folder, *times, *sizes]
    started = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=200)
    assert started.returncode == 0, started.stderr[-2000:]
    asked = set()

    def answer(message):
        asked.add(message.body)
        return fate(message)

    async def serve():
        async with TransactionProducer(f"127.0.0.1:{ports['PEER_NS_PORT']}", "shop-tx", answer) as producer:
            await eventually_answers(lambda: is_served(producer), seconds=60)
            await eventually(lambda: asked >= set(OPEN), seconds=90)
            # One more round, so that what is answered twice would be there twice.
            seen = asked.copy()
            await producer.send_in_transaction(Message("Shop", b"last-commit"), lambda _message: UNKNOWN)
            await eventually(lambda: asked > seen, seconds=60)

    try:
        asyncio.run(serve())
    finally:
        subprocess.run([program, "stop", folder], env=environment, check=True, timeout=90)
    return asked


async def is_served(producer):
    await producer.answer_checks("Shop")
    return await producer.queues("Shop")


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_rocketmq_resolves_what_we_left_open(tmp_path, version):
    store = tmp_path / "store"
    leave_in_mid_transaction(store)
    asked = resolve_with_rocketmq(tmp_path, version)
    assert asked == {*OPEN, b"last-commit"}
    found = delivered(store, "Shop")
    wanted = {body.decode() for body in (*DECIDED, *OPEN, b"last-commit") if b"commit" in body}
    # A real broker may deliver an asked one again; decided ones come once.
    assert set(found) - {"last-commit"} == wanted - {"last-commit"}
    assert found["commit-1"] == found["commit-2"] == 1
    with MessageStore.open(StoreConfig(root=store, max_hash_slots=1_000, max_index_items=4_000), read_only=True) as opened:
        lives = read_history(opened).lives
    assert len(lives) == len(DECIDED) + len(OPEN) + 1
    committed = sum(life.state is LifeState.COMMITTED for life in lives)
    assert committed >= len(wanted) - 1
