from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gui.models.table_text import as_markdown

CELLS = st.text(st.sampled_from('ab"|\\\t\r\n `*<龙'), max_size=6)
ROWS = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=4)
)


@given(ROWS)
def test_a_table_of_markdown_has_a_line_a_row_and_a_cell_for_each(rows):
    head, rule, *lines = as_markdown(rows).split("\n")
    assert rule == f"|{' --- |' * len(rows[0])}"
    for cells, line in zip(rows, (head, *lines), strict=True):
        # A bar counts unless an odd number of backslashes stands before it.
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == len(cells) + 1


def test_what_markdown_would_take_for_its_own_is_written_out():
    assert as_markdown([["a|b", "<b>*x*"], ["one\ntwo", "c\\"]]) == (
        "| a\\|b | \\<b>\\*x\\* |\n| --- | --- |\n| one<br>two | c\\\\ |"
    )
