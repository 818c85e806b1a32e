"""Settings changed while the broker runs: a fixed list, all or nothing, kept in a file."""

import dataclasses
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig, live_settings, setting_keys, setting_value
from broker_core.engine.processors.live_settings import LiveSettings
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer, pull_fields, send_fields
from tests.support.transaction_bench import TransactionBench

PEER = RecordingPeer()


def change(bench, text):
    return bench.answer(PEER, Q.UPDATE_BROKER_CONFIG, body=text.encode())


def shown(bench):
    body = bytes(bench.answer(PEER, Q.GET_BROKER_CONFIG).body).decode()
    return dict(line.split("=", 1) for line in body.splitlines())


def test_a_change_is_shown_at_once_under_a_new_version(bench):
    before = bench.answer(PEER, Q.GET_BROKER_CONFIG).ext_fields["version"]
    assert change(bench, "fileReservedTime=48\ndeleteWhen=03;15\n").code == R.SUCCESS
    assert (shown(bench)["fileReservedTime"], shown(bench)["deleteWhen"]) == ("48", "03;15")
    assert bench.answer(PEER, Q.GET_BROKER_CONFIG).ext_fields["version"] != before


@pytest.mark.parametrize("key", ["brokerConfigPath", "rocketmqHome", "configBlackList", "kvConfigPath", "configStorePath"])
def test_the_black_list_is_refused_in_its_own_words(bench, key):
    before = shown(bench)
    answer = change(bench, f"fileReservedTime=1\n{key}=/tmp/x;id")
    assert (answer.code, answer.remark) == (R.NO_PERMISSION, "Can not update config in black list.")
    assert shown(bench) == before


@pytest.mark.parametrize(
    "key",
    [
        "storePathRootDir", "brokerIP1", "bindAddress", "listenPort", "brokerName", "brokerClusterName", "filterServerNums",
        "messageStorePlugIn", "aclFile", "aclEnable", "tls.server.keyPassword", "allowInsecureBind", "mappedFileSizeCommitLog",
        "flushDiskType", "noSuchKey", "namesrvAddr",
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused_and_nothing_changes(bench, key):
    before = shown(bench)
    answer = change(bench, f"fileReservedTime=1\n{key}=1")
    assert (answer.code, key in answer.remark) == (R.NO_PERMISSION, True)
    assert shown(bench) == before


def test_no_path_address_name_or_secret_is_on_the_list():
    config = BrokerConfig()
    fields = {
        f.metadata["key"]: f for kind in (BrokerConfig, StoreConfig) for f in dataclasses.fields(kind) if "key" in f.metadata
    }
    for key, bounds in live_settings().items():
        value = setting_value(config, key)
        assert not isinstance(value, Path)
        assert isinstance(value, bool | int) or key == "deleteWhen"
        assert isinstance(value, bool) or key == "deleteWhen" or isinstance(bounds, tuple), f"{key} has no bounds"
        assert not fields[key].metadata["secret"]
    assert live_settings().keys() <= {**setting_keys(BrokerConfig), **setting_keys(StoreConfig)}.keys()


@pytest.mark.parametrize(
    "text",
    ["fileReservedTime=two", "fileReservedTime=-1", "brokerPermission=8", "deleteWhen=25", "maxMessageSize=99999999999",
     "autoCreateTopicEnable=perhaps", "", "   ", "\xff"],
)  # fmt: skip
def test_values_that_cannot_be_used_are_refused(bench, text):
    before = shown(bench)
    body = text.encode("latin-1")
    answer = bench.answer(PEER, Q.UPDATE_BROKER_CONFIG, body=b"longPollingEnable=false\n" + body if body.strip() else body)
    assert (answer.code, bool(answer.remark)) == (R.SYSTEM_ERROR, True)
    assert shown(bench) == before


def test_rocketmqs_own_default_is_taken_where_it_is_negative(bench):
    change(bench, "defaultPopShareQueueNum=3")
    change(bench, "defaultPopShareQueueNum=-1")
    assert shown(bench)["defaultPopShareQueueNum"] == "-1"


def test_changes_take_effect(bench):
    def sent(topic="T", body=b"x"):
        return bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(topic), body).code

    assert sent() == R.SUCCESS
    change(bench, "maxMessageSize=10")
    assert sent(body=b"x" * 11) == R.MESSAGE_ILLEGAL
    change(bench, "maxMessageSize=4194304")
    assert sent(body=b"x" * 11) == R.SUCCESS
    change(bench, "autoCreateTopicEnable=false")
    assert sent("New") == R.TOPIC_NOT_EXIST
    change(bench, "autoCreateTopicEnable=true")
    assert sent("New") == R.SUCCESS
    change(bench, "autoCreateSubscriptionGroup=false")
    pull = pull_fields() | {"consumerGroup": "NewGroup"}
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull).code == R.SUBSCRIPTION_GROUP_NOT_EXIST
    change(bench, "autoCreateSubscriptionGroup=true")
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull).code == R.SUCCESS
    change(bench, "brokerPermission=2")
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull).code == R.NO_PERMISSION
    change(bench, "brokerPermission=6\nmaxTransferCountOnMessageInMemory=1")
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull).ext_fields["nextBeginOffset"] == "1"


def test_changes_come_back_from_their_file_unless_the_start_says_otherwise(bench):
    settings = LiveSettings(bench.state)
    settings.load(
        {"fileReservedTime": "48", "storePathRootDir": "/etc", "brokerPermission": "99", "diskSpaceWarningLevelRatio": "80"}
    )
    config = bench.state.config
    assert (config.store.file_reserved_hours, config.permission) == (48, 6)
    assert config.store.root != Path("/etc")
    assert config.store.disk_warning_percent == 100, "the bench gives 100 at its start"
    assert settings.to_json() == {"fileReservedTime": "48"}


def test_changes_of_transactions_take_effect(bench):
    transactions = TransactionBench(bench)
    producer = transactions.join()
    change(bench, "rejectTransactionMessage=true")
    half = send_fields(properties="TRAN_MSG\x01true\x02PGROUP\x01PG", sys_flag=4)
    assert bench.answer(PEER, Q.SEND_MESSAGE_V2, half, b"x").code == R.NO_PERMISSION
    change(bench, "rejectTransactionMessage=false\ntransactionTimeOut=1000\ntransactionCheckMax=1\nfileReservedTime=2")
    transactions.send()
    bench.clock.advance(1_001)
    transactions.round()
    assert len(producer.pushed) == 1, "checked after a second, not after the six of the start"
    bench.clock.advance(1_001)
    transactions.round()
    assert (len(transactions.engine.ledger), len(producer.pushed)) == (0, 1), "given up after one check, not after fifteen"
    assert transactions.engine.settings.reserved_ms == 2 * 3_600_000


def test_a_changed_interval_moves_the_next_round(bench):
    service = TransactionBench(bench).service
    change(bench, "transactionCheckInterval=5000")
    assert service.next_round_ms == bench.clock() + 5_000


def test_changed_bounds_of_waiting_pops_take_effect(bench):
    bench.put()
    fields = {
        "consumerGroup": "CG", "topic": "T", "queueId": 1, "maxMsgNums": 1, "invisibleTime": 10_000, "pollTime": 10_000,
        "bornTime": bench.clock(), "initMode": 0,
    }  # fmt: skip
    assert bench.ask(PEER, Q.POP_MESSAGE, fields) is None, "it waits"
    change(bench, "popPollingSize=1")
    assert bench.answer(PEER, Q.POP_MESSAGE, fields).code == R.POLLING_FULL
