import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.protocol.message.receipt_handle import ReceiptHandle, parse_handle, pop_retry_topic, real_topic

TEXT = "2 1795276006204 60000 7 1 broker-a 0 6"  # as 5.3.3 gave it


def test_a_handle_of_5_3_3_is_read_and_written():
    handle = parse_handle(TEXT)
    assert handle == ReceiptHandle(2, 1795276006204, 60000, 7, "1", "broker-a", 0, 6)
    assert str(handle) == TEXT
    assert not handle.is_order
    assert parse_handle("0 1 2 999 0 b 0 0").is_order


@given(st.text())
def test_any_text_is_a_handle_or_is_refused(text):
    with contextlib.suppress(CodecError):
        assert parse_handle(str(parse_handle(text))) == parse_handle(text)


@pytest.mark.parametrize("text", ["", "0 1 2 3 0 b 0", "0 1 2 3 4 b 0 0", "0 1 x 3 0 b 0 0"])
def test_what_is_no_handle_is_told(text):
    with pytest.raises(CodecError, match="no receipt handle"):
        parse_handle(text)


def test_retry_topics_have_an_old_and_a_new_name():
    assert pop_retry_topic("g", "T") == "%RETRY%g_T"
    assert pop_retry_topic("g", "T", flag="2") == "%RETRY%g+T"


@pytest.mark.parametrize(
    ("topic", "flag", "real"),
    [("T", "0", "T"), ("T", "1", "%RETRY%g_T"), ("T", "2", "%RETRY%g+T"), ("%RETRY%g_T", "1", "%RETRY%g_T")],
)
def test_the_flag_says_where_a_message_lies(topic, flag, real):
    assert real_topic("g", topic, flag) == real
