import pytest

from broker_core.client.empty_answers import body_fault, is_empty_answer, lists_all
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand

BROKERS, TOPICS = RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
ROUTE, DELETE = RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.DELETE_TOPIC_IN_NAMESRV


@pytest.mark.parametrize(
    ("asked", "code", "body", "is_empty"),
    [
        (BROKERS, ResponseCode.SUCCESS, b'{"brokerAddrTable":{},"clusterAddrTable":{}}', True),
        (BROKERS, ResponseCode.SUCCESS, b"{}", True),
        (BROKERS, ResponseCode.SUCCESS, b'{"brokerAddrTable":{"a":{"brokerAddrs":{0:"h:1"}}}}', False),
        (BROKERS, ResponseCode.SUCCESS, b"<html>", False),
        (BROKERS, ResponseCode.SYSTEM_ERROR, b"", False),
        (TOPICS, ResponseCode.SUCCESS, b'{"topicList":[]}', True),
        (TOPICS, ResponseCode.SUCCESS, b'{"topicList":["T"]}', False),
        (ROUTE, ResponseCode.TOPIC_NOT_EXIST, b"", True),
        (ROUTE, ResponseCode.SUCCESS, b"{}", False),
        (DELETE, ResponseCode.TOPIC_NOT_EXIST, b"", False),
        (DELETE, ResponseCode.SUCCESS, b"", False),
    ],
)
def test_a_name_server_that_knows_nothing_says_so_in_three_ways(asked, code, body, is_empty):
    assert is_empty_answer(asked, RemotingCommand(asked).reply(code, body=body)) is is_empty


def test_bodies_of_lists_and_routes_are_json():
    answers = [RemotingCommand(code).reply(body=b"<html>") for code in (BROKERS, TOPICS, ROUTE, DELETE)]
    faults = [body_fault(code, one) for code, one in zip((BROKERS, TOPICS, ROUTE, DELETE), answers, strict=True)]
    assert ["is not JSON" in fault for fault in faults] == [True, True, True, False]
    assert body_fault(BROKERS, RemotingCommand(BROKERS).reply(body=b"{}")) == ""


def test_a_route_does_not_list_all():
    assert [code for code in (BROKERS, TOPICS, ROUTE, DELETE) if lists_all(code)] == [BROKERS, TOPICS]
