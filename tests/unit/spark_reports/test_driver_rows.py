"""Rows that the report process reads itself; what Spark makes of them is in tests/spark."""

import contextlib
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from broker_core.errors import ReportError
from spark_reports import driver_rows
from spark_reports.cancel import Interrupt
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import SKIPPED_COLUMNS, SUMS_BY, columns, sums
from spark_reports.datasource.skipped import OUTSIDE_RANGE
from spark_reports.datasource.source import StoreSourceReader
from spark_reports.driver_rows import DriverRows
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.session import ReportSession, SparkOptions
from tests.support.store_writer import StoreWriter


class FakeSpark:
    """Stands in for ``spark.read.schema(…).option(…).parquet(…).coalesce(1)``: gives the path."""

    read = property(lambda self: self)

    def schema(self, _schema):
        return self

    def option(self, _name, *, value):
        assert value is False
        return self

    def parquet(self, path):
        assert path.startswith("file:///")  # Spark may have another file system for paths that name none
        self.path = path.removeprefix("file://")
        return self

    def coalesce(self, parts):
        assert parts == 1
        return self.path


class Told:
    """Notes progress."""

    def __init__(self):
        self.steps = []

    def step(self, done, total, *, rows):
        self.steps.append((done, total, rows))


@pytest.fixture
def reader(tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 12)
    for index in range(60):
        writer.append(f"topic-{index % 3}", b"x" * index, {"KEYS": f"a{index} b"}, store_ms=index)
    writer.flush()
    plan = plan_read([tmp_path / "store"], split_bytes=1_000)
    schema = columns("topic", "keys", "body_bytes", "store_time", *SKIPPED_COLUMNS)
    return StoreSourceReader({"plan": plan.to_json(), "from_ms": "10"}, schema), schema


def test_rows_lie_in_the_order_of_the_log_with_what_was_left_out(reader, tmp_path):
    source, schema = reader
    told = Told()
    parts = source.partitions()
    rows = DriverRows(tmp_path, told)
    found = [pq.read_table(rows.frame(FakeSpark(), source.read_while, parts, schema)).to_pylist() for _ in range(2)]
    assert found[0] == found[1]
    messages = [row for row in found[0] if row["skipped_reason"] is None]
    assert [row["body_bytes"] for row in messages] == list(range(10, 60))
    assert messages[0]["keys"] == ["a10", "b"]
    assert sum(row["skipped_rows"] for row in found[0] if row["skipped_reason"] == OUTSIDE_RANGE) == 10
    assert [step[:2] for step in told.steps] == [(done, len(parts)) for done in range(1, len(parts) + 1)]
    assert (len(parts) > 1, told.steps[-1][2]) == (True, len(messages))


def test_a_folder_without_room_is_said(reader, tmp_path):
    source, schema = reader
    with pytest.raises(ReportError, match=r"the rows of the report cannot be kept in .*gone.*TMPDIR"):
        DriverRows(tmp_path / "gone").frame(FakeSpark(), source.read_while, source.partitions(), schema)


class EndlessReader:
    """Its first partition is one batch; the others go on, for a minute, until nobody asks for more."""

    def __init__(self, schema):
        self.batch = pa.RecordBatch.from_pylist([{"number": 1}], schema=schema)
        self.began, self.ran_out = threading.Event(), threading.Event()

    def read(self, part, is_wanted):
        assert is_wanted()
        yield self.batch
        if part:
            self.began.set()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                yield self.batch
            self.ran_out.set()


def test_a_cancelled_report_does_not_wait_for_what_is_still_read(tmp_path, monkeypatch):
    schema = StructType([StructField("number", LongType())])
    reader = EndlessReader(to_arrow_schema(schema))
    monkeypatch.setattr(driver_rows, "processors", lambda: 2)

    def cancelled(_batch):
        assert reader.began.wait(60)
        raise Interrupt

    monkeypatch.setattr(driver_rows, "_messages", cancelled)
    with pytest.raises(Interrupt):
        DriverRows(tmp_path).frame(FakeSpark(), reader.read, range(3), schema)
    assert not reader.ran_out.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("driver-rows")]


@pytest.fixture
def session():
    with contextlib.closing(ReportSession(SparkOptions())) as made:
        yield made


@pytest.mark.usefixtures("reader")
def test_of_a_large_log_only_sums_are_read_here(tmp_path, session, monkeypatch):
    plan = plan_read([tmp_path / "store"])
    for bytes_max, all_rows in ((plan.byte_count, True), (plan.byte_count - 1, False)):
        monkeypatch.setattr(driver_rows, "BYTES_MAX", bytes_max)
        with driver_rows.open_driver_rows(session, plan, Told()) as rows:
            reading = ReportInput(FakeSpark(), plan, ReportParameters(), driver_rows=rows)
            assert (reading.driver_messages is not None) is all_rows
            sums = pq.read_table(reading.sums("topic", "queue_id"))
        assert dict(zip(sums["topic"].to_pylist(), sums["messages"].to_pylist(), strict=True)) == {
            f"topic-{number}": 20 for number in range(3)
        }


@pytest.mark.usefixtures("reader")
def test_sums_that_nobody_waits_for_are_of_a_part(tmp_path):
    plan = plan_read([tmp_path / "store"])
    options = {"plan": plan.to_json(), SUMS_BY: '["topic"]'}
    source = StoreSourceReader(options, sums("topic"))
    (part,) = source.partitions()
    assert list(source.read_while(part, lambda: False)) == []
    assert sum(pc.sum(batch["messages"]).as_py() for batch in source.read_while(part, lambda: True)) == 60
