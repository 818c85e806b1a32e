import pytest

from broker_core.errors import CodecError
from broker_core.protocol.admin.brokers import BrokerPlace, read_broker_settings, read_brokers, read_level_table, read_runtime
from broker_core.protocol.json_body import JsonBodyError


def test_brokers_come_in_order_with_the_master_first():
    body = (
        b'{"brokerAddrTable":{"b":{"brokerAddrs":{1:"h:2"},"brokerName":"b","cluster":"C"},'
        b'"a":{"brokerAddrs":{1:"h:4",0:"h:3"},"brokerName":"a","cluster":"C"},"gone":{"brokerAddrs":{}}}}'
    )
    first, second = read_brokers(body)
    assert (first, first.address, first.has_master) == (BrokerPlace("a", "C", {0: "h:3", 1: "h:4"}), "h:3", True)
    assert (second.name, second.address, second.has_master) == ("b", "h:2", False)


def test_figures_are_texts_under_their_keys():
    assert read_runtime(b'{"table":{"brokerVersion":"401"}}') == {"brokerVersion": "401"}


@pytest.mark.parametrize("body", [b'{"brokerAddrTable":[1]}', b"<html>"])
def test_what_is_no_list_of_brokers_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_brokers(body)


@pytest.mark.parametrize("body", [b"", b'{"table":[]}', b'{"table":3}', b"[1]", b"\xff"])
def test_an_answer_without_a_table_of_figures_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_runtime(body)


def test_settings_are_lines_of_text():
    assert read_broker_settings(b"#c\nbrokerName=b\nlistenPort=1\n") == {"brokerName": "b", "listenPort": "1"}
    with pytest.raises(CodecError, match="no text"):
        read_broker_settings(b"a=\xff")


def test_delay_levels_are_read_where_a_broker_names_them():
    table = read_level_table("1s 5s")
    assert table is not None
    assert read_level_table("") is None
    with pytest.raises(CodecError, match="delay levels of a broker"):
        read_level_table("soon")
