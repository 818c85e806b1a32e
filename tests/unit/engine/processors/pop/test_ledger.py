from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.ledger import EARLY_ACKS_MAX, PopLedger

QUEUE = QueueOf("T", "CG", 0)


def checkpoint(start, *, due_ms=100, log_offset=-1, count=2):
    key = CheckpointKey(*QUEUE, start, 1)
    return PopCheckpoint(key, due_ms - 1, tuple(range(start, start + count)), 0, due_ms=due_ms, log_offset=log_offset)


def test_checkpoints_are_due_in_the_order_of_their_times():
    ledger = PopLedger()
    for start, due_ms in ((0, 30), (10, 10), (20, 20)):
        ledger.add(checkpoint(start, due_ms=due_ms), 0)
    assert ledger.due(9) is None
    assert [ledger.due(20).key.start_offset for _ in range(2)] == [10, 20]
    assert ledger.due(29) is None


def test_a_new_time_replaces_the_old_one():
    ledger = PopLedger()
    one = checkpoint(0, due_ms=10)
    ledger.add(one, 0)
    ledger.schedule(one, 50)
    assert ledger.due(49) is None
    assert ledger.due(50) is one


def test_what_is_done_with_is_never_due():
    ledger = PopLedger()
    one = checkpoint(0, due_ms=10)
    ledger.add(one, 0)
    ledger.finish(one, 0)
    assert ledger.due(1_000) is None
    assert len(ledger) == 0


def test_many_that_are_done_with_leave_no_times_behind():
    ledger = PopLedger()
    for start in range(30_000):
        one = checkpoint(start, due_ms=1 << 40)
        ledger.add(one, 0)
        ledger.finish(one, 0)
    assert len(ledger._times) < 11_000


def test_the_front_moves_once_the_log_is_synced():
    ledger = PopLedger()
    first, second = checkpoint(0, log_offset=5), checkpoint(10, log_offset=6)
    ledger.add(first, 0)
    ledger.add(second, 0)
    ledger.finish(first, 900)
    assert ledger.front(0) == 5
    ledger.synced(899)
    assert ledger.front(0) == 5
    ledger.synced(900)
    assert ledger.front(0) == 6


def test_offsets_are_held_back_before_the_first_checkpoint_that_is_not_synced():
    ledger = PopLedger()
    for start, end in ((10, 100), (0, 200)):
        one = checkpoint(start)
        ledger.add(one, 0)
        ledger.written(one, start, end)
    assert ledger.held_offsets() == {QUEUE: 0}
    ledger.synced(150)
    assert ledger.held_offsets() == {QUEUE: 0}
    ledger.synced(200)
    assert ledger.held_offsets() == {}
    assert not ledger.is_unsynced


def test_early_acks_are_taken_into_the_checkpoint_until_they_are_forgotten():
    ledger = PopLedger()
    ledger.ack_early(checkpoint(0).key, frozenset({0}), 50)
    ledger.ack_early(checkpoint(0).key, frozenset({1}), 60)
    assert not ledger.add(checkpoint(0), 10)
    ledger.ack_early(checkpoint(10).key, frozenset({10, 11}), 50)
    assert ledger.add(checkpoint(10), 50)


def test_early_acks_are_bounded():
    ledger = PopLedger()
    for start in range(EARLY_ACKS_MAX + 10):
        ledger.ack_early(checkpoint(start).key, frozenset({start}), 50)
    assert len(ledger._early) == EARLY_ACKS_MAX


def test_a_full_ledger_says_so():
    ledger = PopLedger(checkpoints_max=1)
    ledger.add(checkpoint(0), 0)
    assert ledger.is_full
