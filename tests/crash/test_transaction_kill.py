"""Every row of the table of crash points, with processes that are really killed (Source: docs/spec/broker.md §4.9)."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections import Counter

import pytest

from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import ClientConfig, StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from broker_core.transport.client import ConnectionPool
from broker_core.worker.questions.figures import Snapshot
from broker_core.worker.questions.transactions import ListTransactions, TransactionPage
from tests.support.broker_process import CHECKOUT
from tests.support.remoting_peer import eventually, eventually_answers
from tests.support.store_check import check_closed_store
from tests.support.worker_driver import WorkerDriver

pytestmark = pytest.mark.crash

SETTINGS = (
    "transactionTimeOut=20", "transactionCheckInterval=100", "transactionCheckMax=1000",
    "mappedFileSizeCommitLog=1048576", "mappedFileSizeConsumeQueue=20000", "maxHashSlotNum=1000", "maxIndexNum=4000",
)  # fmt: skip
COMMIT, ROLLBACK, UNKNOWN = LocalState.COMMIT, LocalState.ROLLBACK, LocalState.UNKNOWN
CLIENT = ClientConfig(send_timeout_ms=2_000, send_retries=0)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def worker(store, kill="", *settings):
    more = [word for setting in (*SETTINGS, *settings) for word in ("--set", setting)]
    prelude = f"from tests.support.kill_points import kill_at_put\n{kill}" if kill else ""
    return WorkerDriver(store, more, prelude=prelude)


def kill_at(topic, *, before, number=0):
    return f"kill_at_put({topic!r}, {number}, before={before})"


def fate(message):
    """What the local transaction of a message came to: the body says it, as a database would."""
    return COMMIT if message.body.startswith(b"commit") else ROLLBACK


def unknown(_message):
    return None


async def send(name_server, bodies, *, check=unknown, state=fate):
    """Send in transactions until the broker dies; returns the bodies whose half message was acknowledged."""
    taken = []
    async with TransactionProducer(name_server, "PG", check, config=CLIENT) as producer:
        for body in bodies:
            try:
                transaction = await producer.begin(Message("T", body))
            except (NetworkError, RemoteError):
                return taken
            taken.append(body)
            await producer.end(transaction, state(transaction.message))
    return taken


def send_and_die(driver, bodies, **how):
    """Send until the worker has killed itself."""
    taken = asyncio.run(send(driver.wait_ready().name_server, bodies, **how))
    assert driver.process.wait(30) == -signal.SIGKILL
    return taken


def settle(store, *settings):
    """Start the broker again and let a producer of the group answer until nothing is undecided; then look at what is stored."""
    with worker(store, "", *settings) as driver:
        name_server = driver.wait_ready().name_server

        async def answer():
            async with TransactionProducer(name_server, "PG", fate) as producer:
                await producer.answer_checks("T")
                await eventually_answers(lambda: is_decided(driver))

        asyncio.run(answer())
        assert driver.end_input() == 0
    return contents(store)


async def is_decided(driver):
    page = await asyncio.to_thread(driver.ask, ListTransactions(0, 10))
    assert isinstance(page, TransactionPage)
    return page.total == 0


def contents(store):
    """Bodies by topic, each with how often it is there."""
    found = {}
    with MessageStore.open(StoreConfig(root=store, max_hash_slots=1000, max_index_items=4000), read_only=True) as opened:
        for topic, queue_id in opened.queues():
            counter = found.setdefault(topic, Counter())
            offset = opened.min_offset(topic, queue_id)
            while offset < opened.max_offset(topic, queue_id):
                result = opened.get_messages(topic, queue_id, offset, 32)
                counter.update(bytes(decode_record(record).body) for record in result.records)
                offset = result.next_offset
    check_closed_store(store)
    return found


def test_before_the_half_message_nothing_is_there(store):
    with worker(store, kill_at(HALF_TOPIC, before=True)) as driver:
        assert send_and_die(driver, [b"commit 1"]) == []
    assert "T" not in settle(store)


def test_a_half_message_whose_answer_is_lost_is_asked_about(store):
    with worker(store, kill_at(HALF_TOPIC, before=False)) as driver:
        assert send_and_die(driver, [b"commit 1"]) == []
    # The program sends it again: two half messages of one business transaction, and a checker that finds it committed.
    with worker(store) as driver:
        name_server = driver.wait_ready().name_server
        assert asyncio.run(send(name_server, [b"commit 1"], check=fate)) == [b"commit 1"]
        assert driver.end_input() == 0
    assert 1 <= settle(store)["T"][b"commit 1"] <= 2


@pytest.mark.parametrize(("when", "delivered"), [("before", 0), ("after", 1)])
def test_a_producer_that_dies_is_answered_for_by_another(store, tmp_path, when, delivered):
    done = tmp_path / "done"
    with worker(store) as driver:
        name_server = driver.wait_ready().name_server
        command = [sys.executable, "-m", "tests.support.orphan_producer", name_server, when, "orphan", str(done)]
        with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as orphan:
            assert orphan.stdout is not None
            assert orphan.stdout.readline() == "ready\n"
            orphan.kill()

        def look_up(_message):
            return COMMIT if done.exists() else ROLLBACK

        async def answer():
            async with TransactionProducer(name_server, "PG", look_up) as producer:
                await producer.answer_checks("T")
                await eventually_answers(lambda: is_decided(driver))

        asyncio.run(answer())
        assert driver.end_input() == 0
    found = contents(store)
    assert found.get("T", Counter())[b"orphan"] == delivered


def test_a_half_message_that_is_not_safe_is_rolled_back_by_the_check_when_the_end_is_lost(store):
    # The producer that was told FLUSH_DISK_TIMEOUT runs no local transaction; the broker dies before its rollback.
    with worker(store, kill_at(OP_TOPIC, before=True)) as driver:
        assert send_and_die(driver, [b"rollback 1"], state=lambda _message: ROLLBACK) == [b"rollback 1"]
    assert "T" not in settle(store)


def test_a_half_message_that_the_machine_lost_is_not_committed_to(store):
    # A power cut takes what was not synced: the process is killed, and the end of its log is gone.
    with worker(store) as driver:
        name_server = driver.wait_ready().name_server

        async def leave_open():
            async with TransactionProducer(name_server, "PG", unknown, config=CLIENT) as producer:
                return await producer.begin(Message("T", b"commit 1"))

        sent = asyncio.run(leave_open()).sent
        driver.process.kill()
        driver.process.wait(30)
    _host, physical_offset = parse_offset_message_id(sent.offset_message_id)
    (log,) = (store / "commitlog").iterdir()
    with log.open("r+b") as file:
        file.seek(physical_offset)
        file.write(bytes(log.stat().st_size - physical_offset))
    fields = {
        "producerGroup": "PG", "tranStateTableOffset": str(sent.queue_offset), "commitLogOffset": str(physical_offset),
        "commitOrRollback": "8", "fromTransactionCheck": "false", "msgId": sent.message_id,
    }  # fmt: skip
    with worker(store) as driver:
        broker = driver.wait_ready().broker

        async def end():
            pool = ConnectionPool()
            try:
                return await pool.request(broker, RemotingCommand(RequestCode.END_TRANSACTION, fields))
            finally:
                await pool.close()

        answer = asyncio.run(end())
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "prepared transaction message failed" in answer.remark
        page = driver.ask(ListTransactions(0, 10))
        assert isinstance(page, TransactionPage)
        assert page.total == 0
        assert driver.end_input() == 0
    assert b"commit 1" not in contents(store).get("T", Counter())


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_between_real_message_and_op_record_it_comes_once_more_at_most(store, flush):
    bodies = [b"commit 1", b"rollback 1", b"commit 2"]
    with worker(store, kill_at(OP_TOPIC, before=True, number=2), f"flushDiskType={flush}") as driver:
        assert send_and_die(driver, bodies) == bodies
    found = settle(store)["T"]
    assert found[b"commit 1"] == 1
    assert 1 <= found[b"commit 2"] <= 2
    assert found[b"rollback 1"] == 0


def test_before_the_real_message_a_commit_is_not_lost(store):
    with worker(store, kill_at("T", before=True)) as driver:
        assert send_and_die(driver, [b"commit 1"]) == [b"commit 1"]
    assert settle(store)["T"] == {b"commit 1": 1}


def test_after_the_op_record_nothing_is_asked_again(store):
    # Before the kill nothing is asked either, however long a busy machine takes for the commit.
    with worker(store, kill_at(OP_TOPIC, before=False), "transactionTimeOut=60000") as driver:
        assert send_and_die(driver, [b"commit 1"]) == [b"commit 1"]
    found = settle(store)
    assert found["T"] == {b"commit 1": 1}
    assert found[HALF_TOPIC] == {b"commit 1": 1}


def test_collected_op_records_are_lost_with_the_process_and_the_messages_are_not(store):
    batch = "transactionOpBatchInterval=600000"
    bodies = [b"commit 1", b"rollback 1", b"commit 2"]
    with worker(store, kill_at("T", before=False, number=2), batch) as driver:
        # Two commits are collected; the third dies with its real message stored.
        assert send_and_die(driver, [*bodies, b"commit 3"]) == [*bodies, b"commit 3"]
    found = settle(store, batch)
    assert all(1 <= found["T"][body] <= 2 for body in (b"commit 1", b"commit 2", b"commit 3"))
    assert found["T"][b"rollback 1"] == 0


@pytest.mark.parametrize("before", [True, False])
def test_around_the_copy_for_a_check_nothing_comes_twice(store, before):
    with worker(store, kill_at(HALF_TOPIC, before=before, number=2)) as driver:
        bodies = [b"commit 1", b"rollback 1"]

        async def leave_open():
            async with TransactionProducer(driver.wait_ready().name_server, "PG", unknown, config=CLIENT) as producer:
                # On a slow machine the first is checked before the second is sent, and the kill comes then.
                with contextlib.suppress(NetworkError, RemoteError):
                    for body in bodies:
                        await producer.begin(Message("T", body))
                await eventually(lambda: driver.process.poll() is not None, seconds=30)

        asyncio.run(leave_open())
        assert driver.process.wait(30) == -signal.SIGKILL
    assert settle(store)["T"] == {b"commit 1": 1}


@pytest.mark.parametrize(("before", "most"), [(True, 1), (False, 2)])
def test_around_giving_up_a_message_is_in_the_discard_topic_twice_at_most(store, before, most):
    with worker(store, kill_at(DISCARD_TOPIC, before=before), "transactionCheckMax=1") as driver:

        async def leave_open():
            async with TransactionProducer(driver.wait_ready().name_server, "PG", unknown, config=CLIENT) as producer:
                await producer.begin(Message("T", b"commit 1"))
                await eventually(lambda: driver.process.poll() is not None, seconds=30)

        asyncio.run(leave_open())
        assert driver.process.wait(30) == -signal.SIGKILL
    found = settle(store, "transactionCheckMax=1")
    assert 1 <= found[DISCARD_TOPIC][b"commit 1"] <= most
    assert "T" not in found


def test_without_a_producer_it_waits_over_a_kill(store):
    with worker(store) as driver:
        asyncio.run(send(driver.wait_ready().name_server, [b"commit 1"], state=lambda _message: UNKNOWN))
        driver.wait(lambda: states(driver) == ["waiting"])
        driver.process.kill()
        driver.process.wait(30)
    with worker(store) as driver:
        driver.wait_ready()
        page = driver.ask(ListTransactions(0, 10))
        assert isinstance(page, TransactionPage)
        assert (page.state, page.producers) == (["waiting"], [0])
        driver.process.kill()
    assert settle(store)["T"] == {b"commit 1": 1}


def states(driver):
    snapshot = driver.last(Snapshot)
    waiting = 0 if snapshot is None else snapshot.totals.get("transactions_waiting", 0)
    return ["waiting"] * int(waiting)
