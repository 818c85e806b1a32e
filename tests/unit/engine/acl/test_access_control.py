"""Who may do what: the order of the checks, and that nothing is open by mistake."""

import pytest

from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.acl.needs import _READERS as READERS
from broker_core.engine.acl.needs import OPEN, SIGNED
from broker_core.engine.acl.processor import with_white_addresses
from broker_core.errors import UsageError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.signature import Credentials, sign

RULES = """
globalWhiteRemoteAddresses: [10.9.*.*]
accounts:
  - {accessKey: administrator, secretKey: administrator, admin: true}
  - {accessKey: from-office, secretKey: from-office, whiteRemoteAddress: 10.1.1.1}
  - accessKey: shop-user
    secretKey: shop-secret
    defaultTopicPerm: SUB
    topicPerms: [orders=PUB|SUB, audit=DENY, in=PUB]
    groupPerms: [shop=SUB]
"""
USER = Credentials("shop-user", "shop-secret")
ADMIN = Credentials("administrator", "administrator")


RECORDS: dict[int, bytes] = {}
"""What the commit log holds, by position."""


@pytest.fixture
def access(tmp_path):
    path = tmp_path / "plain_acl.yml"
    path.write_text(RULES)
    return AccessControl(path, clock=lambda: 5, record_at=RECORDS.get)


def asked(access, code, fields=None, body=b"", *, by=USER, host="10.1.2.3"):
    command = RemotingCommand(code, dict(fields or {}), body if isinstance(body, bytes) else emit(body))
    if by is not None:
        sign(command, by)
    return access.refusal(f"{host}:55555", command)


def test_a_request_without_key_is_refused(access):
    assert "No accessKey is configured" in asked(access, Q.SEND_MESSAGE_V2, {"b": "orders"}, by=None)


def test_an_unknown_key_is_refused(access):
    assert "No acl config for somebody" in asked(access, Q.SEND_MESSAGE_V2, {"b": "orders"}, by=Credentials("somebody", "x"))


def test_a_wrong_signature_is_refused(access):
    wrong = Credentials("shop-user", "guessed-secret")
    assert "Check signature failed for accessKey=shop-user" in asked(access, Q.SEND_MESSAGE_V2, {"b": "orders"}, by=wrong)


def test_a_white_address_needs_no_key(access):
    assert asked(access, Q.DELETE_TOPIC_IN_BROKER, {"topic": "x"}, by=None, host="10.9.4.4") is None


def test_the_white_address_of_an_account_needs_no_signature(access):
    unsigned = Credentials("from-office", "wrong-secret")
    assert asked(access, Q.DELETE_TOPIC_IN_BROKER, {"topic": "x"}, by=unsigned, host="10.1.1.1") is None
    assert asked(access, Q.DELETE_TOPIC_IN_BROKER, {"topic": "x"}, by=unsigned, host="10.1.1.2") is not None


@pytest.mark.parametrize(
    ("code", "fields", "allowed"),
    [
        (Q.SEND_MESSAGE, {"topic": "orders"}, True),
        (Q.SEND_MESSAGE_V2, {"b": "orders"}, True),
        (Q.SEND_BATCH_MESSAGE, {"b": "audit"}, False),
        (Q.SEND_MESSAGE_V2, {"b": "other"}, False),
        # Only the field that the broker reads counts.
        (Q.SEND_MESSAGE_V2, {"b": "other", "topic": "orders"}, False),
        (Q.SEND_MESSAGE, {"topic": "other", "b": "orders"}, False),
        (Q.SEND_REPLY_MESSAGE_V2, {"b": "other", "topic": "orders"}, False),
        (Q.SEND_MESSAGE_V2, {"b": "in"}, True),
        (Q.SEND_MESSAGE_V2, {"b": "%RETRY%shop"}, True),
        (Q.SEND_MESSAGE_V2, {"b": "%RETRY%else"}, False),
        (Q.SEND_MESSAGE_V2, {"b": "RMQ_SYS_TRACE_TOPIC"}, True),
        (Q.PULL_MESSAGE, {"topic": "other", "consumerGroup": "shop"}, True),
        (Q.PULL_MESSAGE, {"topic": "audit", "consumerGroup": "shop"}, False),
        (Q.PULL_MESSAGE, {"topic": "orders", "consumerGroup": "else"}, False),
        (Q.LITE_PULL_MESSAGE, {"topic": "audit", "consumerGroup": "shop"}, False),
        (Q.POP_MESSAGE, {"topic": "audit", "consumerGroup": "shop"}, False),
        (Q.ACK_MESSAGE, {"topic": "orders", "consumerGroup": "shop"}, True),
        (Q.QUERY_MESSAGE, {"topic": "in"}, False),
        (Q.UPDATE_CONSUMER_OFFSET, {"topic": "orders", "consumerGroup": "else"}, False),
        (Q.GET_MAX_OFFSET, {"topic": "in"}, True),
        (Q.GET_MAX_OFFSET, {"topic": "audit"}, False),
        (Q.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "shop"}, True),
        (Q.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "else"}, False),
        (Q.CONSUMER_SEND_MSG_BACK, {"group": "else"}, False),
        (Q.RECALL_MESSAGE, {"topic": "audit"}, False),
        (Q.GET_BROKER_RUNTIME_INFO, {}, True),
        (Q.GET_BROKER_CONFIG, {}, False),
        (Q.UPDATE_BROKER_CONFIG, {}, False),
        (Q.UPDATE_AND_CREATE_TOPIC, {"topic": "orders"}, False),
        (Q.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "shop-user"}, False),
        (Q.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "b"}, False),
        (Q.REGISTER_BROKER, {}, False),
        (123456, {}, False),
    ],
)
def test_what_an_account_may_do(access, code, fields, allowed):
    assert (asked(access, code, fields) is None) is allowed
    assert asked(access, code, fields, by=ADMIN) is None


