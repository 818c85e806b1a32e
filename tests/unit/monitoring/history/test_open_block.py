"""The samples of a minute come back as they were added, packed or not, with subjects and figures that appear meanwhile."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitoring.history.open_block import SLAB_SUBJECTS, OpenBlock

BEGIN = 120
KINDS = ("topic", "queue")
STEPS = st.lists(
    st.tuples(
        st.integers(1, 3),  # slots since the sample before
        st.sampled_from(KINDS),
        st.integers(0, 2 * SLAB_SUBJECTS),  # first subject
        st.integers(0, SLAB_SUBJECTS + 2),  # subjects
        st.sampled_from((("rate",), ("rate", "lag"), ("lag", "rate", "age"))),
        st.booleans(),  # packs afterwards
    ),
    max_size=15,
)


@given(STEPS)
def test_what_was_added_is_there_also_after_a_crash(steps):
    block = OpenBlock(BEGIN)
    again = OpenBlock(BEGIN)
    added, packed = {}, {}
    slot = BEGIN - 1
    for step, kind, first, count, figures, packs in steps:
        slot += step
        subjects = list(range(first, first + count))
        values = np.arange(count * len(figures), dtype=float).reshape(count, len(figures)) + slot
        block.add(slot, kind, figures, subjects, values)
        for subject, row in zip(subjects, values.tolist(), strict=True):
            added |= {(kind, subject, figure, slot): value for figure, value in zip(figures, row, strict=True)}
        if packs:
            again.replay(*block.pack())
            packed = dict(added)
    assert found_in(block) == added
    assert found_in(again) == packed
    for kind, subject, figure in {key[:3] for key in added}:
        line = block.subject(kind, subject, figure)
        assert {BEGIN + at: value for at, value in enumerate(line.tolist()) if not np.isnan(value)} == {
            at: value for (*series, at), value in added.items() if series == [kind, subject, figure]
        }


def test_what_was_never_added_is_unknown():
    block = OpenBlock(BEGIN)
    block.add(BEGIN, "topic", ("rate",), [1], np.ones((1, 1)))
    assert [block.subject(*series) for series in (("group", 1, "rate"), ("topic", 2, "rate"), ("topic", 1, "lag"))] == [
        None
    ] * 3


def found_in(block):
    """Values by kind, subject, figure and slot."""
    found = {}
    for rows in block.rows():
        for place in np.argwhere(~np.isnan(rows.values)).tolist():
            slot, subject, figure = place
            key = (rows.kind, rows.subjects[subject], rows.figures[figure], BEGIN + slot)
            assert key not in found
            found[key] = float(rows.values[slot, subject, figure])
    return found
