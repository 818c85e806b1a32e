import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.protocol.admin.routes import read_route
from broker_core.protocol.json_body import MessageQueue, emit

STRICT = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"192.0.2.10:10911","1":"192.0.2.11:10911"},"brokerName":"b","cluster":"C"},'
    b'{"brokerAddrs":{"2":"192.0.2.12:10911"},"brokerName":"a","cluster":"C"}],"filterServerTable":{},"queueDatas":['
    b'{"brokerName":"b","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":1},'
    b'{"brokerName":"a","perm":6,"readQueueNums":1,"topicSysFlag":0,"writeQueueNums":1}]}'
)


def queue(broker, queue_id):
    return MessageQueue("T", broker, queue_id)


def test_messages_go_to_writable_queues_of_masters_only():
    assert read_route("T", STRICT).publish_queues() == [queue("b", 0)]


def test_messages_are_read_from_slaves_too_and_queues_are_sorted():
    route = read_route("T", STRICT)
    assert route.subscribe_queues() == [queue("a", 0), queue("b", 0), queue("b", 1)]
    assert (route.address_of("a"), route.address_of("b"), route.address_of("c")) == (
        "192.0.2.12:10911",
        "192.0.2.10:10911",
        None,
    )


def test_a_route_names_clusters_and_brokers_without_an_address():
    route = read_route(
        "T", STRICT.replace(b'"brokerAddrs":{"2":"192.0.2.12:10911"},"brokerName":"a","cluster":"C"', b'"brokerName":"a"')
    )
    assert route.clusters == {"a": "", "b": "C"}
    assert [data.broker_name for data in route.queues] == ["a", "b"]
    assert route.brokers == {"a": {}, "b": {0: "192.0.2.10:10911", 1: "192.0.2.11:10911"}}


def test_routes_for_old_clients_have_bare_keys_and_are_the_same():
    assert read_route("T", STRICT.replace(b'"0":', b"0:").replace(b'"1":', b"1:").replace(b'"2":', b"2:")) == read_route(
        "T", STRICT
    )


@pytest.mark.parametrize(("permission", "publish", "subscribe"), [(2, 1, 0), (4, 0, 2), (0, 0, 0), (7, 1, 2)])
def test_permissions_are_kept(permission, publish, subscribe):
    route = read_route("T", STRICT.replace(b'"perm":6', b'"perm":%d' % permission, 1))
    own = [queue for queue in route.subscribe_queues() if queue.broker_name == "b"]
    assert (len(route.publish_queues()), len(own)) == (publish, subscribe)


def test_a_fixed_order_decides_the_queues():
    route = read_route("T", STRICT[:-1] + b',"orderTopicConf":"b:2;a:1"}')
    assert route.publish_queues() == [queue("b", 0), queue("b", 1), queue("a", 0)]


def test_the_default_topic_serves_as_template_with_fewer_queues():
    data = {"brokerName": "b", "perm": 7, "readQueueNums": 8, "writeQueueNums": 8}
    body = emit({"queueDatas": [data], "brokerDatas": [{"brokerName": "b", "brokerAddrs": {0: "192.0.2.1:1"}}]})
    route = read_route("TBW102", body).as_template_for("new", 4)
    assert route.publish_queues() == [MessageQueue("new", "b", number) for number in range(4)]


@pytest.mark.parametrize("body", [b"[]", b'{"queueDatas":[{}]}', b'{"brokerDatas":[3]}', b'{"orderTopicConf":"b:x"}', b"{"])
def test_what_is_no_route_says_so(body):
    with pytest.raises(CodecError):
        read_route("T", body)


@given(st.binary(max_size=80), st.integers(0, len(STRICT) - 1), st.integers(1, 255))
def test_any_bytes_are_a_route_that_leads_somewhere_or_raise_codec_error(noise, place, change):
    damaged = bytearray(STRICT)
    damaged[place] ^= change
    for body in (noise, bytes(damaged)):
        try:
            route = read_route("T", body)
        except CodecError:
            continue
        assert all(route.address_of(one.broker_name) and one.queue_id >= 0 for one in route.subscribe_queues())
        assert all(one in route.brokers for one in {one.broker_name for one in route.publish_queues()})
