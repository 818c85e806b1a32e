"""A real RocketMQ takes over a store of ours in mid-transaction: what is pending is resolved, what is decided stays decided."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.transaction.history import LifeState, read_history
from broker_core.errors import RemoteError
from broker_core.worker.questions.transactions import CheckTransaction, ListTransactions
from tests.support.foreign_transactions import SETTINGS, delivered
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually, eventually_answers
from tests.support.worker_driver import WorkerDriver

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

COMMIT, ROLLBACK, UNKNOWN = LocalState.COMMIT, LocalState.ROLLBACK, LocalState.UNKNOWN
DECIDED = {b"commit-1": COMMIT, b"rollback-1": ROLLBACK, b"commit-2": COMMIT}
OPEN = (b"open-commit-1", b"open-rollback-1", b"open-commit-2", b"asked-commit-1", b"asked-rollback-1")


def fate(message):
    return COMMIT if b"commit" in message.body else ROLLBACK


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
    times = {"transactionTimeOut": "500", "transactionCheckInterval": "1000", "transactionCheckMax": "100"}
    sizes = dict(setting.split("=") for setting in SETTINGS if not setting.startswith("transaction"))
    peer = RealBroker(version, folder, {**times, **sizes})
    peer.start()
    asked = set()

    def answer(message):
        asked.add(message.body)
        return fate(message)

    async def serve():
        async with TransactionProducer(peer.name_server, "shop-tx", answer) as producer:
            await eventually_answers(lambda: is_served(producer), seconds=60)
            await eventually(lambda: asked >= set(OPEN), seconds=90)
            # One more round, so that what is answered twice would be there twice.
            seen = asked.copy()
            await producer.send_in_transaction(Message("Shop", b"last-commit"), lambda _message: UNKNOWN)
            await eventually(lambda: asked > seen, seconds=60)

    try:
        asyncio.run(serve())
    finally:
        peer.stop()
    return asked


async def is_served(producer):
    try:
        await producer.answer_checks("Shop")
    except RemoteError:  # the broker listens before it registers its topics at the name server
        return False
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
