"""`StoredEngine`: a store directory without a broker, for reading: topics, positions and messages come from its files.

It owns, locks and writes nothing and listens nowhere; messages that a running broker stores from now on are not shown. Queues
are those of `MessageStore.open(read_only=True)`: after a crash as a recovery would leave them, in memory alone. Searches read
the files themselves and also find messages that no queue knows.

It delivers nothing and asks no producer: delay levels and half messages are those of the moment of opening. Timer messages are
shown as messages of their system topic alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig
from broker_core.engine.processors.transaction_actions import TransactionActions
from broker_core.engine.processors.transaction_service import transaction_settings
from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.schedule.timer.console import TimerConsole
from broker_core.engine.schedule.timers import LoopTimers
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.clients import Consumers, Producers
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_offsets import OFFSETS_FILE, OFFSETS_RULE, ConsumerOffsets, names_of_offsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GROUPS_FILE, GROUPS_RULE, GroupTable
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.topic_table import TOPICS_FILE, TOPICS_RULE, TopicTable
from broker_core.engine.transaction.engine import CheckRequest, TransactionEngine
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID
from broker_core.worker.embedded.engine import OpenConnection

Progress = Callable[[str, int, int], None]

NOT_CLOSED = (
    "the broker of this store still runs or did not end in good order: what is stored from now on is not shown; open it again"
)


class NoProducers:
    """No producer is connected."""

    def living(self, _group: str, /) -> int:
        return 0

    def ask(self, _request: CheckRequest) -> bool:
        return False


class StoredTransactions:
    """Undecided transactions of a store that is only read.

    ``actions`` is never called, because a read-only connection refuses before; there is no next round.
    """

    next_round_ms = -1

    def __init__(self, config: BrokerConfig, store: MessageStore, journal: ActionJournal, *, clock: Callable[[], int]) -> None:
        host = HostAddress.parse("127.0.0.1:0")
        self.engine = TransactionEngine(store, NoProducers(), transaction_settings(config), clock=clock, host=host)
        self.actions = TransactionActions(self.engine, journal)

    async def load(self, offsets: ConsumerOffsets) -> None:
        """Read the half and op queues, in slices of a millisecond."""
        starts = (offsets.get(CHECK_GROUP, topic, TRANSACTION_QUEUE_ID) for topic in (HALF_TOPIC, OP_TOPIC))
        for _slice in self.engine.loading(*starts):
            await asyncio.sleep(0)

    def living(self, _group: str) -> int:
        """Unknown, because nobody can connect."""
        return -1


class StoredEngine:
    """The parts of `EmbeddedBroker` that sampling and queries read. On the loop. ``clock`` returns ms since the epoch."""

    name_server_address = ""
    broker_address = ""
    grpc_address = ""
    connections = 0
    held_pulls = 0
    store: MessageStore
    delays: DelayConsole | None = None
    transactions: StoredTransactions | None = None
    atomic: None = None
    timers: TimerConsole | None = None
    pops: None = None
    grpc: None = None

    def __init__(self, config: BrokerConfig, *, clock: Callable[[], int] = wall_clock_ms) -> None:
        self._config = config
        self._clock = clock
        self.topics = TopicTable(config, clock=clock)
        self.groups = GroupTable(auto_create=False, clock=clock)
        self.offsets = ConsumerOffsets()
        self.consumers: Consumers[str] = Consumers()
        self.producers: Producers[str] = Producers()
        self.counters = Counters(now_ms=clock())
        self.journal = ActionJournal(StorePaths(config.store.root).config, clock=clock)
        """Never written, because a command is refused before."""
        self.set_aside = SetAside()
        self.notice = ""
        """A warning for the user about the store; known after `start`."""
        self.reports: Sequence[str] = ()
        """What is wrong with configuration files; likewise."""

    async def start(self, progress: Progress | None = None) -> None:
        """Open the store and read the tables. Raises `StoreError` where the directory is no store, or cannot be read."""
        loop = asyncio.get_running_loop()

        def tell(text: str, done: int, total: int) -> None:
            if progress is not None:
                loop.call_soon_threadsafe(progress, text, done, total)

        paths = StorePaths(self._config.store.root)
        is_closed = not paths.abort.exists()
        opening = asyncio.to_thread(MessageStore.open, self._config.store, clock=self._clock, read_only=True, progress=tell)
        self.store = await opening
        self.notice = "" if is_closed else NOT_CLOSED
        stored_as = names_of_offsets(light=self._config.store.lmq)
        files = ConfigFiles(paths.config, read_only=True, stored_as=stored_as)
        await asyncio.to_thread(self._load_tables, files)
        self.delays = self._read_delays(files)
        self.reports = files.reports
        self.transactions = StoredTransactions(self._config, self.store, self.journal, clock=self._clock)
        await self.transactions.load(self.offsets)

    def _load_tables(self, files: ConfigFiles) -> None:
        files.load(TOPICS_FILE, self.topics.load, TOPICS_RULE)
        files.load(GROUPS_FILE, self.groups.load, GROUPS_RULE)
        files.load(OFFSETS_FILE, self.offsets.load, OFFSETS_RULE)
        self.topics.enter_missing(self.store.queues())

    def _read_delays(self, files: ConfigFiles) -> DelayConsole:
        service = DelayService(
            self.store,
            files,
            self.journal,
            clock=self._clock,
            timers=LoopTimers(asyncio.get_running_loop()),
            save_interval_ms=0,
        )
        service.load()
        for level in service.delivery.levels.values():
            level.look(self._clock())
        service.console.is_delivering = False
        return service.console

    async def stop(self) -> None:
        await asyncio.to_thread(self.store.close)

    @property
    def own_credentials(self) -> None:
        """None, because no client can connect."""
        return

    def open_connections(self) -> Sequence[tuple[str, OpenConnection]]:
        """None, because no client can connect."""
        return ()
