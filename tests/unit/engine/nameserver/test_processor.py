"""Requests of the name server, command in, answer out."""

import zlib

import pytest

from broker_core.engine.nameserver.kv_config import KvConfig
from broker_core.engine.nameserver.processor import NameServerProcessor
from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.engine.nameserver.route_info import RouteInfo
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit, parse_object
from tests.support.clock import ManualClock

BODY = Registration(DataVersion(5, 1), {"T": TopicConfig("T", 4, 4)}).to_bytes()
BROKER = {"brokerName": "a", "brokerAddr": "10.0.0.1:1", "clusterName": "C", "brokerId": "0", "haServerAddr": "10.0.0.1:2"}


@pytest.fixture
def server():
    return NameServerProcessor(RouteInfo(), KvConfig(), clock=ManualClock())


def ask(server, code, fields=None, body=b"", *, version=409, kind=SerializeType.JSON):
    command = RemotingCommand(code, dict(fields or {}), body, opaque=3, version=version, serialize_type=kind)
    return server.handle("connection", command)


@pytest.fixture
def with_broker(server):
    assert ask(server, Q.REGISTER_BROKER, BROKER | {"bodyCrc32": str(zlib.crc32(BODY) & 0x7FFFFFFF)}, BODY).code == R.SUCCESS
    return server


def test_no_route_is_topic_not_exist_in_the_words_that_clients_know(server):
    response = ask(server, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}, kind=SerializeType.ROCKETMQ)
    assert (response.code, response.opaque, response.serialize_type) == (R.TOPIC_NOT_EXIST, 3, SerializeType.ROCKETMQ)
    assert response.remark.startswith("No topic route info in name server for the topic: T\n")


@pytest.mark.parametrize(
    ("version", "fields", "start"),
    [(400, {}, b"{0:"), (401, {}, b'{"0":'), (317, {"acceptStandardJsonOnly": "true"}, b'{"0":')],
)
def test_the_shape_of_a_route_follows_the_clients_version(with_broker, version, fields, start):
    body = ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"} | fields, version=version).body
    assert b'"brokerAddrs":' + start in body


def test_a_registration_with_a_wrong_checksum_is_refused(server):
    response = ask(server, Q.REGISTER_BROKER, BROKER | {"bodyCrc32": "5"}, BODY)
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, "crc32 not match")


@pytest.mark.parametrize("missing", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
def test_a_registration_needs_its_identity(server, missing):
    fields = {name: value for name, value in BROKER.items() if name != missing}
    response = ask(server, Q.REGISTER_BROKER, fields, BODY)
    assert (response.code, missing in response.remark) == (R.SYSTEM_ERROR, True)


def test_a_body_that_is_no_registration_is_refused(server):
    assert ask(server, Q.REGISTER_BROKER, BROKER, b"nonsense").code == R.SYSTEM_ERROR


def test_a_registration_answers_the_order_configuration(server):
    ask(server, Q.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "a:4"})
    response = ask(server, Q.REGISTER_BROKER, BROKER, BODY)
    assert parse_object(response.body) == {"table": {"T": "a:4"}}


def test_a_registration_answers_no_order_configuration_where_that_is_switched_off(server):
    ask(server, Q.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "a:4"})
    assert ask(server, Q.REGISTER_BROKER, BROKER, BODY).body
    assert ask(server, Q.UPDATE_NAMESRV_CONFIG, body=b"returnOrderTopicConfigToBroker=false").code == R.SUCCESS
    assert not ask(server, Q.REGISTER_BROKER, BROKER, BODY).body


def test_a_slave_is_told_its_master(with_broker):
    slave = BROKER | {"brokerId": "1", "brokerAddr": "10.0.0.2:1"}
    response = ask(with_broker, Q.REGISTER_BROKER, slave, BODY)
    assert response.ext_fields == {"masterAddr": "10.0.0.1:1", "haServerAddr": "10.0.0.1:2"}


def test_version_queries(with_broker):
    same = ask(with_broker, Q.QUERY_DATA_VERSION, BROKER, emit({"counter": 1, "timestamp": 5}))
    assert (same.ext_fields, parse_object(same.body)) == ({"changed": "false"}, {"counter": 1, "timestamp": 5})
    assert ask(with_broker, Q.QUERY_DATA_VERSION, BROKER, emit({"counter": 2})).ext_fields == {"changed": "true"}


