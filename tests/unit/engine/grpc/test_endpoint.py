"""The port of gRPC: settings, accounts, the end of the broker, clients that are gone."""

import asyncio
import contextlib
import datetime as dt
import hashlib
import hmac
import logging

import grpc
import pytest
import trustme

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.grpc.endpoint import USUAL_PORT, open_grpc
from broker_core.engine.grpc.handles import Delivery
from broker_core.engine.grpc.message_types import accepted_types, type_of
from broker_core.engine.grpc.renewals import AHEAD_MS, GIVEN_BACK_MS, INVISIBLE_MS, Renewal, Renewals
from broker_core.engine.grpc.sends import consistent_bucket
from broker_core.errors import PortInUseError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.receipt_handle import ReceiptHandle
from broker_core.protocol.message.tags import java_string_hash
from tests.support.broker_bench import SMALL_FILES
from tests.support.broker_thread import broker_thread
from tests.support.grpc_broker import grpc_broker
from tests.support.grpc_stub import RawClient, message, receive_request, resource
from tests.support.waiting import wait_until

ACCOUNTS = """
accounts:
- accessKey: producer-key
  secretKey: producer-secret
  defaultTopicPerm: DENY
  defaultGroupPerm: SUB
  topicPerms:
  - Orders=PUB
- accessKey: consumer-key
  secretKey: consumer-secret
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms:
  - Orders=SUB
  groupPerms:
  - Allowed=SUB
- accessKey: admin-key
  secretKey: admin-secret
  admin: true
"""


def config_of(root, **more):
    return BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES), **more)


# ---- settings ----


def test_off(tmp_path):
    with broker_thread(tmp_path, config_of(tmp_path, grpc="off")) as running:
        assert running.broker.grpc is None


def test_the_usual_port_may_be_taken_and_a_chosen_one_may_not(tmp_path, monkeypatch, caplog):
    async def scenario():
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        config = BrokerConfig(listen_port=1, grpc_port=port, store=StoreConfig(root=tmp_path))
        with pytest.raises(PortInUseError):
            await open_grpc(config, limits=None)
        monkeypatch.setattr("broker_core.engine.grpc.endpoint.USUAL_PORT", port)
        with caplog.at_level(logging.WARNING):
            assert await open_grpc(config, limits=None) is None
        assert "--grpc-port" in caplog.text
        server.close()

    assert BrokerConfig().grpc_port == USUAL_PORT
    asyncio.run(scenario())


def test_calls_end_with_the_broker(tmp_path):
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.running.create("T", 1)
        client.announce_consumer("G", "T")
        waiting = client.start_receive(receive_request("G", "T", poll=20))
        wait_until(lambda: broker.held() == 1, "no receive waits")  # the client tries one again that it has not sent yet
        broker.running.thread.call(broker.running.broker.stop())
        with pytest.raises(grpc.RpcError) as ended:
            list(waiting)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_transaction_can_be_ended_after_a_restart(tmp_path):
    with broker_thread(tmp_path, config_of(tmp_path)) as running:
        running.create("T", 1)
        with RawClient(running.broker.grpc.server.port) as client:
            half = client.send(message("T", b"half", message_type=pb.TRANSACTION)).entries[0]
    with broker_thread(tmp_path, config_of(tmp_path)) as running, RawClient(running.broker.grpc.server.port) as client:
        request = pb.EndTransactionRequest(
            topic=resource("T"), message_id=half.message_id, transaction_id=half.transaction_id, resolution=pb.COMMIT
        )
        assert client.call("EndTransaction", request).status.code == pb.OK
        client.announce_consumer("G", "T")
        assert client.receive("G", "T").bodies == [b"half"]


# ---- accounts ----


