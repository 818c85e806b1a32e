from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.models.table_text import as_markdown

CELLS = st.text(st.sampled_from('ab"|\\\t\r\n `*<龙_~&[]$!'), max_size=6)
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


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("a &lt; b", "a \\&lt; b"),
        ("![x](file:///etc/hostname)", "!\\[x\\](file:///etc/hostname)"),
        ("[x](http://y)", "\\[x\\](http://y)"),
        ("__init__ _x_ ~~y~~ $z$", "\\_\\_init\\_\\_ \\_x\\_ \\~\\~y\\~\\~ \\$z\\$"),
        ("ORDER_ID order_2_x", "ORDER_ID order_2_x"),
    ],
)
def test_a_cell_is_shown_letter_by_letter(cell, written):
    assert as_markdown([[cell]]) == f"| {written} |\n| --- |"
