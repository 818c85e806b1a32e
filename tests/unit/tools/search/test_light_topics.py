"""Filters on light topics, told by what records say."""

from __future__ import annotations

import pytest

from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.light_topics import told_by_records

HOST = HostAddress.parse("127.0.0.1:10911")


def facts(dispatched: str) -> MessageFacts:
    properties = encode_properties({"INNER_MULTI_DISPATCH": dispatched} if dispatched else {})
    message = MessageToStore("devices", 1, 0, 0, 1, HOST, HOST, 0, 0, b"", properties)
    return MessageFacts(decode_record(encode_record(message, queue_offset=0, physical_offset=0, store_timestamp_ms=1)))


def passed(text: str) -> list[str]:
    filter_ = told_by_records(parse_filter(text, now_ms=0))
    every = ("", "%LMQ%a", "%LMQ%b", "%LMQ%a,%LMQ%b", "%LMQ%aa", "%LMQ%b,%LMQ%a.b")
    return [dispatched for dispatched in every if matches(filter_, facts(dispatched))]


@pytest.mark.parametrize(
    ("text", "dispatched"),
    [
        ('topic = "%LMQ%a"', ["%LMQ%a", "%LMQ%a,%LMQ%b"]),
        ('topic != "%LMQ%a"', ["", "%LMQ%b", "%LMQ%aa", "%LMQ%b,%LMQ%a.b"]),
        ('not topic = "%LMQ%a"', ["", "%LMQ%b", "%LMQ%aa", "%LMQ%b,%LMQ%a.b"]),
        ('topic in ("%LMQ%aa", "%LMQ%a.b")', ["%LMQ%aa", "%LMQ%b,%LMQ%a.b"]),
        ('topic in ("%LMQ%aa", "orders") and queue = 1', ["%LMQ%aa"]),
        ('topic in ("%LMQ%aa", "devices") and (queue = 0 or topic = "%LMQ%b")', ["%LMQ%b", "%LMQ%a,%LMQ%b", "%LMQ%b,%LMQ%a.b"]),
    ],
)
def test_a_light_topic_has_what_was_dispatched_to_it(text: str, dispatched: list[str]) -> None:
    assert passed(text) == dispatched


@pytest.mark.parametrize("text", ['topic = "orders"', 'topic ~ "LMQ"', 'prop.a = "%LMQ%a"', 'key in ("%LMQ%a", "b")'])
def test_other_filters_stay_as_they_are(text: str) -> None:
    found = parse_filter(text, now_ms=0)
    assert told_by_records(found) is found
