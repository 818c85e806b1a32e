"""Routes, settings and sends by a raw client: lines of docs/spec/grpc.md §11 (numbers in brackets) beside test_calls.py."""

import asyncio
import dataclasses

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.push_consumer import ConsumeFrom, ConsumeResult, PushConsumer
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.grpc_broker import grpc_broker
from tests.support.grpc_stub import RawClient, message, receive_request, resource
from tests.support.waiting import wait_until

MOST_BYTES = 4 * 1024 * 1024


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with grpc_broker(tmp_path_factory.mktemp("grpc")) as broker:
        yield broker


@pytest.fixture
def client(broker):
    with RawClient(broker.port) as client:
        yield client


def code_of(response):
    return pb.Code.Name(response.status.code)


# ---- calls, routes, settings ----


@pytest.mark.parametrize(
    "header", ["nonsense", "MQv2-HMAC-SHA1 Credential=//Rocketmq, SignedHeaders=x-mq-date-time, Signature=0"]
)
def test_without_accounts_a_signature_is_not_read(broker, header):  # [5]
    topic = broker.topic("Unsigned")
    with RawClient(broker.port, metadata={"authorization": header}) as client:
        assert code_of(client.send(message(topic))) == "OK"


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [
        ("FIFO", [pb.FIFO]),
        ("MIXED", [pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION]),
        ("DELAY", [pb.DELAY]),
        ("TRANSACTION", [pb.TRANSACTION]),
    ],
)
def test_the_type_of_a_topic_is_in_its_route(broker, client, kind, accepted):  # [9]
    topic = broker.topic(f"Route{kind}", 1)

    async def set_type():
        topics = broker.running.broker.topics
        topics.put(dataclasses.replace(topics.get(topic), attributes={"message.type": kind}))

    broker.running.thread.call(set_type())
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
    assert list(route.message_queues[0].accept_message_types) == accepted


def test_a_group_that_consumes_in_order_is_assigned_each_queue(broker, client):  # [10]
    topic = broker.topic("OrderedQueues", 3)
    broker.change_group("OrderedGroup", orderly=True)
    ask = pb.QueryAssignmentRequest(topic=resource(topic), group=resource("OrderedGroup"))
    assert [entry.message_queue.id for entry in client.call("QueryAssignment", ask).assignments] == [0, 1, 2]


def test_settings_tell_the_order_and_the_attempts_of_a_group(broker, client):  # [12]
    broker.change_group("FifoGroup", orderly=True, retry_times_max=5)
    settings = client.announce_consumer("FifoGroup", broker.topic("FifoSettings")).settings
    assert settings.subscription.fifo
    assert settings.backoff_policy.max_attempts == 6


def test_settings_of_a_group_with_an_exponential_policy(broker, client):  # [13]
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 2_000, "max": 60_000, "multiplier": 3}}
    broker.change_group("Exponential", others={"groupRetryPolicy": policy})
    backoff = client.announce_consumer("Exponential", broker.topic("ExponentialTopic")).settings.backoff_policy
    found = backoff.exponential_backoff
    assert backoff.WhichOneof("strategy") == "exponential_backoff"
    assert (found.initial.ToMilliseconds(), found.max.ToMilliseconds(), found.multiplier) == (2_000, 60_000, 3)


# ---- sends ----


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (message("Checks", properties={"a\x02": "x"}), "ILLEGAL_MESSAGE_PROPERTY_KEY"),
        (message("Checks", properties={"__SHARDINGKEY": "x"}), "ILLEGAL_MESSAGE_PROPERTY_KEY"),
        (message("Checks", tag="a\x01"), "ILLEGAL_MESSAGE_TAG"),
        (message("Checks", keys=["a\x7f"]), "ILLEGAL_MESSAGE_KEY"),
        (message("Checks", message_group="  "), "ILLEGAL_MESSAGE_GROUP"),
        (message("Checks", message_group="a\x00b"), "ILLEGAL_MESSAGE_GROUP"),
        (message("%RETRY%Checks", message_id=""), "ILLEGAL_MESSAGE_ID"),
        (message("Checks", body_digest=pb.Digest(type=pb.MD5, checksum="00")), "MESSAGE_CORRUPTED"),
    ],
)
def test_messages_that_are_refused(broker, client, wrong, code):  # [21]
    broker.topic("Checks")
    assert code_of(client.send(wrong)) == code


def test_a_recovery_time_of_more_than_an_hour_is_refused(broker, client):  # [21]
    late = message(broker.topic("Recovery"), message_type=pb.TRANSACTION)
    late.system_properties.orphaned_transaction_recovery_duration.FromSeconds(3_601)
    assert code_of(client.send(late)) == "BAD_REQUEST"
    late.system_properties.orphaned_transaction_recovery_duration.FromSeconds(3_600)
    assert code_of(client.send(late)) == "OK"


