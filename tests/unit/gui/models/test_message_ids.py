from __future__ import annotations

import pytest

from broker_core.api import parse_filter
from gui.models.message_ids import id_filter, is_key, is_message_id, key_filter, pasted_ids

ID = "7F0000010A3C18B4AAC2A1B2C3D40001"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ID, True),
        (ID.lower(), True),
        (ID + "00" * 12, True),
        (ID[:-1], False),
        (ID + " ", False),
        ("G" * 32, False),
        ("", False),
    ],
)
def test_an_id_has_32_or_56_hex_digits(text, expected):
    assert is_message_id(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        ID,
        f'"{ID}"',
        f"'{ID}',",
        f"“{ID}”",
        f"msgId={ID}",
        f"MSG_ID = {ID};",
        f"offsetMsgId: {ID}",
        f'"msgId":"{ID}"',
        f'{{"msgId": "{ID}", "keys": "order-7"}}',
        f"UNIQ_KEY={ID}",
        f"Message ID: {ID}",
        f"消息 ID：{ID}",
        f"stored msgId={ID} to orders",
    ],
)
def test_an_id_is_found_in_what_was_pasted(text):
    assert pasted_ids(text) == (ID,)
    assert pasted_ids(text.replace(ID, ID + "00" * 12)) == (ID + "00" * 12,)


def test_both_ids_of_a_receipt_are_found_once():
    other = ID[:-1] + "2"
    text = f"SendResult [sendStatus=SEND_OK, msgId={ID}, offsetMsgId={other}, again msgId={ID}]"
    assert pasted_ids(text) == (ID, other)


@pytest.mark.parametrize(
    "text", ["", "order-7", ID[:-1], f"order-{ID}", f"order_id={ID}", f"msgId={ID}0", f"keys={ID}", "msgId="]
)
def test_other_words_hold_no_id(text):
    assert pasted_ids(text) == ()


def test_an_id_is_looked_for_as_it_was_pasted_and_in_upper_case():
    assert id_filter(ID) == f'id = "{ID}"'
    assert id_filter(ID.lower()) == f'id in ("{ID}", "{ID.lower()}")'


@pytest.mark.parametrize("key", ["order-7", 'a"b', "键", "a\\b"])
def test_filters_can_be_read(key):
    assert is_key(key)
    for text in (key_filter(key), id_filter(ID), id_filter(ID.lower())):
        parse_filter(text, now_ms=0)  # a fault would raise


@pytest.mark.parametrize("text", ["", "two words", "x" * 201])
def test_what_is_no_key(text):
    assert not is_key(text)
