from __future__ import annotations

import pytest

from broker_core.api import parse_filter
from gui.models.message_ids import id_filter, is_key, is_message_id, key_filter

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
