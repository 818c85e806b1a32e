"""Consume, transform, produce with a real kill at each crash point: every input has its outputs exactly once (kafka §2)."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.message import Message
from broker_core.remoting.client import ConnectionPool
from broker_core.remoting.json_body import MessageQueue
from tests.crash.transformer import BATCH, SOURCE, TARGETS, position, read
from tests.support.atomic_kill_points import BROKER, PRODUCER, READING_BACK
from tests.support.broker_process import CHECKOUT
from tests.support.worker_driver import WorkerDriver

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

CHAINS = 3
"""Points of one chain are met by one store, each after the recovery from the one before."""
PART = 5 * BATCH
"""Numbers that are transformed around each point."""
CHAIN_MOST = max(-(-len(BROKER) // CHAINS), len(PRODUCER), len(READING_BACK)) + 1
COUNT = CHAIN_MOST * PART
SECONDS = 60
SETTINGS = (
    "orbitAtomicTransactions=true", "mappedFileSizeCommitLog=1048576", "mappedFileSizeConsumeQueue=20000",
    "maxHashSlotNum=1000", "maxIndexNum=4000", "flushConsumerOffsetInterval=1000",
)  # fmt: skip
NUMBERS = [str(number) for number in range(COUNT)]


def worker(store, point="", *, like=None):
    """A broker that dies at a point; where another one was if that is given."""
    more = [word for setting in SETTINGS for word in ("--set", setting)]
    if like is not None:
        ports = [address.rpartition(":")[2] for address in (like.name_server, like.broker)]
        more += ["--ns-port", ports[0], "--port", ports[1]]
    points = "{**points.BROKER, **points.READING_BACK}"
    prelude = f"from tests.support import atomic_kill_points as points\n{points}[{point!r}]()" if point else ""
    return WorkerDriver(store, more, prelude=prelude)


def start_transformer(name_server, count=COUNT, point=""):
    command = [sys.executable, str(Path("tests") / "crash" / "transformer.py"), name_server, str(count), point]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def fill(name_server):
    async with AtomicProducer(name_server, "filler") as producer:
        for topic in (SOURCE, *TARGETS):
            await producer.create_topic(topic, queues=1)
        async with producer.transaction():
            for number in NUMBERS:
                await producer.send(Message(SOURCE, number.encode()), queue=MessageQueue(SOURCE, "broker-a", 0))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    store = tmp_path_factory.mktemp("filled") / "store"
    with worker(store) as driver:
        asyncio.run(fill(driver.wait_ready().name_server))
        assert driver.end_input() == 0
    return store


@pytest.fixture
def store(filled, tmp_path):
    return Path(shutil.copytree(filled, tmp_path / "store"))


async def seen(broker, topic):
    """Bodies that committed readers get."""
    pool = ConnectionPool()
    try:
        bodies, offset = [], 0
        while True:
            found, following = await read(pool, broker, topic, offset, 32)
            bodies += found
            if following == offset:
                return bodies
            offset = following
    finally:
        await pool.close()


async def reached(broker):
    """Position of the group."""
    pool = ConnectionPool()
    try:
        return await position(pool, broker)
    finally:
        await pool.close()


def end_of(transformer):
    """Whether a transformer reached its number, once it has ended; one that learned of a crash may have given up."""
    _output, error = transformer.communicate(timeout=SECONDS)
    assert transformer.returncode in (0, 1), error
    return transformer.returncode == 0


def finish(driver, running=None):
    """Let transformers work, the running one first, until all is done; then every output is there once."""
    ready = driver.wait_ready()
    if running is not None:
        end_of(running)
    assert any(end_of(start_transformer(ready.name_server)) for _attempt in range(10))
    for topic in TARGETS:
        bodies = asyncio.run(seen(ready.broker, topic))
        assert len(bodies) == COUNT, (len(bodies), [body for body, times in Counter(bodies).items() if times > 1][:9])
        assert bodies == NUMBERS
    assert asyncio.run(reached(ready.broker)) == COUNT


def work_until_dead(driver, name_server, count, running):
    """Let transformers work up to a number until the broker has killed itself; returns one that still runs."""
    deadline = time.monotonic() + SECONDS
    has_target = False
    while driver.process.poll() is None:
        assert time.monotonic() < deadline, "the point was not reached"
        if running is None or running.poll() is not None:
            is_done = running is not None and end_of(running) and has_target
            running = None if is_done else start_transformer(name_server, count)
            has_target = True
            if is_done:
                driver.process.wait(SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.process.wait(0.05)
    assert driver.process.returncode == -signal.SIGKILL
    return running


def check_all_or_nothing(broker):
    """Whole batches only, and in all targets alike, however it was interrupted."""
    outputs = [asyncio.run(seen(broker, topic)) for topic in TARGETS]
    assert outputs == [NUMBERS[: len(outputs[0])]] * len(TARGETS)
    assert len(outputs[0]) % BATCH == 0


def pause(running):
    """Let a producer notice nothing of the restart until it was looked at what the crash has left."""
    if running is not None:
        running.send_signal(signal.SIGSTOP)


def check_while_paused(broker, running):
    check_all_or_nothing(broker)
    if running is not None:
        running.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("chain", range(CHAINS))
def test_the_broker_dies_and_a_producer_that_lives_goes_on(store, chain):
    running, like = None, None
    try:
        for number, point in enumerate(list(BROKER)[chain::CHAINS], 1):
            print(point)
            with worker(store, point, like=like) as driver:
                like = driver.wait_ready()
                check_while_paused(like.broker, running)
                running = work_until_dead(driver, like.name_server, number * PART, running)
                pause(running)
        with worker(store, like=like) as driver:
            check_while_paused(driver.wait_ready().broker, running)
            finish(driver, running)
            assert driver.end_input() == 0
    finally:
        if running is not None and running.poll() is None:
            running.kill()
            running.communicate()


def test_the_producer_dies_and_the_next_instance_goes_on(store):
    with worker(store) as driver:
        ready = driver.wait_ready()
        for number, point in enumerate(PRODUCER, 1):
            print(point)
            dying = start_transformer(ready.name_server, number * PART, point)
            _output, error = dying.communicate(timeout=SECONDS)
            assert dying.returncode == -signal.SIGKILL, error
            check_all_or_nothing(ready.broker)
        finish(driver)
        assert driver.end_input() == 0


def test_the_broker_dies_again_while_it_reads_back(store):
    leave_open_and_kill(store)
    for point in READING_BACK:
        print(point)
        with worker(store, point) as driver:
            assert driver.process.wait(SECONDS) == -signal.SIGKILL, "the point was not reached"
    with worker(store) as driver:
        check_all_or_nothing(driver.wait_ready().broker)
        finish(driver)
        assert driver.end_input() == 0


def leave_open_and_kill(store):
    """A broker that dies in the middle of a transaction, with its producer."""
    with worker(store, "5 and 10 message stored, not answered") as driver:
        running = start_transformer(driver.wait_ready().name_server)
        assert driver.process.wait(SECONDS) == -signal.SIGKILL
        running.kill()
        running.communicate()
