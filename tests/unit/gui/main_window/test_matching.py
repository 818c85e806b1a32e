from __future__ import annotations

import pytest

from gui.main_window.matching import match


def test_every_word_of_the_query_must_fit():
    assert match("reset pay", "Reset offsets payment-settle") is not None
    assert match("reset pay", "Reset table columns") is None


def test_spans_name_the_matching_parts():
    found = match("reset pay", "Reset offsets… payment-settle")
    assert found is not None
    assert found.spans == ((0, 5), (15, 3))


def test_a_start_counts_more_than_a_word_start_and_that_more_than_the_middle():
    texts = ["payments", "%DLQ%payments", "prepayments"]
    scores = [match("pay", text).score for text in texts]  # type: ignore[union-attr]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_scattered_letters_fit_when_they_are_close():
    assert match("ordsvc", "order-service") is not None
    assert match("oe", "orders and many other things e") is not None
    assert match("xq", "orders") is None
    assert match("oz", "o" + "-" * 40 + "z") is None


def test_touching_spans_are_joined():
    found = match("pay ment", "payment")
    assert found is not None
    assert found.spans == ((0, 7),)


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_fits_everything(query):
    assert match(query, "orders") is not None