def delayed(broker, topic, seconds=60):
    made = message(topic)
    made.system_properties.delivery_timestamp.FromSeconds(broker.now_ms() // 1000 + seconds)
    return made


@pytest.mark.parametrize("delay_seconds", [None, 60])
def test_properties_beyond_what_a_record_holds_are_refused(broker, client, delay_seconds):  # [21]
    topic = broker.topic("LongTrace")
    large = message(topic) if delay_seconds is None else delayed(broker, topic, delay_seconds)
    large.system_properties.trace_context = "t" * 40_000
    assert code_of(client.send(large)) == "MESSAGE_PROPERTIES_TOO_LARGE"


def test_a_broker_without_timers_takes_no_delivery_time(tmp_path):  # [21]
    with grpc_broker(tmp_path, store={"timer_wheel": False}) as broker, RawClient(broker.port) as client:
        assert code_of(client.send(delayed(broker, broker.topic("NoTimers")))) == "ILLEGAL_DELIVERY_TIME"


def test_a_crowded_second_asks_producers_to_wait(tmp_path):  # [21]
    with grpc_broker(tmp_path, store={"timer_congest_messages": 1}) as broker, RawClient(broker.port) as client:
        same = delayed(broker, broker.topic("Crowded"))

        def is_refused():
            return code_of(client.send(same)) == "TOO_MANY_REQUESTS"

        wait_until(is_refused)


def test_a_lite_topic_is_not_looked_at(broker, client):  # [21]
    response = client.send(message(broker.topic("NoLite"), lite_topic="no letters, no digits"))
    assert code_of(response) == "OK"


def test_a_topic_that_is_only_read_takes_no_message(broker, client):  # [21]
    broker.running.thread.call(broker.running.broker.create_topic("OnlyRead", 2, 2, 4))
    assert code_of(client.send(message("OnlyRead"))) == "FORBIDDEN"


def test_a_sent_message_is_found_by_its_id(broker, client):  # [24]
    topic = broker.topic("Found")
    sent = message(topic, b"look me up")
    entry = client.send(sent).entries[0]
    message_id = sent.system_properties.message_id
    assert (entry.message_id, entry.transaction_id) == (message_id, message_id)

    async def look_up():
        async with AdminClient(broker.name_server) as admin:
            return await admin.messages_by_id(topic, message_id)

    wait_until(lambda: [bytes(found.body) for found in broker.running.thread.call(look_up())] == [b"look me up"])


def test_a_message_group_keeps_its_queue_and_order_over_a_restart(tmp_path):  # [25]
    def send(client, numbers):
        messages = [message("Kept", b"%d" % number, message_group="orders-7") for number in numbers]
        return [entry.offset for one in messages for entry in client.send(one).entries]

    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.topic("Kept", 8)
        before = send(client, range(50))
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        assert before + send(client, range(50, 100)) == list(range(100))
        broker.group(client, "KeptReaders", "Kept")
        found = []
        while len(found) < 100:
            received = client.receive("KeptReaders", "Kept", count=32).messages
            assert received
            found += received
        assert [one.body for one in found] == [b"%d" % number for number in range(100)]
        assert len({one.system_properties.queue_id for one in found}) == 1


def test_a_push_consumer_of_remoting_gets_a_message_as_it_was_sent(broker, client):  # [27]
    topic = broker.topic("ToRemoting")
    sent = message(topic, b"for all", tag="A", keys=["k1", "k2"], properties={"color": "red"}, born_host="my-host")
    client.send(sent)

    async def consume():
        found = asyncio.get_running_loop().create_future()

        def listener(messages):
            found.set_result(messages[0])
            return ConsumeResult.DONE

        readers = PushConsumer(
            broker.name_server, "RemotingReaders", {topic: "A"}, listener, consume_from=ConsumeFrom.FIRST_OFFSET
        )
        async with readers:
            return await asyncio.wait_for(found, 30)

    got = broker.running.thread.call(consume()).stored
    properties = got.properties
    assert (got.body, properties["TAGS"], properties["KEYS"], properties["color"]) == (b"for all", "A", "k1 k2", "red")
    assert (properties["UNIQ_KEY"], properties["__BORNHOST"]) == (sent.system_properties.message_id, "my-host")


def test_a_message_larger_than_the_usual_limit_of_grpc_passes(broker, client):  # [56]
    topic, group = broker.topic("Largest"), "LargestGroup"
    properties = {f"name-{number}": "x" * 1_000 for number in range(12)}
    assert code_of(client.send(message(topic, bytes(MOST_BYTES), properties=properties))) == "OK"
    broker.group(client, group, topic)
    found = client.receive(group, topic).messages[0]
    assert (len(found.body), dict(found.user_properties)) == (MOST_BYTES, properties)


# ---- polls ----


def test_a_poll_follows_from_the_deadline_and_has_bounds(broker, client):  # [31]
    topic, group = broker.topic("Polls"), "PollsGroup"
    broker.group(client, group, topic)

    def poll_ms(poll, timeout):
        with broker.stopped_clock() as now_ms:
            stream = client.start_receive(receive_request(group, topic, poll=poll), timeout=timeout)
            wait_until(lambda: broker.held() == 1)
            (deadline_ms,) = broker.deadlines_ms()
        stream.cancel()
        wait_until(lambda: broker.held() == 0)
        return deadline_ms - now_ms

    assert poll_ms(12, 60) == 12_000  # as it is asked for
    assert poll_ms(1, 60) == 5_000
    assert poll_ms(100, 200) == 20_000
    # Time passes until the broker reads the request, and a deadline travels rounded up.
    assert 5_000 < poll_ms(None, 8) <= 6_600  # the deadline less half of the request timeout
    assert 5_000 < poll_ms(20, 7) <= 6_900  # before the client gives up


@pytest.mark.parametrize(
    ("version", "code"), [("5.0.2", "BAD_REQUEST"), ("", "BAD_REQUEST"), ("5.1.0", "ILLEGAL_POLLING_TIME")]
)
def test_the_code_of_a_deadline_too_short_depends_on_the_sdk(broker, version, code):  # [31]
    topic, group = broker.topic("TooShort"), "TooShortGroup"
    with RawClient(broker.port, metadata={"x-mq-client-version": version}) as client:
        broker.group(client, group, topic)
        response = next(client.start_receive(receive_request(group, topic, poll=20), timeout=3))
        assert code_of(response) == code
