"""How dead letters are sent again: target, change in the bodies, what is kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from broker_core.api import ORIGIN_LINK
from broker_core.tools.replay.item import item_of_row
from broker_core.tools.replay.rewrite import Outgoing, ReplayTarget, outgoing
from broker_core.worker.questions.stored_messages import MessageDetail
from monitoring.dead_letters import dead_letter
from monitoring.payload.listed import NO_MASK, ListMask
from monitoring.payload.rules import DecoderRule, MaskRules
from monitoring.resending import Part, Patch, ResendOrder, edit_counts, resent_row
from tests.support.fake_source import fake_detail

PROPERTIES = {
    "RETRY_TOPIC": "orders", "KEYS": "k-1", "TAGS": "RESERVE", "__SHARDINGKEY": "shop-7", "UNIQ_KEY": "u", "region": "hz",
    "RECONSUME_TIME": "16",
}  # fmt: skip


def detail_of(body: bytes) -> MessageDetail:
    return replace(fake_detail(256), topic="%DLQ%stock", body=body, properties=dict(PROPERTIES))


TO_GROUP = ReplayTarget(group="stock", born_now=True, without_delay=True, any_queue=True)
TO_ORIGIN = replace(TO_GROUP, group="", to_origin=True)
TO_OTHER = replace(TO_GROUP, group="", topic="orders-repaired")


def sent(body=b'{"sku": "SKU-1OO27"}', mask=NO_MASK, target=TO_GROUP, **asked) -> Outgoing:
    """What a replay sends for a dead letter."""
    detail = detail_of(body)
    row = json.loads(json.dumps(resent_row(detail, dead_letter(detail, mask), ResendOrder(**asked))))
    message = outgoing(item_of_row(row, "the row", 0), target)
    assert isinstance(message, Outgoing)
    return message


@pytest.mark.parametrize(
    ("target", "topic"), [(TO_GROUP, "%RETRY%stock"), (TO_ORIGIN, "orders"), (TO_OTHER, "orders-repaired")]
)
def test_the_target_decides_on_the_topic(target, topic):
    assert sent(target=target).topic == topic


def test_the_group_alone_learns_the_first_topic():
    assert sent().properties["RETRY_TOPIC"] == "orders"
    assert "RETRY_TOPIC" not in sent(target=TO_ORIGIN).properties


def test_a_resend_keeps_what_is_the_producers_and_links_back():
    kept = {"KEYS": "k-1", "TAGS": "RESERVE", "__SHARDINGKEY": "shop-7", "UNIQ_KEY": "u", "region": "hz",
            ORIGIN_LINK: fake_detail(256).offset_message_id}  # fmt: skip
    to_topic = sent(b"\x00\xff", target=TO_ORIGIN)
    assert (to_topic.properties, to_topic.body, to_topic.flag) == (kept, b"\x00\xff", fake_detail(256).flag)
    assert (to_topic.born_timestamp_ms, to_topic.sys_flag) == (None, 0)
    assert sent().properties == {**kept, "RETRY_TOPIC": "orders"}


def test_a_letter_that_names_its_topic_as_newer_brokers_do_goes_there_whatever_is_kept():
    properties = {"DLQ_ORIGIN_TOPIC": "orders", "DLQ_ORIGIN_MESSAGE_ID": "first", "DELAY": "3"}
    detail = replace(detail_of(b"x"), properties=properties)
    row = resent_row(detail, dead_letter(detail, NO_MASK), ResendOrder(keeps=frozenset()))
    message = outgoing(item_of_row(row, "the row", 0), TO_ORIGIN)
    assert (message.topic, message.properties) == ("orders", {ORIGIN_LINK: detail.offset_message_id})


def test_the_change_is_made_in_the_stored_body():
    assert sent(patch=Patch("1OO27", "10027")).body == b'{"sku": "SKU-10027"}'
    assert sent(patch=Patch("", "10027")).body == b'{"sku": "SKU-1OO27"}'


@pytest.mark.parametrize(
    ("part", "name"), [(Part.KEYS, "KEYS"), (Part.TAG, "TAGS"), (Part.ORDER_KEY, "__SHARDINGKEY"), (Part.PROPERTIES, "region")]
)
def test_what_is_not_kept_is_left_out_alone(part, name):
    whole, less = sent().properties, sent(keeps=frozenset(Part) - {part}).properties
    assert whole.keys() - less.keys() == {name}
    assert less[ORIGIN_LINK] == fake_detail(256).offset_message_id


def test_a_body_that_was_not_shown_as_it_is_is_not_edited():
    masked = ListMask(DecoderRule("*", mask=MaskRules(("card",), ())))
    body = b'{"card": "4111", "sku": "x"}'
    letter = dead_letter(detail_of(body), masked)
    assert "4111" not in letter.body
    assert not letter.is_whole
    assert sent(body, masked, patch=Patch("x", "y")).body == body
    assert sent(b"\xff\xfex", patch=Patch("x", "y")).body == b"\xff\xfex"
    long = b"x" * 100_000
    assert sent(long, patch=Patch("x", "y")).body == long


def test_a_change_is_counted_where_it_changes_something():
    letters = [dead_letter(detail_of(body), NO_MASK) for body in (b"abc", b"xyz", b"aaa", b"\xff")]
    assert edit_counts(letters, Patch("a", "b")) == (2, 1)
    assert edit_counts(letters, Patch("a", "a")) == (0, 1)
    assert edit_counts(letters, Patch()) == (0, 1)
    assert [ResendOrder(patch=Patch("a")).changes, ResendOrder(keeps=frozenset()).changes] == [1, 4]


def test_a_body_that_is_written_anew_is_that_of_one_letter_alone():
    body = b'{"sku": "SKU-1OO27"}'
    letter = dead_letter(detail_of(body), NO_MASK)
    patch = Patch(of=letter.offset_message_id, written='{"sku": "杭州"}')
    assert sent(body, patch=patch).body == '{"sku": "杭州"}'.encode()
    assert sent(body, patch=Patch(of="another", written="x")).body == body
    assert (patch.is_any, ResendOrder(patch=patch).changes, edit_counts([letter], patch)) == (True, 1, (1, 0))
    assert sent(b"\xff\xfe", patch=patch).body == b"\xff\xfe"
    assert not Patch().is_any