def signed(key, secret, *, upper=False, credential="", date=""):
    date = date or dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    digest = hmac.new(secret.encode(), date.encode(), hashlib.sha1).hexdigest()
    signature = digest.upper() if upper else digest
    header = f"MQv2-HMAC-SHA1 Credential={credential or key}, SignedHeaders=x-mq-date-time, Signature={signature}"
    return {"authorization": header, "x-mq-date-time": date}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    root = tmp_path_factory.mktemp("guarded")
    path = root / "accounts.yml"
    path.write_text(ACCOUNTS)
    path.chmod(0o600)
    with broker_thread(root / "store", config_of(root / "store", acl_enabled=True, acl_file=path)) as running:
        for topic in ("Orders", "Secret"):
            running.create(topic, 1)
        yield running.broker.grpc.server.port


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({}, "UNAUTHORIZED"),
        ({"authorization": "nonsense", "x-mq-date-time": "x"}, "UNAUTHORIZED"),
        (signed("nobody", "x"), "UNAUTHORIZED"),
        (signed("producer-key", "wrong"), "UNAUTHORIZED"),
        ({"authorization": signed("producer-key", "producer-secret")["authorization"]}, "UNAUTHORIZED"),
        (signed("producer-key", "producer-secret"), "OK"),
        (signed("producer-key", "producer-secret", date="20200101T000000Z"), "OK"),  # no clock is compared, as by a proxy
        (signed("producer-key", "producer-secret", upper=True), "OK"),
        (signed("producer-key", "producer-secret", credential="producer-key/region/RocketMQ"), "OK"),
        (signed("admin-key", "admin-secret"), "OK"),
    ],
)  # fmt: skip
def test_signatures(guarded, metadata, code):  # [5]
    with RawClient(guarded, metadata=metadata) as client:
        assert pb.Code.Name(client.send(message("Orders")).status.code) == code


def test_permissions(guarded):
    with RawClient(guarded, metadata=signed("producer-key", "producer-secret")) as client:
        assert client.send(message("Secret")).status.code == pb.UNAUTHORIZED
        stream = client.telemetry()
        entries = [pb.SubscriptionEntry(topic=resource("Orders"))]
        subscription = pb.Subscription(group=resource("G"), subscriptions=entries)
        stream.put(pb.TelemetryCommand(settings=pb.Settings(client_type=pb.SIMPLE_CONSUMER, subscription=subscription)))
        assert [command.status.code for command in stream.rest()] == [pb.UNAUTHORIZED]


@pytest.mark.parametrize(
    ("group", "topic", "code"),
    [("Allowed", "Orders", "OK"), ("Denied", "Orders", "UNAUTHORIZED"), ("Allowed", "Secret", "UNAUTHORIZED")],
)
def test_consumers_need_the_permission_of_group_and_topic(guarded, group, topic, code):
    def codes_of(client):
        handle = "no handle"
        asked = {"topic": resource(topic), "group": resource(group)}
        yield "assignment", client.call("QueryAssignment", pb.QueryAssignmentRequest(**asked)).status.code
        entry = pb.AckMessageEntry(receipt_handle=handle)
        yield "ack", client.call("AckMessage", pb.AckMessageRequest(**asked, entries=[entry])).status.code
        forward = pb.ForwardMessageToDeadLetterQueueRequest(**asked, receipt_handle=handle)
        yield "forward", client.call("ForwardMessageToDeadLetterQueue", forward).status.code
        yield "receive", client.receive(group, topic).status.code
        yield "send", client.send(message(topic)).status.code

    with RawClient(guarded, metadata=signed("admin-key", "admin-secret")) as admin:
        admin.announce_consumer(group, topic)
        admin.send(message(topic))
    with RawClient(guarded, metadata=signed("consumer-key", "consumer-secret")) as client:
        assert pb.Code.Name(client.announce_consumer(group, topic).status.code) == code
        found = {name: pb.Code.Name(number) for name, number in codes_of(client)}
        allowed = {"assignment": "OK", "ack": "INVALID_RECEIPT_HANDLE", "forward": "INVALID_RECEIPT_HANDLE"}
        # What an account may do is looked at before the rest of a call.
        expected = allowed | {"receive": "OK"} if code == "OK" else dict.fromkeys((*allowed, "receive"), code)
        assert found == expected | {"send": "UNAUTHORIZED"}


# ---- TLS ----


def certified(folder):
    """Settings of a certificate of one's own, and its authority."""
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1")
    server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    return {"tls_certificate": folder / "server.pem", "tls_key": folder / "server.pem"}, authority.cert_pem.bytes()


