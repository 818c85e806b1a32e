import pytest

from broker_core.client.subscription import subscribe
from broker_core.errors import UsageError


@pytest.mark.parametrize("expression", ["*", "", "  ", " * "])
def test_everything_is_wanted(expression):
    subscription = subscribe("T", expression, 5)
    assert (subscription.accepts_tag(None), subscription.accepts_tag("x"), subscription.expression) == (True, True, "*")


def test_tags_are_compared_as_text_and_sent_with_their_hashes():
    subscription = subscribe("T", "TagA ||TagB", 6)
    assert [subscription.accepts_tag(tag) for tag in ("TagA", "TagB", "TagC", None)] == [True, True, False, False]
    assert subscription.to_json() == {
        "classFilterMode": False,
        "codeSet": [2598919, 2598920],
        "expressionType": "TAG",
        "subString": "TagA ||TagB",
        "subVersion": 6,
        "tagsSet": ["TagA", "TagB"],
        "topic": "T",
    }


def test_an_expression_without_a_tag_is_refused():
    with pytest.raises(UsageError, match="names no tag"):
        subscribe("T", " || ", 1)
