from __future__ import annotations

import pytest

from broker_core.errors import CodecError
from broker_core.protocol.message.message_id import UniqueIdGenerator, offset_message_id, own_offset, parse_offset_message_id
from broker_core.protocol.message.model import HostAddress
from tests.support.clock import ManualClock


@pytest.mark.parametrize(
    ("host", "offset", "message_id"),
    [
        ("192.168.1.10:10911", 0, "C0A8010A00002A9F0000000000000000"),
        ("192.168.1.10:10911", 196, "C0A8010A00002A9F00000000000000C4"),
        ("[::1]:30911", 7, "00000000000000000000000000000001000078BF0000000000000007"),
    ],
)
def test_an_offset_id_names_host_and_place(host, offset, message_id):
    address = HostAddress.parse(host)
    assert offset_message_id(address, offset) == message_id
    assert parse_offset_message_id(message_id) == (address, offset)


@pytest.mark.parametrize(("place", "offset"), [(-1, -1), (0, 0), (196, 196), (1 << 56, 0), ((3 << 56) + 196, 196)])
def test_a_place_of_several_brokers_has_the_offset_of_its_broker(place, offset):
    assert own_offset(place) == offset


@pytest.mark.parametrize("text", ["", "C0A8", "Z" * 32, "C0A8010A00002A9F000000000000000", "C0 8010A00002A9F0000000000000000"])
def test_other_text_is_no_offset_id(text):
    with pytest.raises(CodecError):
        parse_offset_message_id(text)


def test_unique_ids_hold_ip_pid_process_time_and_counter():
    clock = ManualClock()
    generator = UniqueIdGenerator(bytes((192, 168, 1, 20)), 0x12A2B, 0x18B4AAC2, clock)
    first, second = generator.next_id(), generator.next_id()
    assert first.startswith("C0A801142A2B18B4AAC2")
    assert (len(first), first[-4:], second[-4:]) == (32, "0000", "0001")
    assert first[:-4] == second[:-4]


def test_a_new_month_begins_a_new_count_of_milliseconds():
    clock = ManualClock()
    generator = UniqueIdGenerator(bytes(4), 1, 1, clock)
    generator.next_id()
    clock.advance(40 * 24 * 3600 * 1000)
    assert int(generator.next_id()[20:28], 16) < 31 * 24 * 3600 * 1000 + 3_700_000


def test_the_counter_wraps_at_16_bits():
    generator = UniqueIdGenerator(bytes(4), 1, 1, ManualClock())
    ids = [generator.next_id() for _ in range(65_537)]
    assert ids[65_535].endswith("FFFF")
    assert ids[65_536].endswith("0000")


def test_an_ipv6_client_has_56_digits():
    assert len(UniqueIdGenerator(bytes(16), 1, -1, ManualClock()).next_id()) == 56
