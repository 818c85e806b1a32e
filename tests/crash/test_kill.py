from __future__ import annotations

import os
import random
import signal
import threading
import zlib
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path

import pytest

from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import check_record, decode_record
from tests.crash.writer import QUEUES, TOPIC, crash_config, tell_until_killed
from tests.support.fork_server import fork_server, plain_processes
from tests.support.store_check import check_closed_store

KILLS_A_STORE = 10
STORES_NORMAL = 5
STORES_LONG = 100
SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]  # ten kills and recoveries each, on whatever machine


@pytest.fixture(scope="module", params=["own ways", "plain ways"])
def processes(request):
    by_fork = fork_server("tests.crash.writer")
    with by_fork if request.param == "own ways" else plain_processes() as made:
        yield made


@pytest.mark.parametrize(
    "number", [*range(STORES_NORMAL), *(pytest.param(n, marks=pytest.mark.slow) for n in range(STORES_NORMAL, STORES_LONG))]
)
def test_nothing_acknowledged_is_lost_and_nothing_torn_is_served(processes, tmp_path, number):
    seed = SEED + 1_000 * number
    print(f"kills by seed {seed}")
    randomness = random.Random(seed)
    acknowledged: dict[int, tuple[int, ...]] = {}
    for kill in range(KILLS_A_STORE):
        acknowledged |= run_and_kill(
            processes, tmp_path / "store", seed=seed + kill, lines_before=randomness.randrange(1, 1_000)
        )
        check_store(tmp_path / "store", acknowledged)
    assert len(acknowledged) > 50 * KILLS_A_STORE


def run_and_kill(
    processes: ForkServerContext | SpawnContext, root: Path, *, seed: int, lines_before: int
) -> dict[int, tuple[int, ...]]:
    """Let a writer acknowledge some messages, then kill it wherever it is by then."""
    output, told = processes.Pipe(duplex=False)
    process = processes.Process(target=tell_until_killed, args=(root, seed, told), daemon=True)
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
    whole = [line for line in lines[1:] if line.endswith("\n")]
    rows = [tuple(int(part) for part in line.split()) for line in whole]
    return {row[0]: row[1:] for row in rows if len(row) == 5}


def check_store(root: Path, acknowledged: dict[int, tuple[int, ...]]) -> None:
    assert (root / "abort").exists()
    with MessageStore.open(crash_config(root)) as store:
        served: dict[int, tuple[int, int, int, int]] = {}
        for queue_id in range(QUEUES):
            number = 0
            while number < store.max_offset(TOPIC, queue_id):
                found = store.get_messages(TOPIC, queue_id, number, 32)
                assert found.records
                for record in found.records:
                    head = check_record(record, 0, len(record), check_crc=True).head
                    stored = decode_record(record)
                    assert (head.queue_id, head.queue_offset, stored.topic) == (queue_id, number, TOPIC)
                    assert stored.properties in ({"TAGS": "TagA"}, {"K": "v", "TAGS": "TagA"})
                    served[head.physical_offset] = (head.size, queue_id, number, zlib.crc32(record))
                    number += 1
    lost = {offset: facts for offset, facts in acknowledged.items() if served.get(offset) != facts}
    assert not lost
    assert check_closed_store(root) == len(served)
