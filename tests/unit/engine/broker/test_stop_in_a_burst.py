"""A clean stop while the broker delivers many messages of one moment: after the next start each has come once."""

import asyncio
import itertools
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.store.message_puts import MessagePuts
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.clock import ManualClock
from tests.support.pop_bench import pop_fields
from tests.support.remoting_peer import eventually

COUNT = 1_500
CAME = 700
"""Of these, before the stop: more than one turn of the loop delivers, and not all."""
DUE_MS = 1_000
"""Enough for what waits by the loop's time, however far the clock of the broker goes."""


@asynccontextmanager
async def serving(root, clock):
    config = BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES))
    broker = EmbeddedBroker(config, clock=clock)
    await broker.start()
    connection = await connect(broker.broker_address)
    try:
        yield broker, connection
    finally:
        connection.close()
        await connection.wait_closed()
        await broker.stop()


async def asked(connection, code, fields, body=b""):
    command = RemotingCommand(code, {name: str(value) for name, value in fields.items()}, body)
    answer = await connection.request(command, 30_000)
    assert answer.code in (R.SUCCESS, R.POLLING_TIMEOUT), answer.remark
    return answer


async def send_all(connection, properties=""):
    fields = send_fields("T", properties=properties)
    for start in range(0, COUNT, 100):
        bodies = [b"%d" % number for number in range(start, start + 100)]
        await asyncio.gather(*(asked(connection, Q.SEND_MESSAGE_V2, fields, body) for body in bodies))


async def send_timers(connection, now_ms):
    await send_all(connection, f"TIMER_DELIVER_MS\x01{now_ms + DUE_MS}")


async def send_delayed(connection, _now_ms):
    await send_all(connection, "DELAY\x011")


async def pop_all(connection, now_ms):
    await send_all(connection)
    while (await asked(connection, Q.POP_MESSAGE, pop_fields(now_ms, invisibleTime=DUE_MS))).code == R.SUCCESS:
        pass


def stored(root, topic):
    with MessageStore.open(StoreConfig(root=root, **SMALL_FILES), read_only=True) as store:
        found, offset = Counter(), 0
        while offset < store.max_offset(topic, 0):
            result = store.get_messages(topic, 0, offset, 32)
            found.update(decode_record(record).body for record in result.records)
            offset = result.next_offset
    return found


def full_after(count, topic, put):
    """A put that refuses a topic's further copies, as a full disk does, so that the burst lasts until the stop."""
    copies = itertools.count()

    def refusing(store, message):
        if message.topic == topic and next(copies) >= count:
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
        return put(store, message)

    return refusing


@pytest.mark.parametrize(("how", "topic"), [(send_timers, "T"), (send_delayed, "T"), (pop_all, "%RETRY%CG_T")])
def test_a_clean_stop_in_a_burst_repeats_nothing_and_loses_nothing(tmp_path, monkeypatch, how, topic):
    clock = ManualClock()

    async def until_some_came():
        async with serving(tmp_path, clock) as (broker, connection):
            await how(connection, clock())
            clock.advance(2 * DUE_MS)
            await eventually(lambda: broker.store.max_offset(topic, 0) == CAME)

    async def until_all_came():
        async with serving(tmp_path, clock) as (broker, _connection):
            await eventually(lambda: broker.store.max_offset(topic, 0) >= COUNT)

    with monkeypatch.context() as patched:
        patched.setattr(MessagePuts, "put", full_after(CAME, topic, MessagePuts.put))
        asyncio.run(until_some_came())
    assert stored(tmp_path, topic).total() == CAME, "the stop came too late"
    asyncio.run(until_all_came())
    assert stored(tmp_path, topic) == {b"%d" % number: 1 for number in range(COUNT)}
