"""What a subscription rejects."""

import pytest

from broker_core.protocol.filter.rejection import Rejection, Wanted, rejection, wanted_topics


def test_a_subscription_says_which_tags_it_takes():
    wanted = wanted_topics({"all": "*", "empty": "", "tags": "new || paid", "one": "paid"}, {"one": "TAG"})
    assert rejection(wanted, "other", "") is Rejection.TOPIC
    assert rejection(wanted, "all", "") is Rejection.NONE
    assert rejection(wanted, "empty", "x") is Rejection.NONE
    assert [rejection(wanted, "tags", tag) for tag in ("new", "paid", "old", "")] == [
        Rejection.NONE,
        Rejection.NONE,
        Rejection.TAG,
        Rejection.TAG,
    ]
    assert rejection(wanted, "one", "paid") is Rejection.NONE


@pytest.mark.parametrize(
    ("expression", "properties", "found"),
    [
        ("region = 'eu'", {"region": "eu"}, Rejection.NONE),
        ("region = 'eu'", {"region": "us"}, Rejection.PROPERTIES),
        ("a is not null", {}, Rejection.PROPERTIES),
        ("a > 5 AND TAGS IN ('new', 'paid')", {"a": "7", "TAGS": "new"}, Rejection.NONE),
        ("a > 5", {"a": "seven"}, Rejection.PROPERTIES),  # no number: the broker passes it over, too
        ("a > ", {"a": "7"}, Rejection.UNKNOWN),
        ("a > 5", None, Rejection.UNKNOWN),
    ],
)
@pytest.mark.parametrize("kind", ["SQL92", ""])
def test_a_filter_over_properties_is_tried(expression, properties, found, kind):
    wanted = {"orders": Wanted(expression, kind)}
    assert rejection(wanted, "orders", "x", properties) is found


def test_a_word_is_a_tag_or_a_filter_as_its_consumers_say():
    assert rejection({"t": Wanted("vip", "TAG")}, "t", "vip", {"vip": "false"}) is Rejection.NONE
    assert rejection({"t": Wanted("vip", "SQL92")}, "t", "vip", {"vip": "false"}) is Rejection.PROPERTIES
    assert rejection({"t": Wanted("a = b", "TAG")}, "t", "x", {}) is Rejection.TAG
