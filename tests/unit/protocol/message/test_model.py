from __future__ import annotations

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.model import HostAddress


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("192.168.1.10:10911", "c0a8010a00002a9f"),
        ("[::1]:30911", "00" * 15 + "01" + "000078bf"),
        ("[2001:db8::a:0:0:1]:1", "20010db800000000000a00000000000100000001"),
    ],
)
def test_an_address_has_the_bytes_of_the_record_and_one_text(text, packed):
    address = HostAddress.parse(text)
    assert address.packed.hex() == packed
    assert str(address) == text


def test_javas_text_of_an_address_is_read():
    assert HostAddress.parse("[0:0:0:0:0:0:0:1]:30911") == HostAddress.parse("[::1]:30911")


@pytest.mark.parametrize("text", ["192.168.1.10:10911", "[2001:db8::1]:1"])
def test_an_address_is_read_from_its_bytes(text):
    address = HostAddress.parse(text)
    assert HostAddress.from_packed(address.packed) == address


@pytest.mark.parametrize("text", ["", "localhost:1", "1.2.3.4", "1.2.3.4:x", "1.2.3:9876", "1.2.3.4:65536", "1.2.3.4:-1"])
def test_other_text_is_no_address(text):
    with pytest.raises(UsageError):
        HostAddress.parse(text)


def test_an_address_has_four_or_sixteen_bytes():
    with pytest.raises(CodecError, match="this one has 5"):
        HostAddress(b"12345", 1)
