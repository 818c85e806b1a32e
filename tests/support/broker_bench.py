"""A broker without sockets: its state over a real store, and connections that record what they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.clients import Consumers, Producers
from broker_core.engine.tables.consumer_offsets import ConsumerOffsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GroupTable
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.queue_locks import QueueLocks
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.errors import OrbitError
from broker_core.protocol.codes import MQ_VERSION, LanguageCode, RequestCode, SerializeType
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.model import HostAddress
from tests.support.clock import ManualClock

SMALL_FILES: dict[str, Any] = {
    "commit_log_file_bytes": 1 << 20,
    "consume_queue_file_bytes": 20_000,
    "disk_warning_percent": 100,
}
MEMORY_BYTES = 1 << 30


class RecordingPeer:
    """A client's connection that keeps what it is sent."""

    def __init__(self, address: str = "10.0.0.7:4711", *, language: LanguageCode = LanguageCode.JAVA) -> None:
        self.remote_address = address
        self.language = language
        self.version = MQ_VERSION
        self.serialize_type = SerializeType.JSON
        self.slowed_down = 0
        self.requests_in = 0
        self.is_held_up = False
        self.reads_slowly = False
        self.sent: list[RemotingCommand] = []
        self.pushed: list[RemotingCommand] = []
        self.asked: list[tuple[RemotingCommand, Callable[[RemotingCommand | OrbitError], None]]] = []

    def send(self, command: RemotingCommand) -> bool:
        self.sent.append(command)
        return True

    def slow_down(self) -> None:
        self.slowed_down += 1

    def hold_up(self) -> None:
        self.is_held_up = True

    def go_on(self) -> None:
        self.is_held_up = False

    def send_now(self, command: RemotingCommand) -> bool:
        return self.send(command)

    def send_oneway(self, command: RemotingCommand) -> bool:
        self.pushed.append(command)
        return True

    def ask(self, command: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        assert timeout_ms > 0
        self.asked.append((command, answered))


class BrokerBench:
    """Processors over a store, driven by hand."""

    def __init__(self, state: BrokerState, clock: ManualClock) -> None:
        self.state = state
        self.clock = clock
        self.dispatcher = Dispatcher(state, None, memory_bytes=MEMORY_BYTES)

    def ask(
        self,
        peer: Peer,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: object = b"",
        *,
        version: int = MQ_VERSION,
    ) -> RemotingCommand | None:
        """Serve one request; a body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else emit(body)
        ext = {key: str(value) for key, value in (fields or {}).items()}
        return self.dispatcher.handle(peer, RemotingCommand(code, ext, data, opaque=7, version=version))

    def answer(self, peer: Peer, code: int, fields: Mapping[str, object] | None = None, body: object = b"") -> RemotingCommand:
        """Serve a request that is answered at once."""
        response = self.ask(peer, code, fields, body)
        assert response is not None, "the request is held"
        return response

    def put(self, topic: str = "T", queue_id: int = 0, body: bytes = b"hello", properties: str = "") -> RemotingCommand:
        """Send one message as a producer."""
        return self.answer(
            RecordingPeer(), RequestCode.SEND_MESSAGE_V2, send_fields(topic, queue_id, properties=properties), body
        )


def send_fields(topic: str = "T", queue_id: int = 0, **more: object) -> dict[str, object]:
    """Header of SEND_MESSAGE_V2; ``more`` by long name, as far as a test needs them."""
    short = {
        "sys_flag": "f",
        "properties": "i",
        "reconsume_times": "j",
        "limit": "l",
        "batch": "m",
        "template": "c",
        "queues": "d",
    }
    fields: dict[str, object] = {
        "a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": queue_id, "f": 0, "g": 1_699_999_999_000, "h": 0, "i": "",
    }  # fmt: skip
    return fields | {short[name]: value for name, value in more.items()}


def pull_fields(topic: str = "T", queue_id: int = 0, offset: int = 0, **more: object) -> dict[str, object]:
    """Header of PULL_MESSAGE with an inline subscription to everything."""
    fields: dict[str, object] = {
        "consumerGroup": "CG", "topic": topic, "queueId": queue_id, "queueOffset": offset, "maxMsgNums": 32, "sysFlag": 4,
        "commitOffset": 0, "suspendTimeoutMillis": 15_000, "subscription": "*", "subVersion": 0,
    }  # fmt: skip
    return fields | more


def consumer_heartbeat(client_id: str, group: str = "CG", **topics: object) -> dict[str, Any]:
    """Body of a heartbeat of one consumer; ``topics`` gives expression, version and expression type of each topic."""
    subscriptions = []
    for topic, value in topics.items():
        expression, version, kind = (*value, "TAG")[:3] if isinstance(value, tuple) else (value, 1, "TAG")
        tags = [] if expression == "*" or kind != "TAG" else str(expression).split("||")
        subscriptions.append(
            {
                "topic": topic,
                "subString": expression,
                "tagsSet": tags,
                "codeSet": [],
                "subVersion": version,
                "expressionType": kind,
            }
        )
    consumer = {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": subscriptions,
    }  # fmt: skip
    return {"clientID": client_id, "producerDataSet": [], "consumerDataSet": [consumer]}


@contextmanager
def broker_bench(root: Path, **settings: object) -> Iterator[BrokerBench]:
    """A bench over a new store in ``root``; ``settings`` are attributes of `BrokerConfig`."""
    clock = ManualClock()
    store_config = StoreConfig(root=root, **SMALL_FILES)
    config = replace(BrokerConfig(store=store_config), **settings)  # type: ignore[arg-type]  # checked by dataclass at run time
    with MessageStore.open(store_config, clock=clock) as store:
        yield BrokerBench(bench_state(config, store, clock), clock)


def bench_state(config: BrokerConfig, store: MessageStore, clock: Callable[[], int]) -> BrokerState:
    """State over an open store."""
    return BrokerState(
        config=config,
        store=store,
        topics=TopicTable(config, clock=clock),
        groups=GroupTable(auto_create=config.auto_create_group, clock=clock),
        offsets=ConsumerOffsets(),
        consumers=Consumers(),
        producers=Producers(),
        locks=QueueLocks(),
        counters=Counters(now_ms=clock()),
        set_aside=SetAside(),
        clock=clock,
        store_host=HostAddress.parse("127.0.0.1:10911"),
    )
