from __future__ import annotations

import os
from datetime import datetime

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.cleanup import CleanDecision, Cleaned, Trigger, count_to_delete, decide, parse_hours
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.results import GetStatus, PutStatus
from broker_core.errors import StoreError, StoreReadOnlyError, UsageError
from broker_core.platform import replacing
from broker_core.protocol.message.record import decode_record
from tests.support.store_bench import BROKEN, LOG_FILE_BYTES, message
from tests.support.store_check import log_records
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("both_platforms")

HOUR_MS = 3_600_000
COUNT = 600
BY_AGE = CleanDecision(Trigger.TIME_OF_DAY, regardless_of_age=False)
BY_FORCE = CleanDecision(Trigger.DISK_USE, regardless_of_age=True)


# ---- deciding ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hour", "percent", "manual", "expected"),
    [
        (3, 75, False, None),
        (4, 75, False, CleanDecision(Trigger.TIME_OF_DAY, regardless_of_age=False)),
        (3, 76, False, CleanDecision(Trigger.DISK_USE, regardless_of_age=False)),
        (3, 85, False, CleanDecision(Trigger.DISK_USE, regardless_of_age=False)),
        (4, 86, False, CleanDecision(Trigger.DISK_USE, regardless_of_age=True)),
        (3, 91, False, CleanDecision(Trigger.DISK_USE, regardless_of_age=True)),
        (3, -1, False, CleanDecision(Trigger.DISK_USE, regardless_of_age=False)),
        (3, 10, True, CleanDecision(Trigger.MANUAL, regardless_of_age=False)),
        (3, 86, True, CleanDecision(Trigger.MANUAL, regardless_of_age=True)),
    ],
)
def test_when_and_how_to_delete(hour, percent, manual, expected):
    assert decide(StoreConfig(), local_hour=hour, used_percent=percent, manual=manual) == expected


def test_without_leave_to_delete_by_force_age_still_counts():
    config = StoreConfig(clean_forcibly=False)
    assert decide(config, local_hour=3, used_percent=99, manual=False) == CleanDecision(
        Trigger.DISK_USE, regardless_of_age=False
    )


@pytest.mark.parametrize(("setting", "percent", "is_due"), [(0, 10, False), (0, 11, True), (60, 60, False), (60, 61, True)])
def test_the_ratio_above_which_old_files_go_is_at_least_10(setting, percent, is_due):
    config = StoreConfig(disk_max_used_percent=setting)
    assert (decide(config, local_hour=3, used_percent=percent, manual=False) is not None) == is_due


@pytest.mark.parametrize(("setting", "percent", "by_force"), [(0, 30, False), (0, 31, True), (99, 85, False), (99, 86, True)])
def test_the_ratio_above_which_young_files_go_is_brought_between_30_and_85(setting, percent, by_force):
    config = StoreConfig(disk_max_used_percent=10, disk_clean_forcibly_percent=setting)
    assert decide(config, local_hour=3, used_percent=percent, manual=False) == CleanDecision(Trigger.DISK_USE, by_force)


def test_the_oldest_files_go_up_to_the_first_that_is_young_and_never_the_last():
    old, young = 0, HOUR_MS
    now_ms = 72 * HOUR_MS
    config = StoreConfig()
    assert count_to_delete([old, old, young, old], BY_AGE, config, now_ms) == 2
    assert count_to_delete([old, old, old], BY_AGE, config, now_ms) == 2
    assert count_to_delete([old] * 30, BY_AGE, config, now_ms) == 10
    assert count_to_delete([young] * 30, BY_AGE, config, now_ms) == 0
    assert count_to_delete([young] * 5, BY_FORCE, config, now_ms) == 4
    assert count_to_delete([], BY_FORCE, config, now_ms) == 0
    assert count_to_delete([old] * 30, BY_AGE, StoreConfig(delete_batch_files=3), now_ms) == 3


def test_several_hours_may_be_given():
    assert parse_hours("04") == {4}
    assert parse_hours(" 4;16 ;") == {4, 16}