@pytest.mark.parametrize(
    ("group", "topic", "allowed"), [("shop", "orders", True), ("else", "orders", False), ("shop", "audit", False)]
)
def test_bodies_are_looked_into(access, group, topic, allowed):
    heartbeat = {"clientID": "c", "consumerDataSet": [{"groupName": group, "subscriptionDataSet": [{"topic": topic}]}]}
    assert (asked(access, Q.HEART_BEAT, body=heartbeat) is None) is allowed
    locks = {"consumerGroup": group, "clientId": "c", "mqSet": [{"topic": topic, "brokerName": "b", "queueId": 0}]}
    assert (asked(access, Q.LOCK_BATCH_MQ, body=locks) is None) is allowed
    assert (asked(access, Q.QUERY_ASSIGNMENT, body={"consumerGroup": group, "topic": topic}) is None) is allowed


@pytest.mark.parametrize(
    ("topic", "real", "allowed"),
    [
        ("orders", "", True),
        ("audit", "", False),
        ("RMQ_SYS_TRANS_HALF_TOPIC", "audit", False),
        ("SCHEDULE_TOPIC_XXXX", "orders", True),
        # Anyone who may send can set this property; it means something only where the broker puts messages.
        ("audit", "orders", False),
    ],
)
def test_ends_of_transactions_and_reads_by_id_are_checked_by_the_stored_message(access, monkeypatch, topic, real, allowed):
    host = HostAddress(b"\x7f\x00\x00\x01", 1)
    properties = encode_properties({"REAL_TOPIC": real} if real else {})
    message = MessageToStore(topic, 0, 0, 0, 1, host, host, 0, 0, b"x", properties)
    record = encode_record(message, queue_offset=0, physical_offset=64, store_timestamp_ms=1)
    monkeypatch.setitem(RECORDS, 64, record)
    assert (asked(access, Q.END_TRANSACTION, {"commitLogOffset": "64"}) is None) is allowed
    assert (asked(access, Q.VIEW_MESSAGE_BY_ID, {"offset": "64"}) is None) is allowed
    send_back = {"offset": "64", "group": "shop"}
    assert (asked(access, Q.CONSUMER_SEND_MSG_BACK, send_back) is None) is allowed
    assert asked(access, Q.VIEW_MESSAGE_BY_ID, {"offset": "65"}) is None, "there is nothing to be seen"


def test_what_cannot_be_read_is_for_administrators(access, monkeypatch):
    monkeypatch.setitem(RECORDS, 64, b"no record")
    assert "Need admin permission" in asked(access, Q.VIEW_MESSAGE_BY_ID, {"offset": "64"})
    assert asked(access, Q.VIEW_MESSAGE_BY_ID, {"offset": "64"}, by=ADMIN) is None


def test_only_routes_are_open():
    assert {Q.GET_ROUTEINFO_BY_TOPIC} == OPEN


def test_nothing_that_changes_or_shows_settings_is_for_every_account():
    changing = {code for code in Q if any(word in code.name for word in ("UPDATE", "DELETE", "CLEAN", "WIPE", "PUT", "CREATE"))}
    assert changing & SIGNED == set()
    assert changing & set(READERS) == {Q.UPDATE_CONSUMER_OFFSET}
    assert {Q.GET_BROKER_CONFIG, Q.GET_NAMESRV_CONFIG, Q.CONSUME_MESSAGE_DIRECTLY} & (SIGNED | set(READERS)) == set()


def test_rules_that_are_taken_count(access):
    rules = with_white_addresses(access.rules, ["10.2.2.2", "10.3.*.*"])
    access.take(rules, access.write(rules))
    assert asked(access, Q.GET_BROKER_CONFIG, by=None, host="10.3.4.5") is None
    assert (access.version.counter, access.is_stale) == (1, False)
    assert access.read()[0].to_yaml() == rules.to_yaml()


def test_a_file_that_was_changed_is_told_until_it_was_read(access):
    assert not access.is_stale
    access.path.write_text("accounts: [")
    assert access.is_stale
    with pytest.raises(UsageError, match="no YAML"):
        access.read()
    assert not access.is_stale


def test_the_own_account_is_not_in_the_file(access):
    assert asked(access, Q.REGISTER_BROKER, by=access.internal) is None
    assert access.internal.access_key not in access.rules.accounts
