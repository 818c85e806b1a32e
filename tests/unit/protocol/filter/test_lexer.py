"""Words of SQL92 filters."""

import pytest

from broker_core.errors import FilterSyntaxError
from broker_core.protocol.filter.lexer import CHARACTERS_MAX, SqlWordKind, tokens


def words(text):
    return [(token.kind.name, token.text) for token in tokens(text)[:-1]]


def test_words_have_kinds_and_positions():
    text = "price >= 1.5 and name<>'it''s'"
    assert words(text) == [
        ("NAME", "price"), ("OPERATOR", ">="), ("FLOAT", "1.5"), ("KEYWORD", "AND"), ("NAME", "name"), ("OPERATOR", "<>"),
        ("STRING", "it's"),
    ]  # fmt: skip
    assert [token.position for token in tokens(text)] == [0, 6, 9, 13, 17, 21, 23, len(text)]
    assert tokens(text)[-1].kind is SqlWordKind.END


def test_comments_and_white_space_are_nothing():
    assert words(" a /* b\n */ = -- c\n 1\t") == [("NAME", "a"), ("OPERATOR", "="), ("INTEGER", "1")]
    assert words("a--b") == [("NAME", "a")]


@pytest.mark.parametrize("text", ["5.", ".5", "0.5", "1e3", "1.E-3", "12.5e+2"])
def test_floats(text):
    assert words(text) == [("FLOAT", text)]


@pytest.mark.parametrize(("text", "position"), [("a = 'x", 4), ("a # b", 2), ("a /* b", 2), ("ä = 1", 0), ("a = ;", 4)])
def test_what_is_no_word_is_refused_with_its_place(text, position):
    with pytest.raises(FilterSyntaxError, match=f"at character {position + 1}:") as caught:
        tokens(text)
    assert caught.value.context["position"] == position


def test_a_number_with_a_leading_zero_is_refused_as_a_whole():
    """As words of one zero each, 32,768 zeros took 14 s of the broker."""
    with pytest.raises(FilterSyntaxError, match="does not begin with 0"):
        tokens("a = " + "0" * (CHARACTERS_MAX - 4))
    assert [token.text for token in tokens("0 007.5 0e1 0.0")] == ["0", "007.5", "0e1", "0.0", ""]


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(FilterSyntaxError, match="at most 32,768 characters, this one 32,769"):
        tokens("a" * (CHARACTERS_MAX + 1))
