from __future__ import annotations

from dataclasses import asdict

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.tools.replay.pace import Pace


def test_without_bounds_all_is_due_at_once():
    assert not Pace().is_limited
    assert Pace().due_s(1_000, 60_000) == 0


def test_a_rate_spreads_by_count():
    assert [Pace(rate=4).due_s(count, 99_000) for count in (0, 1, 4)] == [0, 0.25, 1]


def test_a_speed_divides_the_time_between_originals():
    assert Pace(speed=1).due_s(5, 3_000) == 3
    assert Pace(speed=10).due_s(5, 3_000) == 0.3
    assert Pace(speed=1).due_s(5, -3_000) == 0


def test_the_later_of_both_counts():
    assert Pace(rate=10, speed=1).due_s(100, 3_000) == 10
    assert Pace(rate=10, speed=1).due_s(10, 3_000) == 3


@pytest.mark.parametrize("values", [(0, None), (-1, None), (None, 0), (2e6, None), (float("nan"), None), (None, float("inf"))])
def test_bounds(values):
    with pytest.raises(UsageError, match="cannot be kept"):
        Pace(*values)


def test_a_pace_survives_json():
    assert Pace.from_json(asdict(Pace(5, 2))) == Pace(5, 2)
    for wrong in ({"rate": 0}, {"x": 1}, {"rate": "fast"}):
        with pytest.raises(CodecError, match="names no pace"):
            Pace.from_json(wrong)
