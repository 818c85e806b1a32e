"""Filters on the hosts of producers: every spelling of an IPv6 address means the same, with machine code and without."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.layout import answer_records
from broker_core.engine.store.record_heads import HeadScan
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.tools.search import columns
from broker_core.tools.search.columns import TopicVerdicts, WindowFilter
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.language import parse_filter
from tests.support.machine_code import library

IPS = st.one_of(
    st.ip_addresses(v=4),
    st.sampled_from([IPv6Address("::1"), IPv6Address("2001:db8::a"), IPv6Address("::ffff:10.0.0.7"), IPv6Address("fe80::1")]),
    st.ip_addresses(v=6),
)
Ip = IPv4Address | IPv6Address


def spellings(ip: Ip) -> list[str]:
    if isinstance(ip, IPv4Address):
        return [str(ip)]
    groups = [f"{int(group, 16):x}" for group in ip.exploded.split(":")]
    return [ip.compressed, ip.compressed.upper(), ip.exploded, ":".join(groups), f"[{':'.join(groups)}]"]


def record(ip: Ip, port: int, number: int) -> bytes:
    born = HostAddress(ip.packed, port)
    message = MessageToStore("orders", 0, 0, 0, 1, born, born, 0, 0, b"body %d" % number, b"")
    return encode_record(message, queue_offset=number, physical_offset=number * 500, store_timestamp_ms=1)


@settings(deadline=None)
@given(st.data(), st.lists(st.tuples(IPS, st.integers(1, 65_535)), min_size=1, max_size=12))
def test_every_spelling_finds_the_same_messages_in_both_ways(data, hosts):
    wanted, port = data.draw(st.sampled_from(hosts))
    records = [record(ip, one, number) for number, (ip, one) in enumerate(hosts)]
    buffer = b"".join(records)
    view, heads = memoryview(buffer), answer_records(buffer)
    expected = [ip == wanted for ip, _port in hosts]
    with_port = [(ip, one) == (wanted, port) for ip, one in hosts]
    containing = [ip == wanted and str(one).startswith(str(port)) for ip, one in hosts]
    for spelled in spellings(wanted):
        bare = spelled.strip("[]")
        full = f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"
        cases = [
            (f"host = '{spelled}'", expected), (f"host != '{spelled}'", [not one for one in expected]),
            (f"host in ('{spelled}', 'x')", expected), (f"host = '{full}'", with_port), (f"host contains '{full}'", containing),
        ]  # fmt: skip
        for text, holds in cases:
            expression = parse_filter(text, now_ms=0)
            assert [matches(expression, MessageFacts(decode_record(one))) for one in records] == holds, text
            for code in (None, library()):
                window = WindowFilter(view, heads, TopicVerdicts())
                window._scan = HeadScan(code)
                sure, possible = window.verdicts(expression)
                decided = [
                    matches(expression, MessageFacts(decode_record(records[row])))
                    if possible[row] > sure[row]
                    else bool(sure[row])
                    for row in range(len(records))
                ]
                assert decided == holds, text


def test_a_part_of_an_address_is_found_as_it_is_shown():
    facts = MessageFacts(decode_record(record(IPv6Address("2001:db8::1"), 4711, 0)))
    for text in ("::1", "2001:db8:", "2001:DB8:", ":1]:47", "2001:0db8:0:0:0:0:0:1", "[2001:0DB8::1]:4711"):
        assert matches(parse_filter(f"host contains '{text}'", now_ms=0), facts), text
    assert not matches(parse_filter("host contains 'db9'", now_ms=0), facts)


@pytest.mark.parametrize("text", ["host ~ '^2001:db8::1$'", "host >= '2001:db8::1'", "host < '2001:0db8::2'"])
def test_patterns_and_orders_are_about_the_shown_spelling(text):
    assert columns.may_match(parse_filter(text, now_ms=0), "orders", 0)
    assert matches(parse_filter(text, now_ms=0), MessageFacts(decode_record(record(IPv6Address("2001:db8::1"), 4711, 0))))
