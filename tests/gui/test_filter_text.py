"""The text of a filter as it is edited: pieces, what may follow, conditions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.api import FilterError, parse_filter
from gui.models.filter_text import (
    PieceKind,
    Vocabulary,
    clauses,
    completion,
    narrowed,
    pieces,
    property_field,
    quoted,
    within_times,
    without,
)

KNOWN = Vocabulary(
    topics=("orders", "order-timeout", "payments"),
    groups=("pay",),
    tags=("PAID", "NEW"),
    properties=("region", "a b"),
    paths=("city",),
)
WHOLE = 'topic = "orders" and tag in ("new", "paid") and prop.region = "eu" and body contains "47 and 11" and stored >= -2h'


def offered(text, cursor=None):
    return completion(text, len(text) if cursor is None else cursor, KNOWN)


def test_pieces_have_their_kind():
    kinds = [(piece.text, piece.kind) for piece in pieces('not (body.a[0] >= 10KB) or tag ~ "x')]
    assert kinds == [
        ("not", PieceKind.JOINER),
        ("(", PieceKind.BRACKET),
        ("body.a[0]", PieceKind.FIELD),
        (">=", PieceKind.OPERATOR),
        ("10KB", PieceKind.NUMBER),
        (")", PieceKind.BRACKET),
        ("or", PieceKind.JOINER),
        ("tag", PieceKind.FIELD),
        ("~", PieceKind.OPERATOR),
        ('"x', PieceKind.TEXT),
    ]


@given(st.text(alphabet="ab.\"'\\ ()=!<>~,[]0-é杭\n", max_size=40), st.integers(0, 40))
def test_any_text_is_cut_and_completed_without_fault(text, cursor):
    for piece in pieces(text):
        assert text[piece.start : piece.end] == piece.text
    found = completion(text, min(cursor, len(text)), KNOWN)
    assert 0 <= found.start <= found.end <= len(text)
    for clause in clauses(text):
        assert text[clause.start : clause.end] == clause.text


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", "topic"),
        ("to", "topic"),
        ("sto", "stored"),
        ("topic ", "="),
        ("stored ", "="),
        ("topic = ", '"orders"'),
        ('topic = "pay', '"payments"'),
        ('tag in ("NEW", ', '"PAID"'),
        ("tag in ", "("),
        ("tag in (", '"PAID"'),
        ('tag = "PAID" ', "and"),
        ('tag = "PAID" and ', "topic"),
        ("not ", "topic"),
        ("(", "topic"),
        ('tag in ("a") ', "and"),
        ("state = ", "normal"),
        ("state = de", "delayed"),
        ("stored >= ", "-15m"),
        ("body_bytes > ", "1KB"),
        ("group = ", '"pay"'),
        ("prop.reg", "prop.region"),
        ("body.ci", "body.city"),
    ],
)
def test_what_may_follow_is_offered(text, first):
    assert offered(text).words[0] == first


def test_words_that_begin_as_typed_come_before_those_that_contain_it():
    assert offered('topic = "or').words == ('"orders"', '"order-timeout"')
    assert offered('topic = "e').words == ('"orders"', '"order-timeout"', '"payments"')


def test_operators_are_those_of_the_field():
    assert offered("queue ").words == ("=", "!=", "<", "<=", ">", ">=", "in")
    assert "contains" in offered("prop.x ").words
    assert offered("nothing ").words == ()


def test_a_completion_replaces_the_word_at_the_cursor():
    found = offered('top = "x"', cursor=2)
    assert (found.start, found.end, found.words[0]) == (0, 2, "topic")


def test_everything_offered_can_be_read():
    for value in offered("topic = ").words + offered("tag = ").words:
        parse_filter(f"topic = {value}", now_ms=0)
    for field in offered("").words:
        if field not in ("prop.", "not"):
            with pytest.raises(FilterError, match="expected"):
                parse_filter(field, now_ms=0)  # a field alone: what fails is that nothing follows


def test_conditions_are_cut_at_the_outermost_and():
    assert [clause.text for clause in clauses(WHOLE)] == [
        'topic = "orders"',
        'tag in ("new", "paid")',
        'prop.region = "eu"',
        'body contains "47 and 11"',
        "stored >= -2h",
    ]
    assert [clause.text for clause in clauses("a = 1 or b = 2 and c = 3")] == ["a = 1 or b = 2 and c = 3"]
    assert [clause.text for clause in clauses("(queue = 1 or queue = 2) and not tag = 'x'")] == [
        "(queue = 1 or queue = 2)",
        "not tag = 'x'",
    ]


def test_conditions_are_taken_out_and_put_in():
    first = clauses(WHOLE)[0]
    assert narrowed(without(WHOLE, first), first.text) == (
        'tag in ("new", "paid") and prop.region = "eu" and body contains "47 and 11" and stored >= -2h and topic = "orders"'
    )
    assert narrowed("", "queue = 1") == "queue = 1"
    assert narrowed("queue = 1", "queue = 1") == "queue = 1"
    assert narrowed("queue = 1 or queue = 2", "tag = 'x'") == "(queue = 1 or queue = 2) and tag = 'x'"


@given(st.text(max_size=30))
def test_a_quoted_text_is_read_as_it_was(text):
    tree = parse_filter(f"tag = {quoted(text)}", now_ms=0)
    assert tree.values == (text,)


@given(st.text(min_size=1, max_size=20))
def test_a_field_of_any_property_is_read_as_that_property(name):
    assert parse_filter(f"{property_field(name)} = 'x'", now_ms=0).field.prop == name


def test_a_time_takes_the_place_of_the_one_before():
    text = within_times('tag = "a" or tag = "b"', 1_700_000_000_000, 1_700_000_001_000)
    assert text == '(tag = "a" or tag = "b") and stored >= 1700000000000 and stored < 1700000001000'
    assert within_times(text, 1_700_000_000_100, 1_700_000_000_200).endswith(
        '") and stored >= 1700000000100 and stored < 1700000000200'
    )
    assert within_times("", 1_700_000_000_000, 1_700_000_001_000) == "stored >= 1700000000000 and stored < 1700000001000"
    assert within_times("stored >= -2h", 1_700_000_000_000, 1_700_000_001_000).startswith("stored >= -2h and ")
