from broker_core.engine.tables.queue_locks import QueueLocks
from broker_core.protocol.json_body import MessageQueue

ONE, TWO = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)


def test_a_lock_is_renewed_by_its_holder_and_ends_with_its_lease():
    locks = QueueLocks(lease_ms=100)
    assert locks.lock("G", "x", [ONE, TWO], now_ms=0) == [ONE, TWO]
    assert locks.lock("G", "x", [ONE], now_ms=90) == [ONE]
    assert locks.lock("G", "y", [ONE, TWO], now_ms=101) == [TWO]


def test_groups_do_not_share_locks():
    locks = QueueLocks()
    locks.lock("G", "x", [ONE], now_ms=0)
    assert locks.lock("H", "y", [ONE], now_ms=0) == [ONE]


def test_expired_locks_are_forgotten():
    locks = QueueLocks(lease_ms=100)
    locks.lock("G", "x", [ONE], now_ms=0)
    locks.lock("H", "x", [ONE], now_ms=50)
    locks.expire(101)
    assert set(locks._locks) == {"H"}
