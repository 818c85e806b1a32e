import asyncio
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.console_peer import ConsolePeer
from broker_core.engine.broker.console_requests import answer_console
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.administration import ACTING, READING
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object

NEW_TOPIC = {
    "topic": "orders",
    "defaultTopic": "TBW102",
    "readQueueNums": "3",
    "writeQueueNums": "3",
    "perm": "6",
    "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": "0",
    "order": "false",
}


def test_a_request_reads_or_acts():
    assert not READING & ACTING


def test_the_console_asks_broker_and_name_server_and_what_it_does_is_recorded(tmp_path: Path):
    async def run() -> None:
        store = StoreConfig(root=tmp_path, commit_log_file_bytes=1 << 20, consume_queue_file_bytes=20_000)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        await broker.start()
        try:

            async def ask(code: RequestCode, *, name_server: bool = False, **fields: str) -> RemotingCommand:
                return await broker.answer_console(RemotingCommand(code, fields), name_server=name_server)

            await ask(RequestCode.UPDATE_AND_CREATE_TOPIC, **NEW_TOPIC)
            topics = parse_object((await ask(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
            assert topics["topicConfigTable"]["orders"]["readQueueNums"] == 3
            route = parse_object((await ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, name_server=True, topic="orders")).body)
            assert route["queueDatas"][0]["readQueueNums"] == 3
            with pytest.raises(RemoteError, match="not online"):
                await ask(RequestCode.GET_CONSUMER_RUNNING_INFO, consumerGroup="billing", clientId="nobody")
            with pytest.raises(UsageError, match="administration"):
                await ask(RequestCode.SEND_MESSAGE, topic="orders")
        finally:
            await broker.stop()
        entries = ActionJournal(tmp_path / "config", clock=lambda: 0).last(10)
        assert [(entry.action, entry.subject) for entry in entries] == [("console.update_and_create_topic", "orders")]

    asyncio.run(run())


def test_an_action_that_is_refused_is_recorded_as_such_and_no_secret_is(tmp_path: Path):
    journal = ActionJournal(tmp_path, clock=lambda: 1)
    fields = {"accessKey": "somebody", "secretKey": "hidden", "topic": "orders"}
    command = RemotingCommand(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, fields)
    with pytest.raises(RemoteError, match="no room"):
        asyncio.run(answer_console(lambda _peer, asked: asked.reply(1, "no room"), command, journal))
    assert [entry.action for entry in journal.last(9)] == [
        "console.update_and_create_acl_config",
        "console.update_and_create_acl_config.failed",
    ]
    assert b"hidden" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_an_action_is_recorded_with_its_group_and_its_body(tmp_path: Path):
    journal = ActionJournal(tmp_path, clock=lambda: 1)
    config = RemotingCommand(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"billing","retryMaxTimes":3}')
    deleted = RemotingCommand(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "audit"})
    for command in (config, deleted):
        asyncio.run(answer_console(lambda _peer, asked: asked.reply(), command, journal))
    changed, gone = journal.last(9)
    assert (changed.subject, changed.details["body"]) == ("billing", '{"groupName":"billing","retryMaxTimes":3}')
    assert (gone.subject, gone.details) == ("audit", {"groupName": "audit"})


def test_an_answer_may_come_later():
    async def run() -> bytes:
        peer = ConsolePeer()

        def handle(asking: ConsolePeer, command: RemotingCommand) -> None:
            asyncio.get_running_loop().call_soon(asking.send, command.reply(body=b"late"))

        answer = await peer.answer_of(handle, RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO))
        assert not peer.send(answer), "a second answer is taken"
        return bytes(answer.body)

    assert asyncio.run(run()) == b"late"
