"""What people changed about waiting messages."""

import pytest

from broker_core.engine.schedule.overrides import DONE, Override, Overrides
from broker_core.errors import CodecError


def test_the_first_due_of_all_moved_messages_is_known():
    overrides = Overrides()
    overrides.set_due(10, Override(3, 0, 500))
    overrides.set_due(20, Override(4, 7, 300))
    overrides.set_due(20, Override(4, 7, 900))
    assert overrides.next_due() == (500, 10)
    overrides.set_done(10, Override(3, 0, 500))
    assert overrides.next_due() == (900, 20)
    assert (overrides.is_done(10), overrides.is_done(20)) == (True, False)


def test_messages_that_will_be_passed_over_are_counted():
    overrides = Overrides()
    for offset in (3, 5, 8):
        overrides.set_done(offset * 100, Override(2, offset, DONE))
    overrides.passed(2, 3)
    overrides.passed(1, 3)
    assert (overrides.done_count(2), overrides.done_count(1)) == (2, 0)
    assert overrides.is_done(300)


def test_what_the_progress_has_passed_is_forgotten():
    overrides = Overrides()
    overrides.set_done(100, Override(2, 3, DONE))
    overrides.set_due(200, Override(2, 4, 50))
    assert not overrides.forget_before({2: 3, 9: 100})
    assert overrides.forget_before({2: 4})
    assert (overrides.get(100), overrides.done_count(2), len(overrides)) == (None, 0, 1)
    assert overrides.forget_before({2: 5})
    assert overrides.next_due() is None


def test_the_file_brings_everything_back_that_still_waits():
    overrides = Overrides()
    overrides.set_done(100, Override(2, 3, DONE))
    overrides.set_due(200, Override(2, 4, 50))
    overrides.set_done(300, Override(2, 5, DONE))
    again = Overrides()
    again.load(overrides.to_json(1_000), lambda physical, entry: (physical, entry.queue_offset) != (300, 5))
    assert (again.is_done(100), again.next_due(), again.get(300)) == (True, (50, 200), None)


def test_a_copy_that_is_not_on_disk_yet_does_not_count_as_delivered():
    overrides = Overrides()
    overrides.set_done(100, Override(2, 3, DONE, copy_end=700, was_due_ms=40))
    assert overrides.to_json(699)["messages"]["100"]["dueMs"] == 40
    assert overrides.to_json(700)["messages"]["100"]["dueMs"] == DONE


@pytest.mark.parametrize("item", [5, {"level": 1}, {"level": 1, "queueOffset": "x", "dueMs": 0}])
def test_an_entry_that_cannot_be_read_is_refused_with_all_others(item):
    overrides = Overrides()
    good = {"level": 1, "queueOffset": 2, "dueMs": 3}
    with pytest.raises(CodecError, match=r"should be a whole number|it has no object"):
        overrides.load({"messages": {"50": good, "100": item}}, lambda _physical, _entry: True)
    assert len(overrides) == 0
