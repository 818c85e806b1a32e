"""The accounts' file: written off the loop, answered when it holds the change."""

import asyncio
import os
import threading

import pytest

from broker_core.engine.acl import access_control
from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.acl.account_file import WAITING_BYTES_MAX, AccountFile
from broker_core.engine.acl.accounts import read_rules, rules_file, write_rules
from broker_core.engine.acl.processor import AccessProcessor
from broker_core.errors import StoreError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import ONEWAY_FLAG, RemotingCommand
from tests.support.broker_bench import RecordingPeer
from tests.support.remoting_peer import eventually

SECONDS = 60.0
FAILED = R.UPDATE_AND_CREATE_ACL_CONFIG_FAILED


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "plain_acl.yml"
    path.write_text("accounts: [{accessKey: administrator, secretKey: administrator, admin: true}]")
    return path


class HeldWrites:
    """Stands before `write_rules`: writes wait while ``open`` is not set, and fail with ``fault``."""

    def __init__(self, monkeypatch):
        self.open = threading.Event()
        self.fault = None
        self.threads = []
        monkeypatch.setattr(access_control, "write_rules", self)

    def __call__(self, file, rules):
        self.threads.append(threading.current_thread())
        assert self.open.wait(SECONDS)
        if self.fault is not None:
            raise self.fault
        write_rules(file, rules)


def stored(path):
    return read_rules(rules_file(path)).accounts


@pytest.fixture
def held(monkeypatch):
    return HeldWrites(monkeypatch)


class Broker:
    """Accounts behind the requests that change them."""

    def __init__(self, path):
        self.access = AccessControl(path, clock=lambda: 5)
        self.file = AccountFile(self.access)
        self.processor = AccessProcessor(self.file, {})
        self.peer = RecordingPeer()

    def add(self, name, secret="new-secret", *, flag=0, **fields):
        ext = {"accessKey": name, "secretKey": secret, **fields}
        kind = SerializeType.ROCKETMQ
        command = RemotingCommand(Q.UPDATE_AND_CREATE_ACL_CONFIG, ext, opaque=9, flag=flag, serialize_type=kind)
        return self.processor.put_account(self.peer, command)

    def told(self):
        return [(answer.code, answer.remark or "") for answer in self.peer.sent]

    async def settle(self):
        await self.file.settle()
        await asyncio.sleep(0)


def test_a_change_counts_and_is_answered_when_the_file_holds_it(path, held):
    async def scenario():
        broker = Broker(path)
        assert broker.add("new-account") is None
        await eventually(lambda: held.threads)
        assert held.threads[0] is not threading.current_thread()
        assert (broker.told(), "new-account" in broker.access.rules.accounts) == ([], False)
        held.open.set()
        await broker.settle()
        assert broker.told() == [(R.SUCCESS, "")]
        assert (broker.peer.sent[0].opaque, broker.peer.sent[0].serialize_type) == (9, SerializeType.ROCKETMQ)
        assert broker.access.rules.accounts.keys() == stored(path).keys() == {"administrator", "new-account"}
        assert (broker.access.version.counter, broker.access.is_stale) == (1, False)

    asyncio.run(scenario())


def test_one_write_serves_all_that_wait_and_a_wrong_one_fails_alone(path, held):
    async def scenario():
        broker = Broker(path)
        broker.add("first-account")
        await eventually(lambda: held.threads)
        for number in range(5):
            broker.add(f"account-{number}")
        broker.add("account-3", "short")
        remove = RemotingCommand(Q.DELETE_ACL_CONFIG, {"accessKey": "account-0"})
        assert broker.processor.remove_account(broker.peer, remove) is None
        held.open.set()
        await broker.settle()
        assert len(held.threads) == 2
        codes = [code for code, _ in broker.told()]
        assert sorted(codes) == sorted([R.SUCCESS] * 7 + [FAILED])
        assert [remark for code, remark in broker.told() if code == FAILED] == [
            "the secretKey of account “account-3” needs 7 characters or more"
        ]
        assert set(stored(path)) == {"administrator", "first-account", *(f"account-{n}" for n in range(1, 5))}

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", [StoreError("no room"), RuntimeError("ours")])
def test_where_the_disk_does_not_take_it_the_accounts_stay_as_they_were(path, held, fault, caplog):
    async def scenario():
        broker = Broker(path)
        held.fault = fault
        held.open.set()
        broker.add("new-account")
        await broker.settle()
        ((code, remark),) = broker.told()
        assert (code, str(fault) in remark) == (FAILED, True)
        assert set(broker.access.rules.accounts) == {"administrator"} == set(stored(path))
        held.fault = None
        broker.add("new-account")
        await broker.settle()
        assert broker.told()[1:] == [(R.SUCCESS, "")]

    asyncio.run(scenario())
    assert ("the accounts cannot be written" in caplog.text) == isinstance(fault, RuntimeError)


def test_a_file_changed_by_hand_is_taken_over_and_a_broken_one_is_not(path, caplog):
    async def scenario():
        broker = Broker(path)
        path.write_text("accounts: [")
        os.utime(path, ns=(1, 1))
        broker.file.look()
        await broker.settle()
        assert set(broker.access.rules.accounts) == {"administrator"}
        assert "the accounts stay as they were" in caplog.text
        broker.file.look()
        assert broker.file._task is None, "a broken file is read once"
        path.write_text("accounts: [{accessKey: by-hand, secretKey: by-hand}]")
        broker.file.look()
        await broker.settle()
        assert set(broker.access.rules.accounts) == {"by-hand"}

    asyncio.run(scenario())


def test_a_change_is_made_on_top_of_what_was_changed_by_hand(path):
    async def scenario():
        broker = Broker(path)
        path.write_text("accounts: [{accessKey: by-hand, secretKey: by-hand}]")
        broker.add("new-account")
        await broker.settle()
        assert broker.told() == [(R.SUCCESS, "")]
        assert set(stored(path)) == {"by-hand", "new-account"} == set(broker.access.rules.accounts)

    asyncio.run(scenario())


def test_changes_that_wait_are_bounded(path, held):
    async def scenario():
        broker = Broker(path)
        broker.add("first-account")
        await eventually(lambda: held.threads)
        large = "t=PUB," * 10_000 + "u=PUB"
        answers = [broker.add(f"account-{number}", topicPerms=large) for number in range(6)]
        allowed = WAITING_BYTES_MAX // len(large)
        assert [answer is None for answer in answers] == [True] * allowed + [False] * (6 - allowed)
        assert (answers[-1].code, f"{allowed} changes of accounts wait" in answers[-1].remark) == (FAILED, True)
        held.open.set()
        await broker.settle()
        assert broker.told() == [(R.SUCCESS, "")] * (allowed + 1)

    asyncio.run(scenario())


def test_who_asks_for_no_answer_gets_none(path):
    async def scenario():
        broker = Broker(path)
        broker.add("new-account", flag=ONEWAY_FLAG)
        await broker.settle()
        assert (broker.told(), "new-account" in stored(path)) == ([], True)

    asyncio.run(scenario())
