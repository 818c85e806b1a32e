"""The proxies of a cluster, found and asked over a link that a test answers for."""

import asyncio

import pytest

from broker_core.cluster.proxies import KEPT_SECONDS, LOOK_SECONDS, NO_PROXIES, Proxies
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.admin.proxies import HEARTBEAT_GROUP, ProxyPlace, read_announcement
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, emit

NOT_ONLINE = RemoteError("not online", code=ResponseCode.CONSUMER_NOT_ONLINE)
AWAY = NetworkError("it does not listen")


def members(*rows, topics=()):
    connections = [{"clientId": client, "clientAddr": address, "language": "JAVA", "version": 479} for client, address in rows]
    table = {topic: {"subString": "*", "expressionType": "TAG"} for topic in topics}
    return emit({"connectionSet": connections, "subscriptionTable": table})


class Link:
    """A cluster of one broker: proxies that are connected to it, and what each address answers."""

    def __init__(self, connected, answers):
        self.brokers = {"broker-a": None}
        self.connected = connected
        self.answers = answers
        self.asked = []

    async def ask(self, _broker, command, _timeout_ms=None):
        assert command.ext_fields == {"consumerGroup": HEARTBEAT_GROUP}
        if isinstance(self.connected, Exception):
            raise self.connected
        return RemotingCommand(0, body=self.connected)

    async def ask_address(self, address, command):
        self.asked.append((address, command.code))
        answer = self.answers.get(address, AWAY)
        if isinstance(answer, Exception):
            raise answer
        return RemotingCommand(0, body=answer)

    async def listed_route(self, _topic):
        return None


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def asked(link, *questions, clock=None):
    """The answers to questions, one after the other."""

    async def ask():
        proxies = Proxies(link, monotonic=clock or Clock())
        return [await question(proxies) for question in questions]

    return asyncio.run(ask())


def of_group(proxies):
    return proxies.members("G")


def test_a_cluster_without_proxies():
    link = Link(NOT_ONLINE, {})
    places, found = asked(link, lambda proxies: proxies.places(), of_group)
    assert (places, found, link.asked) == ([], NO_PROXIES, [])


def test_members_are_asked_for_at_the_usual_port_of_connected_proxies():
    link = Link(members(("p1", "10.0.0.1:4711")), {"10.0.0.1:8080": members(("c1", "10.0.0.9:1"), topics=["T"])})
    (found,) = asked(link, of_group)
    assert (found.client_ids, list(found.subscriptions), found.unknown) == ({"c1"}, ["T"], "")


def test_a_group_without_members_is_known_to_be_empty():
    link = Link(members(("p1", "10.0.0.1:4711")), {"10.0.0.1:8080": NOT_ONLINE})
    (found,) = asked(link, of_group)
    assert (found.client_ids, found.unknown) == (frozenset(), "")


@pytest.mark.parametrize("answer", [AWAY, RemoteError("no permission", code=ResponseCode.NO_PERMISSION)])
def test_a_proxy_that_does_not_answer_makes_members_unknown(answer):
    connected = members(("p1", "10.0.0.1:4711"), ("p2", "10.0.0.2:4711"))
    link = Link(connected, {"10.0.0.1:8080": NOT_ONLINE, "10.0.0.2:8080": answer})
    (found,) = asked(link, of_group)
    assert found.client_ids == frozenset()
    assert found.unknown.startswith("1 of 2 proxies answer")
    assert f"proxy 10.0.0.2:8080: {answer.message}" in found.unknown


def test_answers_are_reused_for_a_while():
    clock = Clock()
    link = Link(members(("p1", "10.0.0.1:4711")), {"10.0.0.1:8080": NOT_ONLINE})

    async def later(proxies):
        clock.now += KEPT_SECONDS + 1
        return await proxies.members("G")

    asked(link, of_group, of_group, later, clock=clock)
    assert len(link.asked) == 2


def test_a_proxy_that_does_not_answer_delays_one_question_and_is_asked_again_later():
    clock = Clock()
    link = Link(members(("p1", "10.0.0.1:4711")), {})

    async def later(proxies):
        clock.now += LOOK_SECONDS + 1
        link.answers = {"10.0.0.1:8080": members(("c1", "10.0.0.9:1"))}
        return await proxies.members("G")

    others = [lambda proxies, group=group: proxies.members(group) for group in "ABC"]
    *silent, found = asked(link, *others, later, clock=clock)
    assert len({one.unknown for one in silent}) == 1
    assert len(link.asked) == 2
    assert (found.client_ids, found.unknown) == ({"c1"}, "")


def test_a_proxy_that_left_is_not_missed():
    clock = Clock()
    link = Link(members(("p1", "10.0.0.1:4711")), {})

    async def later(proxies):
        link.connected = NOT_ONLINE
        clock.now += LOOK_SECONDS + 1
        return await proxies.members("G")

    before, after = asked(link, of_group, later, clock=clock)
    assert before.unknown
    assert after == NO_PROXIES


def test_a_single_member_is_asked_for_where_proxies_serve_that():
    command = RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO, {"clientId": "c1"})
    link = Link(members(("p1", "10.0.0.1:4711")), {"10.0.0.1:8080": b"{}"})
    (answer,) = asked(link, lambda proxies: proxies.ask_member(command))
    assert answer.body == b"{}"
    link.answers = {"10.0.0.1:8080": RemoteError("request type 307 not supported", code=3)}
    with pytest.raises(RemoteError, match="307 not supported"):
        asked(link, lambda proxies: proxies.ask_member(command))
    assert asked(Link(NOT_ONLINE, {}), lambda proxies: proxies.ask_member(command)) == [None]


def test_announcements():
    place = read_announcement(emit({"localProxyId": "10.0.0.1%7080%7081"}))
    assert (place, str(place), place.grpc_address) == (ProxyPlace("10.0.0.1", 7080, 7081), "10.0.0.1:7080", "10.0.0.1:7081")
    assert (str(ProxyPlace("fe80::1")), ProxyPlace("fe80::1").grpc_address) == ("[fe80::1]:8080", "[fe80::1]:8081")
    for body in (
        {},
        {"localProxyId": "here"},
        {"localProxyId": "%8080%1"},
        {"localProxyId": "h%8080%x"},
        {"localProxyId": "h%1"},
    ):
        with pytest.raises(JsonBodyError):
            read_announcement(emit(body))
