"""`LongNamedSource`: the shop, its busiest topics and a group with names as long as a broker lets them be, without a gap."""

from __future__ import annotations

from typing import TypeVar

from tests.support.renamed_source import RenamedSource, renamed

T = TypeVar("T")

LONG_TOPIC = "paid" + "OfAllShops" * 12 + "123"
LONG_GROUP = "settle" + "OfAllShops" * 24 + "123456789"
assert (len(LONG_TOPIC), len(LONG_GROUP)) == (127, 255)
_LONG = {"payments": LONG_TOPIC, "orders": LONG_TOPIC[::-1], "payment-settle": LONG_GROUP, "stock-worker": LONG_GROUP[::-1]}


def long_named(value: T) -> T:
    """The same with long names in it, however deep."""
    return renamed(value, _LONG)  # type: ignore[no-any-return]  # of the type that was given


class LongNamedSource(RenamedSource):
    """Everything it says has long names in it."""

    NAMES = _LONG
