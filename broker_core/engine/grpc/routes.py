"""Routes and assignments: which queues a client sees (Source: docs/spec/grpc.md §5.1, §5.2)."""

from __future__ import annotations

import ipaddress

from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.message_types import accepted_types
from broker_core.engine.grpc.names_check import checked_group, checked_topic
from broker_core.engine.grpc.outcome import OK, refuse
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.addresses import split_address
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.names import FAQ_URL

ANY_QUEUE = -1


class Routes:
    """Serves QueryRoute and QueryAssignment."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state

    def route(self, caller: Caller, request: pb.QueryRouteRequest) -> pb.QueryRouteResponse:
        """The queues of a topic; queues that are both read and written come first."""
        topic = self._topic(request.topic)
        broker = self._broker(caller, request.endpoints)
        types = accepted_types(topic)
        queues = [
            pb.MessageQueue(topic=request.topic, id=number, permission=permission, broker=broker, accept_message_types=types)
            for number, permission in enumerate(_permissions(topic))
        ]
        return pb.QueryRouteResponse(status=OK, message_queues=queues)

    def assignment(self, caller: Caller, request: pb.QueryAssignmentRequest) -> pb.QueryAssignmentResponse:
        """What a push consumer polls: one entry for all queues, or each queue for a group that consumes in order."""
        topic, name = self._topic(request.topic), checked_group(request.group)
        if not topic.readable or not topic.read_queues:
            refuse(pb.FORBIDDEN, "no readable queue")
        group = self._state.groups.get(name)
        ids = range(topic.read_queues) if group is not None and group.orderly else (ANY_QUEUE,)
        broker = self._broker(caller, request.endpoints)
        permission = pb.READ_WRITE if topic.writable else pb.READ
        queues = [pb.MessageQueue(topic=request.topic, id=number, permission=permission, broker=broker) for number in ids]
        return pb.QueryAssignmentResponse(status=OK, assignments=[pb.Assignment(message_queue=queue) for queue in queues])

    def _topic(self, resource: pb.Resource) -> TopicConfig:
        name = checked_topic(resource)
        topic = self._state.topics.get(name)
        if topic is None:
            text = (
                f"CODE: 17  DESC: No topic route info in name server for the topic: {name}\nSee {FAQ_URL} for further details."
            )
            refuse(pb.TOPIC_NOT_FOUND, text)
        return topic

    def _broker(self, caller: Caller, endpoints: pb.Endpoints) -> pb.Broker:
        """This broker, under the address that the client uses: so it keeps one connection, in containers, too."""
        found = endpoints if endpoints.addresses else _endpoints_of(caller.local_address)
        return pb.Broker(name=self._state.config.broker_name, id=0, endpoints=found)


def _endpoints_of(address: str) -> pb.Endpoints:
    host, port = split_address(address)
    scheme = pb.IPv6 if ipaddress.ip_address(host).version == 6 else pb.IPv4
    return pb.Endpoints(scheme=scheme, addresses=[pb.Address(host=host, port=int(port))])


def _permissions(topic: TopicConfig) -> list[pb.Permission]:
    reads = topic.read_queues if topic.readable else 0
    writes = topic.write_queues if topic.writable else 0
    if not reads and not writes:
        return [pb.NONE] * max(topic.read_queues, topic.write_queues, 1)
    both = min(reads, writes)
    return [pb.READ_WRITE] * both + [pb.READ] * (reads - both) + [pb.WRITE] * (writes - both)
