import pytest

from broker_core.api import UsageError
from monitoring.payload.encodings import ENCODINGS
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule, read_rules, rule_for, write_rules

RULES = (
    DecoderRule("orders-raw", reading="bytes"),
    DecoderRule("orders*", reading="json", encoding="gbk", mask=MaskRules(("card",), (r"\d{16}",))),
    DecoderRule("*", unwraps=False),
)


def test_the_first_rule_that_fits_counts():
    assert rule_for(RULES, "orders-raw") is RULES[0]
    assert rule_for(RULES, "orders-eu") is RULES[1]
    assert rule_for(RULES, "Orders") is RULES[2]
    assert rule_for((), "orders") is None


def test_rules_are_kept_in_a_file(tmp_path):
    path = tmp_path / "new" / "decoders.json"
    assert read_rules(path) == ()
    write_rules(path, RULES)
    assert read_rules(path) == RULES
    assert [entry.name for entry in path.parent.iterdir()] == ["decoders.json"]


def test_names_of_members_are_texts_too_and_none_is_lost():
    mask = MaskRules((), (r"\d{16}",))
    value = {"4111111111111111": 1, "4222222222222222": 2, "city": {"4333333333333333": 3}, 7: 4}
    assert mask.mask_value(value) == {MASK: 1, f"{MASK} 2": 2, "city": {MASK: 3}, 7: 4}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 9, "rules": []}',
        '{"version": 1, "rules": {}}',
        '{"version": 1, "rules": [["*"]]}',
        '{"version": 1, "rules": [{"reading": "json"}]}',
        '{"version": 1, "rules": [{"topics": "*", "masked_path": ["card"]}]}',
        '{"version": 1, "rules": [{"topics": "*", "masked_paths": "card"}]}',
        '{"version": 1, "rules": [{"topics": "*", "masked_text": [5]}]}',
        '{"version": 1, "rules": [{"topics": 5}]}',
        '{"version": 1, "rules": [{"topics": "*", "unwraps": "no"}]}',
    ],
)
def test_a_file_of_another_form_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "decoders.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_rules(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "wrong",
    [
        {"topics": ""},
        {"topics": "*", "reading": "avro"},
        {"topics": "*", "reading": "protobuf"},
        {"topics": "*", "encoding": "klingon"},
        {"topics": "*", "encoding": "hex"},
    ],
)
def test_a_rule_that_cannot_work_is_refused(wrong):
    with pytest.raises(UsageError):
        DecoderRule(**wrong)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_that_is_offered_can_be_chosen(encoding):
    assert DecoderRule("*", encoding=encoding).encoding == encoding


def test_paths_are_masked_wherever_they_lead():
    value = {"card": "4111", "items": [{"iban": "DE1", "n": 1}, {"iban": "DE2"}], "deep": {"er": {"pin": 12}}}
    mask = MaskRules(("card", "items.*.iban", "**.pin"))
    assert mask.mask_value(value) == {
        "card": MASK,
        "items": [{"iban": MASK, "n": 1}, {"iban": MASK}],
        "deep": {"er": {"pin": MASK}},
    }
    assert value["card"] == "4111", "the message itself was changed"


def test_text_is_masked_whole_or_by_its_group():
    mask = MaskRules(expressions=(r"\b\d{16}\b", r"token=(\w+)"))
    assert mask.mask_text("card 4111111111111111, token=abc;") == f"card {MASK}, token={MASK};"
    assert mask.mask_value({"note": ["pay 4111111111111111"]}) == {"note": [f"pay {MASK}"]}
    assert not MaskRules()


def test_numbers_are_masked_like_text_and_others_stay_numbers():
    mask = MaskRules(expressions=(r"\b\d{16}\b",))
    assert mask.mask_value([4111111111111111, 41, 1.5, True, None]) == [MASK, 41, 1.5, True, None]


def test_what_is_nested_too_deep_to_be_judged_is_masked():
    value = "4111"
    for _level in range(80):
        value = [value]
    assert "4111" not in str(MaskRules(("card",)).mask_value(value))


@pytest.mark.parametrize("wrong", [{"paths": ("a..b",)}, {"expressions": ("(",)}])
def test_a_mask_that_cannot_be_read_is_refused(wrong):
    with pytest.raises(UsageError):
        MaskRules(**wrong)


def test_a_text_that_an_expression_takes_for_ever_to_judge_is_masked_as_a_whole(monkeypatch):
    monkeypatch.setattr("monitoring.payload.masking.JUDGE_SECONDS", 0.02)
    mask = MaskRules(expressions=("(?:a|aa)+$",))
    assert mask.mask_text("xaaa") == f"x{MASK}"
    assert mask.mask_text("a" * 5_000 + " 4111") == MASK
