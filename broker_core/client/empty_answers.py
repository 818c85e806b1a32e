"""Empty answers of a name server: one that has just started, or that no broker registers with. Pure.

Name servers exchange no data, so an empty answer holds for the server that sent it, and for no other.

Source: docs/spec/remoting.md §4 (routes), §2.5.1 (brokers and topics).
"""

from __future__ import annotations

from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, parse_object

_LISTS = {
    RequestCode.GET_BROKER_CLUSTER_INFO: "brokerAddrTable",
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: "topicList",
}
"""Requests for all that a name server knows → the member of the body that lists it."""


def is_empty_answer(request_code: int, response: RemotingCommand) -> bool:
    """Whether a name server knows nothing of the requested kind; False for an answer that cannot be read."""
    if request_code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
        return response.code == ResponseCode.TOPIC_NOT_EXIST
    if request_code not in _LISTS or response.code != ResponseCode.SUCCESS:
        return False
    try:
        return not parse_object(response.body).get(_LISTS[RequestCode(request_code)])
    except JsonBodyError:
        return False


def body_fault(request_code: int, response: RemotingCommand) -> str:
    """Why the body of a list or a route is no JSON object; empty if it is one."""
    if request_code in _LISTS or request_code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
        try:
            parse_object(response.body)
        except JsonBodyError as error:
            return error.message
    return ""


def lists_all(request_code: int) -> bool:
    """Whether a request lists all that a name server knows; a server with an empty list is of no other use."""
    return request_code in _LISTS
