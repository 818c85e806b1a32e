"""The wheel against a plain dictionary of slots."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.schedule.timer.layout import NO_POSITION, SLOTS_TOTAL, Slot
from broker_core.engine.schedule.timer.wheel import TimerWheel
from broker_core.engine.store.disk import Disk

PRECISION_MS = 250
BEGIN = 6_800_000_000
ticks = st.builds(
    lambda turns, ahead: BEGIN + turns * SLOTS_TOTAL + ahead,
    st.integers(-1, 2),
    st.integers(0, 300) | st.integers(0, SLOTS_TOTAL),
)


def filled(tmp_path, added):
    """A wheel with a unit for each tick that has room, and its slots by tick."""
    wheel, slots = TimerWheel(tmp_path / "timerwheel", PRECISION_MS, Disk()), {}
    for position, tick in enumerate(added):
        is_roll = tick % 3 == 0
        before = wheel.add(tick * PRECISION_MS + 7, position, position, 1, 1 if is_roll else 0)
        if any(other != tick and other % SLOTS_TOTAL == tick % SLOTS_TOTAL for other in slots):
            assert before is None
            continue
        assert before == (slots[tick].last if tick in slots else NO_POSITION)
        slot = slots.get(tick, Slot(tick * PRECISION_MS, position, position, 0))
        slots[tick] = slot._replace(last=position, messages=slot.messages + 1)
    return wheel, slots


@given(st.lists(ticks, max_size=30), st.lists(ticks, min_size=1), st.data())
def test_slots_are_found_by_time_wherever_they_are(tmp_path_factory, added, searched, data):
    wheel, slots = filled(tmp_path_factory.getbasetemp(), added)
    for tick in data.draw(st.lists(st.sampled_from(sorted(slots)), unique=True)) if slots else []:
        wheel.clear(tick * PRECISION_MS)
        del slots[tick]
    for tick in [*searched, *slots, *(tick + 1 for tick in slots)]:
        later = [other * PRECISION_MS for other in slots if other >= tick]
        assert wheel.next_time(tick * PRECISION_MS) == min(later, default=None)
        assert wheel.slot(tick * PRECISION_MS) == slots.get(tick)


@given(st.lists(ticks, max_size=30))
def test_pending_are_all_by_time_less_those_that_are_rolled(tmp_path_factory, added):
    wheel, slots = filled(tmp_path_factory.getbasetemp(), added)
    expected = [(tick * PRECISION_MS, 0 if tick % 3 == 0 else slot.messages) for tick, slot in sorted(slots.items())]
    assert list(zip(*wheel.pending(), strict=True)) == expected
    assert set(wheel.times_with_rolls()) == {tick * PRECISION_MS for tick in slots if tick % 3 == 0}
