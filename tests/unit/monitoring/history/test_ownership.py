from dataclasses import replace

import numpy as np
import pytest

from broker_core.api import UsageError
from broker_core.worker.questions.history import Ownership, ReadOwnership
from tests.unit.monitoring.history.conftest import BEGIN_MS, state_of


def owned(second: int, owner: int, owners: tuple[str, ...] = ("a@1", "b@2")):
    state = state_of(BEGIN_MS + second * 1_000)
    return replace(state, position_owner=np.array([owner]), owners=list(owners))


def ask(bench, from_s: int, to_s: int, group: str = "billing", points: int = 10_000) -> Ownership:
    return bench.queries.ownership(ReadOwnership(group, BEGIN_MS + from_s * 1_000, BEGIN_MS + to_s * 1_000, points))


def seconds(times_ms: list[int]) -> list[float]:
    return [(at - BEGIN_MS) / 1_000 for at in times_ms]


def test_a_queue_that_changes_hands_is_two_stretches(bench):
    bench.record(0, 10, lambda second: owned(second, 0 if second < 4 else 1))
    answer = ask(bench, 0, 20)
    assert (answer.topic, answer.queue_id, answer.client) == (["orders"] * 2, [0, 0], ["a@1", "b@2"])
    assert seconds(answer.from_ms) == [0, 4]
    assert seconds(answer.to_ms) == [4, 10]


def test_what_nobody_owned_is_left_out(bench):
    bench.record(0, 30, lambda second: owned(second, 0 if second < 5 or second >= 20 else -1))
    answer = ask(bench, 0, 30)
    assert answer.client == ["a@1", "a@1"]
    assert seconds(answer.from_ms) == [0, 20]
    assert seconds(answer.to_ms)[0] < 20


def test_a_group_that_was_never_seen_owns_nothing(bench):
    bench.record(0, 3, lambda second: owned(second, 0))
    assert ask(bench, 0, 3, group="bill") == Ownership([], [], [], [], [])
    assert ask(bench, 0, 3, group="billing2") == Ownership([], [], [], [], [])


def test_owners_are_found_after_the_rows_were_written(bench):
    bench.record(0, 130, lambda second: owned(second, 0 if second < 65 else 1))
    assert bench.rows() > 0
    answer = ask(bench, 60, 130)
    assert answer.client == ["a@1", "b@2"]
    assert seconds(answer.from_ms) == [60, 65]


def test_a_range_that_makes_no_sense_is_refused(bench):
    bench.record(0, 3, lambda second: owned(second, 0))
    with pytest.raises(UsageError, match="time range"):
        ask(bench, 5, 5)
