"""An engine for sampling and queries: the real tables, a real store, no network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.grpc.endpoint import GrpcEndpoint
from broker_core.engine.processors.atomic_service import AtomicService
from broker_core.engine.processors.pop.pop_family import PopFamily
from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.schedule.timer.console import TimerConsole
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.clients import Client, Consumers, Producers
from broker_core.engine.tables.consumer_offsets import ConsumerOffsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GroupTable
from broker_core.engine.tables.heartbeat import ConsumerData
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.subscription import parse_subscription
from broker_core.worker.embedded.engine import OpenConnection
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.stored_messages import SendMessage, SendReceipt
from broker_core.worker.transactions import Transactions
from tests.support.clock import ManualClock

HOST = HostAddress.parse("127.0.0.1:10911")


class Engine:
    """Tables, counters and a store, changed by a test as the broker's processors would."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        config = BrokerConfig(store=StoreConfig(root=root, commit_log_file_bytes=1 << 20, consume_queue_file_bytes=20_000))
        self.clock = clock
        self.store = MessageStore.open(config.store, clock=clock)
        self.topics = TopicTable(config, clock=clock)
        self.groups = GroupTable(auto_create=True, clock=clock)
        self.offsets = ConsumerOffsets()
        self.consumers: Consumers[str] = Consumers()
        self.producers: Producers[str] = Producers()
        self.counters = Counters(now_ms=clock())
        self.journal = ActionJournal(root / "config", clock=clock)
        self.set_aside = SetAside()
        self.reports: list[str] = []
        self.connections = 0
        self.opened: list[tuple[str, OpenConnection]] = []
        self.held_pulls = 0
        self.delays: DelayConsole | None = None
        self.transactions: Transactions | None = None
        self.atomic: AtomicService | None = None
        self.timers: TimerConsole | None = None
        self.pops: PopFamily | None = None
        self.grpc: GrpcEndpoint | None = None

    def open_connections(self) -> list[tuple[str, OpenConnection]]:
        """Those that a test opened."""
        return self.opened

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    async def answer_console(self, command: RemotingCommand, *, name_server: bool) -> RemotingCommand:
        """Answer with what was asked."""
        return command.reply(body=b"name server" if name_server else b"broker", ext_fields=dict(command.ext_fields))

    def add_topic(self, name: str, queues: int) -> None:
        """Create a topic."""
        self.topics.put(TopicConfig(name, queues, queues))

    def put(self, topic: str, queue_id: int, body: bytes, *, sys_flag: int = 0, **properties: str) -> int:
        """Store a message; returns its physical offset."""
        encoded = encode_properties(properties)
        now_ms = self.clock()
        message = MessageToStore(topic, queue_id, 0, sys_flag, now_ms, HOST, HOST, 0, 0, body, encoded)
        result = self.store.put(message)
        assert result.status is PutStatus.PUT_OK
        self.counters.put(topic, 1, result.wrote_bytes)
        return result.physical_offset

    def join(
        self, group: str, client_id: str, topics: Iterable[str], *, model: str = "CLUSTERING", expression: str = "*",
        version: int = 0,
    ) -> None:  # fmt: skip
        """Let a consumer send its heartbeat; its connection is its id."""
        subscriptions = tuple(parse_subscription(topic, expression, version=version) for topic in topics)
        data = ConsumerData(group, "CONSUME_PASSIVELY", model, "CONSUME_FROM_LAST_OFFSET", subscriptions)
        self.groups.find(group)
        self.consumers.register(client_id, Client(client_id, "127.0.0.1:5", "JAVA", 409, self.clock()), data)

    async def put_from_console(self, message: SendMessage) -> SendReceipt:
        """Store as asked."""
        offset = self.put(message.topic, message.queue_id, message.body)
        return SendReceipt(f"{offset:032X}", message.queue_id, 0, self.clock())

    def create_topic(self, topic: CreateTopic) -> None:
        """Create as asked."""
        self.add_topic(topic.topic, topic.write_queues)
