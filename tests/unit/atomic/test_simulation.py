"""Random histories of atomic transactions; the numbers are those of the invariants in the specification (kafka §3.9)."""

import pytest

from broker_core.atomic.model import Refusal, State
from tests.support.atomic_world import QUEUES, World


def play(seed, steps):
    world = World(seed)
    try:
        for _ in range(steps):
            world.step()
            world.check()
        settle(world)
    except BaseException:
        print(f"seed {seed}")
        raise
    return world


def settle(world):
    """Everybody falls silent: whatever is open is aborted by its time-out, and readers reach the end (17, 28, 33)."""
    world.sync()
    world.now += 1_000_000
    for _ in range(300):  # an append fails now and then
        world.coordinator.tick()
        world.sync()
    assert not [entry for entry in world.state.ids.values() if entry.state is State.ONGOING]
    assert all(world.state.first_open_offset(queue) is None for queue in QUEUES)
    world.check()


@pytest.mark.parametrize("block", range(10))
def test_random_histories_keep_every_promise(block):
    refused = set()
    for seed in range(block * 100, block * 100 + 15):
        refused |= play(seed, 100).refused
    assert {Refusal.FENCED, Refusal.OUT_OF_ORDER, Refusal.CONCURRENT} <= refused, "the histories are too tame"


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("block", range(100))
def test_a_hundred_thousand_histories_keep_every_promise(block):
    for seed in range(1_000_000 + block * 1_000, 1_000_000 + block * 1_000 + 1_000):
        play(seed, 60)
