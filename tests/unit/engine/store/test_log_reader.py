"""Windows of a log read from outside; what they make of golden and damaged stores is tested with `store verify`."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.engine.store.inspection.log_reader import LogReader
from tests.support.store_writer import StoreWriter

pytestmark = pytest.mark.usefixtures("both_ways", "both_platforms")


@pytest.fixture
def places(tmp_path: Path) -> list[int]:
    """Places of 300 records in three files."""
    writer = StoreWriter(tmp_path, file_bytes=1 << 14)
    found = [writer.append("orders", b"%d" % number * 20) for number in range(300)]
    writer.flush()
    return found


def read(root: Path, start: int = 0, end: int | None = None, window_bytes: int = 2_000) -> tuple[list[int], list[str]]:
    log = LogReader(root, window_bytes)
    found = [int(place) for window in log.windows(start, end) for place in window.heads.physical_offset]
    log.close()
    return found, [str(finding) for finding in log.findings]


def test_parts_of_a_log_are_read_from_record_to_record(tmp_path: Path, places: list[int]) -> None:
    assert len(list((tmp_path / "commitlog").iterdir())) == 3
    assert read(tmp_path) == (places, [])
    for first, last in ((0, 1), (5, 200), (150, 299), (299, 299)):
        assert read(tmp_path, places[first], places[last]) == (places[first:last], [])
    assert read(tmp_path, places[100]) == (places[100:], [])


def test_a_part_that_does_not_end_with_a_record_is_told(tmp_path: Path, places: list[int]) -> None:
    found, findings = read(tmp_path, 0, places[3] + 10)
    assert found == places[:3]
    assert "10 bytes" in findings[0]


def test_a_file_that_goes_away_is_told(tmp_path: Path, places: list[int]) -> None:
    log = LogReader(tmp_path, 2_000)
    windows = log.windows()
    next(windows)
    second = sorted((tmp_path / "commitlog").iterdir())[1]
    second.unlink()
    found = [int(place) for window in windows for place in window.heads.physical_offset]
    assert found[-1] == places[-1]
    assert any(second.name in str(finding) and "gone" in str(finding) for finding in log.findings)


def test_damaged_bodies_are_left_out_only_where_they_are_checked(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path)
    writer.append("orders", b"sound")
    place = writer.append("orders", b"damaged")
    writer.overwrite(place + 88, b"x")
    log = LogReader(tmp_path)
    assert sum(len(window.heads) for window in log.windows()) == 1
    assert len(log.findings) == 1
    assert sum(len(window.heads) for window in log.windows(check_bodies=False)) == 2
    assert len(log.findings) == 1
