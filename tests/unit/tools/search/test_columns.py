"""Rows of columns: what the kernels mark is what a comparison of each number says."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.engine.store.record_heads import HeadScan
from broker_core.native.library import installed
from broker_core.tools.search.columns import _borders, rows_of
from broker_core.tools.search.expression import Comparison, Field, FieldKind, Operator
from broker_core.tools.search.facts import compare
from broker_core.tools.search.queues import merged

pytestmark = pytest.mark.usefixtures("both_ways")
both_ways = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

ENDS = (-(1 << 63), -(1 << 63) + 1, (1 << 63) - 2, (1 << 63) - 1)
NUMBERS = st.integers(-5, 5) | st.sampled_from(ENDS)
LITERALS = NUMBERS | st.sampled_from([-(1 << 63) - 1, 1 << 63, 1 << 70, -(1 << 70)])
SIZE = Field("size", FieldKind.SIZE)
EQUALITY = (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN)
ORDERS = (Operator.LESS, Operator.LESS_OR_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)


@both_ways
@given(st.lists(NUMBERS, max_size=20), st.sampled_from([*EQUALITY, *ORDERS]), st.lists(LITERALS, min_size=1, max_size=4))
def test_a_comparison_of_a_column_is_that_of_each_number(column, operator, literals):
    comparison = Comparison(SIZE, operator, tuple(literals if operator is Operator.IN else literals[:1]))
    marked = HeadScan(installed()).between(memoryview(array("q", column)), _borders(comparison))
    assert list(map(bool, marked)) == [compare(comparison, (number,)) for number in column]
    assert list(rows_of(marked)) == [row for row, number in enumerate(column) if compare(comparison, (number,))]


@both_ways
@given(st.lists(NUMBERS, max_size=20), st.sampled_from([1, 6, 1 << 40]))
def test_rows_with_a_bit_are_those_whose_number_has_it(column, bits):
    marked = HeadScan(installed()).with_bits(memoryview(array("q", column)), bits)
    assert list(map(bool, marked)) == [number & bits != 0 for number in column]


@both_ways
@given(st.lists(st.lists(st.integers(0, 30), unique=True), min_size=1, max_size=6))
def test_places_of_several_queues_are_one_ascending_column(queues):
    parts = [memoryview(array("q", sorted(places))) for places in queues]
    assert merged(parts).tolist() == sorted({place for places in queues for place in places})
