import shutil
import struct
from pathlib import Path

import pytest

from broker_core.errors import CorruptStoreError, ForeignStoreError, UsageError
from spark_reports.datasource import chain
from spark_reports.datasource.log_files import directories_of, mapped
from spark_reports.datasource.plan import ReadPlan, plan_read, split_for
from tests.support.store_writer import StoreWriter


def ranges(made):
    return [part for task in made.tasks for part in task]


def write(root, count, **options):
    writer = StoreWriter(root, **options)
    offsets = [writer.append("orders", b"x" * (index % 50)) for index in range(count)]
    writer.flush()
    return writer, offsets


def test_the_plan_ends_with_the_last_whole_record(tmp_path):
    writer, _ = write(tmp_path, 10)
    assert [(part.start, part.end, part.damage) for part in ranges(plan_read([tmp_path]))] == [(0, writer.position, None)]


def test_large_files_are_cut_at_record_borders(tmp_path):
    writer, offsets = write(tmp_path, 100)
    made = plan_read([tmp_path], split_bytes=1000)
    parts = ranges(made)
    assert len(parts) > 5
    assert {part.start for part in parts} <= set(offsets)
    assert [part.end for part in parts] == [*(part.start for part in parts[1:]), writer.position]


def test_completed_files_can_be_left_whole(tmp_path):
    writer, _ = write(tmp_path, 122, file_bytes=4096)
    parts = ranges(plan_read([tmp_path], split_bytes=1_000, for_sums=True))
    last = parts[-1].path
    split = [part for part in parts if part.path == last]
    assert [(part.start, part.end) for part in parts if part.path != last] == [(0, 4096)] * (len(parts) - len(split))
    assert (split[0].start, split[-1].base_offset + split[-1].end, len(split) > 1) == (0, writer.position, True)


@pytest.fixture
def small_tasks(monkeypatch):
    monkeypatch.setattr("spark_reports.datasource.plan.SPLIT_BYTES", 4_096)


