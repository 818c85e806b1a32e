"""A cluster with accounts and TLS whose broker registered an address that nobody reaches: all three come from the details."""

import json

import pytest
import trustme

from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import QueueSlice, ReadLimits, SurveyRequest
from broker_core.config import BrokerConfig, StoreConfig
from tests.support.attached import BROKER
from tests.support.broker_thread import BrokerThread, broker_thread

QUICK = ReadLimits(0, 0, 0)
ELSEWHERE = "10.255.0.1:10911"
RULES = """
accounts:
  - {accessKey: administrator, secretKey: administrator, admin: true}
  - {accessKey: report-reader, secretKey: hush-hush, topicPerms: [orders=SUB], groupPerms: [TOOLS_CONSUMER=SUB]}
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secured")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    server = authority.issue_cert("127.0.0.1")
    server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    config = folder / "store" / "config"
    config.mkdir(parents=True)
    (config / "plain_acl.yml").write_text(RULES)
    settings = BrokerConfig(
        listen_port=0, name_server_port=0, broker_name=BROKER, store=StoreConfig(root=folder / "store"), acl_enabled=True,
        tls_certificate=folder / "server.pem", tls_key=folder / "server.pem",
    )  # fmt: skip
    with broker_thread(folder / "store", settings) as broker:
        broker.create("orders", 1)
        yield broker, folder


def place(secured, path, **changes):
    broker, folder = secured
    details = {
        "accessKey": "report-reader", "secretKey": "hush-hush", "tls": True, "authority": str(folder / "authority.pem"),
        "addresses": {ELSEWHERE: broker.broker.broker_address}, **changes,
    }  # fmt: skip
    path.write_text(json.dumps(details))
    path.chmod(0o600)
    return str(path)


def unread(broker: BrokerThread, where: str):
    """What a read says of a queue that claims a message."""
    part = QueueSlice("orders", BROKER, ELSEWHERE, 0, 0, 1)
    with SliceReader(broker.name_server, where, limits=QUICK) as reader:
        (left,) = [left for turn in reader.turns([part]) for left in turn.left]
    return left


def test_the_queue_is_reached_with_all_of_them(secured, tmp_path):
    broker, _folder = secured
    where = place(secured, tmp_path / "details.json")
    with SliceReader(broker.name_server, where, limits=QUICK) as reader:
        found = reader.survey(SurveyRequest(("orders",), with_empty=True))
    assert [(one.topic, one.first, one.end) for one in found.slices] == [("orders", 0, 0)]
    assert unread(broker, where).fault is None  # it was asked, and says that there is no such message


def test_a_wrong_key_is_refused_by_the_broker_and_never_told(secured, tmp_path):
    broker, _folder = secured
    left = unread(broker, place(secured, tmp_path / "details.json", secretKey="wrong-hush"))
    assert left.fault is not None
    assert "hush" not in left.reason


def test_without_the_map_nobody_is_reached(secured, tmp_path):
    broker, _folder = secured
    where = place(secured, tmp_path / "details.json", addresses={ELSEWHERE: "127.0.0.1:1"})
    assert "127.0.0.1:1" in unread(broker, where).reason
