from __future__ import annotations

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.model import HostAddress


@pytest.mark.parametrize(
    ("text", "packed"),
    [("192.168.1.10:10911", "c0a8010a00002a9f"), ("[0:0:0:0:0:0:0:1]:30911", "00" * 15 + "01" + "000078bf")],
)
def test_an_address_has_the_bytes_of_the_record_and_javas_text(text, packed):
    address = HostAddress.parse(text)
    assert address.packed.hex() == packed
    assert str(address) == text
    assert HostAddress.from_packed(address.packed) == address


@pytest.mark.parametrize("text", ["", "localhost:1", "1.2.3.4", "1.2.3.4:x", "1.2.3:9876", "1.2.3.4:65536", "1.2.3.4:-1"])
def test_other_text_is_no_address(text):
    with pytest.raises(UsageError):
        HostAddress.parse(text)


def test_an_address_has_four_or_sixteen_bytes():
    with pytest.raises(CodecError, match="this one has 5"):
        HostAddress(b"12345", 1)
