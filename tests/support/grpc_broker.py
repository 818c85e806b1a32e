"""A broker with its gRPC port on a thread of its own, whose clock a test moves forward."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from broker_core.client.message import RawMessage
from broker_core.client.producer import Producer
from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.grpc.bridge import CallPeer
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.codes import LanguageCode, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.json_body import MessageQueue
from tests.support.broker_bench import SMALL_FILES
from tests.support.broker_thread import BrokerThread, broker_thread
from tests.support.grpc_stub import RawClient, resource


class MovedClock:
    """The wall clock, ahead by what a test has moved it, or stopped at a time."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.stopped_ms: int | None = None

    def __call__(self) -> int:
        return wall_clock_ms() + self.ahead_ms if self.stopped_ms is None else self.stopped_ms


class GrpcBroker:
    """What tests of gRPC do with a broker, beside its calls."""

    def __init__(self, running: BrokerThread, clock: MovedClock) -> None:
        self.running = running
        self._clock = clock

    @property
    def port(self) -> int:
        """Of gRPC."""
        assert self.running.broker.grpc is not None
        return self.running.broker.grpc.server.port

    @property
    def name_server(self) -> str:
        return self.running.name_server

    def topic(self, name: str, queues: int = 4) -> str:
        """Create a topic."""
        self.running.create(name, queues)
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its messages."""
        self.administer(RequestCode.DELETE_TOPIC_IN_BROKER, topic=name)

    def administer(self, code: RequestCode, **fields: str) -> None:
        """Have a request of an administrator served well."""
        found = self.serve(code, **fields)
        assert found.code == ResponseCode.SUCCESS, found.remark

    def serve(self, code: RequestCode, **fields: str) -> RemotingCommand:
        """The answer to a request of remoting."""

        async def serve() -> RemotingCommand:
            serving = self.running.broker._loaded
            assert serving is not None
            later: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
            peer = CallPeer("127.0.0.1:1", LanguageCode.JAVA, later.set_result)
            answer = serving.dispatcher.handle_trusted(peer, RemotingCommand(code, fields))
            return await later if answer is None else answer

        return self.running.thread.call(serve())

    def produced(self, client: RawClient) -> list[str]:
        """Topics of which a client counts as a producer, sorted."""

        async def topics() -> list[str]:
            groups = self.running.broker.producers.groups()
            return sorted(name for name, members in groups.items() if any(one.client_id == client.client_id for one in members))

        return self.running.thread.call(topics())

    def group(self, client: RawClient, name: str, *topics: str, kind: Any = pb.SIMPLE_CONSUMER, **changes: Any) -> str:
        """A group with other values than the usual ones, and a client that is its member."""
        self.change_group(name, **changes)
        client.announce_consumer(name, *topics, kind=kind)
        return name

    def change_group(self, name: str, **changes: Any) -> None:
        """Give a group other values; create it if there is none."""

        async def change() -> None:
            groups = self.running.broker.groups
            groups.put(dataclasses.replace(groups.get(name) or GroupConfig(name), **changes))

        self.running.thread.call(change())

    def now_ms(self) -> int:
        """Time of the broker."""
        return self._clock()

    @contextlib.contextmanager
    def stopped_clock(self) -> Iterator[int]:
        """Stop the broker's clock while the block lasts; gives its time, ms since the epoch."""
        self._clock.stopped_ms = self._clock()
        try:
            yield self._clock.stopped_ms
        finally:
            self._clock.stopped_ms = None

    def move(self, seconds: float) -> None:
        """Move the clock forward, and have the port do what it does every five seconds."""
        self._clock.ahead_ms += int(seconds * 1000)
        self.tick()

    def tick(self) -> None:
        """Have deliveries renewed, and clients forgotten that are gone."""
        assert self.running.broker.grpc is not None
        service = self.running.broker.grpc.service
        assert service is not None

        async def look() -> None:
            service.tick()

        self.running.thread.call(look())

    def held(self) -> int:
        """How many receives wait."""

        async def count() -> int:
            serving = self.running.broker._loaded
            assert serving is not None
            return len(serving.dispatcher.pop.processor.holds)

        return self.running.thread.call(count())

    def deadlines_ms(self) -> list[int]:
        """When each receive that waits is answered at the latest, the oldest first."""

        async def deadlines() -> list[int]:
            serving = self.running.broker._loaded
            assert serving is not None
            return [held.deadline_ms for held in serving.dispatcher.pop.processor.holds]

        return self.running.thread.call(deadlines())

    def connections(self) -> set[str]:
        """Addresses of the port's peers."""

        async def addresses() -> set[str]:
            assert self.running.broker.grpc is not None
            return {connection.remote_address for connection in self.running.broker.grpc.server.connections}

        return self.running.thread.call(addresses())

    def progress(self, group: str, topic: str) -> int:
        """The group's offset in the first queue of a topic."""

        async def offset() -> int:
            return self.running.broker.offsets.get(group, topic, 0)

        return self.running.thread.call(offset())

    def members(self, group: str) -> list[str]:
        """Client ids of a group's members."""

        async def ids() -> list[str]:
            found = self.running.broker.consumers.group(group)
            return [] if found is None else list(found.client_ids)

        return self.running.thread.call(ids())

    def put_raw(self, topic: str, body: bytes, sys_flag: int) -> None:
        """Store a body by remoting as it is, with a SYSFLAG that says what it is."""

        async def send() -> None:
            async with Producer(self.name_server) as producer:
                queue = MessageQueue(topic, self.running.broker.config.broker_name, 0)
                await producer.send_raw(RawMessage(topic=topic, body=body, sys_flag=sys_flag), queue)

        self.running.thread.call(send())


@contextlib.contextmanager
def grpc_broker(root: Path, *, store: Mapping[str, Any] | None = None, **more: Any) -> Iterator[GrpcBroker]:
    """A broker on ``root`` while the block lasts; ``more`` are fields of its settings, ``store`` of those of its store."""
    files: dict[str, Any] = {**SMALL_FILES, "commit_log_file_bytes": 16 << 20, **(store or {})}
    config = BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **files), **more)
    clock = MovedClock()
    with broker_thread(root, config, clock=clock) as running:
        yield GrpcBroker(running, clock)


def handle_of(found: pb.Message) -> str:
    return found.system_properties.receipt_handle


def entry_of(found: pb.Message) -> pb.AckMessageEntry:
    """What is acked of a message."""
    return pb.AckMessageEntry(message_id=found.system_properties.message_id, receipt_handle=handle_of(found))


def ack(client: RawClient, group: str, topic: str, *found: pb.Message) -> pb.AckMessageResponse:
    request = pb.AckMessageRequest(group=resource(group), topic=resource(topic), entries=map(entry_of, found))
    response: pb.AckMessageResponse = client.call("AckMessage", request)
    return response


def change(client: RawClient, group: str, topic: str, handle: str, seconds: int) -> pb.ChangeInvisibleDurationResponse:
    request = pb.ChangeInvisibleDurationRequest(group=resource(group), topic=resource(topic), receipt_handle=handle)
    request.invisible_duration.FromSeconds(seconds)
    response: pb.ChangeInvisibleDurationResponse = client.call("ChangeInvisibleDuration", request)
    return response
