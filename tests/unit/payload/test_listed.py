"""What lists may show of messages."""

import json

import pytest

from monitoring.payload.judging import MASK
from monitoring.payload.listed import NO_MASK, ListMask, body_preview
from monitoring.payload.masking import HIDE_ALL, MaskRules, united
from monitoring.payload.rules import DecoderRule, rule_of_message

CARD = "4111111111111111"
PATHS = ListMask(DecoderRule("orders", mask=MaskRules(("customer.card", "items.*.iban"))))
TEXTS = ListMask(DecoderRule("orders", mask=MaskRules((), (r"\d{16}",))))
BODY = json.dumps({"customer": {"card": CARD, "name": "杭州"}}).encode()


def test_without_rules_everything_is_shown():
    assert not NO_MASK
    assert NO_MASK.text(CARD) == CARD
    assert NO_MASK.preview(BODY, len(BODY)) == body_preview(BODY)
    assert NO_MASK.field("body.customer.card", CARD) == CARD
    assert NO_MASK.beginning(BODY, 10) == BODY[:10].decode()


@pytest.mark.parametrize("cut", range(1, 30))
def test_an_excerpt_that_ends_within_a_character_is_text(cut):
    words = "订单已支付，金额一百元，谢谢惠顾"
    shown = body_preview(words.encode()[:-cut])
    assert len(shown) >= len(words) - 1 - cut // 3
    assert words.startswith(shown)
    shown = body_preview(words.encode("gbk")[:-cut])
    assert words.startswith(shown)
    assert len(shown) == len(words) - (cut + 1) // 2


def test_the_beginning_of_a_body_is_text_in_its_encoding():
    words = "订单已支付，金额一百元，谢谢惠顾"
    assert NO_MASK.beginning(words.encode("gbk"), 400) == words
    assert NO_MASK.beginning(words.encode("gbk"), 9) == words[:4]
    assert ListMask(DecoderRule("orders", encoding="latin-1")).beginning("grüße".encode("latin-1"), 400) == "grüße"
    assert NO_MASK.beginning(b"\x00a", 400) == "\x00a"


def test_an_excerpt_is_read_in_the_encoding_of_the_rule():
    rule = ListMask(DecoderRule("orders", encoding="latin-1"))
    assert rule.preview("grüße".encode("latin-1"), 5) == "grüße"
    assert NO_MASK.preview("茶 grüße".encode("gbk", "replace")[:2] + b"\xa4", 3) == "b2 e8 a4"
    assert rule.preview(b"\x00\x01", 2) == "00 01"


@pytest.mark.parametrize("words", ["grüße", "café", "é à"])
def test_a_whole_body_in_latin_1_is_not_taken_for_a_cut_one(words):
    body = words.encode("latin-1")
    assert NO_MASK.preview(body, len(body)) == NO_MASK.beginning(body, len(body)) == words


def test_keys_tags_and_properties_lose_what_expressions_find():
    assert TEXTS.text(f"order {CARD}") == f"order {MASK}"
    assert TEXTS.properties({"KEYS": CARD, "region": "eu"}) == {"KEYS": MASK, "region": "eu"}
    assert PATHS.text(CARD) == CARD  # paths are places in bodies


@pytest.mark.parametrize("mask", [PATHS, TEXTS])
def test_an_excerpt_is_shown_of_a_body_that_is_there_as_a_whole(mask):
    shown = mask.preview(BODY, len(BODY))
    assert CARD not in shown
    assert MASK in shown
    assert "杭州" in shown
    assert mask.beginning(BODY, 2_000).count(MASK) == 1
    assert mask.preview(b"", 0) == ""


@pytest.mark.parametrize("mask", [PATHS, TEXTS])
def test_what_cannot_be_judged_is_hidden(mask):
    assert mask.preview(BODY[:20], len(BODY)) == MASK  # a cut number is no longer what the expression looks for
    part = "…".encode() + BODY[3:]
    assert mask.preview(part, len(part)) == MASK
    assert mask.preview(b"\xff\x00\x80", 3) == MASK
    assert mask.preview(b"\x1f\x8b\x08" + b"x" * 5, 8) == MASK
    assert mask.beginning(b"x" * 20_000, 10) == MASK


