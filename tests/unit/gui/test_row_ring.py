import random

import pytest

from gui.models.row_ring import BLOCK_ROWS, NEW_ROWS, RowRing


def row(number: int) -> bytes:
    return b"%d" % number * (number % 7)


def ring_of(numbers: range, rows_max: int) -> tuple[RowRing, list[bytes]]:
    """A ring that was filled bit by bit and bounded, and what it should hold."""
    ring, wanted, chances = RowRing(), [], random.Random(5)
    left = list(numbers)
    while left:
        count = chances.choice([1, 7, 300, 1_200])
        some, left = [row(number) for number in left[:count]], left[count:]
        ring.add(some)
        wanted += some
        while len(ring) > rows_max:
            assert ring.pop() == wanted.pop(0)
    return ring, wanted[::-1]


@pytest.mark.parametrize("rows_max", [1, BLOCK_ROWS, NEW_ROWS - 1, NEW_ROWS, 3 * BLOCK_ROWS + 3, 10**6])
def test_rows_come_at_the_front_and_go_at_the_end(rows_max: int):
    ring, wanted = ring_of(range(6_000), rows_max)
    assert list(ring) == wanted
    assert ring[-1] == wanted[-1]
    assert ring[10:2_000:37] == wanted[10:2_000:37]
    for place in random.Random(6).choices(range(len(wanted)), k=60):
        assert ring[place] == wanted[place]
    while len(ring):
        assert ring.pop() == wanted.pop()
    with pytest.raises(IndexError):
        ring[0]


def test_a_ring_that_was_cleared_is_filled_anew():
    ring, _ = ring_of(range(2_300), 2_000)
    assert ring[-1]
    ring.clear()
    assert len(ring) == 0
    ring.add(row(number) for number in range(1, 1_800))
    assert ring[1_798 - BLOCK_ROWS] == row(BLOCK_ROWS + 1)


def test_rows_that_are_alike_take_a_fourth_of_their_room():
    ring = RowRing()
    ring.add(
        b'{"order": %d, "customer": "c-%d", "state": "paid", "items": [1, 2, 3]}' % (i, i * 7919 % 1_000) for i in range(9_000)
    )
    assert sum(map(len, ring._blocks)) * 4 < sum(map(len, ring))
