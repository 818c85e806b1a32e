"""Patterns of client addresses."""

import pytest

from broker_core.engine.acl.addresses import AddressPattern
from broker_core.errors import UsageError


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("*", "10.1.2.3", True),
        ("*.*.*.*", "10.1.2.3", True),
        ("", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
        ("10.1.2.3", "110.1.2.3", False),
        ("10.1.2.*", "10.1.2.200", True),
        ("10.1.2.*", "10.1.3.2", False),
        ("192.168.*.*", "192.168.7.8", True),
        ("192.168.1-5.*", "192.168.5.9", True),
        ("192.168.1-5.*", "192.168.6.9", False),
        ("192.168.1.{10,11}", "192.168.1.11", True),
        ("192.168.1.{10,11}", "192.168.1.12", False),
        ("1.2.3.4, 5.6.7.*", "5.6.7.8", True),
        ("1.2.3.{4,5},9.9.9.9", "1.2.3.5", True),
        ("::1", "::1", True),
        ("fe80::1:*", "fe80::1:beef", True),
        ("fe80::1:{2,3}", "fe80::1:3", True),
        ("fe80::1:{2,3}", "fe80::1:4", False),
        ("127.0.0.1", "::ffff:127.0.0.1", True),
        ("*:*:*:*:*:*:*:*", "10.1.2.3", True),
        ("::", "10.1.2.3", False),
        ("::", "fe80::1", False),
        ("::", "::", True),
        ("[::1]", "::1", True),
        ("0:0:0:0:0:0:0:1, 1.2.3.4", "::1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1", True),
        ("10.1.2.3", "host.example", False),
        ("10.1.2.3", "", False),
    ],
)
def test_matches(pattern, host, expected):
    assert AddressPattern(pattern).matches(host) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "1.2.3",
        "1.2.3.400",
        "a.b.c.d",
        "1.*.3.4",
        "1.2.3.9-1",
        "1.2.3.4.5",
        "1.2.3.{a,b}",
        "1..2.3",
        ":",
        "[::1",
        "1.2.3.1_0",
        "1.2.3.٣",
        "1.2.3.+4",
        "fe80::0x10",
        "*::*",
    ],
)
def test_refuses_what_is_no_pattern(pattern):
    with pytest.raises(UsageError, match="no address pattern"):
        AddressPattern(pattern)
