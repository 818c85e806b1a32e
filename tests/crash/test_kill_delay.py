"""kill -9 while messages wait, are delivered and are cancelled: none is lost, none cancelled comes, order is kept."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections import Counter
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.protocol.message.record import decode_record
from tests.crash.delayer import LEVELS, QUEUES, TOPIC, delay_config, delay_until_killed, fast_clock
from tests.support.clock import ManualClock
from tests.support.fork_server import fork_server
from tests.support.schedule_bench import ManualTimers

KILLS_A_STORE = 5
SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))

pytestmark = pytest.mark.crash


@pytest.fixture(scope="module")
def processes():
    with fork_server("tests.crash.delayer") as made:
        yield made


@pytest.mark.parametrize("number", [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 30))])
def test_delayed_messages_survive_kills(processes, tmp_path, number):
    seed = SEED % 1_000 + 100 * number
    print(f"kills by seed {seed}")
    randomness = random.Random(seed)
    began_s = time.time()
    told: dict[str, set[int]] = {"sent": set(), "cancelled": set(), "early": set()}
    unsettled: set[int] = set()
    for kill in range(KILLS_A_STORE):
        lines = run_and_kill(processes, tmp_path / "store", seed + kill, began_s, lines_before=randomness.randrange(20, 250))
        for line in lines:
            what, _, name = line.partition(" ")
            told[what].add(int(name))
        # The kill may have come between an action on the last message and its being told.
        unsettled.add(int(lines[-1].partition(" ")[2]))
    delivered = drain(tmp_path / "store", fast_clock(began_s)() + 60_000)
    counts = Counter(name for queue in delivered for name, _level in queue)
    assert told["sent"] - told["cancelled"] - unsettled <= counts.keys()
    assert not told["cancelled"] & counts.keys()
    assert len(told["sent"]) > 20 * KILLS_A_STORE
    assert told["cancelled"]
    assert told["early"]
    for queue in delivered:
        for level in range(1, LEVELS + 1):
            by_time = told["sent"] - told["early"] - unsettled
            first = list(dict.fromkeys(name for name, of in queue if of == level and name in by_time))
            assert first == sorted(first)


def run_and_kill(processes: ForkServerContext, root: Path, seed: int, began_s: float, *, lines_before: int) -> list[str]:
    """Let it work until it told some lines, then kill it wherever it is by then; returns what was told."""
    output, told = processes.Pipe(duplex=False)
    process = processes.Process(target=delay_until_killed, args=(root, seed, began_s, told), daemon=True)
    process.start()
    told.close()
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    lines: list[str] = []
    with open(os.dup(output.fileno()), encoding="ascii") as stream:  # noqa: PTH123  a descriptor
        for line in stream:
            lines.append(line)
            if len(lines) == lines_before:
                process.kill()
    watchdog.cancel()
    process.join()
    output.close()
    assert process.exitcode == -signal.SIGKILL
    process.close()
    assert lines[0] == "ready\n"
    return [line.strip() for line in lines[1:] if line.endswith("\n")]


def drain(root: Path, now_ms: int) -> list[list[tuple[int, int]]]:
    """Deliver everything that still waits; returns number and level of all deliveries of each queue."""
    clock = ManualClock(now_ms)
    with MessageStore.open(delay_config(root), clock=clock) as store:
        timers, config = ManualTimers(clock), root / "config"
        journal = ActionJournal(config, clock=clock)
        service = DelayService(store, ConfigFiles(config), journal, clock=clock, timers=timers, save_interval_ms=1 << 40)
        service.start()
        timers.advance(0)
        while any(figures.pending for figures in service.console.figures()):
            timers.advance(0)
        asyncio.run(service.stop())
        return [deliveries(store, queue_id) for queue_id in range(QUEUES)]


def deliveries(store: MessageStore, queue_id: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while len(found) < store.max_offset(TOPIC, queue_id):
        for record in store.get_messages(TOPIC, queue_id, len(found), 32).records:
            message = decode_record(record)
            assert message.properties["UNIQ_KEY"] == message.body.decode()
            found.append((int(message.body), int(message.properties["DELAY"])))
    return found
