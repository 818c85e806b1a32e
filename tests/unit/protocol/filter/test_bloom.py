"""Bits of SQL filters, as real brokers wrote them to consumerFilter.json."""

import pytest

from broker_core.protocol.filter.bloom import bloom_positions, murmur3


@pytest.mark.parametrize(
    ("group", "positions"), [("Shop-sql-0", [54, 49, 102]), ("Shop-sql-1", [44, 70, 15]), ("Shop-sql-2", [18, 67, 107])]
)
def test_positions_are_those_of_rocketmq(group, positions):
    assert bloom_positions(group, "ShopEvents") == positions


def test_nothing_hashes_to_nothing():
    assert murmur3(b"") == 0


def test_every_length_has_three_bits_within_the_filter():
    for length in range(40):
        positions = bloom_positions("g" * length, "T")
        assert len(positions) == 3
        assert all(0 <= position < 112 for position in positions)
