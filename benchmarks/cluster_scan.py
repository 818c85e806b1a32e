"""A search by scan of a cluster against plain pulls of the same queues: `python -m benchmarks.cluster_scan [--messages N]`.

A topic of 8 queues is served over loopback by our broker in a process of its own, or by a cluster that runs (``--ns``). In
turn all of it is pulled by a Java ``DefaultMQPullConsumer`` (``--java VERSION`` of its client; needs Java and Maven), pulled
raw by our own client, one pull at a time, and searched: by filters that no message passes, one of heads and one of bodies.
Messages a second; the ratio to the Java client is what holds on another machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import statistics
import tempfile
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.puller import PULL_MESSAGES
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.transport.event_loop import new_event_loop
from tests.support.broker_process import running_broker
from tests.support.java_tools import JavaProgram

TOPIC, QUEUES = "BenchScanned", 8
BODY = b'{"order": 4711, "city": "here"}' * 10
BATCH = 100
JAVA_ROUNDS = 4
SEARCHES = {"search by heads": "size < 10", "search by bodies": 'body contains "nowhere"'}


class Rate(NamedTuple):
    """How fast a way is, and what it takes."""

    messages_a_second: float
    processor_us: float = math.nan
    """Of our own process, a message."""


async def fill(name_server: str, count: int) -> None:
    """Make the topic, unless it is full already."""
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        await admin.create_topic(TOPIC, queues=QUEUES)
        held = await admin.topic_stats(TOPIC)
        queues = sorted(await producer.queues(TOPIC))
        for start in range(sum(queue.max_offset for queue in held.values()), count, BATCH):
            batch = [Message(TOPIC, BODY, keys=(f"k{number}",)) for number in range(start, start + BATCH)]
            await producer.send_batch(batch, queue=queues[start // BATCH % len(queues)])


async def pull_all(name_server: str) -> Rate:
    """Plain pulls, one at a time, undecoded."""
    async with AdminClient(name_server) as admin:
        route = await admin.readable_route(TOPIC)
        began, used, count = time.perf_counter(), time.process_time(), 0
        for queue, held in (await admin.topic_stats(TOPIC)).items():
            address = route.address_of(queue.broker_name)
            assert address is not None
            offset = held.min_offset
            while offset < held.max_offset:
                _body, following = await admin.pull_records(address, queue, offset, PULL_MESSAGES)
                count, offset = count + following - offset, following
        return Rate(count / (time.perf_counter() - began), (time.process_time() - used) / count * 1e6)


async def search_all(name_server: str, text: str) -> Rate:
    """A search."""
    async with AdminClient(name_server) as admin:
        began, used = time.perf_counter(), time.process_time()
        search = ClusterSearch(admin, parse_filter(f'topic = "{TOPIC}" and {text}', now_ms=0))
        await search.prepare()
        async for _step in search.steps():
            pass
        assert search.outcome is not None
        assert search.outcome.is_complete, str(search.outcome)
        count = search.outcome.scanned
        return Rate(count / (time.perf_counter() - began), (time.process_time() - used) / count * 1e6)


def carried_out(work: Coroutine[Any, Any, Rate]) -> Rate:
    """On a loop as the window's worker and the command have it."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


@contextlib.contextmanager
def served(name_server: str | None, folder: Path) -> Iterator[str]:
    """A name server to ask."""
    if name_server is not None:
        yield name_server
        return
    with running_broker(folder / "store") as broker:
        yield broker.name_server


def java_pulls(version: str, folder: Path) -> JavaProgram:
    """The program that pulls with a version of Java's client, with the compiler that optimizes."""
    folder.mkdir()
    return JavaProgram.compile("JavaPulls.java", version, folder, options=())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ns", help="name server of a cluster that runs; it gets the topic")
    parser.add_argument("--java", default="4.9.4", metavar="VERSION", help="of the Java client; empty: go without")
    arguments = parser.parse_args()
    rates: dict[str, list[Rate]] = {}
    with tempfile.TemporaryDirectory() as folder, served(arguments.ns, Path(folder)) as name_server:
        asyncio.run(fill(name_server, arguments.messages))
        java = java_pulls(arguments.java, Path(folder) / "java") if arguments.java else None
        for _round in range(arguments.rounds):
            if java is not None:
                # The last of several, when Java has compiled what it uses.
                lines = [line.split() for line in java.run("JavaPulls", name_server, TOPIC, JAVA_ROUNDS)]
                count, seconds = [words for words in lines if len(words) == 2 and words[0].isdecimal()][-1]
                rates.setdefault("Java pulls", []).append(Rate(int(count) / float(seconds)))
            rates.setdefault("our pulls, one at a time", []).append(carried_out(pull_all(name_server)))
            for name, text in SEARCHES.items():
                rates.setdefault(name, []).append(carried_out(search_all(name_server, text)))
    first = next(iter(rates))
    base = statistics.median(rate.messages_a_second for rate in rates[first])
    for name, told in rates.items():
        rate = statistics.median(one.messages_a_second for one in told)
        used = statistics.median(one.processor_us for one in told)
        print(f"{name:<26}{rate:>10,.0f} messages/s   {rate / base:.2f} of {first}   {used:.1f} µs of our processor each")


if __name__ == "__main__":
    main()
