"""What masking rules leave of the rows of a report; without Spark."""

import json
from types import ModuleType

import pyarrow as pa
import pytest

from broker_core.errors import UsageError
from monitoring.payload.masking import MASK, MaskRules
from monitoring.payload.rules import DecoderRule, write_rules
from spark_reports.masking import ORIGINS, ReportMask, _masked_batches
from spark_reports.parameters import ReportParameters
from spark_reports.reports.common import QueryResults

REPORT = ModuleType("report")
DIGITS = MaskRules((), (r"\d+",))


@pytest.fixture
def mask(tmp_path):
    def make(*rules):
        path = tmp_path / "rules.json"
        write_rules(path, [DecoderRule(topics, mask=mask) for topics, mask in rules])
        return ReportMask(path)

    return make


def shown(mask, columns, *, topics=(), **values):
    parameters = ReportParameters(topics=topics, values=values)
    return QueryResults({"rows": pa.table(columns)}, parameters).masked(mask, REPORT).tables["rows"].to_pydict()


def test_different_values_that_are_masked_alike_stay_apart_and_the_same_one_alike(mask):
    rules = mask(("orders", DIGITS))
    rows = {"topic": ["orders", "orders", "orders", "bills"], "key": ["k-1", "k-2", "k-1", "k-1"], "tag": ["7", "a", None, "7"]}
    assert shown(rules, rows) == rows | {
        "key": [f"k-{MASK}", f"k-{MASK} 2", f"k-{MASK}", "k-1"], "tag": [MASK, "a", None, "7"],
    }  # fmt: skip
    assert rules.facts(ReportParameters())["values"] == {"key": 2, "tag": 1}


def test_a_row_is_of_the_topic_it_came_from_and_without_one_of_any(mask):
    rules = mask(("orders", DIGITS), ("bills", MaskRules((), ("[a-z]+",))))
    rows = {
        "topic": ["%RETRY%group", "SCHEDULE_TOPIC_XXXX", "%DLQ%group", None],
        "real_topic": ["%RETRY%group", "bills", "%DLQ%group", None],
        "retry_topic": ["orders", None, None, None],
        "key": ["one1", "two2", "three3", "four4"],
    }
    assert shown(rules, rows)["key"] == [f"one{MASK}", f"{MASK}2", f"{MASK}{MASK}", f"{MASK}{MASK} 2"]
    assert shown(rules, {"cause": ["five5"]}, topics=("orders",))["cause"] == [f"five{MASK}"]


def test_a_row_of_several_possible_topics_is_masked_by_the_rules_of_all(mask):
    rules = mask(("orders", DIGITS), ("bills", MaskRules((), ("[a-z]+",))))
    assert shown(rules, {"topic": ["a_t / t"], "tag": ["one1"]})["tag"] == [f"{MASK}{MASK}"]


def test_keys_are_masked_one_by_one_and_together(mask):
    rules = mask(("*", MaskRules((), (r"^id\d$", "b c"))))
    assert shown(rules, {"topic": ["orders"], "keys": ["id1 a b c"]})["keys"] == [f"{MASK} a {MASK}"]


def test_sums_of_bodies_are_hidden_where_anything_of_them_may_be(mask):
    rules = mask(("orders", MaskRules(("card",))))
    rows = {"topic": ["orders", "bills"], "digest": ["crc 1", "crc 2"], "key": ["a", "b"]}
    assert shown(rules, rows) == rows | {"digest": [MASK, "crc 2"]}


def test_what_a_person_typed_is_masked_too(mask):
    rules = mask(("orders", DIGITS))
    told = ReportParameters(values={"key": "order-77", "top": 5})
    assert rules.parameters(told).values == {"key": f"order-{MASK}", "top": 5}
    assert rules.facts(told)["parameters"] == ["key"]
    assert QueryResults({}, told).masked(rules, REPORT).shown("7") == MASK


def test_messages_that_a_query_sees_are_masked_by_their_topics(mask):
    rules = mask(("orders", MaskRules(("card",), (r"\d{4}",))))
    assert rules
    names = ("topic", "keys", "properties", "body", "body_crc", "body_bytes")
    body = json.dumps({"card": "x", "sku": "y", "pin": "1234"}).encode()
    batch = pa.RecordBatch.from_pydict(
        {
            "topic": ["orders", "bills"], "keys": [["a1234", "b"], ["1234"]],
            "properties": pa.array([[("KEYS", "a1234 b"), ("w", "1")]] * 2, pa.map_(pa.string(), pa.string())),
            "body": [body, body], "body_crc": [5, 6], "body_bytes": [9, 9], "real_topic": ["orders", "bills"],
            "retry_topic": pa.nulls(2, pa.string()),
        }
    )  # fmt: skip
    (made,) = _masked_batches(iter([batch]), rules=rules.rules, names=names)
    first, second = made.to_pylist()
    assert (first["keys"], dict(first["properties"])) == ([f"a{MASK}", "b"], {"KEYS": f"a{MASK} b", "w": "1"})
    assert json.loads(first["body"]) == {"card": MASK, "sku": "y", "pin": MASK}
    assert (first["body_crc"], first["body_bytes"]) == (None, 9)
    assert second == {name: value for name, value in batch.to_pylist()[1].items() if name not in ORIGINS or name == "topic"}


def test_rules_that_are_not_there_or_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(UsageError, match="there are no masking rules at"):
        ReportMask(tmp_path / "none.json")
    (tmp_path / "rules.json").write_text("{")
    with pytest.raises(UsageError, match="not of the form"):
        ReportMask(tmp_path / "rules.json")


def test_rules_without_masks_change_nothing(mask):
    rules = mask(("orders", MaskRules()))
    found = QueryResults({"rows": pa.table({"key": ["1"]})}, ReportParameters())
    assert found.masked(rules, REPORT) is found
