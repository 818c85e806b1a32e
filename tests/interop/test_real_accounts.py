"""Real brokers that ask for accounts, 4.9.4 by ACL 1.0 and 5.3.3 by ACL 2.0: the keys of a connection sign the same for both.

Source: docs/spec/remoting.md §7.1, §7.3.
"""

import asyncio
import json

import pytest

from broker_core.client.instance import ClientSecurity
from broker_core.client.message import Message
from broker_core.cluster.access import ClusterAccess
from broker_core.errors import RemoteError
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.signature import Credentials
from broker_core.tools.doctor import CREDENTIALS, VERSION, Doctor
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from tests.support.attached import BROKER, sampled
from tests.support.real_accounts import ACCOUNTS, ACCOUNTS_OF_4, SUPER, keep_accounts
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

SHOP = Credentials("shopkeeper", "shop-secret")
MINE = "shop-orders"
"""The topic that its account may send to."""
AUTH_CREATE_USER, AUTH_CREATE_ACL = 3001, 3006
"""Source: docs/spec/remoting.md §2.6.6."""


@pytest.fixture(scope="module", params=[pytest.param("4.9.4", marks=pytest.mark.slow), "5.3.3"])
def running(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    is_old = request.param.startswith("4.")
    if is_old:
        keep_accounts(
            folder,
            {"accessKey": SUPER.access_key, "secretKey": SUPER.secret_key, "admin": True},
            {"accessKey": SHOP.access_key, "secretKey": SHOP.secret_key, "admin": False, "topicPerms": [f"{MINE}=PUB"]},
        )
    broker = RealBroker(request.param, folder, ACCOUNTS_OF_4 if is_old else ACCOUNTS)
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

            async def found():
                search = ClusterSearch(admin, parse_filter('topic = "orders" and key = "k3"', now_ms=0))
                await search.prepare()
                return [hit.message.body async for step in search.steps() for hit in step.hits]

            # A broker builds its queues and its index a while behind what it acknowledged.
            await eventually_answers(found)
            assert await found() == [b"3"]
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
        assert hops[VERSION].note.startswith(f"V{real.version.replace('.', '_')}")

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


async def let_shop_in(admin, address):
    """Make its account and its rules, as 5.x keeps them."""
    user = {"username": SHOP.access_key, "password": SHOP.secret_key, "userType": "Normal", "userStatus": "enable"}
    entry = {"actions": ["Pub"], "decision": "Allow", "resource": f"Topic:{MINE}"}
    subject = f"User:{SHOP.access_key}"
    rules = {"subject": subject, "policies": [{"policyType": "Custom", "entries": [entry]}]}
    for code, fields, body in (
        (AUTH_CREATE_USER, {"username": SHOP.access_key}, user),
        (AUTH_CREATE_ACL, {"subject": subject}, rules),
    ):
        await admin._instance.call(address, RemotingCommand(code, fields, body=json.dumps(body).encode()))


def test_an_account_may_what_its_rules_say(real):
    async def scenario():
        async with access(real, SUPER).admin() as admin:
            await admin.create_topic(MINE, queues=2)
            await admin.create_topic("others", queues=2)
            if not real.version.startswith("4."):
                await let_shop_in(admin, real.address)
        async with access(real, SHOP).producer("shop") as producer:
            await producer.send(Message(MINE, b"mine"))
            with pytest.raises(RemoteError, match="others"):
                await producer.send(Message("others", b"not mine"))

    asyncio.run(scenario())
