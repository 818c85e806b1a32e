"""A worker with atomic transactions, a topic of numbers, and transformers that copy them to two others, seven at a time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.message import Message
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.json_body import MessageQueue
from broker_core.transport.client import ConnectionPool
from broker_core.worker.questions.lifecycle import Ready
from tests.crash.transformer import BATCH, SOURCE, TARGETS, position, read
from tests.support.broker_process import CHECKOUT
from tests.support.worker_driver import WorkerDriver

SECONDS = 120
"""For what takes a few on a quiet machine."""
PART = 5 * BATCH
"""Numbers that are transformed around one crash."""
SETTINGS = (
    "orbitAtomicTransactions=true", "mappedFileSizeCommitLog=1048576", "mappedFileSizeConsumeQueue=20000",
    "maxHashSlotNum=1000", "maxIndexNum=4000", "flushConsumerOffsetInterval=1000",
)  # fmt: skip


def worker(store: Path, prelude: str = "", *, like: Ready | None = None) -> WorkerDriver:
    """A broker in a process of its own; at the addresses of another one if that is given."""
    more = [word for setting in SETTINGS for word in ("--set", setting)]
    if like is not None:
        ports = [address.rpartition(":")[2] for address in (like.name_server, like.broker)]
        more += ["--ns-port", ports[0], "--port", ports[1]]
    return WorkerDriver(store, more, prelude=prelude)


def embedded(store: Path) -> EmbeddedBroker:
    """The same broker in this process."""
    files = StoreConfig(
        root=store,
        commit_log_file_bytes=1_048_576,
        consume_queue_file_bytes=20_000,
        max_hash_slots=1_000,
        max_index_items=4_000,
    )
    return EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=files, atomic_transactions=True))


def dying_at(point: str) -> str:
    """Prelude of a worker that kills itself at a point of `atomic_kill_points`."""
    points = "{**points.BROKER, **points.READING_BACK}"
    return f"from tests.support import atomic_kill_points as points\n{points}[{point!r}]()"


def numbers(count: int) -> list[str]:
    """What the source holds, and each target in the end."""
    return [str(number) for number in range(count)]


def filled(store: Path, count: int) -> Path:
    """Make a store whose source has so many numbers."""

    async def fill(name_server: str) -> None:
        async with AtomicProducer(name_server, "filler") as producer:
            for topic in (SOURCE, *TARGETS):
                await producer.create_topic(topic, queues=1)
            async with producer.transaction():
                for number in numbers(count):
                    await producer.send(Message(SOURCE, number.encode()), queue=MessageQueue(SOURCE, "broker-a", 0))

    with worker(store) as driver:
        asyncio.run(fill(driver.wait_ready().name_server))
        assert driver.end_input() == 0
    return store


async def seen(broker: str, topic: str) -> list[str]:
    """Bodies that committed readers get."""
    pool = ConnectionPool()
    try:
        bodies: list[str] = []
        offset = 0
        while True:
            found, following = await read(pool, broker, topic, offset, 32)
            bodies += found
            if following == offset:
                return bodies
            offset = following
    finally:
        await pool.close()


async def reached(broker: str) -> int:
    """Position of the group."""
    pool = ConnectionPool()
    try:
        return await position(pool, broker)
    finally:
        await pool.close()


async def check_all_or_nothing(broker: str) -> int:
    """Whole batches only, and in all targets alike, however it was interrupted; returns how many numbers that are.

    The targets are read one after the other, and the end that a producer asked for before it died may come in between: what two
    readings agree on counts.
    """
    outputs, before = await _outputs(broker), None
    while outputs != before:
        outputs, before = await _outputs(broker), outputs
    assert outputs == [numbers(len(outputs[0]))] * len(TARGETS)
    assert len(outputs[0]) % BATCH == 0
    return len(outputs[0])


async def _outputs(broker: str) -> list[list[str]]:
    return [await seen(broker, topic) for topic in TARGETS]


async def check_exactly_once(broker: str, count: int) -> None:
    """Every number is in every target once, in order, and the group behind the last."""
    for topic in TARGETS:
        bodies = await seen(broker, topic)
        assert len(bodies) == count, (len(bodies), [body for body, times in Counter(bodies).items() if times > 1][:9])
        assert bodies == numbers(count)
    assert await reached(broker) == count


@dataclass(slots=True)
class Transformer:
    """One in a process of its own."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name_server: str, count: int, point: str = "") -> Transformer:
        """One that ends at a number, or dies at a point of `atomic_kill_points.PRODUCER`."""
        command = [sys.executable, str(Path("tests") / "crash" / "transformer.py"), name_server, str(count), point]
        return cls(subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def end(self) -> bool:
        """Wait for it: whether it reached its number; one that learned of a crash may have given up."""
        _output, error = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode in (0, 1), error
        return self.process.returncode == 0

    def kill(self) -> int:
        """Kill it; returns up to where it knows its numbers committed."""
        self.process.kill()
        output, _error = self.process.communicate()
        whole, _end, _begun = output.rpartition("\n")
        return int(whole.rpartition("\n")[2] or 0)


def finish(ready: Ready, count: int, running: Transformer | None = None) -> None:
    """Let transformers work, the running one first, until all is done; then every output is there once."""
    if running is not None:
        running.end()
    assert any(Transformer.start(ready.name_server, count).end() for _attempt in range(10))
    asyncio.run(check_exactly_once(ready.broker, count))
