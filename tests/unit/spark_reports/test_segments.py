import pytest

from spark_reports.datasource.plan import ReadPlan, plan_read
from spark_reports.datasource.schema import columns
from spark_reports.datasource.segments import CLOCK_MARGIN_MS
from spark_reports.datasource.source import StoreSourceReader
from tests.support.store_writer import StoreWriter

HOUR_MS = 3_600_000
START_MS = 1_700_000_000_000


@pytest.fixture
def store(tmp_path):
    """A day, one message an hour, several to a file."""
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 10)
    for hour in range(24):
        writer.append("orders", b"x" * 100, store_ms=START_MS + hour * HOUR_MS)
    writer.flush()
    return tmp_path / "store"


def read(store, **bounds):
    options = {"path": str(store), **{name: str(value) for name, value in bounds.items()}}
    reader = StoreSourceReader(options, columns("store_time"))
    return sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part))


@pytest.mark.parametrize(("first", "last"), [(0, 24), (0, 1), (5, 9), (23, 24), (11, 11.5)])
def test_files_outside_are_not_opened_and_nothing_is_missed(store, first, last):
    bounds = {"from_ms": round(START_MS + first * HOUR_MS), "to_ms": round(START_MS + last * HOUR_MS)}
    plan = plan_read([store], **bounds)
    assert read(store, **bounds) == len([hour for hour in range(24) if first <= hour < last])
    assert set(plan.files).isdisjoint(plan.passed_over)
    assert len(plan.files) + len(plan.passed_over) == len(plan_read([store]).files)
    assert bool(plan.passed_over) == (last - first < 24)
    assert ReadPlan.from_json(plan.to_json()) == plan


def test_files_passed_over_are_no_damage(store):
    plan = plan_read([store], from_ms=START_MS + 12 * HOUR_MS)
    assert [part for task in plan.tasks for part in task if part.damage] == []


def test_a_clock_set_back_a_little_hides_nothing(tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 9)
    for index in range(12):
        back_ms = CLOCK_MARGIN_MS - 1_000 if index >= 6 else 0
        writer.append("orders", b"x" * 100, store_ms=START_MS + index * 1_000 - back_ms)
    writer.flush()
    assert read(tmp_path / "store", from_ms=START_MS) == 6


def test_a_file_that_does_not_begin_with_a_record_is_read(store):
    second = sorted((store / "commitlog").iterdir())[1]
    with second.open("r+b") as file:
        file.write(b"\xff" * 8)
    plan = plan_read([store], from_ms=START_MS + 20 * HOUR_MS)
    assert str(second) in plan.files
