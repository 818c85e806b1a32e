from __future__ import annotations

import pytest

from broker_core.protocol.message.tags import java_string_hash, tags_code

VECTORS = [("TagA", 2598919), ("TagB", 2598920), ("order-paid", 710106603), ("pay-success", -1685804066), ("", 0)]


@pytest.mark.parametrize(("text", "expected"), [*VECTORS, ("polygenelubricants", -2147483648), ("😀", 1772899)])
def test_the_hash_is_javas(text, expected):
    assert java_string_hash(text) == expected


@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_stored_bytes_and_text_give_the_same_code(text, expected):
    assert tags_code(text) == tags_code(text.encode()) == expected


def test_no_tag_is_zero():
    assert tags_code(None) == 0
