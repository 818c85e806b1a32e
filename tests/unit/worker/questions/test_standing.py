"""Where groups stand: what waits, what was lost, how far they are beyond the end."""

import pytest

from broker_core.worker.questions.standing import standings

NAN = float("nan")
CASES = [
    # offset, min, max → waiting, lost, beyond
    ((100, 10, 110), (10, 0, 0)),
    ((110, 10, 110), (0, 0, 0)),
    ((110, 0, 10), (NAN, 0, 100)),
    ((928_803_233_967_072_000, 0, 10), (NAN, 0, 928_803_233_967_071_990)),
    ((100, 250, 250), (0, 150, 0)),
    ((100, 250, 300), (50, 150, 0)),
    ((0, 0, 0), (0, 0, 0)),
    ((-1, 0, 10), (NAN, NAN, NAN)),
    ((5, -1, 10), (5, NAN, 0)),
    ((5, 0, -1), (NAN, NAN, NAN)),
]


@pytest.mark.parametrize(("at", "wanted"), CASES)
def test_a_position_is_within_its_queue_or_in_a_state_of_its_own(at, wanted):
    offset, low, high = at
    found = standings([offset], [low], [high])
    assert [float(column[0]) for column in found] == pytest.approx(list(wanted), nan_ok=True)


def test_a_group_beyond_the_end_of_one_queue_has_no_lag_whatever_waits_elsewhere():
    found = standings([5, 200, 1, -1], [0, 0, 3, 0], [10, 100, 9, 9]).summed([0, 0, 1, 2], 4)
    assert found.waiting.tolist() == pytest.approx([NAN, 6, NAN, NAN], nan_ok=True)
    assert found.lost.tolist() == pytest.approx([0, 2, NAN, NAN], nan_ok=True)
    assert found.beyond.tolist() == pytest.approx([100, 0, NAN, NAN], nan_ok=True)
