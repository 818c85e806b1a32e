"""Real 5.3.3 with its own accounts (ACL 2.0): the keys of a connection sign as those of ACL 1.0 do.

Source: spec remoting §7.1, §7.3.
"""

import asyncio
import json

import pytest

from broker_core.access import ClusterAccess
from broker_core.client.instance import ClientSecurity
from broker_core.client.message import Message
from broker_core.doctor import CREDENTIALS, VERSION, Doctor
from broker_core.errors import RemoteError
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.signature import Credentials
from broker_core.search.cluster import ClusterSearch
from broker_core.search.language import parse_filter
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from tests.support.attached import BROKER, sampled
from tests.support.real_accounts import ACCOUNTS, SUPER
from tests.support.real_broker import RealBroker

pytestmark = [pytest.mark.java, pytest.mark.timeout(600)]

SHOP = Credentials("shop", "shop-secret")
AUTH_CREATE_USER, AUTH_CREATE_ACL = 3001, 3006
"""Source: spec remoting §2.6.6."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    broker = RealBroker("5.3.3", tmp_path_factory.mktemp("real"), ACCOUNTS)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def real(running):
    running.until_registered()
    return running


def access(real, credentials):
    return ClusterAccess(real.name_server, ClientSecurity(credentials=credentials))


async def examined(real, credentials):
    hops = []
    await Doctor(access(real, credentials), hops.append).run()
    return {hop.name: hop for hop in hops if hop.is_tried}


def test_the_same_signature_is_accepted_for_all_that_the_window_asks(real):
    async def scenario():
        given = access(real, SUPER)
        async with given.admin() as admin, given.producer("shop") as producer:
            await admin.create_topic("orders", queues=2)
            for number in range(5):
                await producer.send(Message("orders", b"%d" % number, keys=(f"k{number}",)))
            search = ClusterSearch(admin, parse_filter('topic = "orders" and key = "k3"', now_ms=0))
            await search.prepare()
            assert [hit.message.body async for step in search.steps() for hit in step.hits] == [b"3"]
        cluster = AttachedCluster(AttachOptions(real.name_server, security=given.security))
        try:
            await cluster.connect()
            await sampled(cluster)
            assert "orders" in cluster.figures.listed().topics
            assert list(cluster.link.brokers) == [BROKER]
        finally:
            await cluster.close()
        hops = await examined(real, SUPER)
        assert (hops[CREDENTIALS].fault, hops[CREDENTIALS].note) == ("", "rocketmq is let in")
        assert hops[VERSION].note.startswith("V5_3_3")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("credentials", "meaning"),
    [
        (None, "asks for keys, and this connection has none"),
        (Credentials("rocketmq", "guessed"), "the secret key is not the one"),
        (Credentials("nobody", "x"), "has no account nobody"),
    ],
)
def test_other_keys_are_refused_and_the_doctor_says_so(real, credentials, meaning):
    async def scenario():
        hops = await examined(real, credentials)
        assert meaning in hops[CREDENTIALS].fault
        assert ("give the access key" if credentials is None else "Check the keys") in hops[CREDENTIALS].advice
        assert VERSION not in hops

    asyncio.run(scenario())


def test_an_account_may_what_its_rules_say(real):
    async def scenario():
        async with access(real, SUPER).admin() as admin:
            await admin.create_topic("shop-orders", queues=2)
            await admin.create_topic("others", queues=2)
            user = {"username": SHOP.access_key, "password": SHOP.secret_key, "userType": "Normal", "userStatus": "enable"}
            entry = {"actions": ["Pub"], "decision": "Allow", "resource": "Topic:shop-orders"}
            rules = {"subject": "User:shop", "policies": [{"policyType": "Custom", "entries": [entry]}]}
            for code, fields, body in (
                (AUTH_CREATE_USER, {"username": SHOP.access_key}, user),
                (AUTH_CREATE_ACL, {"subject": "User:shop"}, rules),
            ):
                command = RemotingCommand(code, fields, body=json.dumps(body).encode())
                await admin._instance.call(real.address, command)
        async with access(real, SHOP).producer("shop") as producer:
            await producer.send(Message("shop-orders", b"mine"))
            with pytest.raises(RemoteError, match="others"):
                await producer.send(Message("others", b"not mine"))

    asyncio.run(scenario())