@pytest.mark.parametrize("text", ["24", "four", "04,05", "-1"])
def test_what_is_no_hour_is_refused(bench, text):
    with pytest.raises(UsageError, match="is no hour; write 00 to 23"):
        bench.open(delete_when=text)


def test_a_negative_age_is_refused(bench):
    with pytest.raises(UsageError, match="fileReservedTime is -1"):
        bench.open(file_reserved_hours=-1)


# ---- deleting ------------------------------------------------------------------------------------------------------------


def fill(bench, store) -> None:
    for number in range(COUNT):
        bench.clock.advance(50)
        properties = b"KEYS\x01k%d" % number
        assert store.put(message(b"%d" % number, queue_id=number % 3, properties=properties)).status is PutStatus.PUT_OK
    store.flush()  # a sync of mapped bytes counts as a write to the file


def age(bench, hours: float, count: int | None = None) -> None:
    """Make the oldest log files so old."""
    when = bench.clock.now_ms / 1000 - hours * 3600
    for path in sorted((bench.root / "commitlog").iterdir())[:count]:
        os.utime(path, (when, when))


def at_hour(bench, hour: int) -> None:
    while datetime.fromtimestamp(bench.clock.now_ms / 1000).hour != hour:  # noqa: DTZ006  deleteWhen is in local time
        bench.clock.advance(HOUR_MS)


def assert_sound(bench, store) -> None:
    """Every queue serves exactly the records of the log, each found by its key, and nothing older."""
    left = {decode_record(data).physical_offset: decode_record(data) for _, data in log_records(bench.root)}
    seen = set()
    for queue_id in range(3):
        first, end = store.min_offset("Orders", queue_id), store.max_offset("Orders", queue_id)
        assert end == COUNT // 3
        for offset in range(first, end):
            found = store.get_messages("Orders", queue_id, offset, 1)
            assert found.status is GetStatus.FOUND
            seen.add(decode_record(found.records[0]).physical_offset)
        if first:
            assert store.get_messages("Orders", queue_id, first - 1, 1).status is GetStatus.OFFSET_TOO_SMALL
    assert seen == left.keys()
    keys = {number: store.query("Orders", f"k{number}", max_count=1) for number in range(COUNT)}
    assert {number for number, found in keys.items() if found} == {int(record.body) for record in left.values()}


def file_count(bench, name: str) -> int:
    return sum(path.is_file() for path in (bench.root / name).rglob("*"))


OFTEN = {"clean_interval_ms": 1, "flush_consume_queue_interval_ms": 10}
"""The store looks for what is to be cleaned a hundred times a second."""


def tended(bench) -> None:
    """Wait until the store has looked at its disk and cleaned: a look asks for the use of the disk at most four times."""
    before = bench.disk.looks
    wait_until(lambda: bench.disk.looks >= before + 9)


def test_files_past_their_time_go_in_the_hour_given_and_queues_and_index_follow(bench):
    with bench.open(**OFTEN) as store:
        fill(bench, store)
        at_hour(bench, 3)
        age(bench, 1)
        age(bench, 72, count=2)
        tended(bench)
        assert store.commit_log_min_offset == 0
        queues, index = file_count(bench, "consumequeue"), file_count(bench, "index")
        at_hour(bench, 4)
        tended(bench)
        assert store.commit_log_min_offset == 2 * LOG_FILE_BYTES
        assert file_count(bench, "consumequeue") < queues
        assert file_count(bench, "index") < index
        assert_sound(bench, store)
    with bench.open() as store:
        assert_sound(bench, store)


def test_a_crash_after_cleaning_changes_nothing(bench):
    store = bench.open()
    fill(bench, store)
    age(bench, 100)
    store.clean()
    before = store.commit_log_min_offset
    bench.crash(store)
    with bench.open() as store:
        assert store.commit_log_min_offset == before
        assert_sound(bench, store)