@pytest.mark.usefixtures("small_tasks")
def test_completed_files_are_split_for_sums_without_being_followed(tmp_path):
    writer, offsets = write(tmp_path, 2_000, file_bytes=1 << 16)
    made = plan_read([tmp_path], split_bytes=20_000, for_sums=True)
    parts = ranges(made)
    assert {part.base_offset + part.start for part in parts} <= {*offsets, *range(0, writer.position, 1 << 16)}
    ends = [part.base_offset + part.end for part in parts]
    assert ends == [*(part.base_offset + part.start for part in parts[1:]), writer.position]
    sizes = [sum(part.byte_count for part in task) for task in made.tasks]
    assert max(sizes) <= 22_500
    assert len(sizes) == -(-3 * (1 << 16) // 20_000) + -(-(writer.position - 3 * (1 << 16)) // 20_000)


@pytest.mark.usefixtures("small_tasks")
def test_tasks_share_what_is_written_and_not_the_room_for_it(tmp_path):
    writer, _ = write(tmp_path, 2_000, file_bytes=1 << 20)
    assert writer.position < 250_000
    sizes = [sum(part.byte_count for part in task) for task in plan_read([tmp_path], cores=2, for_sums=True).tasks]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 16_384  # room is given out in blocks


@pytest.mark.usefixtures("small_tasks")
def test_no_part_begins_behind_the_filler_of_a_file(tmp_path):
    writer, offsets = write(tmp_path, 1_000, file_bytes=1 << 16)
    filler = next(offset for offset in offsets if offset > (1 << 16) - 4_000)
    writer.overwrite(filler, struct.pack(">ii", (1 << 16) - filler, -875286124))
    starts = [part.start for part in ranges(plan_read([tmp_path], split_bytes=10_400, for_sums=True)) if not part.base_offset]
    assert starts[-1] < filler < 10_400 * 6  # the sixth border would have been behind it
    assert len(starts) == 6


@pytest.mark.usefixtures("small_tasks")
def test_no_part_begins_at_a_record_in_a_body(tmp_path):
    writer = StoreWriter(tmp_path, file_bytes=1 << 16)
    while writer.position < 20_000:
        writer.append("orders", b"x" * 40)
    within = StoreWriter(tmp_path / "other", position=writer.position + 88)
    for _ in range(chain.SURE_RECORDS - 1):
        within.append("orders", b"y" * 20)
    outer = writer.append("orders", b"".join(within.pending))
    offsets = [writer.append("orders", b"x" * 40) for _ in range(600)]
    writer.flush()
    borders = [part.base_offset + part.start for part in ranges(plan_read([tmp_path], split_bytes=outer + 1, for_sums=True))]
    assert len(borders) > 3
    assert not any(outer < border < offsets[0] for border in borders)


def test_a_file_is_not_split_where_too_few_records_follow(tmp_path):
    _, offsets = write(tmp_path, 20)
    with mapped(str(next((tmp_path / "commitlog").iterdir()))) as buffer:
        assert chain.border_behind(buffer, 0, 1) == offsets[1]
        assert chain.border_behind(buffer, 0, offsets[20 - chain.SURE_RECORDS]) == offsets[20 - chain.SURE_RECORDS]
        assert chain.border_behind(buffer, 0, offsets[21 - chain.SURE_RECORDS]) is None


@pytest.mark.parametrize("broken", [None, 700, 1_499])
def test_a_log_is_split_at_records_up_to_the_first_broken_one(tmp_path, broken):
    writer = StoreWriter(tmp_path, file_bytes=16 << 20)
    offsets = [writer.append("orders", bytes(7_000 + index % 50)) for index in range(1_500)]
    writer.flush()
    if broken is not None:
        writer.overwrite(offsets[broken] + 4, b"\xff" * 4)
    expected = [0]
    for offset in offsets[:broken]:
        if offset >= expected[-1] + 100_000:
            expected.append(offset)
    (path,) = (tmp_path / "commitlog").iterdir()
    with mapped(str(path)) as buffer:
        borders, end = chain.follow(buffer, 0, 0, len(buffer), 100_000)
    assert (borders, end) == (expected, writer.position if broken is None else offsets[broken])


@pytest.mark.parametrize(
    ("mebibytes", "cores", "split"), [(1, 2, 32), (320, 2, 32), (2_560, 2, 160), (2_560, 64, 32), (40_960, 2, 256)]
)
def test_tasks_of_large_logs_are_larger_where_few_cores_read_them(mebibytes, cores, split):
    assert split_for(mebibytes << 20, cores) == split << 20


def test_the_cores_choose_the_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr("spark_reports.datasource.plan.SPLIT_BYTES", 1_000)
    writer, _ = write(tmp_path, 400, file_bytes=1 << 16)
    many, few = (len(plan_read([tmp_path], cores=cores).tasks) for cores in (64, 1))
    assert 4 <= few <= 10 < many
    assert plan_read([tmp_path], cores=1).byte_count == writer.position


def test_many_small_files_become_few_tasks(tmp_path):
    write(tmp_path, 200, file_bytes=2048)
    made = plan_read([tmp_path], split_bytes=8192)
    assert len(made.files) > 2 * len(made.tasks)


def test_a_file_made_ahead_is_not_read(tmp_path):
    writer, _ = write(tmp_path, 5, file_bytes=4096)
    with (tmp_path / "commitlog" / f"{4096:020d}").open("wb") as file:
        file.truncate(4096)
    assert plan_read([tmp_path]).byte_count == writer.position


def test_a_torn_last_record_is_left_out_and_named(tmp_path):
    writer, offsets = write(tmp_path, 5)
    writer.overwrite(offsets[-1] + 60, bytes(writer.position - offsets[-1] - 60))
    *read, torn = ranges(plan_read([tmp_path]))
    assert [part.end for part in read] == [offsets[-1]]
    assert (torn.start, torn.damage) == (offsets[-1], "incomplete record at the end of the log")


def test_a_last_record_with_a_torn_body_is_left_out(tmp_path):
    writer, offsets = write(tmp_path, 5)
    last = writer.append("orders", b"y" * 100)
    writer.overwrite(last + 100, bytes(40))
    assert [part.end for part in ranges(plan_read([tmp_path])) if part.damage is None] == [last]
    assert len(offsets) == 5


def test_the_log_goes_on_behind_a_damaged_record(tmp_path):
    writer, offsets = write(tmp_path, 9)
    writer.overwrite(offsets[4] + 4, b"\0\0\0\0")
    parts = ranges(plan_read([tmp_path]))
    assert [(part.start, part.end, bool(part.damage)) for part in parts] == [
        (0, offsets[4], False),
        (offsets[4], offsets[5], True),
        (offsets[5], writer.position, False),
    ]


def test_old_records_behind_the_end_are_not_read(tmp_path):
    """Recovery cuts a log by position only: what was behind the cut is still there until it is written over."""
    writer = StoreWriter(tmp_path)
    writer.append("orders", store_ms=2_000)
    end = writer.position
    writer.append("orders", store_ms=1_000)
    writer.append("orders", store_ms=1_000)
    writer.overwrite(end, struct.pack(">i", 7))
    assert max(part.end for part in ranges(plan_read([tmp_path])) if part.damage is None) == end


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path, 200, file_bytes=2048)
    (tmp_path / "commitlog" / f"{2048:020d}").unlink()
    damaged = [(part.byte_count, part.damage) for part in ranges(plan_read([tmp_path])) if part.damage]
    assert damaged == [(2048, "a log file is missing before this one")]


