"""The power fails while a worker is at a crash point of transactions: of both kinds, with what the disk may hold then.

The machine crash of the table of half messages (docs/spec/broker.md §4.9) and the power cut of the one of atomic transactions
(docs/spec/kafka.md §2, row 28). `tests.support.power_cut_worker` makes the images; a worker is really killed at each point.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from broker_core.client.atomic_producer import AtomicError
from broker_core.protocol.names import HALF_TOPIC, OP_TOPIC
from tests.crash.test_transaction_kill import kill_at, send_and_die, settle
from tests.crash.test_transaction_kill import worker as half_worker
from tests.crash.transformer import transform
from tests.support.atomic_kill_points import BROKER
from tests.support.atomic_run import (
    PART,
    SECONDS,
    Transformer,
    check_all_or_nothing,
    check_exactly_once,
    dying_at,
    embedded,
    filled,
    worker,
)
from tests.support.store_check import check_closed_store

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(3_600)]

SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))


def losing_power(store, images, count, seed):
    print(f"power cut by seed {seed} (ORBIT_CRASH_SEED)")
    return (
        f"from tests.support import power_cut_worker\npower_cut_worker.arm({str(store)!r}, {str(images)!r}, {seed}, {count})\n"
    )


def images_of(place, count):
    found = [place / str(number) / "store" for number in range(count)]
    for image in found:
        image.mkdir(parents=True, exist_ok=True)  # nothing may be on the disk at all
    return found


# ---- atomic ----


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filled") / "store", PART)


def cut_atomic(full, place, point, count, seed):
    """Lose power at a point; returns the images, and up to where the producer knows its numbers committed."""
    store, images = Path(shutil.copytree(full, place / "store")), place / "images"
    with worker(store, losing_power(store, images, count, seed) + dying_at(point)) as driver:
        running = Transformer.start(driver.wait_ready().name_server, PART)
        try:
            assert driver.process.wait(SECONDS) == -signal.SIGKILL
        finally:
            known = running.kill()
    return images_of(images, count), known


async def goes_on(image, known):
    """A broker on an image: all or nothing of each transaction, nothing of what is known; then every input once."""
    broker = embedded(image)
    await broker.start()
    try:
        assert await check_all_or_nothing(broker.broker_address) >= known
        await work(broker.name_server_address)
        await check_exactly_once(broker.broker_address, PART)
    finally:
        await broker.stop()
    check_closed_store(image)


async def work(name_server):
    """A slow machine lets a transaction run into its time-out: then another one is begun."""
    for _attempt in range(9):
        with contextlib.suppress(AtomicError):
            return await transform(name_server, PART)
    return await transform(name_server, PART)


def check_atomic(full, place, point, count, seed):
    images, known = cut_atomic(full, place, point, count, seed)
    for image in images:
        asyncio.run(goes_on(image, known))


ATOMIC = [point for point in BROKER if not point.startswith("30 ")]
"""Of snapshots the second one may come after all work, which is done once here."""


@pytest.mark.parametrize("point", ATOMIC)
def test_after_a_power_cut_at_any_point_an_atomic_transaction_is_whole(full, tmp_path, point):
    check_atomic(full, tmp_path, point, 8, SEED)


# ---- half messages ----

BODIES = [b"commit 1", b"rollback 1", b"commit 2", b"rollback 2", b"commit 3"]
MOMENTS = {
    "half message not stored": kill_at(HALF_TOPIC, before=True, number=2),
    "half message stored": kill_at(HALF_TOPIC, before=False, number=2),
    "real message not stored": kill_at("T", before=True, number=1),
    "real message stored": kill_at("T", before=False, number=1),
    "op record not stored": kill_at(OP_TOPIC, before=True, number=2),
    "op record stored": kill_at(OP_TOPIC, before=False, number=2),
}


def check_halves(place, moment, flush, count, seed):
    """What was on the disk for sure is decided as its producer says; what was lost was never there."""
    store, images = place / "store", place / "images"
    setting = f"flushDiskType={flush}"
    with half_worker(store, losing_power(store, images, count, seed) + MOMENTS[moment], setting) as driver:
        taken = send_and_die(driver, BODIES)
    for image in images_of(images, count):
        found = settle(image, setting)
        halves, real = found.get(HALF_TOPIC, Counter()), found.get("T", Counter())
        for body in BODIES:
            if body.startswith(b"rollback"):
                assert real[body] == 0, body
            elif halves[body] or (flush == "SYNC_FLUSH" and body in taken):
                assert 1 <= real[body] <= 2, body
            else:
                assert real[body] == 0, f"{body!r} without its half message"


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_after_a_power_cut_at_any_moment_half_messages_are_decided(tmp_path, moment, flush):
    check_halves(tmp_path, moment, flush, 4, SEED)
