"""Rows of an export without what is masked, and what an import makes of them."""

import base64
import json

import pytest

from broker_core.api import UsageError
from broker_core.errors import CodecError
from broker_core.tools.commands.search import main as search
from broker_core.tools.replay.item import item_of_row
from broker_core.tools.search.export import exported, read_rows
from broker_core.tools.search.row_names import MASKED, NAMES
from monitoring.payload.exported import RowMask
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule, write_rules
from tests.support.store_writer import StoreWriter

CARD = "4111111111111111"
RULES = (
    DecoderRule("orders", mask=MaskRules(("card",), (r"\d{16}",))),
    DecoderRule("raw", mask=MaskRules((), ("secret",))),
)


def row_of(body: bytes, topic="orders", **properties: str):
    return dict.fromkeys(NAMES, 7) | {
        "topic": topic, "properties": properties, "body": base64.b64encode(body).decode(), "bodySha256": "5a", "sysFlag": 0,
        "bornHost": "127.0.0.1:1", "storeHost": "127.0.0.1:2", "offsetMsgId": "AB",
    }  # fmt: skip


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "decoder-rules.json"
    write_rules(path, RULES)
    return path


@pytest.fixture
def mask(rules):
    return RowMask(rules)


def test_what_is_masked_is_in_no_value_of_the_row(mask):
    row = mask.masked(row_of(json.dumps({"card": "1234", "note": f"pay {CARD}"}).encode(), KEYS=CARD, TAGS="a", region="eu"))
    assert row[MASKED] == "body, KEYS"
    assert row["properties"] == {"KEYS": MASK, "TAGS": "a", "region": "eu"}
    assert json.loads(base64.b64decode(row["body"])) == {"card": MASK, "note": f"pay {MASK}"}
    assert (row["bodyCrc"], row["bodySha256"], row["recordCrc32"], row["tagsCode"]) == (None, None, None, 7)
    assert mask.masked(row_of(b"{}", TAGS=CARD))["tagsCode"] is None
    assert mask.words.startswith("masked: something is hidden in 2 of 2 messages, by the rules in ")


@pytest.mark.parametrize(
    ("body", "topic"),
    [(b'{"a": 1}', "orders"), (b'{"card": "1"}', "payments"), (b"plain", "raw"), (b"", "orders"), ("杭".encode(), "raw")],
)
def test_a_row_in_which_nothing_is_hidden_stays_whole(mask, body, topic):
    row = row_of(body, topic, KEYS="k")
    assert mask.masked(row) == {**row, MASKED: ""}


@pytest.mark.parametrize(
    ("body", "topic"),
    [
        (b"\xff\x00\x80", "raw"),  # bytes may hold anything
        (b"plain", "orders"),  # paths cannot be looked for in it
        (b'{"n": "secret", "n": "b"}', "raw"),  # only the last of a name is looked at
        (b'{"n": "se\\u0063ret"}', "raw"),
        ("secret".encode("utf-16"), "raw"),
        (b"\x1f\x8b\x08 no gzip", "raw"),
    ],
)
def test_what_cannot_be_judged_is_hidden(mask, body, topic):
    row = mask.masked(row_of(body, topic))
    assert row[MASKED] == "body"
    assert b"secret" not in base64.b64decode(row["body"])


def test_a_dead_letter_follows_the_rules_of_its_topic(mask):
    body = json.dumps({"card": "1234"}).encode()
    assert mask.masked(row_of(body, "%DLQ%g", RETRY_TOPIC="orders"))[MASKED] == "body"
    assert mask.masked(row_of(body, "%DLQ%g", RETRY_TOPIC="payments"))[MASKED] == ""


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_import_takes_whole_rows_and_refuses_masked_ones(mask, tmp_path, form):
    path = tmp_path / f"hits.{form}"
    with exported(path, form, (*NAMES, MASKED)) as write:
        write(mask.masked(row_of(b'{"a": 1}')))
        write(mask.masked(row_of(b'{"card": 1}')))
    (_, whole), (_, masked) = read_rows(path)
    assert item_of_row(whole, "row 1", 1).body == b'{"a": 1}'
    with pytest.raises(CodecError, match=r"row 2 was masked when it was exported \(body\).*with its originals"):
        item_of_row(masked, "row 2", 1)


def test_rules_that_cannot_be_read_export_nothing(tmp_path):
    path = tmp_path / "decoder-rules.json"
    path.write_text("{")
    with pytest.raises(UsageError, match="not of the form"):
        RowMask(path)


# ---- the command ----


@pytest.fixture
def store(tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.append("orders", json.dumps({"card": "1234", "city": "杭州"}).encode(), {"KEYS": CARD})
    writer.append("orders", b'{"city": "x"}', {"KEYS": "k"})
    writer.flush()
    return str(tmp_path / "store")


def test_the_command_masks_and_says_so(store, rules, capsys):
    assert search(["--store", store, "--mask", str(rules), 'topic = "orders"'], open_mask=RowMask) == 0
    found = capsys.readouterr()
    first, second = map(json.loads, found.out.splitlines())
    assert (first[MASKED], second[MASKED]) == ("body, KEYS", "")
    assert CARD not in found.out
    words, last = found.err.splitlines()[-2:]
    assert words.startswith("masked: something is hidden in 1 of 2 messages")
    assert last == "complete: 2 hits in 2 messages"


def test_the_command_takes_originals_and_says_so(store, rules, capsys):
    assert search(["--store", store, "--originals", "size > 0"], open_mask=RowMask) == 0
    found = capsys.readouterr()
    assert CARD in found.out
    assert MASKED not in json.loads(found.out.splitlines()[0])
    assert "originals: no rule of masking was applied" in found.err.splitlines()
    assert search(["--store", store, "--mask", str(rules), "size > 0"]) == UsageError.exit_code
