"""Values of fields as a table shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.errors import FilterError
from broker_core.protocol.message.record import decode_record
from broker_core.tools.search.facts import MessageFacts
from broker_core.tools.search.language import parse_field
from broker_core.worker.field_views import TEXT_CHARACTERS_MAX, field_text
from tests.support.clock import ManualClock
from tests.support.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "store", ManualClock())
    yield made
    made.close()


@pytest.fixture
def facts(engine: Engine) -> MessageFacts:
    body = '{"city": "杭州", "amount": 12.5, "items": [{"sku": "A"}, {"sku": "B"}], "none": null}'.encode()
    place = engine.put("orders", 1, body, KEYS="k1 k2", TAGS="PAID", region="eu")
    record = engine.store.record_at(place)
    assert record is not None
    return MessageFacts(decode_record(record))


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("prop.region", "eu"),
        ("prop.nothing", ""),
        ("body.city", "杭州"),
        ("body.amount", "12.5"),
        ("body.items[*].sku", "A, B"),
        ("body.items[0]", '{"sku": "A"}'),
        ("body.none", "null"),
        ("key", "k1, k2"),
        ("tag", "PAID"),
        ("queue", "1"),
        ("state", "normal"),
    ],
)
def test_a_field_is_shown_with_all_its_values(facts: MessageFacts, field: str, shown: str):
    assert field_text(facts, parse_field(field)) == shown


def test_a_long_value_is_cut_and_shows_it(engine: Engine):
    record = engine.store.record_at(engine.put("orders", 0, b"x" * (TEXT_CHARACTERS_MAX + 1)))
    assert record is not None
    shown = field_text(MessageFacts(decode_record(record)), parse_field("body"))
    assert (len(shown), shown[-1]) == (TEXT_CHARACTERS_MAX, "…")


@pytest.mark.parametrize(("text", "position"), [("", 0), ("colour", 0), ("tag = 'A'", 4), ("prop", 0), ("body.a b", 7)])
def test_what_is_no_field_alone_is_refused_with_its_place(text: str, position: int):
    with pytest.raises(FilterError) as refused:
        parse_field(text)
    assert refused.value.context["position"] == position
