"""Where groups stand: what waits, what was lost, how far they are beyond the end."""

import pytest

from broker_core.worker.questions.standing import standing, summed

CASES = [
    # offset, min, max → waiting, lost, beyond
    ((100, 10, 110), (10, 0, 0)),
    ((110, 10, 110), (0, 0, 0)),
    ((110, 0, 10), (None, 0, 100)),
    ((928_803_233_967_072_000, 0, 10), (None, 0, 928_803_233_967_071_990)),
    ((100, 250, 250), (0, 150, 0)),
    ((100, 250, 300), (50, 150, 0)),
    ((0, 0, 0), (0, 0, 0)),
    ((-1, 0, 10), (None, None, None)),
    ((5, -1, 10), (5, None, 0)),
    ((5, 0, -1), (None, None, None)),
]


@pytest.mark.parametrize(("at", "wanted"), CASES)
def test_a_position_is_within_its_queue_or_in_a_state_of_its_own(at, wanted):
    assert standing(*at) == wanted


def test_a_group_beyond_the_end_of_one_queue_has_no_lag_whatever_waits_elsewhere():
    within, beyond, unknown = standing(5, 0, 10), standing(200, 0, 100), standing(-1, 0, 9)
    assert summed([within, beyond]) == (None, 0, 100)
    assert summed([within, standing(1, 3, 9), unknown]) == (11, 2, 0)
    assert summed([unknown]) == summed([]) == (None, None, None)
