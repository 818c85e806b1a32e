import pytest

from broker_core.errors import CodecError
from broker_core.protocol.subscription import parse_subscription, subscription_from_json


@pytest.mark.parametrize("expression", ["*", "", None])
def test_everything_passes_without_tags(expression):
    assert parse_subscription("T", expression).accepts() is None


def test_tags_pass_by_their_hash():
    accepts = parse_subscription("T", " TagA||TagB || ").accepts()
    assert [accepts(code) for code in (2598919, 2598920, 2598921, 0)] == [True, True, False, False]


def test_an_expression_without_a_tag_is_refused():
    with pytest.raises(CodecError, match="names no tag"):
        parse_subscription("T", "||")


def test_json_and_back():
    subscription = parse_subscription("T", "a||b", version=7)
    assert subscription_from_json(subscription.to_json()) == subscription


@pytest.mark.parametrize("value", [{}, {"topic": ""}, {"topic": "T", "subVersion": "x"}, {"topic": "T", "codeSet": ["x"]}])
def test_what_is_no_subscription_is_refused(value):
    with pytest.raises(CodecError):
        subscription_from_json(value)
