"""Kills of the real broker while timers come in and go out: none is lost, none comes early."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import OrbitError
from broker_core.protocol.message.record import decode_record
from tests.support.broker_process import running_broker
from tests.support.waiting import LOOK_PAUSE_S, wait_until

TOPIC = "killed-timers"
SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))

pytestmark = [pytest.mark.usefixtures("both_platforms"), pytest.mark.crash, pytest.mark.timeout(240)]


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)])])
def test_no_timer_is_lost_and_none_comes_early(tmp_path, kills):
    print(f"kills by seed {SEED}")
    randomness = random.Random(SEED)
    store = tmp_path / "store"
    due: dict[str, int] = {}
    for number in range(kills):
        with pytest.raises(AssertionError), running_broker(store) as broker:
            asyncio.run(send_until_killed(broker.name_server, broker.process, due, number, randomness))
    with running_broker(store):
        wait_for(store, due, seconds=60)
    check(store, due)


async def send_until_killed(
    name_server: str, broker: subprocess.Popen[str], due: dict[str, int], round_number: int, randomness: random.Random
) -> None:
    """Send timers of up to three seconds, and kill the broker in the midst of it."""
    stop_at = randomness.randrange(50, 300)
    async with Producer(name_server, "PG") as producer:
        for number in range(stop_at):
            key = f"{round_number}-{number}"
            due_ms = time.time_ns() // 1_000_000 + randomness.randrange(100, 3_000)
            message = Message(TOPIC, key.encode(), keys=(key,), properties={"TIMER_DELIVER_MS": str(due_ms)})
            try:
                await producer.send(message)
            except OrbitError:
                break
            due[key] = due_ms
        broker.kill()


def wait_for(root: Path, due: dict[str, int], *, seconds: float) -> None:
    """Until every message is there, by a look at the files."""

    def missing() -> set[str]:
        return due.keys() - {key for key, _at in delivered(root)}

    wait_until(lambda: not missing(), lambda: f"still missing: {len(missing())}", deadline_s=seconds, pause_s=LOOK_PAUSE_S)


def check(root: Path, due: dict[str, int]) -> None:
    assert due
    came = delivered(root)
    assert {key for key, _at in came} >= due.keys()
    assert all(at_ms >= due[key] for key, at_ms in came if key in due)


def delivered(root: Path) -> list[tuple[str, int]]:
    """Body and store time of each message of the topic."""
    found: list[tuple[str, int]] = []
    with MessageStore.open(StoreConfig(root=root), read_only=True) as store:
        for topic, queue_id in store.queues():
            offset = store.min_offset(topic, queue_id)
            while topic == TOPIC and offset < store.max_offset(topic, queue_id):
                records = store.get_messages(topic, queue_id, offset, 32).records
                if not records:
                    break
                found += [(stored.body.decode(), stored.store_timestamp_ms) for stored in map(decode_record, records)]
                offset += len(records)
    return found
