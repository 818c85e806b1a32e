"""Crash points that need a second coordinator or a packet that comes late (Source: docs/spec/kafka.md §2, rows 16, 22, 23)."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from pathlib import Path

import pytest

from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.message import Message
from broker_core.errors import StoreError
from broker_core.protocol.atomic import Refusal
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, parse_object
from broker_core.transport.client import ConnectionPool
from tests.crash.transformer import BATCH
from tests.support.atomic_run import PART, SECONDS, Transformer, check_all_or_nothing, dying_at, filled, finish, seen, worker

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

DECIDED = "12 decision durable, nothing applied"


# ---- 16: a coordinator that only seems dead ----


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filled") / "store", PART)


def is_stopped(pid):
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"


def until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("point", "committed"), [("11 decision not recorded", BATCH), (DECIDED, 2 * BATCH)])
def test_while_a_coordinator_seems_dead_no_other_decides_and_after_its_death_one_does(full, tmp_path, point, committed):
    store = Path(shutil.copytree(full, tmp_path / "store"))
    freezing = "import os, signal\nfrom tests.support import kill_points\n"
    freezing += "kill_points.die = lambda: os.kill(os.getpid(), signal.SIGSTOP)\n"
    with worker(store, freezing + dying_at(point)) as zombie:
        like = zombie.wait_ready()
        running = Transformer.start(like.name_server, PART)
        try:
            until(lambda: is_stopped(zombie.process.pid))
            with worker(store) as second, pytest.raises(StoreError, match="in use"):
                second.wait_ready()
            running.kill()
            zombie.process.kill()
            assert zombie.process.wait(SECONDS) == -signal.SIGKILL
        finally:
            if running.is_running:
                running.kill()
    with worker(store) as driver:
        ready = driver.wait_ready()
        assert asyncio.run(check_all_or_nothing(ready.broker)) == committed
        finish(ready, PART)
        assert driver.end_input() == 0


# ---- 22, 23: a resend that comes late ----


class Remembering(AtomicProducer):
    """Keeps a copy of each send, as a network may."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.copies = []

    async def _request(self, command):
        if command.code == RequestCode.SEND_ATOMIC_MESSAGE:
            self.copies.append((command.code, dict(command.ext_fields), command.body))
        return await super()._request(command)


async def arrive(broker, copies):
    """Let copies of sends arrive, by connections that are new; returns codes and queue offsets of the answers."""
    pool = ConnectionPool()
    try:
        answers = [await pool.request(broker, RemotingCommand(code, dict(fields), body)) for code, fields, body in copies]
        return [(answer.code, answer.ext_fields.get("queueOffset")) for answer in answers]
    finally:
        await pool.close()


async def open_transactions(broker):
    pool = ConnectionPool()
    try:
        answer = await pool.request(broker, RemotingCommand(RequestCode.LIST_ATOMIC, {}))
        return [entry["tid"] for entry in parse_object(answer.body)["transactions"] if entry["state"] == "ONGOING"]
    finally:
        await pool.close()


async def stored(broker, topic):
    """How many messages a queue has, decided or not."""
    pool = ConnectionPool()
    fields = {"topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "1"}
    try:
        answer = await pool.request(broker, RemotingCommand(RequestCode.PULL_UNCOMMITTED, fields))
        return int(answer.ext_fields["maxOffset"])
    finally:
        await pool.close()


async def send(producer, body):
    await producer.send(Message("orders", body), queue=MessageQueue("orders", "broker-a", 0))


def test_a_resend_that_comes_after_the_end_and_a_crash_is_refused_and_begins_nothing(tmp_path):
    """Each end gives the next epoch (row 23), so a late copy never shows the epoch of the transaction that is open (row 22)."""
    asyncio.run(resends_come_late(tmp_path / "store"))


async def resends_come_late(store):
    async def ready(driver):
        return await asyncio.to_thread(driver.wait_ready)

    refused = (Refusal.FENCED, None)
    with worker(store, dying_at(DECIDED)) as first:
        like = await ready(first)
        producer = Remembering(like.name_server, "shop")
        await producer.start()
        await producer.create_topic("orders", queues=1)
        async with producer.transaction():
            await send(producer, b"a")
        producer.begin()
        await send(producer, b"b")
        await send(producer, b"c")
        assert await arrive(like.broker, producer.copies[1:]) == [(ResponseCode.SUCCESS, "1"), (ResponseCode.SUCCESS, "2")]
        epoch, committing = producer.identity.epoch, asyncio.create_task(producer.commit())
        assert await asyncio.to_thread(first.process.wait, SECONDS) == -signal.SIGKILL
    with worker(store, like=like) as second:
        await ready(second)
        await asyncio.wait_for(committing, SECONDS)
        assert producer.identity.epoch == epoch + 1
        assert await arrive(like.broker, producer.copies) == [refused] * 3
        assert await open_transactions(like.broker) == []
        producer.begin()
        await send(producer, b"d")
        late, producer.copies = producer.copies[:3], producer.copies[3:]
        assert await arrive(like.broker, late) == [refused] * 3
        assert await open_transactions(like.broker) == ["shop"]
        assert await seen(like.broker, "orders") == ["a", "b", "c"]
        second.process.kill()
        await asyncio.to_thread(second.process.wait, SECONDS)
    with worker(store, like=like) as third:
        await ready(third)
        assert await arrive(like.broker, late) == [refused] * 3
        assert await arrive(like.broker, producer.copies) == [(ResponseCode.SUCCESS, "3")], "of the open transaction: known"
        await producer.commit()
        assert await arrive(like.broker, late + producer.copies) == [refused] * 4
        assert await seen(like.broker, "orders") == ["a", "b", "c", "d"]
        assert await stored(like.broker, "orders") == 4
        await producer.close()
        assert await asyncio.to_thread(third.end_input) == 0


@pytest.mark.slow
def test_a_resend_of_the_last_five_is_known_after_a_crash_without_transactions_too(tmp_path):
    asyncio.run(resends_without_transactions(tmp_path / "store"))


async def resends_without_transactions(store):
    with worker(store) as first:
        like = await asyncio.to_thread(first.wait_ready)
        producer = Remembering(like.name_server, None)
        await producer.start()
        await producer.create_topic("orders", queues=1)
        for number in range(7):
            await send(producer, b"%d" % number)
        first.process.kill()
        await asyncio.to_thread(first.process.wait, SECONDS)
    with worker(store, like=like) as second:
        await asyncio.to_thread(second.wait_ready)
        known = [(ResponseCode.SUCCESS, str(offset)) for offset in range(2, 7)]
        assert await arrive(like.broker, producer.copies) == [(Refusal.OUT_OF_ORDER, None)] * 2 + known
        await send(producer, b"7")
        assert await seen(like.broker, "orders") == [str(number) for number in range(8)]
        assert await stored(like.broker, "orders") == 8
        await producer.close()
        assert await asyncio.to_thread(second.end_input) == 0
