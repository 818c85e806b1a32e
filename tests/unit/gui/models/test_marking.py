"""Where matches are, within bounds."""

from __future__ import annotations

import re

from gui.views.messages.body_pane import EXPRESSION_CHARACTERS_MAX, EXPRESSION_LINE_MAX, SPANS_MAX, marked_spans


def test_matches_are_found_in_all_lines():
    text = "one\r\ntwo one\nthree"
    assert marked_spans(text, re.compile("one|three"), is_literal=True) == [(0, 3), (9, 3), (13, 5)]
    assert marked_spans(text, re.compile("(one|three)$"), is_literal=False) == [(0, 3), (9, 3), (13, 5)]


def test_no_more_than_can_be_seen():
    assert len(marked_spans("x" * 5_000, re.compile("x"), is_literal=True)) == SPANS_MAX
    assert len(marked_spans("x\n" * 5_000, re.compile("x"), is_literal=False)) == SPANS_MAX


def test_an_expression_is_not_let_loose_on_a_long_text():
    line = "a" * (EXPRESSION_LINE_MAX + 50)
    assert marked_spans(line + "\nb", re.compile("a$"), is_literal=False) == [(EXPRESSION_LINE_MAX - 1, 1)]
    assert marked_spans("\n" * EXPRESSION_CHARACTERS_MAX + "b", re.compile("b"), is_literal=False) == []


def test_what_matches_nothing_is_no_match():
    assert marked_spans("abc", re.compile("x*"), is_literal=True) == []
