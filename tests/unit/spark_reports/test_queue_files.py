import struct

import pytest

from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.queue_files import narrowed
from spark_reports.datasource.schema import columns
from spark_reports.datasource.source import StoreSourceReader
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter

UNIT = struct.Struct(">qiq")


def write(root, units):
    """Write queues: (topic, queue) → units."""
    for (topic, queue_id), rows in units.items():
        folder = root / "consumequeue" / topic / str(queue_id)
        folder.mkdir(parents=True, exist_ok=True)
        data = b"".join(UNIT.pack(offset, size, 0) for offset, size in rows)
        (folder / f"{0:020d}").write_bytes(data + bytes(60))


@pytest.fixture
def store(tmp_path):
    """3,000 records of one topic, and one of another among every thousand."""
    writer, units = StoreWriter(tmp_path, file_bytes=1 << 22), {}
    for index in range(3_000):
        topic = "rare" if index % 1000 == 500 else "busy"
        place = writer.append(topic, b"x" * 900, queue_id=index % 2)
        units.setdefault((topic, index % 2), []).append((place, writer.position - place))
    writer.flush()
    write(tmp_path, units)
    return tmp_path, writer, units


def ranges(root):
    return [part for task in plan_read([root]).tasks for part in task]


def topics(root, **options):
    reader = StoreSourceReader({"path": str(root), "topics": '["rare"]', **options}, columns("topic", "physical_offset"))
    tasks = reader.partitions()
    rows = [row["physical_offset"] for part in tasks for batch in reader.read(part) for row in batch.to_pylist()]
    return rows, sum(part.byte_count for task in tasks for part in task.ranges)


def test_a_rare_topic_is_read_where_its_queues_say(store):
    root, writer, units = store
    wanted = [offset for offset, _ in units["rare", 0]]
    assert topics(root) == (wanted, writer.position)
    rows, read_bytes = topics(root, by_queues="true")
    assert rows == wanted
    assert read_bytes == sum(size for _, size in units["rare", 0])


def test_what_the_queues_do_not_know_yet_is_read_from_the_log(store):
    root, writer, units = store
    later = [writer.append("rare", b"y"), writer.append("busy", b"y")]
    writer.flush()
    rows, _ = topics(root, by_queues="true")
    assert rows == [*(offset for offset, _ in units["rare", 0]), later[0]]


def test_a_frequent_topic_is_read_from_the_log(store):
    root, _, _ = store
    assert narrowed(ranges(root), str(root), ["busy"]) is None


@pytest.mark.parametrize("rows", [[(500, 100), (400, 100)], [(-5, 10)], [(0, 10), (0, 0), (90, 10)]])
def test_queues_that_cannot_be_are_not_believed(store, rows):
    root, _, _ = store
    write(root, {("rare", 0): rows})
    assert narrowed(ranges(root), str(root), ["rare"]) is None


def test_units_that_only_keep_a_place_are_passed_over(store):
    root, _, units = store
    write(root, {("rare", 0): [(0, 0x7FFFFFFF), *units["rare", 0]]})
    assert topics(root, by_queues="true")[0] == [offset for offset, _ in units["rare", 0]]


def test_a_store_without_queues_is_read_as_a_whole(tmp_path):
    writer = StoreWriter(tmp_path)
    writer.append("rare")
    writer.flush()
    assert narrowed(ranges(tmp_path), str(tmp_path), ["rare"]) is None


@pytest.mark.parametrize("name", ["normal", "transaction", "delay"])
def test_queues_of_real_brokers_lead_to_the_same_records(tmp_path, name):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    for topic in {message.topic for message in golden.messages()}:
        found = []
        for by_queues in ("false", "true"):
            options = {"path": str(root), "topics": f'["{topic}"]', "by_queues": by_queues}
            reader = StoreSourceReader(options, columns("physical_offset"))
            batches = [batch for part in reader.partitions() for batch in reader.read(part)]
            found.append([row["physical_offset"] for batch in batches for row in batch.to_pylist()])
        assert found[0] == found[1]
