import random

import pytest

from gui.models.packed_rows import BLOCK_ROWS, NEW_ROWS, PackedRows


def row(number: int) -> bytes:
    return b"%d" % number * (1 + number % 7)


def stored_ms(one: bytes) -> int:
    return len(one) * 100 + one[-1]


def is_marked(one: bytes) -> bool:
    return one[-1:] == b"3"


def check(rows: PackedRows, wanted: list[bytes]) -> None:
    assert len(rows) == len(wanted)
    assert rows.marked == sum(map(is_marked, wanted))
    assert list(rows) == wanted
    assert list(reversed(rows)) == wanted[::-1]
    assert rows[10:2_000:37] == wanted[10:2_000:37]
    for begin, end in ((0, 10_000), (400, 852), (700, 600)):
        places = [place for place, one in enumerate(wanted) if begin <= stored_ms(one) <= end]
        assert rows.places_between(begin, end).tolist() == places
    for place in random.Random(6).choices(range(-len(wanted), len(wanted)), k=60 if wanted else 0):
        assert rows[place] == wanted[place]
    with pytest.raises(IndexError):
        rows[len(wanted)]


@pytest.mark.parametrize("rows_max", [1, BLOCK_ROWS, NEW_ROWS - 1, NEW_ROWS, 3 * BLOCK_ROWS + 3, 10**6])
def test_rows_come_at_the_end_and_go_at_the_front(rows_max: int):
    rows, wanted, chances, left = PackedRows(is_marked, stored_ms), [], random.Random(5), range(6_000)
    while left:
        count = chances.choice([1, 7, 300, 1_200])
        rows.extend(map(row, left[:count]))
        wanted += map(row, left[:count])
        left = left[count:]
        rows.drop_first(max(0, len(rows) - rows_max))
        del wanted[:-rows_max]
    check(rows, wanted)
    rows.clear()
    check(rows, [])


@pytest.mark.parametrize("before", [0, 3, BLOCK_ROWS, 2_300])
@pytest.mark.parametrize(("count", "gone"), [(5, 2), (2_300, 0), (2_300, 700), (2_300, 2_299), (1_100, 1_100)])
def test_rows_of_others_are_taken_over(before: int, count: int, gone: int):
    rows, others = PackedRows(is_marked, stored_ms), PackedRows(is_marked, stored_ms)
    rows.extend(map(row, range(before)))
    rows.drop_first(before // 2)
    others.extend(map(row, range(10_000, 10_000 + count)))
    others.drop_first(gone)
    rows.take(others)
    wanted = [*map(row, range(before // 2, before)), *map(row, range(10_000 + gone, 10_000 + count))]
    check(rows, wanted)
    check(others, [])
    others.extend([b"x"])
    rows.extend(map(row, range(40)))
    check(others, [b"x"])
    check(rows, [*wanted, *map(row, range(40))])


def test_rows_that_are_alike_take_a_fourth_of_their_room():
    rows = PackedRows(is_marked, stored_ms)
    form = b'{"order": %d, "customer": "c-%d", "state": "paid", "items": [1, 2, 3]}'
    rows.extend(form % (number, number * 7919 % 1_000) for number in range(9_000))
    assert sum(len(block.data) for block in rows._blocks) * 4 < sum(map(len, rows))
