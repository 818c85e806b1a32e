from __future__ import annotations

import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.compose.template import Moment, Template, TemplateError

MOMENT = Moment(42, 1_800_000_000_123, random.Random(7))


def filled(text: str, number: int = 42) -> str:
    return Template(text).fill(Moment(number, 1_800_000_000_123, random.Random(7)))


def test_numbers_and_times_are_filled_in():
    assert filled("order ${n} of ${n:6}") == "order 42 of 000042"
    assert filled("${n:2}", 12_345) == "12345"
    assert filled("${now}, ${now:iso}") == "1800000000123, 2027-01-15T08:00:00.123Z"


def test_chance_keeps_its_bounds_and_differs_from_place_to_place():
    assert {filled("${random:3-3}") for _ in range(3)} == {"3"}
    values = {int(Template("${random:-2-2}").fill(Moment(1, 0, random.Random(seed)))) for seed in range(200)}
    assert values == {-2, -1, 0, 1, 2}
    words = {Template("${pick:a|b|}").fill(Moment(1, 0, random.Random(seed))) for seed in range(50)}
    assert words == {"a", "b", ""}
    one, other = filled("${uuid} ${uuid}").split()
    assert one != other
    assert uuid.UUID(one).version == 4


def test_what_is_no_variable_stays_or_is_refused_with_its_place():
    assert filled('{"price": "$5", "a": {"b": 1}} $n $') == '{"price": "$5", "a": {"b": 1}} $n $'
    assert filled("$${n} ${n}") == "${n} 42"
    for text, position in (
        ("a ${m}", 2),
        ("${n:}x ${n:0}", 7),
        ("${n:99}", 0),
        ("${n:x}", 0),
        ("${uuid:4}", 0),
        ("${now:local}", 0),
        ("${random}", 0),
        ("${random:9-1}", 0),
        ("${pick:}", 0),
        ("x${", 1),
        ("x${n", 1),
        ("${}", 0),
    ):
        with pytest.raises(TemplateError, match="no variable") as refused:
            Template(text)
        assert refused.value.context["position"] == position, text


def test_only_texts_with_variables_vary():
    assert Template("${n}").varies
    assert not Template("plain $${n}").varies


@given(st.text())
def test_any_text_is_read_or_refused_and_without_a_sign_stays_as_it_is(text: str):
    place = None
    found = ""
    try:
        found = Template(text).fill(MOMENT)
    except TemplateError as error:
        place = error.context["position"]
    assert "${" in text or (place is None and found == text)
    assert place is None or text.startswith("${", int(str(place)))
