"""What producers notice of a consumer that catches up: `python -m benchmarks.cold_reader [--mib N] [--seconds N]`.

A store is filled and its pages are dropped from memory; a broker serves it. A paced producer with one send in flight
measures its round trips for a while alone, while a consumer pulls from the start, while it does so again from what is in
memory now, and alone again. The client ends share the processors with the broker: what a reader from memory costs is their
part, what a cold one costs beyond that is the disk's. Bounded by ``--seconds`` for each of the four.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.codes import RequestCode, ResponseCode, SerializeType
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.transport.client import ConnectionPool
from tests.support.broker_process import running_broker

_HOST = HostAddress.parse("127.0.0.1:10911")
_OLD, _NEW = "Old", "New"
_BATCH = 200
_BODY = bytes(range(256)) * 4
_GAP_S = 0.002
_PULL_MESSAGES = 32
_PULL_FLAGS = "4"  # with its subscription, not held


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Milliseconds."""

    p50: float
    p99: float
    worst: float
    count: int

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms, worst {self.worst:.1f} ms ({self.count:,} sends)"


def fill(root: Path, log_bytes: int) -> None:
    """A store of old messages, none of whose pages are in memory."""
    batch = encode_batch([BatchMember(0, _BODY, b"TAGS\x01TagA")] * _BATCH)
    message = MessageToStore(_OLD, 0, 0, 0, 1, _HOST, _HOST, 0, 0, batch, b"CLUSTER\x01DefaultCluster")
    with MessageStore.open(StoreConfig(root=root, message_index=False)) as store:
        while store.commit_log_max_offset < log_bytes:
            store.put_batch(message)
    drop_pages(root)


def drop_pages(root: Path) -> None:
    """Have the system forget what it has in memory of a directory's files."""
    for path in root.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


async def round_trips_ms(address: str, seconds: float) -> list[float]:
    """Round trips of paced sends, one in flight."""
    client = ConnectionPool()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        fields = {"a": "P", "b": _NEW, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": str(int(time.time() * 1000)), "h": "0"}
        send = RemotingCommand(
            RequestCode.SEND_MESSAGE_V2,
            fields | {"i": "TAGS\x01a", "j": "0"},
            _BODY[:128],
            serialize_type=SerializeType.ROCKETMQ,
        )
        start = time.perf_counter()
        answer = await client.request(address, send)
        taken.append((time.perf_counter() - start) * 1e3)
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        await asyncio.sleep(_GAP_S)
    await client.close()
    return taken


def summed_up(taken: list[float]) -> RoundTrips:
    """What many round trips were like."""
    ordered = sorted(taken)
    return RoundTrips(ordered[len(taken) // 2], ordered[len(taken) * 99 // 100], ordered[-1], len(taken))


async def produce(address: str, seconds: float) -> RoundTrips:
    """Round trips of paced sends."""
    return summed_up(await round_trips_ms(address, seconds))


async def _catch_up(address: str, stop: Event) -> tuple[int, float]:
    client = ConnectionPool()
    offset = size = 0
    start = time.perf_counter()
    while not stop.is_set():
        fields = {
            "consumerGroup": "C", "topic": _OLD, "queueId": "0", "queueOffset": str(offset), "maxMsgNums": str(_PULL_MESSAGES),
            "sysFlag": _PULL_FLAGS, "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
        }  # fmt: skip
        answer = await client.request(
            address, RemotingCommand(RequestCode.PULL_MESSAGE, fields, serialize_type=SerializeType.ROCKETMQ)
        )
        if answer.code != ResponseCode.SUCCESS:
            break
        offset, size = int(answer.ext_fields["nextBeginOffset"]), size + len(answer.body)
    taken = time.perf_counter() - start
    await client.close()
    return size, taken


def _reader(address: str, stop: Event, result: multiprocessing.SimpleQueue[tuple[int, float]]) -> None:
    result.put(asyncio.run(_catch_up(address, stop)))


def with_reader(address: str, seconds: float) -> tuple[RoundTrips, int, float]:
    """Round trips beside a consumer in a process of its own; bytes it pulled, and in what time."""
    context = multiprocessing.get_context("spawn")
    stop, result = context.Event(), context.SimpleQueue()
    reader = context.Process(target=_reader, args=(address, stop, result))
    reader.start()
    trips = asyncio.run(produce(address, seconds))
    stop.set()
    size, taken = result.get()
    reader.join()
    return trips, size, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=2048, help="old messages (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement (default: %(default)s)")
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="orbit-cold-"))
    try:
        fill(place / "store", arguments.mib << 20)
        with running_broker(place / "store") as broker:
            asyncio.run(produce(broker.broker, 1))
            before = asyncio.run(produce(broker.broker, arguments.seconds))
            cold, cold_bytes, cold_s = with_reader(broker.broker, arguments.seconds)
            hot, hot_bytes, hot_s = with_reader(broker.broker, arguments.seconds)
            after = asyncio.run(produce(broker.broker, arguments.seconds))
    finally:
        shutil.rmtree(place)
    print(f"alone:                {before}")
    print(f"beside a cold reader: {cold}; it pulled {cold_bytes / 1e6:,.0f} MB at {cold_bytes / cold_s / 1e6:,.0f} MB/s")
    print(f"the same from memory: {hot}; it pulled {hot_bytes / 1e6:,.0f} MB at {hot_bytes / hot_s / 1e6:,.0f} MB/s")
    print(f"alone again:          {after}")
    alone = min(before.p99, after.p99)
    print(f"p99 with a cold reader : with one from memory : alone = {cold.p99 / alone:.1f} : {hot.p99 / alone:.1f} : 1")


if __name__ == "__main__":
    main()