def test_an_empty_store_has_no_tasks(tmp_path):
    (tmp_path / "commitlog").mkdir()
    assert plan_read([tmp_path]).tasks == ()


def test_plans_travel_as_text(tmp_path):
    write(tmp_path, 30)
    made = plan_read([tmp_path], split_bytes=500)
    assert ReadPlan.from_json(made.to_json()) == made


@pytest.mark.parametrize(("name", "said"), [("missing", "does not exist"), (".", "no folder “commitlog”")])
def test_a_directory_that_is_no_store_is_refused(tmp_path, name, said):
    with pytest.raises(ForeignStoreError, match=said):
        plan_read([tmp_path / name])


def test_a_log_in_several_directories_is_one(tmp_path):
    """As storePathCommitLog with two directories lays it out: every second file in the other one."""
    _, offsets = write(tmp_path / "store", 60, file_bytes=2048)
    whole = plan_read([tmp_path / "store"])
    other = tmp_path / "other disk"
    other.mkdir()
    for path in sorted((tmp_path / "store" / "commitlog").iterdir())[1::2]:
        path.rename(other / path.name)
    directories = (tmp_path / "store" / "commitlog", other)
    spread = plan_read([tmp_path / "store"], directories=directories)
    assert [(part.base_offset, part.start, part.end) for part in ranges(spread)] == [
        (part.base_offset, part.start, part.end) for part in ranges(whole)
    ]
    assert len({part.path.rpartition("/")[0] for part in ranges(spread)}) == 2
    shutil.copy(next(other.iterdir()), tmp_path / "store" / "commitlog")
    with pytest.raises(CorruptStoreError, match="each file once"):
        plan_read([tmp_path / "store"], directories=directories)
    with pytest.raises(ForeignStoreError, match="there is no commit log directory"):
        plan_read([tmp_path / "store"], directories=[tmp_path / "nowhere"])
    assert len(offsets) == 60


def test_directories_belong_to_one_store(tmp_path):
    assert directories_of("/a, /b", ["/store"]) == (Path("/a"), Path("/b"))
    with pytest.raises(UsageError, match="belong to one store, and 2 are read"):
        directories_of("/a", ["/one", "/two"])


def test_a_put_that_is_under_way_is_no_damage(tmp_path, monkeypatch):
    """The head of a record is there before its body; a moment later both are, and records behind it."""
    writer, offsets = write(tmp_path, 5)
    last = writer.append("orders", b"y" * 100)
    writer.overwrite(last + 100, bytes(40))
    looks = []

    def complete_meanwhile(_seconds):
        looks.append(1)
        writer.overwrite(last + 100, b"y" * 40)
        writer.append("orders", b"z")
        writer.flush()

    monkeypatch.setattr(chain.time, "sleep", complete_meanwhile)
    assert [(part.start, part.end, part.damage) for part in ranges(plan_read([tmp_path]))] == [(0, last, None)]
    assert (len(looks), len(offsets)) == (1, 5)
