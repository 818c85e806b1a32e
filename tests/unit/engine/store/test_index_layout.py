from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.store.index_file import IndexHeader, index_files
from broker_core.engine.store.index_keys import key_hash, record_keys
from broker_core.engine.store.index_layout import IndexItem, IndexItems, slot_at, slot_count
from tests.support.golden import golden_store
from tests.support.store_bench import INDEX_SLOTS, message

# Header, slots and items of the worked example (docs/spec/store.md §17.5), in a smaller file: 7 slots, 10 items.
HEADER = bytes.fromhex("0000018bcfe5687b0000018bcfe575ac000000000000000000000000000000c40000000300000005")
ITEMS = (
    "6d6e114400000000000000000000000000000000"
    "0029e2c800000000000000000000000000000000"
    "69512f2300000000000000c40000000300000000"
    "0029e2c800000000000000c40000000300000002"
)


def small_index(slots: int = 7, items: int = 10) -> bytes:
    data = bytearray(40 + 4 * slots + 20 * items)
    data[:40] = HEADER
    start = 40 + 4 * slots + 20
    data[start : start + 80] = bytes.fromhex(ITEMS)
    for item in range(1, 5):
        value = int.from_bytes(bytes.fromhex(ITEMS)[(item - 1) * 20 : (item - 1) * 20 + 4])
        slot = 40 + 4 * (value % slots)
        data[slot : slot + 4] = item.to_bytes(4)
    return bytes(data)


def test_the_worked_example():
    data = small_index()
    header = IndexHeader.decode(data)
    assert header == IndexHeader(1700000000123, 1700000003500, 0, 196, 3, 5)
    assert slot_count(data) == 7
    assert IndexItems(data, 7)[4] == IndexItem(2745032, 196, 3, 2)
    assert slot_at(data, 2745032 % 7) == 4


def test_keys_hash_as_the_worked_example_says():
    assert key_hash("TopicTest", "K1") == 2745032
    assert key_hash("TopicTest", "C0A801141A2B18B4AAC247B76D480001") == 1766928163


def test_the_keys_of_a_record_are_the_unique_one_and_the_parts_of_keys():
    properties = b"KEYS\x01a b  c\x02UNIQ_KEY\x01u"
    assert record_keys(0, properties) == ["u", "a", "b", "c"]
    assert record_keys(0xC, properties) == []  # a rollback
    assert record_keys(0x8, b"KEYS\x01 ") == []


@pytest.mark.parametrize("name", ["normal", "normal-5", "bigkeys", "crash"])
def test_the_number_of_slots_is_found(name, tmp_path):
    golden = golden_store(name)
    files = index_files(golden.unpack(tmp_path) / "index")
    assert files
    expected = int(golden.expected["settings"]["maxHashSlotNum"])
    assert {slot_count(path.read_bytes()) for path in files} == {expected}


@given(st.binary(max_size=600), st.booleans())
def test_any_bytes_have_a_number_of_slots_or_none(noise, headed):
    data = (HEADER if headed else b"") + noise
    slots = slot_count(data)
    assert slots == 0 or len(IndexItems(data, slots)) > 1


def test_a_missing_directory_has_no_files_and_other_names_are_passed_over(tmp_path):
    assert index_files(tmp_path / "nowhere") == []
    for name in ("20240101000000000", "notes.txt", "19990101000000000"):
        (tmp_path / name).touch()
    assert [path.name for path in index_files(tmp_path)] == ["19990101000000000", "20240101000000000"]


def test_zeros_that_look_like_a_first_item_do_not_move_the_slots(bench):
    """With 40 slots of the 50, items 1 and 2 would be zeros, whose offset is that of the first record, and slot 17 fits."""
    with bench.open() as store:
        properties = b"UNIQ_KEY\x0100000000000000000000000000000001\x02KEYS\x01k1 k2"
        store.put(message(topic="RMQ_SYS_TRANS_HALF_TOPIC", properties=properties))
        store.flush()
    data = next((bench.root / "index").iterdir()).read_bytes()
    assert [slot for slot in range(INDEX_SLOTS) if slot_at(data, slot)] == [17, 18, 27]
    assert slot_count(data) == INDEX_SLOTS
