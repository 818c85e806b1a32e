"""Delay levels and half messages of a cluster, seen from outside: our own broker over loopback."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.names import DISCARD_TOPIC
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.stored_messages import ReadMessage
from broker_core.worker.questions.transactions import ListTransactions, ResumeTransaction
from tests.support.attached import BROKER, asking, attached, broker_on, decided
from tests.support.remoting_peer import HOST, eventually

LEVEL = 18
"""Two hours: nothing is due while the test runs."""


@asynccontextmanager
async def scene(tmp_path):
    async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
        await cluster.link.create_topic("T", queues=2)
        async with asking(cluster) as queries:
            yield broker, cluster, queries


async def send_delayed(name_server, count):
    async with Producer(name_server) as producer:
        for number in range(count):
            message = Message("T", b"%d" % number, "tag", (f"k{number}",), {"DELAY": str(LEVEL)})
            await producer.send(message, queue=MessageQueue("T", BROKER, 1))


def test_the_levels_and_what_waits_in_them(tmp_path):
    async def scenario():
        async with scene(tmp_path) as (broker, cluster, queries):
            await send_delayed(broker.name_server_address, 5)
            await cluster.sampling.once()
            delays = cluster.figures.snapshot().delays
            columns = {
                name: list(memoryview(delays[name]).cast("q")) for name in ("level", "pending", "next_due_ms", "delay_ms")
            }
            assert columns["level"] == list(range(1, 19))
            assert columns["pending"] == [0] * 17 + [5]
            page = await queries.answer(ListDelayed(LEVEL, 0, 3))
            assert columns["next_due_ms"] == [-1] * 17 + [page.due_ms[0]]
            assert page.due_ms == [store + columns["delay_ms"][-1] for store in page.store_ms]
            assert (page.keys, page.topic, page.queue_id, page.tag) == (["k0", "k1", "k2"], ["T"] * 3, [1] * 3, ["tag"] * 3)
            assert (page.next_offset, page.max_offset, page.queue_offset) == (3, 5, [0, 1, 2])
            rest = await queries.answer(ListDelayed(LEVEL, page.next_offset, 10))
            assert (rest.keys, rest.next_offset, rest.max_offset) == (["k3", "k4"], 5, 5)
            assert (await queries.answer(ReadMessage(rest.physical_offset[0]))).body == b"3"
            with pytest.raises(UsageError, match="no broker has a delay level 19"):
                await queries.answer(ListDelayed(19, 0, 1))
            with pytest.raises(UsageError, match="1 to 1,000 waiting messages, not 0"):
                await queries.answer(ListDelayed(LEVEL, 0, 0))

    asyncio.run(scenario())


def test_what_a_level_delivers_is_counted(tmp_path):
    async def scenario():
        async with scene(tmp_path) as (broker, cluster, _queries):
            cluster.sampling.start()
            async with Producer(broker.name_server_address) as producer:
                # The first tells the watcher that level 1 is used; only what comes later is sure to be counted.
                for number in (1, 2):
                    await producer.send(Message("T", b"x", properties={"DELAY": "1"}))
                    await eventually(lambda: cluster.figures.of(BROKER).levels.offsets.get(1) == number, 60)  # noqa: B023
            first, *others = memoryview(cluster.figures.snapshot().delays["delivered"]).cast("q")
            assert (1 <= first <= 2, others) == (True, [0] * 17)

    asyncio.run(scenario())


def test_undecided_transactions_are_those_of_the_broker(tmp_path):
    async def scenario():
        async with scene(tmp_path) as (broker, cluster, queries):
            await cluster.sampling.once()
            states = {
                "apple": LocalState.UNKNOWN,
                "birch": LocalState.COMMIT,
                "cedar": LocalState.ROLLBACK,
                "delta": LocalState.UNKNOWN,
            }

            async def run(producer, body, key):
                await producer.send_in_transaction(Message("T", body, "tag", (key,)), lambda _message: states[key])

            async with TransactionProducer(broker.name_server_address, "PG", lambda _message: LocalState.UNKNOWN) as producer:
                for key in states:
                    await run(producer, b"x" * 7, key)
                page = await decided(queries, 2)
                assert (page.keys, page.group, page.topic, page.tag) == (["apple", "delta"], ["PG"] * 2, ["T"] * 2, ["tag"] * 2)
                assert (page.state, page.producers, page.body_bytes) == (["prepared"] * 2, [1, 1], [7, 7])
                assert (page.total, page.check_times_max, page.half_offset) == (2, 15, [0, 3])
                found = await queries.answer(ListTransactions(0, 10, words="pg delta"))
                assert found.keys == ["delta"]
                assert (await queries.answer(ListTransactions(1, 10))).keys == ["delta"]
                await run(producer, b"x", "birch")
                await run(producer, b"x", "apple")
                assert (await decided(queries, 3)).keys == ["apple", "delta", "apple"]

    asyncio.run(scenario())


def test_what_the_queues_do_not_tell_is_refused_with_the_reason(tmp_path):
    async def scenario():
        async with scene(tmp_path) as (_broker, _cluster, queries):
            assert (await queries.answer(ListTransactions(0, 10))).total == 0
            with pytest.raises(UsageError, match="an op record says that it was decided, not which way"):
                await queries.answer(ListTransactions(0, 10, ended=True))
            with pytest.raises(UsageError, match="1 to 1,000 transactions from 0 on"):
                await queries.answer(ListTransactions(0, 0))

    asyncio.run(scenario())


def test_a_message_that_was_given_up_is_taken_up_again(tmp_path):
    async def scenario():
        async with scene(tmp_path) as (broker, _cluster, queries):
            half = {"PGROUP": "PG", "REAL_TOPIC": "T", "REAL_QID": "1", "TRAN_MSG": "true", "TRANSACTION_CHECK_TIMES": "9"}
            message = MessageToStore(DISCARD_TOPIC, 0, 0, 0, 1, HOST, HOST, 0, 0, b"late", encode_properties(half))
            place = broker.store.put(message).physical_offset
            await queries.answer(ResumeTransaction(place))
            page = await decided(queries, 1)
            assert (page.topic, page.check_times, page.state) == (["T"], [0], ["waiting"])

    asyncio.run(scenario())
