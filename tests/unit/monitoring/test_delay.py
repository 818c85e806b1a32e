"""Delay levels in the figures of a cluster."""

from array import array
from math import nan

import pytest

from broker_core.api import CodecError
from monitoring.delay import Lateness, delays_of, lateness_of, no_delays
from monitoring.series import SlidingRate

INTS = ("level", "delay_ms", "pending", "next_due_ms", "overdue_ms", "delivered", "skipped")


def columns(**changes):
    values = {name: [1, 2] for name in INTS} | changes
    found = {name: array("q", values[name]).tobytes() for name in INTS}
    return found | {name: array("d", changes.get(name, [nan, 3.5])).tobytes() for name in ("late_p50_ms", "late_p99_ms")}


def test_levels_with_their_rates():
    rate = SlidingRate()
    first = delays_of(rate, 10_000, columns(delivered=[0, 50]))
    assert (first.level.tolist(), first.next_due_ms.tolist()) == ([1, 2], [1, 2])
    state = delays_of(rate, 12_000, columns(delivered=[20, 50], pending=[7, 0]))
    assert state.delivered_rate.tolist() == [10.0, 0.0]
    assert (state.pending.tolist(), state.late_p99_ms[1]) == ([7, 0], 3.5)
    assert not state.pending.flags.writeable


def test_a_level_is_as_late_as_its_oldest_message_or_its_deliveries():
    late = delays_of(SlidingRate(), 0, columns(overdue_ms=[1_400, -1])).late_ms
    assert late.tolist() == [1_400, 3.5]
    late = delays_of(SlidingRate(), 0, columns(overdue_ms=[-1, 2])).late_ms
    assert str(late.tolist()) == "[nan, 3.5]"


def test_rates_begin_anew_with_a_new_worker():
    rate = SlidingRate()
    delays_of(rate, 10_000, columns(delivered=[100, 100]))
    rate.reset()
    assert str(delays_of(rate, 12_000, columns(delivered=[1, 1])).delivered_rate.tolist()) == "[nan, nan]"


def test_an_older_worker_tells_nothing():
    assert delays_of(SlidingRate(), 0, {}).level.tolist() == no_delays().level.tolist() == []


@pytest.mark.parametrize("wrong", [{"late_p50_ms": b""}, {"pending": b"1234567"}, {"level": b""}])
def test_columns_that_do_not_fit_each_other_are_refused(wrong):
    with pytest.raises(CodecError, match="delay levels"):
        delays_of(SlidingRate(), 0, columns() | wrong)


def packed(*values):
    return array("q", values).tobytes()


def test_the_lateness_of_the_last_hour_is_read_from_its_columns():
    columns = {"from_ms": packed(0, 10), "levels": packed(5, 6), "timers": packed(0, 2), "counted_s": packed(90)}
    assert lateness_of(columns) == Lateness((0, 10), (5, 6), (0, 2), 90)
    assert lateness_of(columns | {"timers": b""}) == Lateness((0, 10), (5, 6), (0, 0), 90)
    assert lateness_of({}) is None


@pytest.mark.parametrize("wrong", [{"levels": b""}, {"timers": bytes(8)}, {"counted_s": b""}, {"from_ms": b"1234567"}])
def test_columns_of_the_lateness_that_do_not_fit_are_refused(wrong):
    columns = {"from_ms": packed(0, 10), "levels": packed(5, 6), "timers": packed(0, 2), "counted_s": packed(90)}
    with pytest.raises(CodecError, match="lateness"):
        lateness_of(columns | wrong)
