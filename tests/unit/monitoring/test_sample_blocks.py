import numpy as np
import pytest

from monitoring.sample_blocks import BLOCK_SAMPLES, SampleBlocks

NAN = float("nan")
COLUMNS = 5


def filled(rows: np.ndarray, bytes_max: int = 2**30) -> SampleBlocks:
    blocks = SampleBlocks(bytes_max=bytes_max)
    for number, row in enumerate(rows):
        blocks.append(number, row)
    return blocks


def rows_of(count: int) -> np.ndarray:
    """A column that moves, one that stands still, one that stands still but once, one unknown at times, one of steps."""
    numbers = np.arange(float(count))
    once = np.where(numbers == 70, 1.0, 0.0)
    return np.stack([numbers, np.full(count, 5.0), once, np.where(numbers % 90 < 45, NAN, 8.0), numbers // 7], axis=1)


@pytest.mark.parametrize("count", [1, BLOCK_SAMPLES, BLOCK_SAMPLES + 1, 3 * BLOCK_SAMPLES + 7])
def test_columns_read_as_they_were_appended(count: int):
    rows = rows_of(count)
    blocks = filled(rows)
    for column in range(COLUMNS):
        assert np.array_equal(blocks.column(column, 0, count), rows[:, column], equal_nan=True)
        low, high = count // 3, 2 * count // 3
        assert np.array_equal(blocks.column(column, low, high), rows[low:high, column], equal_nan=True)


def test_a_column_is_unknown_before_it_came_and_one_that_never_came_always():
    blocks = filled(rows_of(100)[:, :1])
    for number in range(100, 200):
        blocks.append(number, np.array([1.0, 2.0]))
    assert blocks.column(1, 98, 102).tolist() == pytest.approx([NAN, NAN, 2.0, 2.0], nan_ok=True)
    assert np.isnan(blocks.column(7, 0, 200)).all()


@pytest.mark.parametrize("end", [150, 121, 120, 119, 60, 1, 0])
def test_samples_that_are_forgotten_are_written_anew(end: int):
    rows = rows_of(150)
    blocks = filled(rows)
    blocks.forget_from(end)
    for number in range(end, 200):
        blocks.append(number, np.full(COLUMNS, -1.0))
    for column in range(COLUMNS):
        found = blocks.column(column, 0, 200)
        assert np.array_equal(found[:end], rows[:end, column], equal_nan=True)
        assert (found[end:] == -1).all()


def test_whole_blocks_are_forgotten_from_the_front():
    blocks = filled(rows_of(200))
    blocks.forget_before(2 * BLOCK_SAMPLES + 1)
    assert blocks.first == 2 * BLOCK_SAMPLES
    assert blocks.column(0, 150, 152).tolist() == [150, 151]


def test_the_oldest_block_goes_when_they_take_too_much():
    blocks = filled(rows_of(1_000), bytes_max=2_000)
    assert 1_000 - 5 * BLOCK_SAMPLES < blocks.first < 1_000 - BLOCK_SAMPLES
    assert blocks.column(0, blocks.first, 1_000).tolist() == list(range(blocks.first, 1_000))


def test_columns_that_are_kept_move_up():
    rows = rows_of(150)
    blocks = filled(rows)
    kept = (0, 2, 3, 4)
    blocks.keep_columns(np.array(kept))
    for new, old in enumerate(kept):
        assert np.array_equal(blocks.column(new, 0, 150), rows[:, old], equal_nan=True)


@pytest.mark.parametrize("gap", [0, 1, 30, BLOCK_SAMPLES - 1])
def test_a_moment_in_which_all_are_unknown_takes_no_room_for_the_others(gap: int):
    rows = np.tile(np.arange(1_000.0), (BLOCK_SAMPLES + 1, 1))
    rows[gap] = NAN
    blocks = filled(rows)
    assert blocks._bytes < 1_000 * 24
    assert blocks.column(7, 0, BLOCK_SAMPLES).tolist() == pytest.approx(rows[:BLOCK_SAMPLES, 7].tolist(), nan_ok=True)
