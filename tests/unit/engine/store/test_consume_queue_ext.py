from __future__ import annotations

import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.store.consume_queue_ext import ADDRESS_MAX, ConsumeQueueExtension, ExtUnit, decode_unit, is_address
from broker_core.engine.store.disk import Disk
from tests.support.store_bench import message

FILE_BYTES = 200


@pytest.fixture
def extension(tmp_path):
    made = ConsumeQueueExtension(tmp_path / "ext" / "T" / "0", FILE_BYTES, Disk(), is_written=True, read_only=False)
    made.settle(None)
    return made


def write(extension):
    pending = extension.pending()
    extension.write(pending)
    extension.written(pending)


def files(extension):
    return sorted(extension._files.directory.iterdir())


def test_units_have_the_bytes_of_the_specification(extension):
    address = extension.add(-5, 1_700_000_000_000, b"\x01\x02")
    assert address == -(1 << 63)
    write(extension)
    data = files(extension)[0].read_bytes()
    assert data[:22] == struct.pack(">hqqh", 22, -5, 1_700_000_000_000, 2) + b"\x01\x02"
    assert len(data) == FILE_BYTES
    assert not any(data[22:])


def test_a_unit_that_does_not_fit_with_four_bytes_to_spare_goes_to_the_next_file(extension):
    exact = [extension.add(1, 2, bytes(12)) for _ in range(7)]  # 6 x 32 leave 8 bytes
    assert exact[6] + (1 << 63) == FILE_BYTES
    write(extension)
    first = files(extension)[0].read_bytes()
    assert first[192:] == b"\xff\xff" + bytes(6)
    assert [extension.unit(address) for address in exact] == [ExtUnit(1, 2, bytes(12))] * 7


def test_exactly_four_bytes_may_be_left(extension):
    extension.add(1, 2, bytes(178 - 2))  # 196 bytes
    assert extension.add(3, 4) + (1 << 63) == FILE_BYTES


def test_a_unit_larger_than_a_file_is_not_written_and_the_plain_code_stands(extension):
    assert extension.add(77, 1, bytes(177)) == 77
    assert extension.end == 0


def test_every_hash_is_told_from_every_address():
    assert not is_address(-2147483648)
    assert is_address(ADDRESS_MAX)
    assert is_address(-(1 << 63))


def test_after_settling_units_go_on_behind_the_last_one_that_a_queue_names(extension, tmp_path):
    addresses = [extension.add(number, number, b"x" * 14) for number in range(12)]
    write(extension)
    again = ConsumeQueueExtension(tmp_path / "ext" / "T" / "0", 999, Disk(), is_written=True, read_only=False)
    again.settle(addresses[6])
    assert again.file_bytes == FILE_BYTES
    assert again.unit(addresses[6]) == ExtUnit(6, 6, b"x" * 14)
    assert again.unit(addresses[7]) is None
    assert again.add(70, 70, b"x" * 14) == addresses[7]
    write(again)
    assert [again.unit(address).tags_code for address in addresses[:8]] == [0, 1, 2, 3, 4, 5, 6, 70]


def test_a_damaged_last_unit_is_left_behind(extension):
    address = extension.add(1, 1, bytes(14))
    write(extension)
    path = files(extension)[0]
    path.write_bytes(bytes(FILE_BYTES))
    extension.settle(address)
    assert extension.unit(address) is None
    assert extension.add(2, 2) + (1 << 63) == FILE_BYTES


def test_read_only_changes_no_byte(extension, tmp_path):
    addresses = [extension.add(number, number) for number in range(30)]
    write(extension)
    before = [path.read_bytes() for path in files(extension)]
    reader = ConsumeQueueExtension(tmp_path / "ext" / "T" / "0", 1, Disk(), is_written=True, read_only=True)
    reader.settle(addresses[3])
    assert not reader.is_written
    assert [path.read_bytes() for path in files(extension)] == before


@given(st.binary(max_size=60), st.integers(0, 70))
def test_any_bytes_are_a_unit_or_none(data, position):
    unit = decode_unit(data, position)
    if unit is not None:
        size = 20 + len(unit.bitmap)
        assert data[position : position + size] == struct.pack(">hqqh", size, *unit[:2], len(unit.bitmap)) + unit.bitmap


# ---- in a store --------------------------------------------------------------------------------------------------------


def fill(bench, count=100, **changes):
    with bench.open(consume_queue_ext=True, consume_queue_ext_file_bytes=400, **changes) as store:
        store.set_filter_bits(lambda _topic, properties, code: properties[-1:] + bytes([code & 1]))
        for number in range(count):
            bench.clock.advance(1_000)
            store.put(message(b"%d" % number, properties=b"TAGS\x01%d" % (number % 3)))


def matching(store, wanted):
    found = store.get_messages("Orders", 0, 0, 32, accepts=lambda code: code == wanted)
    return found.next_offset, len(found.records)


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("on", [False, True], ids=["switched off again", "still on"])
def test_filters_see_the_tags_behind_the_addresses(bench, on, crashed):
    fill(bench)
    if crashed:
        (bench.root / "abort").touch()
    units = (bench.root / "consumequeue/Orders/0/00000000000000000000").read_bytes()
    assert all(is_address(code) for _, _, code in struct.iter_unpack(">qiq", units))
    with bench.open(consume_queue_ext=on) as store:
        assert matching(store, ord("1")) == (10, 3)
        assert [unit.tags_code for unit in store.queue_units("Orders", 0, 3, 3)] == [ord("0"), ord("1"), ord("2")]
        store.put(message(b"more", properties=b"TAGS\x011"))
    with bench.open() as store:
        assert is_address(store.queue_units("Orders", 0, 100, 1, raw=True)[0].tags_code) is on
        assert store.queue_units("Orders", 0, 100, 1)[0].tags_code == ord("1")


def test_a_tags_code_that_the_extension_lost_is_found_in_the_record(bench):
    fill(bench)
    for path in (bench.root / "consumequeue_ext/Orders/0").iterdir():
        path.write_bytes(bytes(400))
    with bench.open() as store:
        assert [unit.tags_code for unit in store.queue_units("Orders", 0, 3, 3)] == [ord("0"), ord("1"), ord("2")]
        assert matching(store, ord("1")) == (10, 10), "what is not known passes; clients look at the tag itself"


def test_a_queue_built_anew_has_plain_codes_and_no_old_extension(bench):
    fill(bench)
    for path in (bench.root / "consumequeue/Orders/0").iterdir():
        path.write_bytes(b"\x01" * path.stat().st_size)
    with bench.open() as store:
        assert matching(store, ord("2")) == (10, 3)
    assert not list((bench.root / "consumequeue_ext/Orders/0").iterdir())


def test_extensions_are_shortened_and_removed_with_their_queues(bench):
    fill(bench, 600, file_reserved_hours=0)
    before = len(list((bench.root / "consumequeue_ext/Orders/0").iterdir()))
    for path in (bench.root / "commitlog").iterdir():
        os.utime(path, (0, 0))
    with bench.open(consume_queue_ext=True, file_reserved_hours=0) as store:
        assert store.clean().log_files
        after = sorted((bench.root / "consumequeue_ext/Orders/0").iterdir())
        assert 0 < len(after) < before
        first = store.min_offset("Orders", 0)
        (unit,) = store.queue_units("Orders", 0, first, 1, raw=True)
        assert is_address(unit.tags_code)
        assert store.queue_units("Orders", 0, first, 1)[0].tags_code in (ord("0"), ord("1"), ord("2"))
        store.remove_topic("Orders")
    assert not (bench.root / "consumequeue_ext/Orders").exists()
