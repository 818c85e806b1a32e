"""Consume, transform, produce, with broker and transformer killed again and again: every input has its outputs exactly once."""

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.message import Message
from broker_core.protocol.json_body import MessageQueue
from broker_core.transport.client import ConnectionPool
from tests.crash.transformer import SOURCE, TARGETS, read
from tests.support.broker_process import CHECKOUT, running_broker

SETTINGS = ("--set", "orbitAtomicTransactions=true", "--set", "mappedFileSizeCommitLog=1048576", "--set", "maxHashSlotNum=1000",
            "--set", "maxIndexNum=4000")  # fmt: skip
SECONDS = 90


def _start_transformer(name_server, count):
    command = [sys.executable, str(Path("tests") / "crash" / "transformer.py"), name_server, str(count)]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _fill(name_server, count):
    async with AtomicProducer(name_server, "filler") as producer:
        for topic in (SOURCE, *TARGETS):
            await producer.create_topic(topic, queues=1)
        for start in range(0, count, 50):
            async with producer.transaction():
                for number in range(start, min(start + 50, count)):
                    await producer.send(Message(SOURCE, str(number).encode()), queue=MessageQueue(SOURCE, "broker-a", 0))


async def _read_all(broker, topic, count):
    pool = ConnectionPool()
    got, offset = [], 0
    deadline = time.monotonic() + 60
    while len(got) < count and time.monotonic() < deadline:
        bodies, following = await read(pool, broker, topic, offset, 32)
        got += bodies
        if following == offset:
            await asyncio.sleep(0.05)
        offset = following
    await pool.close()
    return got


def _transform_and_kill(broker, count, chance, kills_left):
    """Let transformers work and kill them, the broker too; True when one came to the end, False when the broker is dead."""
    while True:
        transformer = _start_transformer(broker.name_server, count)
        batches = chance.randint(1, 6) if kills_left[0] > 0 else count
        ended = not all(transformer.stdout.readline() for _ in range(batches))
        if ended:
            _, error = transformer.communicate(timeout=SECONDS)
            assert transformer.returncode in (0, 1), error
            if transformer.returncode == 0:
                return True
            assert kills_left[0] > 0, error
            continue
        time.sleep(chance.random() * 0.02)  # any moment of the next batch
        kills_left[0] -= 1
        kills_broker = chance.random() < 0.5
        if kills_broker:
            broker.kill()
        transformer.kill()
        transformer.communicate()
        if kills_broker:
            return False


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "kills"), [(600, 8), pytest.param(20_000, 300, marks=[pytest.mark.slow, pytest.mark.timeout(7_200)])]
)
def test_every_input_has_its_outputs_exactly_once(tmp_path, count, kills):
    chance = random.Random(count)
    kills_left = [kills]
    store, is_filled, done = tmp_path / "store", False, False
    while not done:
        with running_broker(store, *SETTINGS) as broker:
            if not is_filled:
                asyncio.run(_fill(broker.name_server, count))
                is_filled = True
            done = _transform_and_kill(broker, count, chance, kills_left)
            if done:
                outputs = [asyncio.run(_read_all(broker.broker, topic, count)) for topic in TARGETS]
    assert kills_left[0] == 0, "too little was killed"
    assert outputs == [[str(number) for number in range(count)]] * len(TARGETS)
