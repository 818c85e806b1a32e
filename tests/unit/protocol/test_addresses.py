from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.addresses import (
    address_of,
    address_text,
    addresses_text,
    compared_text,
    host_of,
    host_text,
    ip_text,
    same_addresses,
)
from broker_core.protocol.message.model import HostAddress

V6 = st.ip_addresses(v=6)


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("0:0:0:0:0:0:0:1", "::1"), ("::1", "::1"), ("[::1]", "::1"), ("0000:0000:0000:0000:0000:0000:0000:0001", "::1"),
        ("2001:0DB8::00a1", "2001:db8::a1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("::ffff:c000:201", "::ffff:192.0.2.1"), ("FE80::1%lo", "fe80::1%lo"),
        ("10.0.0.7", "10.0.0.7"), ("mq.local", "mq.local"), ("MQ.local", "MQ.local"), ("", ""), ("a:b", "a:b"),
    ],
)  # fmt: skip
def test_a_host_has_one_spelling(written, spelled):
    assert host_text(written) == spelled
    assert host_text(spelled) == spelled


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("[0:0:0:0:0:0:0:1]:9876", "[::1]:9876"), ("::1:9876", "[::1]:9876"), ("0:0:0:0:0:0:0:1:9876", "[::1]:9876"),
        ("[::1]:9876", "[::1]:9876"), ("10.0.0.7:9876", "10.0.0.7:9876"), ("mq.local:9876", "mq.local:9876"),
        ("unknown", "unknown"), ("", ""), ("[::1]", "[::1]"), ("[::1]:http", "[::1]:http"),
    ],
)  # fmt: skip
def test_an_address_has_one_spelling(written, spelled):
    assert address_text(written) == spelled


def test_lists_of_addresses_are_compared_by_what_they_mean():
    assert addresses_text("h:1;[0:0:0:0:0:0:0:1]:2") == "h:1;[::1]:2"
    assert same_addresses("[0:0:0:0:0:0:0:1]:2;h:1", "::1:2;h:1")
    assert not same_addresses("[::1]:2", "[::1]:3")


def test_the_host_of_an_address_has_no_brackets():
    assert [host_of(one) for one in ("[0:0:0:0:0:0:0:1]:7", "1.2.3.4:7", "mq:7", "[::1]", "mq")] == [
        "::1", "1.2.3.4", "mq", "::1", "mq",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "compared"),
    [
        ("0:0:0:0:0:0:0:1", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"), ("[0:0:0:0:0:0:0:1]:47", "[::1]:47"),
        ("2001:DB8:", "2001:db8:"), (":1]:47", ":1]:47"), ("10.0.0", "10.0.0"),
        ("MQ", "MQ"), ("MQ:47", "MQ:47"), ("::1", "::1"),
    ],
)  # fmt: skip
def test_a_compared_text_is_spelled_as_addresses_are(typed, compared):
    assert compared_text(typed) == compared


@given(V6, st.integers(0, 65_535))
def test_every_spelling_of_an_address_is_the_same_one(ip, port):
    spelled = address_of(ip_text(ip.packed), port)
    upper = ip.exploded.upper()
    java = ":".join(f"{int(group, 16):x}" for group in ip.exploded.split(":"))
    assert {address_text(f"[{one}]:{port}") for one in (upper, java, ip.compressed)} == {spelled}
    assert {host_text(one) for one in (upper, java, ip.compressed)} == {host_of(spelled)}
    assert HostAddress.parse(spelled).packed[:16] == ip.packed
    assert str(HostAddress(ip.packed, port)) == spelled


@given(V6)
def test_the_spelling_is_that_of_rfc_5952(ip):
    spelled = ip_text(ip.packed)
    assert ipaddress.ip_address(spelled) == ip
    assert spelled == spelled.lower()
    assert len(spelled) <= len(ip.exploded)
    if "." not in spelled:
        assert all(group == "0" or not group.startswith("0") for group in spelled.split(":") if group)
        assert ":0:0:" not in f":{spelled}:" or "::" in spelled