def test_a_very_full_disk_takes_files_before_their_time_and_puts_resume(bench):
    with bench.open(**OFTEN) as store:
        fill(bench, store)
        age(bench, 1)
        at_hour(bench, 12)
        bench.disk.used_percent = 91
        tended(bench)
        assert store.commit_log_min_offset == store.commit_log_max_offset // LOG_FILE_BYTES * LOG_FILE_BYTES
        assert store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
        assert "91 % full, more than 90 %" in store.write_refusal
        bench.disk.used_percent = 80
        tended(bench)
        assert store.put(message(queue_id=9)).status is PutStatus.PUT_OK


def test_a_disk_above_the_ratio_deletes_old_files_at_any_hour(bench):
    with bench.open(**OFTEN) as store:
        fill(bench, store)
        at_hour(bench, 12)
        age(bench, 1)
        age(bench, 80, count=1)
        bench.disk.used_percent = 76
        tended(bench)
        assert store.commit_log_min_offset == LOG_FILE_BYTES


def test_a_manual_run_deletes_all_that_is_due_and_says_how_much(bench):
    with bench.open(delete_batch_files=1) as store:
        fill(bench, store)
        assert store.clean() == Cleaned()
        age(bench, 100)
        cleaned = store.clean()
        assert (cleaned.log_files, cleaned.log_bytes) == (3, 3 * LOG_FILE_BYTES)
        assert cleaned.queue_files > 3
        assert cleaned.index_files > 0
        assert_sound(bench, store)


def test_files_in_use_stay_in_the_store_and_are_deleted_later(bench, monkeypatch):
    """As on Windows, where no file is deleted that another program has open, or that is mapped."""
    with bench.open() as store:
        fill(bench, store)
        age(bench, 100)
        with monkeypatch.context() as patch:
            patch.setattr(replacing, "remove", lambda _path: False)
            assert store.clean().log_files == 0
        assert store.commit_log_min_offset == 0
        record = store.record_at(0)
        assert decode_record(record).body == b"0"
        assert store.clean().log_files == 3
        assert_sound(bench, store)


def test_slices_of_a_deleted_file_stay_readable(bench):
    with bench.open() as store:
        fill(bench, store)
        record = store.record_at(0)
        age(bench, 100)
        store.clean()
        assert decode_record(record).body == b"0"
        assert store.record_at(0) is None


def test_a_queue_that_lost_all_its_messages_begins_at_its_end(bench):
    with bench.open() as store:
        store.put(message(queue_id=7))
        fill(bench, store)
        age(bench, 100)
        store.clean()
        assert (store.min_offset("Orders", 7), store.max_offset("Orders", 7)) == (1, 1)
    with bench.open() as store:
        assert (store.min_offset("Orders", 7), store.max_offset("Orders", 7)) == (1, 1)
        assert store.put(message(queue_id=7)).queue_offset == 1


def test_a_file_that_cannot_be_deleted_is_named_and_the_store_goes_on(bench, monkeypatch):
    with bench.open(**OFTEN) as store:
        fill(bench, store)
        age(bench, 100)
        path = min((bench.root / "commitlog").iterdir())

        def fail(_log: CommitLog) -> list[int]:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(CommitLog, "modified_ms", fail)
        with pytest.raises(StoreError, match=r"0{20} cannot be looked at: Permission denied"):
            store.clean()
        bench.disk.used_percent = 80
        tended(bench)
        assert store.put(message()).status is PutStatus.PUT_OK


def test_nothing_is_deleted_unless_the_checkpoint_can_be_written(bench):
    store = bench.open()
    fill(bench, store)
    age(bench, 100)
    store.put(message())
    bench.disk.sync_error = BROKEN
    with pytest.raises(StoreError, match="could not be written to the disk"):
        store.clean()
    bench.disk.sync_error = 0
    assert store.commit_log_min_offset == 0
    with pytest.raises(StoreReadOnlyError):
        store.clean()


def test_a_store_opened_read_only_is_not_cleaned(bench):
    with bench.open() as store:
        fill(bench, store)
    age(bench, 100)
    with bench.open(read_only=True) as store, pytest.raises(StoreReadOnlyError):
        store.clean()
