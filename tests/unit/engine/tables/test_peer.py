"""Addresses of clients, as records hold them."""

import pytest

from broker_core.engine.tables.peer import host_of
from tests.support.broker_bench import RecordingPeer


@pytest.mark.parametrize("address", ["10.0.0.7:4711", "[::1]:4711"])
def test_an_address_is_taken_as_it_is(address):
    assert str(host_of(RecordingPeer(address))).endswith("]:4711" if "[" in address else "10.0.0.7:4711")


def test_who_has_no_address_is_named_with_zeros_and_told(caplog):
    assert str(host_of(RecordingPeer("unknown"))) == "0.0.0.0:0"
    assert "unknown, is not an IP address" in caplog.text
