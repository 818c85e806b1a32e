"""The access control file."""

import itertools
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.acl.accounts import (
    AccessRules,
    Account,
    Permission,
    permission_of,
    read_rules,
    rules_file,
    rules_of,
    write_rules,
)
from broker_core.engine.acl.addresses import AddressPattern
from broker_core.errors import StoreError, UsageError

EXAMPLE = """
globalWhiteRemoteAddresses: [10.10.103.*, 192.168.0.*]
accounts:
  - accessKey: RocketMQ
    secretKey: 12345678
    whiteRemoteAddress: 192.168.1.*
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms: [topicA=DENY, topicB=PUB|SUB]
    groupPerms: [groupA=DENY]
"""


def test_reads_the_example_of_the_specification(tmp_path):
    path = tmp_path / "plain_acl.yml"
    path.write_text(EXAMPLE)
    rules = read_rules(rules_file(path))
    account = rules.accounts["RocketMQ"]
    assert account.secret_key == "12345678"
    assert not account.admin
    assert (account.default_topic, account.default_group) == (Permission.DENY, Permission.SUB)
    assert account.topics == {"topicA": Permission.DENY, "topicB": Permission.PUB | Permission.SUB}
    assert account.groups == {"groupA": Permission.DENY}
    assert account.white_address.matches("192.168.1.7")
    assert [pattern.text for pattern in rules.white_addresses] == ["10.10.103.*", "192.168.0.*"]


@pytest.mark.parametrize(
    ("word", "permission"),
    [("PUB", 1), ("SUB", 2), ("PUB|SUB", 3), ("SUB|PUB", 3), ("DENY", 0), ("pub", 0), ("ANY", 0), ("", 0), ("PUB|X", 0)],
)
def test_a_word_that_is_not_known_denies(word, permission):
    assert permission_of(word).value == permission


ENDLESS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n" for before, after in itertools.pairwise("abcdefghijk")
)
"""A list of 10¹¹ texts, by aliases."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accounts: [", "is no YAML, line 1"),
        ("[1, 2]", "should hold globalWhiteRemoteAddresses and accounts"),
        ("accounts: 7", "should be lists"),
        ("accounts: [7]", "an account should be"),
        ("accounts: [{accessKey: short, secretKey: '12345678'}]", "the accessKey of account “short” needs 7"),
        ("accounts: [{accessKey: longenough, secretKey: '123'}]", "the secretKey of account “longenough” needs 7"),
        ("accounts: [{accessKey: longenough, secretKey: '12345678', topicPerms: [x]}]", "topicPerms takes NAME=DENY"),
        ("globalWhiteRemoteAddresses: [1.2.3]", "no address pattern"),
        ("accounts: !!python/object/apply:os.system ['true']", "is no YAML"),
        ("accounts: !!bool x", "is no YAML that can be read"),
        ("accounts: !!timestamp x", "is no YAML that can be read"),
        ("accounts: " + "{a: " * 5_000, "is no YAML that can be read"),
        ("accounts: [{accessKey: [longenough], secretKey: '12345678'}]", "accessKey should be a text"),
        ("globalWhiteRemoteAddresses: [[1.2.3.4]]", "globalWhiteRemoteAddresses should be a text"),
        (ENDLESS + "accounts: [{accessKey: *k}]", "accessKey should be a text"),
        (ENDLESS + "accounts: [{accessKey: longenough, secretKey: '12345678', topicPerms: *k}]", "topicPerms should be a text"),
        (f"accounts: [{{accessKey: {'9' * 5_000}, secretKey: '12345678'}}]", "4300 digits"),
    ],
)
def test_says_what_is_wrong_with_a_file(tmp_path, text, message):
    path = tmp_path / "plain_acl.yml"
    path.write_text(text)
    with pytest.raises(UsageError, match="plain_acl") as caught:
        read_rules(rules_file(path))
    assert message in caught.value.message


def test_a_broken_file_does_not_tell_its_secrets(tmp_path):
    path = tmp_path / "plain_acl.yml"
    path.write_text("accounts:\n  - secretKey: 'hunter2hunter2\n")
    with pytest.raises(UsageError) as caught:
        read_rules(rules_file(path))
    assert "hunter2" not in caught.value.message


def test_says_that_a_file_is_missing(tmp_path):
    with pytest.raises(UsageError, match="switch aclEnable off"):
        read_rules(rules_file(tmp_path / "none.yml"))


KEYS = st.text("abcXYZ019", min_size=7, max_size=12)
PERMISSIONS = st.dictionaries(st.text("abc%_-", min_size=1), st.sampled_from([Permission(n) for n in range(4)]))


@given(
    st.lists(
        st.builds(Account, KEYS, KEYS, st.booleans(), topics=PERMISSIONS, groups=PERMISSIONS), unique_by=lambda a: a.access_key
    )
)
def test_what_is_written_is_read_again(accounts):
    rules = AccessRules({account.access_key: account for account in accounts}, (AddressPattern("10.0.0.*"),))
    assert rules_of(rules.to_yaml()).to_yaml() == rules.to_yaml()


def test_the_file_is_for_its_owner_only_and_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "config" / "plain_acl.yml"
    write_rules(rules_file(path), AccessRules({"longenough": Account("longenough", "secret-secret")}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_rules(rules_file(path)).accounts["longenough"].secret_key == "secret-secret"
    assert [file.name for file in path.parent.iterdir()] == ["plain_acl.yml"]


@pytest.mark.parametrize("damage", ["", " \n", "\0" * 40, "# accounts", "null", "accounts: [{accessKey:", "[" * 5_000])
def test_a_damaged_file_is_refused_and_no_older_accounts_are_let_in(tmp_path, damage):
    path = tmp_path / "plain_acl.yml"
    for name in ("first-account", "second-account"):
        write_rules(rules_file(path), AccessRules({name: Account(name, "secret-secret")}))
    path.write_text(damage)
    with pytest.raises(UsageError, match=r"plain_acl\.yml\.bak holds the accounts before the last change") as caught:
        read_rules(rules_file(path))
    assert "correct or restore it" in caught.value.message
    assert path.read_text() == damage


def test_a_damaged_file_is_set_aside_when_accounts_are_written(tmp_path):
    path = tmp_path / "plain_acl.yml"
    file = rules_file(path)
    for name in ("first-account", "second-account"):
        write_rules(file, AccessRules({name: Account(name, "secret-secret")}))
    path.write_text("accounts: [")
    write_rules(file, AccessRules({"third-account": Account("third-account", "secret-secret")}))
    assert "first-account" in path.with_name("plain_acl.yml.bak").read_text()
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, path.with_name("plain_acl.yml.bak"))} == {0o600}
    (kept,) = tmp_path.glob("plain_acl.yml.damaged-*")
    assert kept.read_text() == "accounts: ["


def test_says_that_a_file_cannot_be_written(tmp_path):
    (tmp_path / "config").write_text("no directory")
    with pytest.raises(StoreError, match="the accounts stay as they were"):
        write_rules(rules_file(tmp_path / "config" / "plain_acl.yml"), AccessRules())


def test_the_secret_is_not_in_the_text_form():
    assert "secret-secret" not in repr(Account("longenough", "secret-secret"))