def test_lists(with_broker):
    assert parse_object(ask(with_broker, Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body) == {"topicList": ["T"]}
    assert parse_object(ask(with_broker, Q.GET_TOPICS_BY_CLUSTER, {"cluster": "C"}).body) == {"topicList": ["T"]}
    system = parse_object(ask(with_broker, Q.GET_SYSTEM_TOPIC_LIST_FROM_NS).body)
    assert system == {"topicList": ["C", "a"], "brokerAddr": "10.0.0.1:1"}
    info = parse_object(ask(with_broker, Q.GET_BROKER_CLUSTER_INFO).body)
    assert info["brokerAddrTable"]["a"]["brokerAddrs"] == {"0": "10.0.0.1:1"}
    assert info["clusterAddrTable"] == {"C": ["a"]}


def test_goodbye_and_heartbeat_and_deletion(with_broker):
    assert ask(with_broker, Q.BROKER_HEARTBEAT, BROKER).code == R.SUCCESS
    assert ask(with_broker, Q.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"}).ext_fields == {"wipeTopicCount": "1"}
    assert ask(with_broker, Q.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "a"}).ext_fields == {"addTopicCount": "1"}
    ask(with_broker, Q.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"})
    assert ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == R.TOPIC_NOT_EXIST
    ask(with_broker, Q.UNREGISTER_BROKER, BROKER)
    assert parse_object(ask(with_broker, Q.GET_BROKER_CLUSTER_INFO).body)["brokerAddrTable"] == {}


def test_config_items(server):
    item = {"namespace": "N", "key": "k"}
    assert ask(server, Q.GET_KV_CONFIG, item).code == R.QUERY_NOT_FOUND
    assert ask(server, Q.GET_KVLIST_BY_NAMESPACE, item).code == R.QUERY_NOT_FOUND
    ask(server, Q.PUT_KV_CONFIG, item | {"value": "v"})
    assert ask(server, Q.GET_KV_CONFIG, item).ext_fields == {"value": "v"}
    assert parse_object(ask(server, Q.GET_KVLIST_BY_NAMESPACE, item).body) == {"table": {"k": "v"}}
    ask(server, Q.DELETE_KV_CONFIG, item)
    assert ask(server, Q.GET_KV_CONFIG, item).remark == "No config item, Namespace: N Key: k"


def test_an_unknown_code_is_not_supported(server):
    response = ask(server, 12345)
    assert (response.code, response.remark) == (R.REQUEST_CODE_NOT_SUPPORTED, " request type 12345 not supported")


def test_a_route_names_the_order_configuration_once_that_is_switched_on(with_broker):
    ask(with_broker, Q.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "a:4"})
    assert "orderTopicConf" not in parse_object(ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).body)
    assert ask(with_broker, Q.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true").code == R.SUCCESS
    assert parse_object(ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).body)["orderTopicConf"] == "a:4"
    assert b"orderMessageEnable=true" in ask(with_broker, Q.GET_NAMESRV_CONFIG).body


def test_paths_of_the_name_server_cannot_be_set(with_broker):
    before = ask(with_broker, Q.GET_NAMESRV_CONFIG).body
    answer = ask(with_broker, Q.UPDATE_NAMESRV_CONFIG, body=b"configStorePath=/tmp/x\norderMessageEnable=true")
    assert (answer.code, answer.remark) == (R.NO_PERMISSION, "Can not update config in black list.")
    assert ask(with_broker, Q.UPDATE_NAMESRV_CONFIG, body=b"\xff=1").code == R.SYSTEM_ERROR
    assert ask(with_broker, Q.GET_NAMESRV_CONFIG).body == before


def test_lists_of_topics_can_be_switched_off(with_broker):
    ask(with_broker, Q.UPDATE_NAMESRV_CONFIG, body=b"enableAllTopicList=false\nenableTopicList=false")
    for code, fields in ((Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}), (Q.GET_TOPICS_BY_CLUSTER, {"cluster": "C"})):
        answer = ask(with_broker, code, fields)
        assert (answer.code, answer.remark.startswith("disable")) == (R.SYSTEM_ERROR, True)


def test_brokers_of_a_name_and_topics_of_units(with_broker):
    group = parse_object(ask(with_broker, Q.GET_BROKER_MEMBER_GROUP, {"clusterName": "C", "brokerName": "a"}).body)
    assert group["brokerMemberGroup"] == {"brokerAddrs": {"0": "10.0.0.1:1"}, "brokerName": "a", "cluster": "C"}
    for code in (Q.GET_UNIT_TOPIC_LIST, Q.GET_HAS_UNIT_SUB_TOPIC_LIST, Q.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST):
        assert parse_object(ask(with_broker, code).body)["topicList"] == []


def test_the_last_ordered_topic_that_goes_leaves_an_empty_table_for_the_brokers(with_broker):
    place = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}
    assert ask(with_broker, Q.REGISTER_BROKER, BROKER, BODY).body == b""
    ask(with_broker, Q.PUT_KV_CONFIG, place | {"value": "a:4"})
    assert parse_object(ask(with_broker, Q.REGISTER_BROKER, BROKER, BODY).body) == {"table": {"T": "a:4"}}
    ask(with_broker, Q.DELETE_KV_CONFIG, place)
    assert parse_object(ask(with_broker, Q.REGISTER_BROKER, BROKER, BODY).body) == {"table": {}}


def test_a_tool_may_tell_the_queues_of_a_topic(with_broker):
    queues = [
        {"brokerName": name, "perm": 6, "readQueueNums": 3, "writeQueueNums": 2, "topicSysFlag": 0} for name in ("a", "unknown")
    ]
    told = emit({"brokerDatas": [], "queueDatas": queues})
    assert ask(with_broker, Q.REGISTER_TOPIC_IN_NAMESRV, {"topic": "Told"}, told).code == R.SUCCESS
    route = parse_object(ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "Told"}).body)
    assert route["queueDatas"] == queues[:1], "of brokers that are registered"
    assert ask(with_broker, Q.REGISTER_TOPIC_IN_NAMESRV, {"topic": "Nothing"}).code == R.SUCCESS
    assert ask(with_broker, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "Nothing"}).code == R.TOPIC_NOT_EXIST


@pytest.mark.parametrize("body", [b"{}", b'{"queueDatas":[1]}', b'{"queueDatas":[{"brokerName":"a","perm":"x"}]}', b"["])
def test_queues_that_cannot_be_read_are_refused(with_broker, body):
    assert ask(with_broker, Q.REGISTER_TOPIC_IN_NAMESRV, {"topic": "Told"}, body).code == R.SYSTEM_ERROR
