from broker_core.engine.processors.pop.pop_holds import HeldPop, PopHolds
from tests.support.broker_bench import RecordingPeer


def hold(peer, *, group="CG", queue_id=-1, deadline_ms=100, accepts=None, retry_ms=0, size=1):
    topics = ("T", f"%RETRY%{group}_T")
    return HeldPop(peer, group, topics, queue_id, deadline_ms, accepts, None, retry_ms=retry_ms, size=size)


def holds(**limits):
    return PopHolds(**({"per_queue_max": 10, "holds_max": 10} | limits))


def test_the_oldest_request_of_each_group_is_wakened():
    made = holds()
    first, second, other = hold(RecordingPeer()), hold(RecordingPeer()), hold(RecordingPeer(), group="B")
    assert all(made.hold(held) for held in (first, second, other))
    assert made.wakened("T", 0, 0) == [first, other]
    made.release(first)
    assert made.wakened("T", 0, 0) == [second, other]


def test_a_retry_topic_wakens_its_group_whatever_queue_it_waits_for():
    made = holds()
    held = hold(RecordingPeer(), queue_id=3)
    made.hold(held)
    assert made.wakened("%RETRY%CG_T", 0, 0) == [held]
    assert made.wakened("T", 0, 0) == []
    assert made.wakened("T", 3, 0) == [held]
    assert made.wakened("Other", 3, 0) == []


def test_tags_are_looked_at():
    made = holds()
    held = hold(RecordingPeer(), accepts={7}.__contains__)
    made.hold(held)
    assert made.wakened("T", 0, 8) == []
    assert made.wakened("T", 0, 7) == [held]


def test_requests_are_bounded_by_queue_in_all_and_by_connection(monkeypatch):
    made = holds(per_queue_max=1, holds_max=2)
    assert made.hold(hold(RecordingPeer()))
    assert not made.hold(hold(RecordingPeer()))
    assert made.hold(hold(RecordingPeer(), queue_id=1))
    assert not made.hold(hold(RecordingPeer(), queue_id=2))
    monkeypatch.setattr("broker_core.engine.processors.pop.pop_holds.HELD_BYTES_PER_PEER_MAX", 100)
    peer, made = RecordingPeer(), holds()
    first = hold(peer, size=60)
    assert made.hold(first)
    assert not made.hold(hold(peer, size=41))
    assert made.hold(hold(RecordingPeer(), size=41))
    made.release(first)
    assert made.hold(hold(peer, size=41))


def test_times_are_kept():
    made = holds()
    soon, late, again = hold(RecordingPeer(), deadline_ms=10), hold(RecordingPeer()), hold(RecordingPeer(), retry_ms=5)
    for held in (soon, late, again):
        made.hold(held)
    assert made.late(10) == [soon]
    assert made.to_try(4) == []
    assert made.to_try(5) == [again]


def test_nothing_is_left_of_a_connection_that_ended():
    made = holds()
    peer = RecordingPeer()
    for group in ("A", "B"):
        made.hold(hold(peer, group=group))
    made.hold(hold(RecordingPeer(), group="A"))
    made.drop_peer(peer)
    assert len(made) == 1
    assert made.count("T", "A", -1) == 1
    for held in made:
        made.release(held)
        made.release(held)
    assert (made._topics, made._queues, made._peers) == ({}, {}, {})
