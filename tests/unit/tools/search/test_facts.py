"""Comparisons with values of a body's JSON and with properties: exact, and with each member."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.protocol.message.record import decode_record
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.language import parse_field, parse_filter
from broker_core.worker.field_views import field_text
from tests.support.clock import ManualClock
from tests.support.engine import Engine

BODY = (
    rb'{"a":23958446825181076828,"b":9007199254740993,"c":0.10,"d":12345678901234567890.123,"e":1E400,"f":-0,"g":1.0,'
    rb'"k":1,"k":2,"s":"\ud800","huge":1e9999999999}'
)


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[MessageFacts]:
    engine = Engine(tmp_path / "store", ManualClock())
    record = engine.store.record_at(engine.put("orders", 1, BODY, price="0.30000000000000000001", count="007"))
    assert record is not None
    yield MessageFacts(decode_record(record))
    engine.close()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("body.b = 9007199254740993", True),
        ("body.b = 9007199254740992", False),
        ("body.b = 9007199254740993.0", True),
        ("body.b = 9007199254740992.0", False),
        ("body.b > 9007199254740992.5", True),
        ("body.c = 0.1", True),
        ("body.c = 0.1000000000000000055511151231257827", False),
        ("body.d = 12345678901234567890.123", True),
        ("body.d = 12345678901234567890.124", False),
        ("body.d in (1, 12345678901234567890.123)", True),
        ("body.d < 12345678901234567891", True),
        ("body.e = 1E400", True),
        ("body.e = 2E400", False),
        ("body.e > 1e399", True),
        ("body.f = 0", True),
        ("body.g = 1", True),
        ("body.k = 1", True),
        ("body.k = 2", True),
        ("body.k > 2", False),
        ("body.huge > 0", False),
        ("body.c contains '0.10'", True),
        ("body.d ~ '[.]123$'", True),
        ("prop.price = 0.3", False),
        ("prop.price = 0.30000000000000000001", True),
        ("prop.price > 0.3", True),
        ("prop.count = 7", True),
    ],
)
def test_numbers_are_compared_digit_by_digit(facts: MessageFacts, text: str, holds: bool):
    assert matches(parse_filter(text, now_ms=0), facts) is holds


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("body.a", "23958446825181076828"), ("body.c", "0.10"), ("body.d", "12345678901234567890.123"), ("body.e", "1E400"),
        ("body.f", "-0"), ("body.g", "1.0"), ("body.k", "1, 2"), ("body.s", r"\ud800"),
    ],
)  # fmt: skip
def test_a_column_shows_each_digit_and_each_member(facts: MessageFacts, field: str, shown: str):
    assert field_text(facts, parse_field(field)) == shown
