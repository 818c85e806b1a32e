"""Bodies as they may be shown: read by a rule, with what it masks."""

import json
import os

import pytest

from broker_core.api import UsageError
from monitoring.payload.content import BodyKind
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule
from monitoring.payload.shown import NO_PATHS, Schemas, read_shown

ORDER = json.dumps({"card": "4111111111111111", "note": "call 4111111111111111", "items": [{"iban": "DE1"}]}).encode()
PROTO = 'syntax = "proto3"; package shop; message Order { string id = 1; int32 quantity = 2; }'


def test_without_a_rule_a_body_is_shown_as_it_is():
    shown = read_shown(ORDER, None, Schemas())

    assert not shown.is_masked
    assert shown.content is shown.plain
    assert shown.copied_text() == ORDER.decode()


def test_masked_paths_and_text_are_in_no_form_of_the_body():
    rule = DecoderRule("orders", mask=MaskRules(("card", "items.*.iban"), ("[0-9]{16}",)))

    shown = read_shown(ORDER, rule, Schemas())

    assert shown.content.value == {"card": MASK, "note": f"call {MASK}", "items": [{"iban": MASK}]}
    for text in (shown.content.text, shown.copied_text(), str(shown.content.table)):
        assert "4111" not in text
        assert "DE1" not in text
    assert shown.content.data == b""
    assert shown.plain.value["card"] == "4111111111111111"


def test_the_cells_of_a_table_are_masked():
    rule = DecoderRule("t", mask=MaskRules((), ("DE[0-9]+",)))

    shown = read_shown(b"id,iban,sum\n1,DE12,5\n2,DE13,6\n", rule, Schemas())

    assert shown.content.kind is BodyKind.TABLE
    assert shown.content.table.rows == (("1", MASK, "5"), ("2", MASK, "6"))


def test_the_first_line_of_a_table_is_masked_too():
    rule = DecoderRule("t", mask=MaskRules((), ("DE[0-9]+",)))

    assert read_shown(b"1,DE12,5\n2,DE13,6\n", rule, Schemas()).content.table.headings == ("1", MASK, "5")


@pytest.mark.parametrize("body", [b'{"card": "4111"', b"card=4111", b"<card>4111</card>", b"id,card,sum\n1,4111,5\n"])
def test_a_body_without_the_paths_that_are_masked_is_hidden_and_says_why(body):
    shown = read_shown(body, DecoderRule("t", mask=MaskRules(("card",))), Schemas())

    assert (shown.content.text, shown.content.table, shown.copied_text()) == (MASK, None, MASK)
    assert ("structure", NO_PATHS) in shown.plain.refusals


def test_masked_bytes_are_not_copied_and_plain_ones_are_in_hexadecimal():
    rule = DecoderRule("t", mask=MaskRules(("a",)))

    assert read_shown(b"\x00\xfe", rule, Schemas()).copied_text() == ""
    assert read_shown(b"\x00\xfe", None, Schemas()).copied_text() == "00fe"


def test_a_schema_is_read_once_until_its_file_changes(tmp_path):
    path = tmp_path / "order.proto"
    path.write_text(PROTO)
    schemas = Schemas()
    first = schemas.schema(path)
    rule = DecoderRule("t", reading="protobuf", schema=str(path), message_type="shop.Order")

    assert schemas.schema(path) is first
    assert read_shown(b"\n\x02k1\x10\x05", rule, schemas).content.value == {"id": "k1", "quantity": 5}

    path.write_text(PROTO.replace("quantity", "pieces"))
    os.utime(path, ns=(1, 1))
    assert read_shown(b"\n\x02k1\x10\x05", rule, schemas).content.value == {"id": "k1", "pieces": 5}


def test_a_schema_that_is_gone_leaves_the_body_readable_and_says_why(tmp_path):
    rule = DecoderRule("t", reading="protobuf", schema=str(tmp_path / "no.proto"), message_type="shop.Order")

    shown = read_shown(b"plain text", rule, Schemas())

    assert (shown.content.kind, shown.content.text) == (BodyKind.TEXT, "plain text")
    [(name, reason)] = shown.content.refusals
    assert name == "protobuf"
    assert "no.proto" in reason
    with pytest.raises(UsageError, match="cannot be read"):
        Schemas().schema(tmp_path / "no.proto")


WRITTEN = (
    r'{"a":23958446825181076828,"b":9007199254740993,"c":0.10,"d":12345678901234567890.123,"e":1E400,"f":-0,"g":1.0,'
    r'"k":1,"k":2,"s":"\ud800\u00e9"}'
)


def test_json_is_shown_as_it_is_written():
    shown = read_shown(WRITTEN.encode(), None, Schemas())

    assert shown.content.text.replace("\n  ", "").replace("\n", "").replace(": ", ":") == WRITTEN
    assert shown.copied_text() == WRITTEN


def test_a_mask_leaves_the_other_digits_and_members():
    shown = read_shown(WRITTEN.encode(), DecoderRule("t", mask=MaskRules(("a",))), Schemas())

    assert shown.hides
    assert shown.content.text.splitlines()[1:-1] == [
        f'  "a": "{MASK}",', '  "b": 9007199254740993,', '  "c": 0.10,', '  "d": 12345678901234567890.123,', '  "e": 1E400,',
        '  "f": -0,', '  "g": 1.0,', '  "k": 1,', '  "k": 2,', r'  "s": "\ud800é"',
    ]  # fmt: skip


def test_a_mask_hides_each_of_several_members_with_one_name():
    shown = read_shown(b'{"card": "4111", "card": "4222", "n": 0.10}', DecoderRule("t", mask=MaskRules(("card",))), Schemas())

    assert shown.hides
    assert shown.content.text == f'{{\n  "card": "{MASK}",\n  "card": "{MASK}",\n  "n": 0.10\n}}'


def test_a_mask_that_finds_nothing_leaves_the_text_as_it_is_written():
    shown = read_shown(WRITTEN.encode(), DecoderRule("t", mask=MaskRules(("other",), ("[A-Z]{9}",))), Schemas())

    assert not shown.hides
    assert shown.content.text == shown.plain.text


def test_a_table_of_json_has_each_digit_and_each_member():
    table = read_shown(b'[{"d": 0.10, "k": 1, "k": 2}, {"d": 1E400, "s": "\\ud800"}]', None, Schemas()).content.table

    assert table is not None
    assert (table.headings, table.rows) == (("d", "k", "s"), (("0.10", "1, 2", ""), ("1E400", "", r"\ud800")))
