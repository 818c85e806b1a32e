"""Transactions in a running broker: rounds, progress on disk, actions of a person and their journal."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.stored_messages import ReadMessage, SendMessage
from broker_core.worker.questions.transactions import (
    CheckTransaction,
    EndTransaction,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
)
from tests.support.broker_bench import SMALL_FILES
from tests.support.remoting_peer import eventually

SLOW = 3_600_000


@asynccontextmanager
async def running(root, *, interval=SLOW, **settings):
    flush = settings.pop("flush_disk_type", "ASYNC_FLUSH")
    store = StoreConfig(root=root / "store", flush_disk_type=flush, **SMALL_FILES)
    config = BrokerConfig(listen_port=0, name_server_port=0, store=store)
    times = {"transaction_timeout_ms": 50, "transaction_check_interval_ms": interval}
    broker = EmbeddedBroker(replace(config, **times, **settings))
    await broker.start()
    queries = Queries(broker, console=broker, shut_down=lambda: None)
    try:
        yield broker, queries
    finally:
        queries.close()
        await broker.stop()


async def open_transactions(broker, *bodies, group="PG"):
    """Half messages of a producer that stays; returns it."""
    producer = TransactionProducer(broker.name_server_address, group, lambda _message: None)
    await producer.start()
    for body in bodies:
        await producer.begin(Message("T", body, tags="tag", keys=("k1", "k2")))
    return producer


def bodies(broker):
    store = broker.store
    found = [store.get_messages("T", queue_id, 0, 32).records for queue_id in range(4)]
    return sorted(bytes(decode_record(record).body) for records in found for record in records)


def test_a_page_tells_everything_of_an_undecided_transaction(tmp_path):
    async def run():
        async with running(tmp_path) as (broker, queries):
            producer = await open_transactions(broker, b"one", b"two")
            page = await queries.answer(ListTransactions(0, 10))
            assert (page.total, page.state, page.group, page.producers) == (2, ["prepared"] * 2, ["PG"] * 2, [1, 1])
            assert (page.origin, page.half_offset, page.op_offset, page.topic) == ([0, 1], [0, 1], [0, 0], ["T", "T"])
            assert (page.keys, page.tag, page.body_bytes) == (["k1 k2"] * 2, ["tag"] * 2, [3, 3])
            assert (page.check_times, page.check_times_max, page.ended_ms) == ([0, 0], 15, [-1, -1])
            assert all(later >= broker.transactions.next_round_ms for later in page.next_check_ms)
            detail = await queries.answer(ReadMessage(page.physical_offset[1]))
            assert (detail.body, detail.properties["REAL_TOPIC"]) == (b"two", "T")
            assert (await queries.answer(ListTransactions(1, 10))).origin == [1]
            other = await queries.answer(ListTransactions(0, 10, group="Other"))
            assert (other.total, other.origin) == (0, [])
            await producer.close()
            await eventually(lambda: not broker.producers.connections("PG"))
            waiting = await queries.answer(ListTransactions(0, 10))
            assert (waiting.state, waiting.next_check_ms) == (["waiting"] * 2, [-1, -1])
            totals = Sampler(broker, clock=lambda: 1).snapshot().totals
            assert (totals["transactions_pending"], totals["transactions_waiting"], totals["transactions_half_lag"]) == (
                2,
                2,
                2,
            )

    asyncio.run(run())


def test_a_person_commits_rolls_back_and_asks_and_all_is_recorded(tmp_path):
    async def run():
        async with running(tmp_path) as (broker, queries):
            producer = await open_transactions(broker, b"yes", b"no", b"ask")
            assert await queries.answer(EndTransaction(0, commit=True)) == Done()
            assert await queries.answer(EndTransaction(1, commit=False)) == Done()
            assert await queries.answer(CheckTransaction(2)) == Done()
            with pytest.raises(RequestRefusedError, match="committed"):
                await queries.answer(EndTransaction(0, commit=False))
            with pytest.raises(RequestRefusedError, match="no such transaction"):
                await queries.answer(CheckTransaction(77))
            assert bodies(broker) == [b"yes"]
            page = await queries.answer(ListTransactions(0, 10))
            assert (page.state, page.check_times, page.half_offset) == (["checking"], [1], [3])
            ended = await queries.answer(ListTransactions(0, 10, ended=True))
            assert (ended.origin, ended.state, ended.op_offset) == ([1, 0], ["rolled back", "committed"], [1, 0])
            await producer.close()
            await eventually(lambda: not broker.producers.connections("PG"))
            with pytest.raises(RequestRefusedError, match="no producer of group PG"):
                await queries.answer(CheckTransaction(2))
        journal = ActionJournal(tmp_path / "store" / "config", clock=lambda: 0).last(20)
        assert [(entry.action, entry.subject) for entry in journal] == [
            ("transaction.commit", "transaction 0"), ("transaction.rollback", "transaction 1"),
            ("transaction.check", "transaction 2"), ("transaction.check", "transaction 2"),
            ("transaction.check.failed", "transaction 2"),
        ]  # fmt: skip
        assert journal[0].details["group"] == "PG"

    asyncio.run(run())


def test_a_given_up_message_is_resumed_from_the_console_and_its_history_told(tmp_path):
    async def run():
        async with running(tmp_path, interval=20, transaction_check_max=1) as (broker, queries):
            producer = await open_transactions(broker, b"left")
            await eventually(lambda: broker.transactions.engine.counters.given_up)
            history = await queries.answer(ReadTransactionHistory())
            assert (history.state, history.step_kind) == (["given up"], ["prepared", "checked", "given up", "decided"])
            place = history.step_physical_offset[history.step_kind.index("given up")]
            assert await queries.answer(ResumeTransaction(place)) == Done()
            with pytest.raises(RequestRefusedError, match="no half message"):
                await queries.answer(ResumeTransaction(place + 1))
            history = await queries.answer(ReadTransactionHistory())
            assert "resumed" in history.step_kind
            await producer.close()

    asyncio.run(run())


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_progress_is_on_disk_after_a_stop_and_a_restart_goes_on_there(tmp_path, flush):
    async def run():
        async with running(tmp_path, flush_disk_type=flush) as (broker, _queries):
            producer = await open_transactions(broker)
            for number in range(5):
                await producer.send_in_transaction(Message("T", b"%d" % number), lambda _message: LocalState.COMMIT)
            await producer.begin(Message("T", b"open"))
            await eventually(lambda: broker.transactions.engine.counters.committed == 5)
            await producer.close()
        table = json.loads((tmp_path / "store" / "config" / "consumerOffset.json").read_text())["offsetTable"]
        assert table["RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS"] == {"0": 5}
        assert table["RMQ_SYS_TRANS_OP_HALF_TOPIC@CID_RMQ_SYS_TRANS"] == {"0": 5}
        async with running(tmp_path, flush_disk_type=flush) as (broker, queries):
            page = await queries.answer(ListTransactions(0, 10))
            assert (page.origin, page.state) == ([5], ["waiting"])

    asyncio.run(run())


def test_a_search_looks_at_all_of_them_and_not_at_a_page(tmp_path):
    async def run():
        async with running(tmp_path) as (broker, queries):
            producer = await open_transactions(broker)
            for number in range(150):
                await producer.begin(Message("T", b"x", tags="Tag", keys=(f"Order-{number}", f"n{number % 7}")))
            other = await open_transactions(broker, b"y", group="Other")

            async def found(words, *, start=0, count=5, ended=False):
                page = await queries.answer(ListTransactions(start, count, words=words, ended=ended))
                return page.total, page.keys

            assert await found("ORDER-149") == (1, ["Order-149 n2"])
            total, keys = await found("tag n2")
            assert total == len([n for n in range(150) if n % 7 == 2])
            assert keys == [f"Order-{n} n2" for n in range(2, 37, 7)]
            assert await found("tag n2", start=total - 1) == (total, ["Order-149 n2"])
            assert await found("pg order-14 n0") == (3, ["Order-14 n0", "Order-140 n0", "Order-147 n0"])
            assert (await found("other k2"))[0] == 1
            assert await found("nothing") == (0, [])
            await queries.answer(EndTransaction(149, commit=True))
            assert await found("order-149") == (0, [])
            assert await found("order-149", ended=True) == (1, ["Order-149 n2"])
            await producer.close()
            await other.close()

    asyncio.run(run())


def test_a_search_that_is_given_up_ends(tmp_path):
    async def run():
        async with running(tmp_path) as (broker, queries):
            producer = await open_transactions(broker)
            for number in range(150):
                await producer.begin(Message("T", b"x", keys=(f"Order-{number}",)))
            asking = asyncio.create_task(queries.answer(ListTransactions(0, 5, words="order")))
            await asyncio.sleep(0)
            assert not asking.done()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await producer.close()

    asyncio.run(run())


@pytest.mark.parametrize("page", [ListTransactions(0, 0), ListTransactions(0, 1_001), ListTransactions(-1, 5)])
def test_a_page_out_of_bounds_is_refused(tmp_path, page):
    async def run():
        async with running(tmp_path) as (_broker, queries):
            with pytest.raises(Exception, match="a page has"):
                await queries.answer(page)

    asyncio.run(run())


def test_a_committed_message_with_a_delay_waits_its_level(tmp_path):
    async def run():
        async with running(tmp_path) as (broker, queries):
            producer = await open_transactions(broker, b"later")
            half = broker.store.get_messages("RMQ_SYS_TRANS_HALF_TOPIC", 0, 0, 1).records[0]
            assert decode_record(half).properties["REAL_TOPIC"] == "T"
            await queries.answer(SendMessage("T", 0, b"x", {"TRAN_MSG": "true", "PGROUP": "PG", "DELAY": "1"}))
            await queries.answer(EndTransaction(1, commit=True))
            assert bodies(broker) == []
            assert broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 0) == 1
            await producer.close()

    asyncio.run(run())


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_an_end_that_waits_for_its_answer_gets_it_when_the_disk_has_it(tmp_path, flush):
    async def run():
        async with running(tmp_path, flush_disk_type=flush) as (broker, queries):
            producer = await open_transactions(broker, b"yes")
            place = (await queries.answer(ListTransactions(0, 1))).physical_offset[0]
            fields = {
                "producerGroup": "PG", "tranStateTableOffset": "0", "commitLogOffset": str(place), "commitOrRollback": "8",
                "fromTransactionCheck": "false", "msgId": "",
            }  # fmt: skip
            connection = await connect(broker.broker_address)
            answer = await connection.request(RemotingCommand(RequestCode.END_TRANSACTION, fields))
            assert answer.code == ResponseCode.SUCCESS
            assert flush == "ASYNC_FLUSH" or broker.store.flushed_offset == broker.store.commit_log_max_offset
            assert bodies(broker) == [b"yes"]
            connection.close()
            await producer.close()

    asyncio.run(run())