def test_bodies_of_protobuf_are_hidden_as_a_schema_takes_time():
    rule = DecoderRule("*", reading="protobuf", schema="s", message_type="m", mask=MaskRules((), ("x",)))
    assert ListMask(rule).preview(b"abc", 3) == MASK
    assert ListMask(rule).field("body.a", "abc") == MASK


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("body.customer.card", CARD, MASK),
        ("body.customer.name", "杭州", "杭州"),
        ("body.customer", '{"card": "1", "name": "a"}', f'{{"card": "{MASK}", "name": "a"}}'),
        ("body.customer", '{"card": "1"', MASK),  # cut, or several in one text
        ("body.items[0].iban", "DE1", MASK),
        ("body.items[*].iban", "DE1, DE2", MASK),
        ("body.items[*].sku", "1, 2", "1, 2"),
        ("body", BODY.decode(), f'{{ "customer": {{ "card": "{MASK}", "name": "杭州" }} }}'),
        ("body", "x" * 999 + "…", MASK),
        ("prop.card", CARD, CARD),
        ("queue", "3", "3"),
    ],
)
def test_columns_follow_the_paths(field, value, shown):
    assert PATHS.field(field, value) == shown


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("prop.card", CARD, MASK),
        ("prop.card", "x" * 999 + "…", MASK),
        ("key", f"a, {CARD}", f"a, {MASK}"),
        ("body.note", f"pay {CARD}", f"pay {MASK}"),
        ("body.items[*].sku", "1, 2", MASK),  # an expression may look for the end of a value
        ("id", CARD, CARD),
        ("body_bytes", CARD, CARD),
    ],
)
def test_columns_follow_the_expressions(field, value, shown):
    assert TEXTS.field(field, value) == shown


def test_a_place_of_any_item_takes_paths_with_numbers():
    numbered = ListMask(DecoderRule("*", mask=MaskRules(("items.0.iban", "**.pin"))))
    assert numbered.field("body.items[*].iban", "DE1") == MASK
    assert numbered.field("body.items[1].iban", "DE1") == "DE1"
    assert numbered.field("body.a.b.pin", "1") == MASK


def test_where_the_rules_are_not_known_all_is_hidden():
    hidden = ListMask(DecoderRule("*", mask=HIDE_ALL))
    assert [hidden.text("k"), hidden.field("body.a", "1"), hidden.field("prop.a", "1")] == [MASK] * 3
    assert hidden.preview(BODY, len(BODY)) == f'"{MASK}"'


# ---- which rule ----

ORDERS = DecoderRule("orders", reading="json", mask=MaskRules(("card",)))
PAY = DecoderRule("pay*", mask=MaskRules((), ("iban",)))
DEAD = DecoderRule("%DLQ%*", reading="text")


@pytest.mark.parametrize(
    ("topic", "properties", "reading", "mask"),
    [
        ("orders", {}, "json", ORDERS.mask),
        ("%DLQ%g", {"RETRY_TOPIC": "orders"}, "json", ORDERS.mask),
        ("%DLQ%g", {"DLQ_ORIGIN_TOPIC": "payments"}, "", PAY.mask),
        ("RMQ_SYS_TRANS_HALF_TOPIC", {"REAL_TOPIC": "orders"}, "json", ORDERS.mask),
        ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "%RETRY%g", "RETRY_TOPIC": "orders"}, "json", ORDERS.mask),
        ("%RETRY%g", {}, "", united([ORDERS.mask, PAY.mask])),  # it may be of any topic
        ("%DLQ%g_a", {"RETRY_TOPIC": "%RETRY%g_a_t"}, "", united([ORDERS.mask, PAY.mask])),  # as a 5.x proxy writes it
        ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "%RETRY%g"}, "", united([ORDERS.mask, PAY.mask])),
        ("TRANS_CHECK_MAX_TIME_TOPIC", {}, "", united([ORDERS.mask, PAY.mask])),
    ],
)
def test_a_message_keeps_its_mask_wherever_it_lies(topic, properties, reading, mask):
    found = rule_of_message((ORDERS, PAY), topic, properties)
    assert found is not None
    assert (found.reading, found.mask) == (reading, mask)


def test_a_rule_for_where_it_lies_reads_it_and_the_other_still_masks():
    found = rule_of_message((DEAD, ORDERS), "%DLQ%g", {"RETRY_TOPIC": "orders"})
    assert found is not None
    assert (found.reading, found.mask) == ("text", ORDERS.mask)
    assert rule_of_message((ORDERS,), "other", {}) is None
    assert rule_of_message((), "%DLQ%g", {}) is None
