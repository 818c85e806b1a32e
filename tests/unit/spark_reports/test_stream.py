"""Following a store by offsets, without Spark."""

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.errors import UsageError
from spark_reports.datasource.plan import CLEANED
from spark_reports.datasource.schema import columns
from spark_reports.datasource.stream import StoreStreamReader, ranges_between
from tests.support.store_writer import StoreWriter

SCHEMA = columns("physical_offset", "queue_offset", "skipped_reason", "skipped_rows", "skipped_bytes")


@pytest.fixture
def writer(tmp_path):
    return StoreWriter(tmp_path / "store", file_bytes=1 << 12)


def reader_of(writer, **options):
    return StoreStreamReader({"path": str(writer.root), **options}, SCHEMA)


def put(writer, count):
    places = [writer.append("orders", b"x" * 50) for _ in range(count)]
    writer.flush()
    return places


def read_between(reader, start, end):
    batches = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    return pa.Table.from_batches(batches, to_arrow_schema(SCHEMA, timezone="UTC")).to_pylist()


def places_of(rows):
    return [row["physical_offset"] for row in rows]


def test_each_record_comes_once_over_file_borders(writer):
    reader = reader_of(writer)
    offset, seen, put_so_far = reader.initialOffset(), [], []
    for count in (3, 0, 100, 1, 57):
        put_so_far += put(writer, count)
        latest = reader.latestOffset(offset, None)
        seen += places_of(read_between(reader, offset, latest))
        assert seen == put_so_far
        offset = latest
    assert writer.position > 2 * writer.file_bytes


def test_the_same_offsets_give_the_same_rows_when_the_log_has_grown(writer):
    reader = reader_of(writer)
    start = reader.initialOffset()
    first = put(writer, 30)
    end = reader.latestOffset(start, None)
    put(writer, 90)
    assert places_of(read_between(reader, start, end)) == first


def test_a_record_that_is_not_whole_is_left_for_later(writer):
    reader = reader_of(writer)
    put(writer, 5)
    place = writer.append("orders", b"y" * 80)
    whole = writer.pending[-1]
    writer.pending[-1] = whole[:60] + bytes(len(whole) - 60)
    writer.flush()
    end = reader.latestOffset(reader.initialOffset(), None)
    assert end == {str(writer.root): place}
    writer.overwrite(place, whole)
    assert places_of(read_between(reader, end, reader.latestOffset(end, None))) == [place]


def test_newest_leaves_out_what_is_there(writer):
    put(writer, 50)
    reader = reader_of(writer, begin="newest")
    start = reader.initialOffset()
    later = put(writer, 4)
    assert places_of(read_between(reader, start, reader.latestOffset(start, None))) == later


def test_what_was_cleaned_away_unread_is_counted(writer):
    reader = reader_of(writer)
    start = reader.initialOffset()
    places = put(writer, 60)
    (writer.root / "commitlog" / f"{0:020d}").unlink()
    rows = read_between(reader, start, reader.latestOffset(start, None))
    assert [row["skipped_bytes"] for row in rows if row["skipped_reason"] == CLEANED] == [writer.file_bytes]
    read = [row["physical_offset"] for row in rows if row["skipped_reason"] is None]
    assert read == [place for place in places if place >= writer.file_bytes]


def test_nothing_new_is_no_range(writer):
    put(writer, 3)
    end = reader_of(writer).latestOffset({str(writer.root): 0}, None)[str(writer.root)]
    assert ranges_between(str(writer.root), end, end) == []


def test_an_unknown_beginning_is_refused(writer):
    with pytest.raises(UsageError, match="oldest or newest"):
        reader_of(writer, begin="yesterday")
