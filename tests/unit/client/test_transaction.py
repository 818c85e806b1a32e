"""The transactional producer against the embedded broker."""

import asyncio
from dataclasses import replace

import pytest

from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import SMALL_FILES
from tests.support.embedded import started
from tests.support.remoting_peer import Peer, eventually

COMMIT, ROLLBACK, UNKNOWN = LocalState.COMMIT, LocalState.ROLLBACK, LocalState.UNKNOWN


def running(root, **settings):
    times = {"transaction_timeout_ms": 50, "transaction_check_interval_ms": 100}
    config = BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root / "store", **SMALL_FILES))
    return started(replace(config, **times, **settings))


def bodies(broker, topic="T"):
    store, found = broker.store, []
    for queue_id in range(4):
        result = store.get_messages(topic, queue_id, 0, 32)
        found += [bytes(decode_record(record).body) for record in result.records]
    return sorted(found)


def never(_message):
    return None


def test_consumers_see_what_is_committed_only(tmp_path):
    async def run():
        async with running(tmp_path) as broker, TransactionProducer(broker.name_server_address, "PG", never) as producer:
            for body, state in ((b"yes", COMMIT), (b"no", ROLLBACK), (b"open", UNKNOWN)):
                result = await producer.send_in_transaction(
                    Message("T", body, properties={"DELAY": "3"}), lambda _message, state=state: state
                )
                assert result.state is state
            await eventually(lambda: bodies(broker) == [b"yes"])
            await producer.send(Message("T", b"plain"))
            assert bodies(broker) == [b"plain", b"yes"]

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [False, True])
def test_the_checker_decides_what_was_left_open(tmp_path, is_async):
    asked = []

    def check(message):
        asked.append((message.topic, message.body, message.keys, message.message_id))
        return COMMIT if message.body == b"yes" else ROLLBACK

    async def check_async(message):
        return check(message)

    async def run():
        checker = check_async if is_async else check
        async with running(tmp_path) as broker, TransactionProducer(broker.name_server_address, "PG", checker) as producer:
            sent = [await producer.send_in_transaction(Message("T", body, keys=("k",)), never) for body in (b"yes", b"no")]
            await eventually(lambda: bodies(broker) == [b"yes"] and len(asked) >= 2)
            first = ("T", b"yes", ["k"], sent[0].sent.message_id)
            assert first in asked

    asyncio.run(run())


def test_a_local_transaction_that_fails_is_unknown_and_checked(tmp_path, caplog):
    def fail(_message):
        raise ValueError("no database")

    async def fail_async(message):
        fail(message)

    async def run():
        async with (
            running(tmp_path) as broker,
            TransactionProducer(broker.name_server_address, "PG", lambda _message: COMMIT) as producer,
        ):
            for execute in (fail, fail_async):
                result = await producer.send_in_transaction(Message("T", b"x"), execute)
                assert (result.state, result.remark) == (UNKNOWN, "ValueError('no database')")
            await eventually(lambda: bodies(broker) == [b"x", b"x"])

    asyncio.run(run())
    assert "no database" in caplog.text


def test_another_instance_of_the_group_answers_for_one_that_died(tmp_path):
    async def run():
        async with running(tmp_path) as broker:
            async with TransactionProducer(broker.name_server_address, "PG", never) as first:
                await first.begin(Message("T", b"orphan"))
            async with TransactionProducer(broker.name_server_address, "PG", lambda _message: COMMIT) as second:
                await second.answer_checks("T")
                await eventually(lambda: bodies(broker) == [b"orphan"])

    asyncio.run(run())


def test_a_half_message_that_is_not_safe_is_rolled_back_without_a_local_transaction():
    async def run():
        async with Peer() as peer, TransactionProducer(peer.address, "PG", never) as producer:

            def late(_connection, command):
                fields = {"msgId": "7F00000100002A9F0000000000000010", "queueId": "0", "queueOffset": "4"}
                return command.reply(10, None, fields)

            peer.script[RequestCode.SEND_MESSAGE_V2].append(late)
            peer.topics["T"] = 1
            result = await producer.send_in_transaction(Message("T", b"x"), pytest.fail)
            assert result.state is ROLLBACK
            await eventually(lambda: peer.of_code(RequestCode.END_TRANSACTION))
            (end,) = peer.of_code(RequestCode.END_TRANSACTION)
            assert end.is_oneway
            assert end.ext_fields | {"msgId": "", "transactionId": ""} == {
                "producerGroup": "PG", "tranStateTableOffset": "4", "commitLogOffset": "16", "commitOrRollback": "12",
                "fromTransactionCheck": "false", "msgId": "", "transactionId": "",
            }  # fmt: skip
            (sent,) = peer.of_code(RequestCode.SEND_MESSAGE_V2)
            assert sent.ext_fields["f"] == "4"
            assert "TRAN_MSG\x01true" in sent.ext_fields["i"]

    asyncio.run(run())
