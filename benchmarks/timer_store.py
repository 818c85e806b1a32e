"""What a million pending timers cost: inserts beside normal puts, in turns and in one process; memory; start after a kill.

    python -m benchmarks.timer_store [MESSAGES]

An insert is the put into the wheel topic and the way into wheel and timer log; normal puts are of the same bytes to an ordinary
topic, in turns with them. Seconds are those of the processor, as the machine may be busy. Memory is the process's own
(anonymous) pages, which the wheel and the unwritten log are part of.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.config import StoreConfig
from broker_core.engine.schedule.timer.checkpoint import TimerCheckpoint, load_checkpoint
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.recovery import open_timer_store
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.work import TimerWork
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

MESSAGES = 1_000_000
ROUND = 20_000
SPAN_MS = 86_400_000
HOST = HostAddress.parse("127.0.0.1:10911")
SETTINGS = TimerSettings()


def own_memory_mib() -> float:
    """Anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not tell the memory of a process")


def open_timers(store: MessageStore) -> TimerWork:
    """Open the timers of a store as a broker does."""
    source, history = StoreSource(store, store.commit_log_max_offset), PrecisionHistory(1_000, [(0, 1_000)])
    paths, disk = TimerPaths(store.config.root), Disk()
    checkpoint = load_checkpoint(paths.checkpoint, disk, holds_timers=lambda: False).value or TimerCheckpoint()
    opened = open_timer_store(paths, SETTINGS, source, history, checkpoint, now_ms=wall_clock_ms(), disk=disk)
    return TimerWork(opened.store, source, history, put=store.put)


def put(store: MessageStore, topic: str, properties: bytes) -> None:
    """Store one message of 256 bytes."""
    store.put(MessageToStore(topic, 0, 0, 0, 1, HOST, HOST, 0, 0, b"b" * 256, properties))


def properties_of(number: int, out_ms: int) -> bytes:
    """Those of a timer message that a Java client has sent."""
    text = (
        f"UNIQ_KEY\x01FD0000000000000000000000000000{number:016X}\x02KEYS\x01K{number}\x02"
        f"TIMER_DELIVER_MS\x01{out_ms + 500}\x02TAGS\x01TagA\x02CLUSTER\x01DefaultCluster\x02"
        f"TIMER_OUT_MS\x01{out_ms}\x02REAL_TOPIC\x01Orders\x02REAL_QID\x013"
    )
    return text.encode()


def fill(store: MessageStore, work: TimerWork, messages: int) -> tuple[float, float]:
    """Put timers and normal messages in turns; returns seconds of each."""
    timers = normal = 0.0
    randomness = random.Random(1)
    begin_ms = wall_clock_ms() // 1_000 * 1_000 + 3_600_000
    for start in range(0, messages, ROUND):
        batch = [
            properties_of(n, begin_ms + randomness.randrange(SPAN_MS // 1_000) * 1_000) for n in range(start, start + ROUND)
        ]
        began = time.process_time()
        for properties in batch:
            put(store, "Orders", properties)
        normal += time.process_time() - began
        began = time.process_time()
        for properties in batch:
            put(store, WHEEL_TIMER_TOPIC, properties)
        while work.turn(wall_clock_ms()) == 0:
            pass
        timers += time.process_time() - began
        flush = work.store.flush(wall_clock_ms())
        if flush is not None:
            work.store.write(flush)
            work.store.written(flush)
    return timers, normal


def main() -> None:
    """Run and print."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    with tempfile.TemporaryDirectory() as directory:
        config = StoreConfig(root=Path(directory) / "store", message_index=False)
        with MessageStore.open(config) as store:
            for number in range(ROUND):
                put(store, "Warm", properties_of(number, 0))
            before = own_memory_mib()
            work = open_timers(store)
            timers, normal = fill(store, work, messages)
            print(f"pending          {work.store.waiting:,}")
            print(f"normal puts      {messages / normal:10,.0f} /s")
            print(f"timer inserts    {messages / timers:10,.0f} /s   {normal / timers:.2f} of normal puts")
            print(f"memory           {own_memory_mib() - before:10.1f} MiB more than before")
            del work
            began = time.process_time()
            work = open_timers(store)
            print(f"opened again     {time.process_time() - began:10.2f} s   {work.store.waiting:,} pending")
            print(f"memory           {own_memory_mib() - before:10.1f} MiB more than before")


if __name__ == "__main__":
    main()
