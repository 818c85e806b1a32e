"""Columns of standings are those of the positions one by one."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from broker_core.worker.questions.standing import standing, summed
from monitoring.standing import standings

ENDS = st.integers(-1, 20)
PLACES = st.tuples(st.one_of(ENDS, st.just(1 << 40)), ENDS, ENDS, st.integers(0, 3))


def as_figures(column):
    return [None if np.isnan(figure) else int(figure) for figure in column.tolist()]


@given(st.lists(PLACES, min_size=1, max_size=12))
@example([(5, 0, 10, 0), (200, 0, 100, 0), (1, 3, 9, 1), (-1, 0, 9, 2)])
def test_columns_are_the_positions_one_by_one_and_summed(places):
    offset, low, high, group = zip(*places, strict=True)
    one_by_one = [standing(*place[:3]) for place in places]
    found = standings(offset, low, high)
    assert list(zip(*map(as_figures, found), strict=True)) == one_by_one
    groups = [summed(one for one, of in zip(one_by_one, group, strict=True) if of == number) for number in range(4)]
    assert list(zip(*map(as_figures, found.summed(group, 4)), strict=True)) == groups
