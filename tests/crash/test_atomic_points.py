"""Consume, transform, produce with a real kill at each crash point: every input has its outputs exactly once.

Source: docs/spec/kafka.md §2.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.atomic_kill_points import BROKER, PRODUCER, READING_BACK
from tests.support.atomic_run import PART, SECONDS, Transformer, check_all_or_nothing, dying_at, filled, finish, worker

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

CHAINS = 3
"""Points of one chain are met by one store, each after the recovery from the one before."""
CHAIN_MOST = max(-(-len(BROKER) // CHAINS), len(PRODUCER), len(READING_BACK)) + 1
COUNT = CHAIN_MOST * PART


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filled") / "store", COUNT)


@pytest.fixture
def store(full, tmp_path):
    return Path(shutil.copytree(full, tmp_path / "store"))


def work_until_dead(driver, name_server, count, running):
    """Let transformers work up to a number until the broker has killed itself; returns one that still runs.

    When all is done there come more of them: each takes the identity over, so that a point which waits for something to be
    recorded (a snapshot is written only then) is reached, however much went by before it was looked for.
    """
    deadline = time.monotonic() + SECONDS
    while driver.process.poll() is None:
        assert time.monotonic() < deadline, f"the point was not reached: {driver.end_with_stacks()}"
        if running is None or not running.is_running:
            if running is not None:
                running.end()
            running = Transformer.start(name_server, count)
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.process.wait(0.05)
    assert driver.process.returncode == -signal.SIGKILL
    return running


def pause(running):
    """Let a producer notice nothing of the restart until it was looked at what the crash has left."""
    if running is not None:
        running.process.send_signal(signal.SIGSTOP)


def check_while_paused(broker, running):
    asyncio.run(check_all_or_nothing(broker))
    if running is not None:
        running.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("chain", range(CHAINS))
def test_the_broker_dies_and_a_producer_that_lives_goes_on(store, chain):
    running, like = None, None
    try:
        for number, point in enumerate(list(BROKER)[chain::CHAINS], 1):
            print(point)
            with worker(store, dying_at(point), like=like) as driver:
                like = driver.wait_ready()
                check_while_paused(like.broker, running)
                running = work_until_dead(driver, like.name_server, number * PART, running)
                pause(running)
        with worker(store, like=like) as driver:
            ready = driver.wait_ready()
            check_while_paused(ready.broker, running)
            finish(ready, COUNT, running)
            assert driver.end_input() == 0
    finally:
        if running is not None and running.is_running:
            running.kill()


def test_the_producer_dies_and_the_next_instance_goes_on(store):
    with worker(store) as driver:
        ready = driver.wait_ready()
        for number, point in enumerate(PRODUCER, 1):
            print(point)
            dying = Transformer.start(ready.name_server, number * PART, point)
            _output, error = dying.process.communicate(timeout=SECONDS)
            assert dying.process.returncode == -signal.SIGKILL, error
            asyncio.run(check_all_or_nothing(ready.broker))
        finish(ready, COUNT)
        assert driver.end_input() == 0


def test_the_broker_dies_again_while_it_reads_back(store):
    leave_open_and_kill(store)
    for point in READING_BACK:
        print(point)
        with worker(store, dying_at(point)) as driver:
            assert driver.process.wait(SECONDS) == -signal.SIGKILL, "the point was not reached"
    with worker(store) as driver:
        ready = driver.wait_ready()
        asyncio.run(check_all_or_nothing(ready.broker))
        finish(ready, COUNT)
        assert driver.end_input() == 0


def leave_open_and_kill(store):
    """A broker that dies in the middle of a transaction, with its producer."""
    with worker(store, dying_at("5 and 10 message stored, not answered")) as driver:
        running = Transformer.start(driver.wait_ready().name_server, COUNT)
        try:
            assert driver.process.wait(SECONDS) == -signal.SIGKILL
        finally:
            running.kill()
