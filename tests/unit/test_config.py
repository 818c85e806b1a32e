"""Settings of the broker, from the texts of files and command lines."""

from __future__ import annotations

import pytest

from broker_core.config import BrokerConfig, with_settings
from broker_core.errors import UsageError


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("+7", 7), ("007", 7), ("9223372036854775807", (1 << 63) - 1)])
def test_a_number_is_read(text, number):
    assert with_settings(BrokerConfig(), {"transactionTimeOut": text}).transaction_timeout_ms == number


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 5_000, "1_0", "٣", " 7", "7 ", "1e3", "0x10", "", "-1"])
def test_what_is_no_number_of_64_bits_is_refused(text):
    with pytest.raises(UsageError, match="transactionTimeOut takes a") as refused:
        with_settings(BrokerConfig(), {"transactionTimeOut": text})
    assert len(refused.value.message) < 250


def test_a_zero_byte_is_refused():
    with pytest.raises(UsageError, match="brokerName holds a zero byte"):
        with_settings(BrokerConfig(), {"brokerName": "a\0b"})
