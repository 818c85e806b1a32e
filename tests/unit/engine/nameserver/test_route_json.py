from broker_core.engine.nameserver.processor import encode_cluster_info, encode_route, encode_topic_list
from broker_core.engine.nameserver.route_info import BrokerData, TopicRoute
from broker_core.protocol.admin.routes import QueueData

BROKER = BrokerData("C", "a", {1: "10.0.0.2:1", 0: "10.0.0.1:1"})
ROUTE = TopicRoute((QueueData("a", 4, 2, 6),), (BROKER,), {"10.0.0.1:1": ("f:1",)}, order_conf=None)
REST = (
    b'},"brokerName":"a","cluster":"C"}],"filterServerTable":{"10.0.0.1:1":["f:1"]},"queueDatas":[{"brokerName":"a","perm":6,'
    b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":2}]}'
)


def test_strict_routes_quote_the_broker_ids():
    assert encode_route(ROUTE, strict=True) == b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:1","1":"10.0.0.2:1"' + REST


def test_old_clients_get_bare_broker_ids():
    assert encode_route(ROUTE, strict=False) == b'{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:1",1:"10.0.0.2:1"' + REST


def test_cluster_info():
    assert encode_cluster_info({"a": BrokerData("C", "a", {0: "x:1"})}, {"C": ["a"]}) == (
        b'{"brokerAddrTable":{"a":{"brokerAddrs":{"0":"x:1"},"brokerName":"a","cluster":"C"}},"clusterAddrTable":{"C":["a"]}}'
    )


def test_topic_lists():
    assert encode_topic_list(["B", "A"]) == b'{"topicList":["B","A"]}'
    assert encode_topic_list([], "x:1") == b'{"brokerAddr":"x:1","topicList":[]}'
