from __future__ import annotations

import random

import pytest

from broker_core.engine.store.results import GetStatus
from broker_core.protocol.message.record import decode_record
from tests.support.golden import contents
from tests.support.store_bench import LOG_FILE_BYTES, message
from tests.support.store_check import check_closed_store, log_records
from tests.unit.engine.store.test_recovery import all_bodies, fill, served

pytestmark = pytest.mark.usefixtures("both_ways")

IN_FILE = 10  # units of 20 bytes in a queue file of the bench


def queue_files(bench, queue_id=1):
    return sorted((bench.root / "consumequeue" / "Orders" / str(queue_id)).iterdir())


def overwrite(bench, first, data, queue_id=1):
    """Other bytes in place of units from a queue offset on."""
    position = first * 20
    while data:
        path = queue_files(bench, queue_id)[position // 200]
        part = data[: 200 - position % 200]
        old = path.read_bytes()
        path.write_bytes(old[: position % 200] + part + old[position % 200 + len(part) :])
        position, data = position + len(part), data[len(part) :]


def damages():
    noise = random.Random(5).randbytes
    return {
        "a hole": (20, bytes(20)),
        "a hole over files": (25, bytes(20 * 35)),
        "at the start": (0, bytes(20 * 3)),
        "noise": (31, noise(40)),
        "a flipped bit": (44, b"\x40"),
        "a size that is too large": (50, bytes(8) + b"\x7f\xff\xff\xfe"),
    }


@pytest.mark.parametrize("kind", damages())
def test_what_is_damaged_far_from_the_end_is_read_from_the_log_again(bench, kind):
    fill(bench)
    whole = [path.read_bytes() for path in queue_files(bench)]
    overwrite(bench, *damages()[kind])
    with bench.open() as store:
        assert served(store) == all_bodies()
    assert [path.read_bytes() for path in queue_files(bench)] == whole
    assert check_closed_store(bench.root) == 400


@pytest.mark.parametrize("kind", damages())
def test_read_only_it_is_mended_in_memory(bench, kind):
    fill(bench)
    overwrite(bench, *damages()[kind])
    before = contents(bench.root)
    with bench.open(read_only=True) as reader:
        assert served(reader) == all_bodies()
    assert contents(bench.root) == before


def test_a_search_by_time_passes_over_a_hole(bench):
    fill(bench)
    with bench.open() as store:
        times = [store.store_time("Orders", 1, offset) for offset in range(133)]
    overwrite(bench, 40, bytes(20 * 20))
    with bench.open() as store:
        for offset in (*range(40), *range(60, 133)):
            assert store.offset_by_time("Orders", 1, times[offset]) == offset
            assert store.offset_by_time("Orders", 1, times[offset], upper=True) == offset
        assert store.offset_by_time("Orders", 1, times[50]) == 60
        assert store.offset_by_time("Orders", 1, times[50], upper=True) == 39


def test_the_min_offset_is_found_in_spite_of_a_hole(bench):
    fill(bench)
    min((bench.root / "commitlog").iterdir()).unlink()
    with bench.open(read_only=True) as store:
        expected = store.min_offset("Orders", 1)
    overwrite(bench, 60, bytes(20 * 20))
    with bench.open() as store:
        assert 0 < store.min_offset("Orders", 1) == expected < 60


@pytest.mark.parametrize("at", [0, 5, 30], ids=["size", "magic code", "physical offset"])
def test_a_record_with_a_damaged_head_is_passed_over_alone(bench, at, caplog):
    fill(bench)
    rows = [(offset, decode_record(data)) for offset, data in log_records(bench.root)]
    offset, lost = next(row for row in rows if row[1].queue_id == 1 and row[1].queue_offset == 45)
    path = bench.root / "commitlog" / f"{offset - offset % LOG_FILE_BYTES:020d}"
    data = bytearray(path.read_bytes())
    data[offset % LOG_FILE_BYTES + at] ^= 0x55
    path.write_bytes(data)
    with bench.open() as store:
        found = store.get_messages("Orders", 1, 45, 1)
        assert [decode_record(record).queue_offset for record in found.records] == [46]
        following = store.get_messages("Orders", 1, 44, 32)
        assert [decode_record(record).queue_offset for record in following.records] == [44, 46, 47, 48, 49]
        assert store.store_time("Orders", 1, 45) == -1
        told = [text for text in caplog.messages if "damaged" in text]
        assert ["1 are lost" in text for text in told] == [True], "nobody searches twice"
        assert all_bodies() - {lost.body} == everything_served(store)


def test_a_unit_that_leads_nowhere_is_passed_over(bench):
    fill(bench)
    with bench.open() as store:
        queue = store._parts.queues.by_key["Orders", 1]
        queue.next_offset(1)
        queue.append(store.commit_log_max_offset - 200, 300, 0, 1)
        found = store.get_messages("Orders", 1, 133, 1)
        assert (found.status, found.records, found.next_offset) == (GetStatus.MESSAGE_WAS_REMOVING, [], 134)


def everything_served(store):
    found = set()
    for queue_id in range(3):
        offset = store.min_offset("Orders", queue_id)
        while offset < store.max_offset("Orders", queue_id):
            got = store.get_messages("Orders", queue_id, offset, 32)
            found |= {decode_record(record).body for record in got.records}
            offset = got.next_offset
    return found


def test_a_light_queue_is_mended_too(bench):
    with bench.open(multi_dispatch=True, lmq=True) as store:
        for number in range(100):
            names = "%LMQ%a" if number % 2 else "%LMQ%a,%LMQ%b"
            store.put(message(b"%d" % number, queue_id=number % 3, properties=b"INNER_MULTI_DISPATCH\x01" + names.encode()))
    path = sorted((bench.root / "consumequeue" / "%LMQ%b" / "0").iterdir())[1]
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + bytes(40) + whole[100:])
    with bench.open() as store:
        bodies = []
        for offset in range(50):
            bodies += [decode_record(record).body for record in store.get_messages("%LMQ%b", 0, offset, 1).records]
    assert bodies == [b"%d" % number for number in range(0, 100, 2)]
    assert path.read_bytes() == whole
