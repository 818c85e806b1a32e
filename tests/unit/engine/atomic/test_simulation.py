"""Random histories of atomic transactions; the numbers are those of the invariants of docs/spec/kafka.md §3.9."""

import copy

import pytest

from broker_core.protocol.atomic import AtomicPhase, Refusal
from tests.support.atomic_world import QUEUES, Instance, World


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
    assert not [entry for entry in world.state.ids.values() if entry.state is AtomicPhase.ONGOING]
    assert all(world.state.first_open_offset(queue) is None for queue in QUEUES)
    world.check()


@pytest.mark.parametrize("block", range(10))
def test_random_histories_keep_every_promise(block):
    refused = set()
    for seed in range(block * 100, block * 100 + 15):
        refused |= play(seed, 100).refused
    assert {Refusal.FENCED, Refusal.OUT_OF_ORDER, Refusal.CONCURRENT} <= refused, "the histories are too tame"


def busy_world():
    """A history of three producers with commits, aborts, a fence, a time-out, positions and batches, without a crash."""
    world = World(11)
    shop, billing = Instance("a", 2_000), Instance("b", 60_000)
    world.instances = [shop, billing]
    for instance in (shop, billing):
        world.init(instance)
    world.sync()
    for number in range(6):
        world.now += 10
        world.send(shop, QUEUES[number % 3], 1 + number % 3)
        world.plain(QUEUES[0])
        world.send(billing, QUEUES[0], 2)
        world.add_offsets(billing)
        world.end(shop, commit=number % 2 == 0)
        world.send(billing, QUEUES[2], 1)
        world.sync()
        if number == 3:
            successor = Instance("b", 60_000)
            world.init(successor)
            world.instances.append(successor)
            world.sync()
            world.sync()
            billing = successor
    world.send(shop, QUEUES[1], 3)
    world.now += 5_000
    world.coordinator.tick()
    world.sync()
    return world


def test_a_crash_behind_any_record_leaves_what_was_decided_before_it():
    whole = busy_world()
    assert len(whole.log) > 45
    outcomes = set()
    for end in range(len(whole.log) + 1):
        world = copy.deepcopy(whole)
        world.snapshots = []
        for transaction in world.transactions:
            transaction.answered = ""
        world.stable = dict.fromkeys(QUEUES, 0)
        world.log = world.log[:end]
        world.restart()
        world.check()
        decided = tuple(world.outcome(number) for number in range(len(world.transactions)))
        outcomes.add(decided)
        settle(world)
    assert len(outcomes) > 6


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("block", range(100))
def test_a_hundred_thousand_histories_keep_every_promise(block):
    first, refused, transactions = 1_000_000 + block * 1_000, set(), 0
    for seed in range(first, first + 1_000):
        world = play(seed, 60)
        refused |= world.refused
        transactions += len(world.transactions)
    assert {Refusal.FENCED, Refusal.OUT_OF_ORDER, Refusal.CONCURRENT} <= refused, "the histories are too tame"
    assert transactions > 1_000