@pytest.mark.parametrize(
    ("mode", "served"), [("permissive", ["plain", "TLS"]), ("enforcing", ["TLS"]), ("disabled", ["plain"])]
)
def test_the_mode_of_tls_is_that_of_remoting(tmp_path, mode, served):
    settings, authority = certified(tmp_path)
    root = tmp_path / "store"
    with broker_thread(root, config_of(root, tls_mode=mode, **settings)) as running:
        running.create("T", 1)
        address = f"127.0.0.1:{running.broker.grpc.server.port}"
        channels = {
            "plain": grpc.insecure_channel(address),
            "TLS": grpc.secure_channel(address, grpc.ssl_channel_credentials(authority)),
        }
        answered = []
        for name, channel in channels.items():
            with RawClient(running.broker.grpc.server.port) as client:
                client.channel.close()
                client.channel = channel
                with contextlib.suppress(grpc.RpcError):
                    client.call("QueryRoute", pb.QueryRouteRequest(topic=resource("T")), timeout=5)
                    answered.append(name)
    assert answered == served


# ---- parts ----


def handle_at(pop_ms, invisible_ms):
    return ReceiptHandle(0, pop_ms, invisible_ms, 0, "0", "broker", 0, 5)


def test_deliveries_are_renewed_before_they_become_visible():
    changes = []
    renewals = Renewals(lambda renewal, invisible_ms: changes.append((renewal, invisible_ms)))
    client = object()
    renewal = Renewal(client, "first", Delivery("G", "T", handle_at(0, INVISIBLE_MS)), 0)
    renewals.add(renewal)
    renewals.run(INVISIBLE_MS - AHEAD_MS - 1)
    assert changes == []
    renewals.run(INVISIBLE_MS - AHEAD_MS)
    assert changes == [(renewal, 60_000)]
    renewals.changed(renewal, handle_at(50_000, 60_000))
    renewals.run(50_000 + 60_000 - AHEAD_MS)
    assert changes[-1] == (renewal, 180_000)
    assert renewals.take("G", "first") == handle_at(50_000, 60_000)
    assert renewals.take("G", "first") is None


def test_deliveries_of_a_client_that_left_are_given_back():
    changes = []
    renewals = Renewals(lambda renewal, invisible_ms: changes.append((renewal.first, invisible_ms)))
    gone, other = object(), object()
    for number, client in enumerate((gone, other, gone)):
        renewals.add(Renewal(client, str(number), Delivery("G", "T", handle_at(0, INVISIBLE_MS)), 0))
    renewals.give_back(gone)
    assert changes == [("0", GIVEN_BACK_MS), ("2", GIVEN_BACK_MS)]
    assert len(renewals) == 1


def test_a_delivery_whose_renewals_fail_is_left_to_its_time():
    renewals = Renewals(lambda renewal, _ms: renewals.changed(renewal, None))
    renewals.add(Renewal(object(), "first", Delivery("G", "T", handle_at(0, INVISIBLE_MS)), 0))
    for _ in range(4):
        renewals.run(INVISIBLE_MS)
    assert len(renewals) == 0


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, pb.NORMAL),
        ({"__SHARDINGKEY": "g"}, pb.FIFO),
        ({"TIMER_DELIVER_MS": "1"}, pb.DELAY),
        ({"DELAY": "3", "__SHARDINGKEY": "g"}, pb.DELAY),
        ({"TRAN_MSG": "true", "TIMER_DELIVER_MS": "1"}, pb.TRANSACTION),
    ],
)
def test_types_of_messages(properties, kind):
    assert type_of(properties) == kind


def test_types_of_topics():
    def accepted(**attributes):
        return accepted_types(TopicConfig("T", 1, 1, attributes={name.replace("_", "."): v for name, v in attributes.items()}))

    assert accepted(message_type="DELAY") == (pb.DELAY,)
    assert len(accepted(message_type="MIXED")) == len(accepted()) == 4


def test_groups_keep_their_queue_when_queues_are_added():
    keys = [java_string_hash(f"group-{number}") for number in range(2_000)]
    before, after = [[consistent_bucket(key, buckets) for key in keys] for buckets in (8, 9)]
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(before) == set(range(8))
    assert set(moved) == {8}
    assert len(moved) < len(keys) / 6
