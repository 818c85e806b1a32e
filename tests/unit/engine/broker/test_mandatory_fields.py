"""A request without a mandatory header field, or with one of another type, is refused with the field's name."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.mandatory import mandatory_fields
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.every_request import BROKER, LONG_NAMES, NAME_SERVER, Asked

CASES = [(code, name) for code in (*BROKER, *NAME_SERVER) for name in mandatory_fields(code)]
FINDS_NOTHING = {
    (Q.QUERY_MESSAGE, "topic"): R.QUERY_NOT_FOUND, (Q.QUERY_MESSAGE, "key"): R.QUERY_NOT_FOUND,
    (Q.GET_KV_CONFIG, "namespace"): R.QUERY_NOT_FOUND, (Q.GET_KV_CONFIG, "key"): R.QUERY_NOT_FOUND,
    (Q.GET_KVLIST_BY_NAMESPACE, "namespace"): R.QUERY_NOT_FOUND, (Q.GET_ROUTEINFO_BY_TOPIC, "topic"): R.TOPIC_NOT_EXIST,
}  # fmt: skip
SENDS = {
    Q.SEND_MESSAGE: ("topic", "queueId", "sysFlag", "bornTimestamp", "flag"),
    Q.SEND_MESSAGE_V2: ("b", "e", "f", "g", "h"),
    Q.SEND_BATCH_MESSAGE: ("b", "e", "f", "g", "h"),
    Q.SEND_REPLY_MESSAGE: ("topic", "queueId", "sysFlag", "bornTimestamp", "flag"),
    Q.SEND_REPLY_MESSAGE_V2: ("b", "e", "f", "g", "h"),
}
NOT_NEEDED = [
    (Q.SEND_MESSAGE, LONG_NAMES, ("producerGroup", "defaultTopic", "defaultTopicQueueNums")),
    (Q.SEND_MESSAGE_V2, send_fields("T"), ("a", "c", "d")),
    (Q.PULL_MESSAGE, BROKER[Q.PULL_MESSAGE][0], ("commitOffset", "suspendTimeoutMillis", "subVersion")),
]
ODD = ("12abc", " 1", "1 ", "1_0", "1.0", "٣", "0x1", "TRUE", "9" * 20, "1" * 5_000)
"""No numbers; Python's `int` takes some of them."""
OPTIONAL = {"commitOffset", "suspendTimeoutMillis", "subVersion", "d", "j", "defaultTopicQueueNums", "reconsumeTimes"}
NUMBERS = [
    (code, name)
    for code, (fields, *_) in (BROKER | NAME_SERVER).items()
    for name, value in fields.items()
    if name in OPTIONAL or (isinstance(value, int) and name in mandatory_fields(code))
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The answers to requests with a field left out and with an empty one, and the end of the queue after all of them."""

    async def ask_all():
        store = StoreConfig(root=tmp_path_factory.mktemp("store"), **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        await broker.start()
        client, names = await connect(broker.broker_address), await connect(broker.name_server_address)
        asked = Asked(client, names)
        await asked.fill()
        found = {}
        for code, name in CASES:
            fields, body, *_ = (BROKER | NAME_SERVER)[code]
            connection = client if code in BROKER else names
            without = {key: value for key, value in fields.items() if key != name}
            both = [await asked.ask(connection, code, given, body) for given in (without, fields | {name: ""})]
            found[code, name] = [(answer.code, answer.remark) for answer in both]
        end = await asked.ask(client, Q.GET_MAX_OFFSET, {"topic": "T", "queueId": 0}, b"")
        taken = [
            (await asked.ask(client, code, {key: value for key, value in fields.items() if key != name}, b"x")).code
            for code, fields, left_out in NOT_NEEDED
            for name in left_out
        ]
        odd = {}
        for code, name in NUMBERS:
            fields, body, *_ = (BROKER | NAME_SERVER)[code]
            for text in ODD:
                answer = await asked.ask(client if code in BROKER else names, code, fields | {name: text}, body)
                odd[code, name, text] = answer.code, answer.remark
        client.close()
        names.close()
        await broker.stop()
        return found, int(end.ext_fields["offset"]), taken, odd

    return asyncio.run(ask_all())


@pytest.mark.parametrize(("code", "name"), CASES, ids=lambda value: value.name if isinstance(value, Q) else value)
def test_the_field_is_named(answers, code, name):
    remarks = {f"the header field {name} is missing"} | ({"The specified topic is blank."} if name in ("topic", "b") else set())
    for given, remark in answers[0][code, name]:
        assert given == FINDS_NOTHING.get((code, name), R.SYSTEM_ERROR)
        assert remark in remarks


def test_nothing_of_a_refused_send_is_stored(answers):
    assert answers[1] == 1, "the one message that was there before"


@pytest.mark.parametrize("code", SENDS, ids=lambda code: code.name)
def test_a_send_needs_its_queue_flags_and_time(code):
    assert mandatory_fields(code) == SENDS[code]


def test_fields_that_no_real_broker_uses_may_be_missing(answers):
    assert set(answers[2]) == {R.SUCCESS}


@pytest.mark.parametrize(("code", "name"), NUMBERS, ids=lambda value: value.name if isinstance(value, Q) else value)
def test_a_field_that_is_no_number_is_named(answers, code, name):
    for text in ODD:
        given, remark = answers[3][code, name, text]
        assert given != R.SUCCESS
        assert f"the header field {name} " in remark, (text, remark)


def test_a_code_that_nobody_knows_has_none():
    assert mandatory_fields(29_999) == ()
