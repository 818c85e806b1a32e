"""The whole broker with access control and TLS, over loopback."""

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trustme

from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.instance import ClientSecurity
from broker_core.client.message import Message
from broker_core.client.pull_consumer import PullConsumer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.signature import Credentials
from broker_core.transport.client import ConnectionPool
from broker_core.transport.tls import client_tls, tls_server
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.embedded import started
from tests.support.pop_consumer import PopConsumer

ADMIN = Credentials("administrator", "administrator")
USER = Credentials("shop-user", "shop-secret")
RULES = """
accounts:
  - {accessKey: administrator, secretKey: administrator, admin: true}
  - {accessKey: shop-user, secretKey: shop-secret, topicPerms: [orders=PUB|SUB]}
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    server = authority.issue_cert("127.0.0.1", "localhost")
    server.private_key_pem.write_to_path(folder / "server.key")
    for part in server.cert_chain_pems:
        part.write_to_path(folder / "server.pem", append=True)
    client = authority.issue_cert("client@example.org")
    client.private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
    return folder


def config_for(root, certificates=None, **settings):
    store = StoreConfig(root=root / "store", **SMALL_FILES)
    config = BrokerConfig(listen_port=0, name_server_port=0, store=store)
    if certificates is not None:
        config = replace(config, tls_certificate=certificates / "server.pem", tls_key=certificates / "server.key")
    return replace(config, **settings)


def with_accounts(root):
    path = root / "store" / "config" / "plain_acl.yml"
    path.parent.mkdir(parents=True)
    path.write_text(RULES)
    return {"acl_enabled": True}


@asynccontextmanager
async def client(**options):
    pool = ConnectionPool(**options)
    try:
        yield pool
    finally:
        await pool.close()


async def send(pool, broker, topic):
    fields = {name: str(value) for name, value in send_fields(topic).items()}
    return await pool.request(broker.broker_address, RemotingCommand(Q.SEND_MESSAGE_V2, fields, b"x"), 10_000)


def test_access_control_guards_broker_and_name_server(tmp_path):
    async def scenario():
        async with started(config_for(tmp_path, **with_accounts(tmp_path))) as broker:
            async with client() as nobody:
                refused = await send(nobody, broker, "orders")
                assert (refused.code, refused.remark) == (
                    R.SYSTEM_ERROR,
                    "org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
                )
                wiped = RemotingCommand(Q.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})
                assert (await nobody.request(broker.name_server_address, wiped)).code == R.SYSTEM_ERROR
            async with client(credentials=USER) as user:
                assert (await send(user, broker, "orders")).code == R.SUCCESS
                assert "No default permission for topic: other" in (await send(user, broker, "other")).remark
            async with client(credentials=ADMIN) as admin:
                answer = await admin.request(broker.broker_address, RemotingCommand(Q.GET_BROKER_CLUSTER_ACL_INFO))
                assert '"counter":0' in answer.ext_fields["version"]
                settings = await admin.request(broker.broker_address, RemotingCommand(Q.GET_BROKER_CONFIG))
                assert b"aclEnable=true" in bytes(settings.body)
                new = RemotingCommand(
                    Q.UPDATE_AND_CREATE_ACL_CONFIG,
                    {"accessKey": "new-user", "secretKey": "new-secret", "topicPerms": "other=PUB"},
                )
                answer = await admin.request(broker.broker_address, new)
                assert answer.code == R.SUCCESS
                assert "new-secret" not in f"{answer.ext_fields}{answer.remark}{bytes(answer.body)!r}"
                listed = await admin.request(broker.broker_address, RemotingCommand(Q.GET_BROKER_CLUSTER_ACL_CONFIG))
                assert b'"accessKey":"new-user"' in bytes(listed.body)
                assert b"new-secret" not in bytes(listed.body), "secrets are never told"
                short = RemotingCommand(Q.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "new-user", "secretKey": "x"})
                assert (await admin.request(broker.broker_address, short)).code == R.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
            async with client(credentials=Credentials("new-user", "new-secret")) as new_user:
                assert (await send(new_user, broker, "other")).code == R.SUCCESS

    asyncio.run(scenario())


def test_our_client_signs_and_encrypts(tmp_path, certificates):
    settings = {"tls_mode": "enforcing", "atomic_transactions": True, **with_accounts(tmp_path)}
    security = ClientSecurity(client_tls(certificates / "authority.pem"), ADMIN)

    async def scenario():
        async with (
            started(config_for(tmp_path, certificates, **settings)) as broker,
            AtomicProducer(broker.name_server_address, "shop", security=security) as producer,
            PullConsumer(broker.name_server_address, "shop", security=security) as consumer,
            PopConsumer(broker.name_server_address, "shop-pop", security=security) as popping,
        ):
            await producer.create_topic("orders", queues=1)
            producer.begin()
            await producer.send(Message("orders", b"open"))
            (queue,) = await consumer.queues("orders")
            assert (await consumer.pull(queue, 0)).messages == []
            (message,) = (await consumer.pull(queue, 0, uncommitted=True)).messages
            assert message.body == b"open"
            await producer.commit()
            (message,) = (await consumer.pull(queue, 0)).messages
            assert message.body == b"open"
            (popped,) = await popping.receive("orders", wait_ms=20_000)
            assert popped.body == b"open"
            await popping.ack(popped)

    asyncio.run(scenario())


def test_without_access_control_its_requests_are_answered(tmp_path):
    async def scenario():
        async with started(config_for(tmp_path)) as broker, client() as anyone:
            for code, failure in (
                (Q.UPDATE_AND_CREATE_ACL_CONFIG, R.UPDATE_AND_CREATE_ACL_CONFIG_FAILED),
                (Q.DELETE_ACL_CONFIG, R.DELETE_ACL_CONFIG_FAILED),
                (Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, R.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED),
                (Q.GET_BROKER_CLUSTER_ACL_INFO, R.SYSTEM_ERROR),
                (Q.GET_BROKER_CLUSTER_ACL_CONFIG, R.SYSTEM_ERROR),
            ):
                answer = await anyone.request(broker.broker_address, RemotingCommand(code))
                assert (answer.code, "aclEnable=true" in answer.remark) == (failure, True)

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_tls_and_plain_text_on_one_port(tmp_path, certificates, mode):
    async def scenario():
        async with started(config_for(tmp_path, certificates, tls_mode=mode)) as broker:
            async with client(tls=client_tls(certificates / "authority.pem")) as secure:
                assert (await send(secure, broker, "orders")).code == R.SUCCESS
                route = RemotingCommand(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})
                assert (await secure.request(broker.name_server_address, route)).code == R.SUCCESS
            async with client(tls=client_tls(verify=False)) as careless:
                assert (await send(careless, broker, "orders")).code == R.SUCCESS
            async with client() as plain:
                if mode == "permissive":
                    assert (await send(plain, broker, "orders")).code == R.SUCCESS
                else:
                    with pytest.raises(NetworkError, match="ended"):
                        await send(plain, broker, "orders")
            async with client(tls=client_tls()) as distrustful:
                with pytest.raises(NetworkError, match="is its certificate trusted"):
                    await send(distrustful, broker, "orders")

    asyncio.run(scenario())


def test_a_client_certificate_can_be_asked_for(tmp_path, certificates):
    settings = {"tls_client_auth": "require", "tls_client_authority": certificates / "authority.pem", "tls_mode": "permissive"}

    async def scenario():
        async with started(config_for(tmp_path, certificates, **settings)) as broker:
            known = client_tls(certificates / "authority.pem", certificate=certificates / "client.pem")
            async with client(tls=known) as pool:
                assert (await send(pool, broker, "orders")).code == R.SUCCESS
            async with client(tls=client_tls(certificates / "authority.pem")) as pool:
                with pytest.raises(NetworkError):
                    await send(pool, broker, "orders")

    asyncio.run(scenario())


def test_a_peer_that_says_nothing_does_not_keep_the_others_out(tmp_path, certificates):
    async def scenario():
        async with started(config_for(tmp_path, certificates)) as broker:
            host, port = broker.broker_address.split(":")
            silent = [socket.create_connection((host, int(port))) for _ in range(21)]
            silent[0].sendall(b"\x16\x03\x01")
            async with client(tls=client_tls(certificates / "authority.pem")) as secure:
                assert (await send(secure, broker, "orders")).code == R.SUCCESS
            for connection in silent:
                connection.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tls_mode": "enforcing"}, "needs a certificate"),
        ({"tls_certificate": "none.pem"}, "cannot be used (No such file or directory)"),
        ({"bind_host": "0.0.0.0"}, "allowInsecureBind=true"),
        ({"bind_host": "192.0.2.7", "tls_mode": "permissive"}, "lets other machines in"),
        ({"acl_enabled": True}, "plain_acl.yml cannot be used (No such file or directory)"),
    ],
)
def test_says_what_is_missing_before_anything_listens(tmp_path, settings, message):
    if "tls_certificate" in settings:
        settings = {"tls_certificate": tmp_path / settings["tls_certificate"]}
    with pytest.raises(UsageError) as caught:
        EmbeddedBroker(config_for(tmp_path, **settings))
    assert message in caught.value.message
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("enforced", [True, False])
def test_the_network_is_served_with_tls_or_when_the_user_insists(tmp_path, certificates, caplog, enforced):
    if enforced:
        config = config_for(tmp_path, certificates, tls_mode="enforcing", bind_host="0.0.0.0")
    else:
        config = config_for(tmp_path, bind_host="0.0.0.0", insecure_bind=True)
    EmbeddedBroker(config)
    assert ("without encryption" in caplog.text) is not enforced
    assert "aclEnable is off" in caplog.text


def test_a_password_of_a_key_is_never_shown(tmp_path, certificates):
    config = config_for(tmp_path, certificates, tls_key_password="hunter2-hunter2")
    assert "hunter2" not in repr(config)

    async def scenario():
        async with started(config) as broker, client() as anyone:
            answer = await anyone.request(broker.broker_address, RemotingCommand(Q.GET_BROKER_CONFIG))
            assert b"hunter2" not in bytes(answer.body)
            assert b"tls.server.mode=permissive" in bytes(answer.body)

    asyncio.run(scenario())


def test_old_versions_of_tls_are_refused(tmp_path, certificates):
    served = tls_server(config_for(tmp_path, certificates))
    assert served is not None
    assert {context.minimum_version for context in (served.context, client_tls())} == {ssl.TLSVersion.TLSv1_2}
