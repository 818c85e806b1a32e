"""What a subscription rejects."""

from broker_core.message.rejection import Rejection, rejection


def test_a_subscription_says_what_it_takes():
    wanted = {"all": "*", "empty": "", "tags": "new || paid", "one": "paid", "sql": "region = 'eu'", "words": "a is not null"}
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
    assert rejection(wanted, "sql", "x") is Rejection.UNKNOWN
    assert rejection(wanted, "words", "x") is Rejection.UNKNOWN
