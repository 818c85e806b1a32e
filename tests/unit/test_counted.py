from __future__ import annotations

import pytest

from broker_core.counted import counted


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 queues"), (1, "1 queue"), (2, "2 queues"), (21, "21 queues"), (1_001, "1,001 queues")]
)
def test_one_is_said_in_the_singular(count, shown):
    assert counted(count, "queue") == shown


def test_other_words_are_given():
    assert [counted(count, "entry is", "entries are") for count in (1, 3)] == ["1 entry is", "3 entries are"]
