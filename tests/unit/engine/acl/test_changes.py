"""Changes of accounts, from rules to rules."""

import pytest

from broker_core.engine.acl.access_control import INTERNAL_ACCESS_KEY
from broker_core.engine.acl.accounts import AccessRules, Permission
from broker_core.engine.acl.processor import with_account, with_white_addresses, without_account
from broker_core.errors import UsageError


def test_an_account_is_made_and_what_is_given_of_it_changed():
    nothing = AccessRules()
    made = with_account(nothing, {"accessKey": "new-account", "secretKey": "new-secret", "topicPerms": "a=PUB,b=SUB"})
    changed = with_account(
        made, {"accessKey": "new-account", "groupPerms": "g=SUB", "admin": "True", "defaultTopicPerm": "PUB"}
    )
    account = changed.accounts["new-account"]
    assert (account.secret_key, account.admin, account.default_topic) == ("new-secret", True, Permission.PUB)
    assert (account.topics, account.groups) == ({"a": Permission.PUB, "b": Permission.SUB}, {"g": Permission.SUB})
    assert (nothing.accounts, made.accounts["new-account"].groups) == ({}, {}), "rules that there were stay as they are"
    assert without_account(changed, "new-account") == nothing


def test_addresses_that_need_no_account_are_replaced():
    rules = with_white_addresses(AccessRules(), ["10.2.2.2", " ", "10.3.*.*"])
    assert [pattern.text for pattern in rules.white_addresses] == ["10.2.2.2", "10.3.*.*"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda rules: with_account(rules, {"accessKey": INTERNAL_ACCESS_KEY, "secretKey": "my-own-secret"}),
            "the broker's own",
        ),
        (lambda rules: with_account(rules, {"accessKey": "new-account"}), "secretKey"),
        (lambda rules: with_account(rules, {"accessKey": "new-account", "secretKey": "short"}), "7 characters"),
        (lambda rules: without_account(rules, "nobody-here"), "no account with the accessKey nobody-here"),
        (lambda rules: with_white_addresses(rules, ["10.x.*.*"]), "10.x"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(UsageError, match=words):
        make(AccessRules())
