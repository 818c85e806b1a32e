from broker_core.engine.processors.pull_holds import HELD_BYTES, HeldPull, PullHolds
from tests.support.broker_bench import RecordingPeer


def pull(peer, offset=0, queue_id=0):
    return HeldPull(peer, "T", queue_id, offset, 100, None, None)


def test_beyond_the_bound_nothing_more_is_held():
    holds, peer = PullHolds(holds_max=1), RecordingPeer()
    assert holds.hold(pull(peer))
    assert not holds.hold(pull(peer))
    assert len(holds) == 1


def test_one_connection_cannot_use_up_what_all_share():
    holds, greedy, other = PullHolds(bytes_per_peer_max=2 * HELD_BYTES), RecordingPeer(), RecordingPeer()
    assert [holds.hold(pull(greedy, queue_id=queue_id)) for queue_id in range(3)] == [True, True, False]
    assert holds.hold(pull(other))
    holds.arrived("T", 0, 0, 0)
    assert holds.hold(pull(greedy))


def test_a_pull_leaves_once_only():
    holds, peer = PullHolds(), RecordingPeer()
    first, second = pull(peer), pull(peer, offset=5)
    holds.hold(first)
    holds.hold(second)
    assert holds.arrived("T", 0, 0, 0) == [first]
    assert holds.arrived("T", 0, 1, 0) == []
    assert holds.due(100) == [second]
    assert (holds.due(1000), len(holds)) == ([], 0)


def test_pulls_whose_queue_moved_on_are_behind():
    holds, peer = PullHolds(), RecordingPeer()
    moved, waiting = pull(peer, offset=3), pull(peer, offset=3, queue_id=1)
    holds.hold(moved)
    holds.hold(waiting)
    assert holds.behind(lambda _topic, queue_id: 4 if queue_id == 0 else 3) == [moved]


def test_pulls_of_other_connections_stay_when_one_ends():
    holds, gone, stays = PullHolds(), RecordingPeer(), RecordingPeer()
    holds.hold(pull(gone))
    kept = pull(stays)
    holds.hold(kept)
    holds.drop_peer(gone)
    holds.drop_peer(gone)
    assert holds.release_all() == [kept]
    assert len(holds) == 0


def test_a_record_is_read_only_for_those_who_must_see_it():
    holds, peer, reads = PullHolds(), RecordingPeer(), []

    def record():
        reads.append(1)
        return memoryview(b"wanted")

    holds.hold(pull(peer))
    holds.arrived("T", 0, 0, 0, record)
    assert reads == []
    picky = HeldPull(peer, "T", 0, 0, 100, None, None, matches=lambda found: bytes(found) == b"wanted")
    other = HeldPull(peer, "T", 0, 0, 100, None, None, matches=lambda found: bytes(found) == b"else")
    holds.hold(picky)
    holds.hold(other)
    assert holds.arrived("T", 0, 0, 0, record) == [picky]
    assert reads == [1]
    assert holds.arrived("T", 0, 0, 0, lambda: None) == [other]
