"""Every request that a 4.9 broker answers, and those of 5.x that are served, asked for over a connection: each is answered in
its own words, never with “not supported”."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.processors.unserved_requests import REASONS
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.every_request import BROKER, NAME_SERVER, Asked

TO_CLIENTS = {
    Q.CHECK_TRANSACTION_STATE, Q.NOTIFY_CONSUMER_IDS_CHANGED, Q.RESET_CONSUMER_CLIENT_OFFSET, Q.GET_CONSUMER_STATUS_FROM_CLIENT,
    Q.PUSH_REPLY_MESSAGE_TO_CLIENT,
}  # fmt: skip
NEVER = {Q.REGISTER_MESSAGE_FILTER_CLASS}
ONLY_WITH_ATOMIC_TRANSACTIONS = {code for code in Q if 30_000 < code < 30_100}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The answer to each request, by server."""

    async def ask_all():
        store = StoreConfig(root=tmp_path_factory.mktemp("store"), **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        await broker.start()
        client, names = await connect(broker.broker_address), await connect(broker.name_server_address)
        world = Asked(client, names)
        try:
            await world.fill()
            return {
                "broker": {code: await world.ask(client, code, row[0], row[1]) for code, row in BROKER.items()},
                "name server": {code: await world.ask(names, code, row[0], row[1]) for code, row in NAME_SERVER.items()},
                "unserved": {code: await world.ask(client, code, {}, b"") for code in REASONS},
            }
        finally:
            client.close()
            names.close()
            await broker.stop()

    return asyncio.run(ask_all())


def text_of(answer):
    return f"{answer.remark or ''}{answer.ext_fields}{bytes(answer.body).decode('latin-1')}"


@pytest.mark.parametrize("code", BROKER, ids=lambda code: code.name)
def test_the_broker_answers(answers, code):
    _, _, expected, words = BROKER[code]
    answer = answers["broker"][code]
    assert answer.code == expected, answer.remark
    assert words in text_of(answer)


@pytest.mark.parametrize("code", NAME_SERVER, ids=lambda code: code.name)
def test_the_name_server_answers(answers, code):
    _, _, expected, words = NAME_SERVER[code]
    answer = answers["name server"][code]
    assert answer.code == expected, answer.remark
    assert words in text_of(answer)


def test_no_request_is_forgotten():
    assert set(Q) == {*BROKER, *NAME_SERVER, *TO_CLIENTS, *NEVER, *ONLY_WITH_ATOMIC_TRANSACTIONS}


def test_what_is_not_served_says_why(answers):
    for code, answer in answers["unserved"].items():
        assert (answer.code, REASONS[code] in answer.remark) == (R.REQUEST_CODE_NOT_SUPPORTED, True)
    assert set(REASONS) >= NEVER


HOSTILE = ["../../../../escape", "/tmp/escape", "$(touch escape)", "escape;touch escape", "java.lang.Runtime", "", "x" * 5_000,
           "\0escape", str(-(1 << 63)), str((1 << 63) - 1), "-1", "NaN", "9" * 5_000, "²", "٣", "1e400", "\ud800",
           "[" * 3_000]  # fmt: skip


def twisted(value, hostile):
    """The same body with each of its texts and numbers replaced, one at a time."""
    for key in value if isinstance(value, dict) else range(len(value)):
        inner = value[key]
        if isinstance(inner, dict | list):
            for other in twisted(inner, hostile):
                yield {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]
        else:
            yield {**value, key: hostile} if isinstance(value, dict) else [*value[:key], hostile, *value[key + 1 :]]


def attacks(table):
    """Each request with one of its fields, or one value of its body, replaced by something hostile."""
    for code, (fields, body, _, _) in table.items():
        for hostile in HOSTILE:
            for name in fields:
                yield code, {**fields, name: hostile}, body
            if isinstance(body, dict):
                for other in twisted(body, hostile):
                    yield code, fields, other


def test_no_hostile_value_of_any_request_leaves_the_store_or_stops_the_broker(tmp_path, caplog):
    """Nobody waits for the answers: some requests are held. A request behind them on the same connection is served."""
    caplog.set_level("ERROR")

    async def attack(connection, table):
        for code, fields, body in attacks(table):
            ext = {name: str(value) for name, value in fields.items()}
            connection.send_oneway(RemotingCommand(code, ext, body if isinstance(body, bytes) else emit(body)))
            await asyncio.sleep(0)

    async def scenario():
        store = StoreConfig(root=tmp_path / "inside" / "store", **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        await broker.start()
        client, names = await connect(broker.broker_address), await connect(broker.name_server_address)
        world = Asked(client, names)
        await world.fill()
        before = bytes((await world.ask(client, Q.GET_BROKER_CONFIG, {}, b"")).body)
        settings = {Q.UPDATE_BROKER_CONFIG, Q.UPDATE_NAMESRV_CONFIG}
        await attack(client, {code: row for code, row in BROKER.items() if code not in settings})
        await attack(names, {code: row for code, row in NAME_SERVER.items() if code not in settings})
        sent = await world.ask(client, Q.SEND_MESSAGE_V2, send_fields("T"), b"after all")
        assert (sent.code, bytes((await world.ask(client, Q.GET_BROKER_CONFIG, {}, b"")).body)) == (R.SUCCESS, before)
        assert (await world.ask(names, Q.GET_BROKER_CLUSTER_INFO, {}, b"")).code == R.SUCCESS
        client.close()
        names.close()
        await broker.stop()

    asyncio.run(scenario())
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert not [path for path in tmp_path.rglob("*") if "escape" in path.name]
    assert not caplog.records, "no fault of our own came to light"
