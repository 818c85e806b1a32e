import pytest

from broker_core.api import RequestCode
from monitoring.admin.offsets import (
    SNAPSHOTS_MAX,
    TO_THE_END,
    QueueStand,
    ResetKind,
    offline_requests,
    online_requests,
    plan_moves,
    snapshot_of,
    snapshots_from_text,
    snapshots_to_text,
)

STANDS = [QueueStand(0, 100, 1_000, 400), QueueStand(1, 0, 500, -1)]


def after(kind: ResetKind, **given: object) -> list[int]:
    return [move.after for move in plan_moves(STANDS, kind, **given)]  # type: ignore[arg-type]  the test's table


@pytest.mark.parametrize(
    ("kind", "given", "offsets"),
    [
        (ResetKind.EARLIEST, {}, [100, 0]),
        (ResetKind.LATEST, {}, [1_000, 500]),
        (ResetKind.SHIFT, {"shift": -100}, [300, -1]),
        (ResetKind.SHIFT, {"shift": -1_000}, [100, -1]),
        (ResetKind.SHIFT, {"shift": 5_000}, [1_000, -1]),
        (ResetKind.OFFSET, {"offset": 50}, [100, 50]),
        (ResetKind.OFFSET, {"offset": 700}, [700, 500]),
        (ResetKind.TIME, {"found": {0: 250}}, [250, -1]),
        (ResetKind.GROUP, {"found": {0: -1, 1: 7}}, [-1, 7]),
        (ResetKind.TIME, {"found": {}, "own": {1: 9}}, [-1, 9]),
        (ResetKind.LATEST, {"own": {0: 5}}, [100, 500]),
    ],
)
def test_each_kind_gives_every_queue_an_offset_within_it_or_leaves_it(kind, given, offsets):
    assert after(kind, **given) == offsets


def test_going_back_repeats_and_going_forward_skips():
    back, unknown = plan_moves(STANDS, ResetKind.EARLIEST)
    assert (back.repeated, back.skipped, back.lag_after, back.moves) == (300, 0, 900, True)
    assert (unknown.repeated, unknown.skipped, unknown.lag_after, unknown.moves) == (-1, -1, 500, True)
    forward, _ = plan_moves(STANDS, ResetKind.LATEST)
    assert (forward.repeated, forward.skipped, forward.lag_after) == (0, 600, 0)


def test_what_is_deleted_already_is_neither_repeated_nor_skipped():
    (move,) = plan_moves([QueueStand(0, 100, 1_000, 40)], ResetKind.EARLIEST)
    assert (move.repeated, move.skipped, move.lag_after) == (0, 0, 900)


def test_a_group_that_stands_there_does_not_move():
    (move,) = plan_moves([QueueStand(0, 0, 10, 10)], ResetKind.LATEST)
    assert not move.moves


def test_members_are_told_once_for_a_time_and_once_a_queue_else():
    moves = plan_moves(STANDS, ResetKind.EARLIEST)
    (one,) = online_requests("g", "t", moves, TO_THE_END)
    assert one.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
    assert one.fields == {"topic": "t", "group": "g", "isForce": "true", "timestamp": "-1"}
    assert [(r.fields["queueId"], r.fields["offset"]) for r in online_requests("g", "t", moves)] == [("0", "100"), ("1", "0")]


def test_without_members_each_offset_is_set():
    requests = offline_requests("g", "t", plan_moves(STANDS, ResetKind.LATEST))
    assert {request.code for request in requests} == {RequestCode.UPDATE_CONSUMER_OFFSET}
    assert [request.fields["commitOffset"] for request in requests] == ["1000", "500"]


def test_snapshots_survive_as_text_and_what_is_none_is_left_out():
    snapshot = snapshot_of("g", "t", 5, plan_moves(STANDS, ResetKind.EARLIEST), "earliest")
    assert snapshot.offsets == ((0, 400),)
    assert snapshots_from_text(snapshots_to_text([snapshot])) == [snapshot]
    assert len(snapshots_from_text(snapshots_to_text([snapshot] * 50))) == SNAPSHOTS_MAX
    for text in ("", "{", "{}", "[1]", '[{"group":"g"}]', '[{"group":"g","topic":"t","taken_ms":1,"offsets":[[1]]}]'):
        assert snapshots_from_text(text) == []
