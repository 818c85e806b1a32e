from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from broker_core.message.record import check_record, decode_record
from broker_core.store.message_store import MessageStore
from tests.crash.writer import QUEUES, TOPIC, crash_config
from tests.support.store_check import check_closed_store

CHECKOUT = Path(__file__).resolve().parents[2]
KILLS_NORMAL = 8
KILLS_LONG = 200
SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("kills", [KILLS_NORMAL, pytest.param(KILLS_LONG, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_nothing_acknowledged_is_lost_and_nothing_torn_is_served(tmp_path, kills):
    randomness = random.Random(SEED)
    acknowledged: dict[int, tuple[int, int, int, int]] = {}
    for round_number in range(kills):
        acknowledged |= run_and_kill(tmp_path / "store", seed=SEED + round_number, lines_before=randomness.randrange(1, 1500))
        check_store(tmp_path / "store", acknowledged)
    assert len(acknowledged) > 100 * kills


def run_and_kill(root: Path, *, seed: int, lines_before: int) -> dict[int, tuple[int, int, int, int]]:
    """Let a writer acknowledge some messages, then kill it wherever it is by then."""
    command = [sys.executable, "-m", "tests.crash.writer", str(root), str(seed)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if len(lines) == lines_before:
                process.send_signal(signal.SIGKILL)
        watchdog.cancel()
    assert process.returncode == -signal.SIGKILL
    whole = [line for line in lines[1:] if line.endswith("\n")]
    rows = [tuple(int(part) for part in line.split()) for line in whole]
    return {row[0]: row[1:] for row in rows if len(row) == 5}


def check_store(root: Path, acknowledged: dict[int, tuple[int, int, int, int]]) -> None:
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
