"""`EmbeddedBroker`: name server, broker and store in one process, started and stopped as one.

    start   ports → store opened and recovered (in a thread) → tables loaded → services → requests served → registered
    stop    unregistered → requests refused → services → held pulls answered → connections ended → tables written → store closed

Everything but opening and closing the store runs on one event loop; the store's own threads sync to disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, RemotingLimits
from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.acl.account_file import AccountFile
from broker_core.engine.broker.addresses import Addresses, bound_addresses, check_binding, host_address, own_name_server
from broker_core.engine.broker.console_requests import answer_console
from broker_core.engine.broker.fast_port import open_fast_port
from broker_core.engine.broker.registration_link import RegistrationLink
from broker_core.engine.broker.services import Service, broker_services
from broker_core.engine.grpc.endpoint import GrpcEndpoint, open_grpc
from broker_core.engine.nameserver.kv_config import KV_FILE, KV_RULE, KvConfig
from broker_core.engine.nameserver.server import NameServer
from broker_core.engine.nameserver.settings import BLACK_LIST, NAME_SERVER_FILE, NAME_SERVER_RULE, NameServerSettings
from broker_core.engine.processors.atomic_processor import AtomicProcessor
from broker_core.engine.processors.atomic_service import AtomicService, ContainedDecisions
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.live_settings import SETTINGS_FILE, SETTINGS_RULE
from broker_core.engine.processors.send_processor import header_for_console
from broker_core.engine.processors.timer_processor import TimerMessages
from broker_core.engine.processors.transaction_service import TransactionService
from broker_core.engine.processors.written_answers import WrittenAnswers
from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.store.config_file import ConfigRule, Take
from broker_core.engine.store.log_places import holds_records
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.reading import machine_memory_bytes
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.clients import Consumers, Producers
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_offsets import OFFSETS_FILE, OFFSETS_RULE, ConsumerOffsets, names_of_offsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GROUPS_FILE, GROUPS_RULE, GroupTable
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.queue_locks import QueueLocks
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.tables.topic_table import ATOMIC_TOPICS_RULE, TOPICS_FILE, TOPICS_RULE, TopicTable
from broker_core.errors import BugError, RequestRefusedError, StoreError
from broker_core.protocol import names
from broker_core.protocol.addresses import address_of, host_of
from broker_core.protocol.admin.topics import MESSAGE_TYPE, TopicConfig
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.message_id import UniqueIdGenerator, offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.properties import UNIQUE_KEY
from broker_core.protocol.signature import Credentials
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.connection import Connection
from broker_core.transport.server import RemotingServer
from broker_core.transport.tls import own_client_tls, tls_server

if TYPE_CHECKING:
    from broker_core.engine.grpc.client import GrpcClient
    from broker_core.engine.processors.pop.pop_family import PopFamily
    from broker_core.engine.schedule.timer.console import TimerConsole
    from broker_core.transport.grpc_connection import GrpcConnection

logger = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]

TICK_SECONDS = 1.0
CLIENT_SCAN_SECONDS = 10
_NAMED_MAX = 20
"""Topics or groups that a report names."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a broker has once its tables are loaded; ``durable`` is None where answers need not wait for the disk."""

    dispatcher: Dispatcher
    durable: DurableAnswers | None
    unique_ids: UniqueIdGenerator


class ConsolePut(NamedTuple):
    """Where a message of the console was stored."""

    offset_message_id: str
    queue_id: int
    queue_offset: int
    store_ms: int


class EmbeddedBroker:
    """A broker with a name server and a store of its own.

    Args:
        config: Identity, addresses and settings; port 0 takes a free one.
        clock: Time in ms since the epoch.
        limits: Bounds of client connections.

    Raises:
        UsageError: It would listen to the network without protection, or TLS or the accounts cannot be used.

    Attributes:
        topics, groups, offsets, consumers, producers, counters, routes: Live tables. Read them on the loop, change them
            only through requests.
        journal: Actions of a person.
        set_aside: Messages that could not be copied.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Callable[[], int] = wall_clock_ms,
        limits: RemotingLimits | None = None,
    ) -> None:
        self.config = config
        self._clock = clock
        self.topics = TopicTable(config, clock=clock, changed=self._topics_changed)
        self.groups = GroupTable(
            auto_create=config.auto_create_group,
            groups_max=config.auto_create_groups_max,
            clock=clock,
            changed=lambda: self._files.mark(GROUPS_FILE),
        )
        self.offsets = ConsumerOffsets(light=config.store.lmq)
        self.consumers: Consumers[Peer] = Consumers()
        self.producers: Producers[Peer] = Producers()
        self.locks = QueueLocks()
        self.counters = Counters(now_ms=clock())
        paths = StorePaths(config.store.root)
        holds_messages = partial(holds_records, config.store, paths.commit_log)
        stored_as = names_of_offsets(light=config.store.lmq)
        self._files = ConfigFiles(paths.config, holds_messages=holds_messages, stored_as=stored_as)
        self._written = WrittenAnswers(self._files, mark_offsets=self._mark_offsets)
        self._kv = KvConfig(changed=lambda: self._files.mark(KV_FILE))
        self._name_server_settings = NameServerSettings(changed=lambda: self._files.mark(NAME_SERVER_FILE))
        check_binding(config)
        self._access = (
            AccessControl(config.access_control_file, clock=clock, record_at=self._record_at) if config.acl_enabled else None
        )
        self._accounts = None if self._access is None else AccountFile(self._access)
        self._limits = limits
        self._busy_poll = BusyPoll() if config.busy_poll == "on" else None
        self._make_servers(limits)
        self._fast_server: RemotingServer | None = None
        self._grpc: GrpcEndpoint | None = None
        self._addresses: Addresses | None = None
        self._store: MessageStore | None = None
        self._loaded: Loaded | None = None
        self._serving: Loaded | None = None
        self.set_aside = SetAside()
        self.journal = ActionJournal(config.store.root / "config", clock=clock)
        self._services: tuple[Service, ...] = ()
        self._atomic: AtomicService | None = None
        self._link: RegistrationLink | None = None
        self._opening: asyncio.Future[MessageStore] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ticks = 0
        self._written_offset_changes = 0
        self._unavailable = "the broker is starting"

    def _make_servers(self, limits: RemotingLimits | None) -> None:
        config, tls = self.config, tls_server(self.config)
        self._name_server = NameServer(
            config.bind_host,
            config.name_server_port,
            clock=self._clock,
            kv=self._kv,
            settings=self._name_server_settings,
            limits=limits,
            tls=tls,
            refusal=None if self._access is None else self._access.refusal,
            frame_directory=config.store.root,
            hold=self._written.hold,
        )
        self.routes = self._name_server.routes
        self._server_at = partial(
            RemotingServer,
            config.bind_host,
            handler=self._handle,
            limits=limits,
            tls=tls,
            on_connected=self._connected,
            frame_directory=config.store.root,
            busy_poll=self._busy_poll,
        )
        self._server = self._server_at(config.listen_port)

    # ---- what a start makes known ----

    @property
    def name_server_address(self) -> str:
        """``host:port`` for clients, of a broker that was started."""
        return self._bound.name_server

    @property
    def broker_address(self) -> str:
        """``host:port`` of the broker as routes name it, of one that was started."""
        return self._bound.broker

    @property
    def grpc_address(self) -> str:
        """``host:port`` for SDKs of gRPC, of a broker that was started; empty where it has no such port."""
        return "" if self._grpc is None else address_of(host_of(self._bound.broker), self._grpc.server.port)

    @property
    def store(self) -> MessageStore:
        """The store of a broker that was started; it is closed after `stop`."""
        if self._store is None:
            raise BugError("the broker has not opened its store yet")
        return self._store

    @property
    def _bound(self) -> Addresses:
        if self._addresses is None:
            raise BugError("the broker has not bound its ports yet")
        return self._addresses

    # ---- start ----

    async def start(self, progress: Progress | None = None) -> None:
        """Start everything; when this returns, clients are served.

        The ports are bound first, so that a port in use is reported before a long recovery; requests are refused meanwhile.

        Args:
            progress: Called on the loop during a long recovery with its step, the bytes done and all bytes.

        Raises:
            PortInUseError: Another program listens on one of the ports.
            NetworkError: An address cannot be bound or resolved.
            StoreError: The store cannot be opened; see `MessageStore.open` for its kinds.
        """
        try:
            # Before it serves: what requests change while the store opens must not be overwritten by the files.
            self._load(KV_FILE, self._kv.load, KV_RULE, self._kv.to_json)
            settings = self._name_server_settings
            self._load(NAME_SERVER_FILE, settings.load, NAME_SERVER_RULE, settings.to_json)
            await self._name_server.start()
            await self._server.start()
            self._fast_server = await open_fast_port(self.config.listen_port, self._server_at)
            self._grpc = await open_grpc(self.config, limits=self._limits, busy_poll=self._busy_poll)
            self._show_name_server()
            self._addresses = bound_addresses(self.config, name_server_port=self._name_server.port, port=self._server.port)
            opened = partial(MessageStore.open, self.config.store, clock=self._clock, progress=_on_loop(progress))
            self._opening = asyncio.ensure_future(asyncio.to_thread(opened))
            # Shielded: a start that is cancelled must still learn of the open store, to close it.
            self._store = await asyncio.shield(self._opening)
            await self._serve()
        except BaseException:
            await self.stop()
            raise

    async def _serve(self) -> None:
        contained = self._load_tables()
        loop = asyncio.get_running_loop()
        store_host = await host_address(self.config.advertised_host, self._server.port)
        is_sync = self.config.store.flush_disk_type == "SYNC_FLUSH"
        durable = DurableAnswers(self.store, loop, self.store.log_syncs()) if is_sync else None
        state = self._state(store_host)
        unique_ids = UniqueIdGenerator(store_host.ip, os.getpid(), id(self) & 0x7FFFFFFF, self._clock)
        self._files.start()
        dispatcher = self._make_dispatcher(state, durable)
        self._loaded = loaded = Loaded(dispatcher, durable, unique_ids)
        self._load_settings(dispatcher)
        self._services = broker_services(state, dispatcher, self._files, self.journal, durable)
        if self.config.atomic_transactions:
            self._atomic = await self._serve_atomic(state, loaded, contained)
            self._services = (self._atomic, *self._services)
        elif self.store.stored_max_offset(names.ATOMIC_STATE_TOPIC, 0):
            logger.warning("the store holds atomic transactions, and orbitAtomicTransactions is off: readers see open ones too")
        for service in self._services:
            service.start()
        # Not earlier: until atomic transactions are loaded, readers would see open ones.
        self._serving, self._unavailable = loaded, "the broker is stopping"
        for connection in self.client_connections:
            self._offer_express(connection)
        if self._grpc is not None:
            self._grpc.serve(state, dispatcher, self._access)
        self._link = self._make_link(state.config, dispatcher)
        await self._link.start()
        self._timer = loop.call_later(TICK_SECONDS, self._tick)

    def _state(self, store_host: HostAddress) -> BrokerState:
        return BrokerState(
            config=self._config_in_effect(),
            store=self.store,
            topics=self.topics,
            groups=self.groups,
            offsets=self.offsets,
            consumers=self.consumers,
            producers=self.producers,
            locks=self.locks,
            counters=self.counters,
            set_aside=self.set_aside,
            clock=self._clock,
            store_host=store_host,
        )

    def _config_in_effect(self) -> BrokerConfig:
        """The settings with the ports that are bound."""
        config = replace(self.config, listen_port=self._server.port, name_server_port=self._name_server.port)
        return replace(config, grpc="off") if self._grpc is None else replace(config, grpc_port=self._grpc.server.port)

    def _make_dispatcher(self, state: BrokerState, durable: DurableAnswers | None) -> Dispatcher:
        return Dispatcher(
            state,
            durable,
            memory_bytes=machine_memory_bytes() * self.config.store.access_in_memory_max_ratio_percent // 100,
            written=self._written,
            accounts=self._accounts,
            settings_changed=lambda: self._files.mark(SETTINGS_FILE),
            defer=asyncio.get_running_loop().call_soon,
            route=self.routes.readable_queues,
        )

    def _record_at(self, position: int) -> memoryview | None:
        return None if self._loaded is None else self.store.record_at(position)

    def _load_settings(self, dispatcher: Dispatcher) -> None:
        """Load the settings that were changed while an earlier broker ran."""
        settings = dispatcher.settings
        self._files.serve(SETTINGS_FILE, settings.to_json)
        settings.add_listener(self._reconfigured)
        left_out: list[str] = []

        def take(content: Mapping[str, Any]) -> None:
            left_out[:] = settings.load(content)

        self._files.load(SETTINGS_FILE, take, SETTINGS_RULE)
        if left_out:
            self._files.report(f"config/{SETTINGS_FILE} holds values that cannot be used: {_some(left_out)}")

    def _make_link(self, config: BrokerConfig, dispatcher: Dispatcher) -> RegistrationLink:
        return RegistrationLink(
            config,
            name_server=own_name_server(self.config, self._name_server.port),
            broker_address=self.broker_address,
            topics=self.topics,
            credentials=self.own_credentials,
            tls=own_client_tls() if self.config.has_tls and self.config.tls_mode == "enforcing" else None,
            routed=partial(self.routes.add_topics, config.broker_name, self.broker_address),
            filter_servers=dispatcher.filter_servers.addresses,
        )

    async def _serve_atomic(self, state: BrokerState, loaded: Loaded, contained: ContainedDecisions) -> AtomicService:
        dispatcher = loaded.dispatcher
        durable = loaded.durable or DurableAnswers(self.store, asyncio.get_running_loop())
        write_positions = partial(self._files.write, OFFSETS_FILE)
        folder = self.config.store.root / "config"
        service = AtomicService(state, durable, dispatcher.pull, folder, write_positions=write_positions, journal=self.journal)
        await service.read_back(contained)
        processor = AtomicProcessor(state, service, dispatcher.send, dispatcher.topics, loaded.durable)
        dispatcher.extend(processor.table())
        return service

    def _show_name_server(self) -> None:
        folder = self.config.store.root / "config"
        shown = {
            "bindAddress": self.config.bind_host,
            "listenPort": str(self._name_server.port),
            "kvConfigPath": str(folder / KV_FILE),
            "configStorePath": str(folder / NAME_SERVER_FILE),
            "rocketmqHome": str(self.config.store.root),
            "configBlackList": ";".join(sorted(BLACK_LIST)),
        }
        for key, value in shown.items():
            self._name_server_settings.show(key, value)

    def _reconfigured(self, config: BrokerConfig) -> None:
        old, self.config = self.config, config
        if self._link is not None:
            self._link.reconfigure(config)
            if old.permission != config.permission:
                self.topics.renew()

    def _load_tables(self) -> ContainedDecisions:
        """Load topics, groups and offsets; returns the decisions of atomic transactions that the offsets contain."""
        rule = ATOMIC_TOPICS_RULE if self.store.stored_max_offset(names.ATOMIC_STATE_TOPIC, 0) else TOPICS_RULE
        topics = self._load(TOPICS_FILE, self.topics.load, rule, self.topics.snapshot)
        self._load(GROUPS_FILE, self.groups.load, GROUPS_RULE, self.groups.snapshot)
        contained = self._load_offsets()
        self._restore_topics(is_lost=not topics)
        self._files.mark(TOPICS_FILE)
        self._files.mark(GROUPS_FILE)
        return contained

    def _load(self, name: str, load: Take, rule: ConfigRule, snapshot: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        self._files.serve(name, snapshot)
        return self._files.load(name, load, rule)

    def _load_offsets(self) -> ContainedDecisions:
        left_out: list[str] = []
        contained = ContainedDecisions()

        def take(content: Mapping[str, Any]) -> None:
            nonlocal contained
            found = ContainedDecisions.of_offsets(content)
            left_out[:] = self.offsets.load(content)
            contained = found

        self._load(OFFSETS_FILE, take, OFFSETS_RULE, self.offsets.to_json)
        self._written_offset_changes = self.offsets.changes
        if not self.store.ended_cleanly and (moved := self.offsets.bring_into(self.store.stored_max_offset)):
            text = f"config/{OFFSETS_FILE} holds offsets beyond the end of their queues, moved to it"
            self._files.report(f"{text}: {_some(moved)}")
        if left_out:
            self._files.report(f"config/{OFFSETS_FILE} holds negative offsets, which are none: {_some(left_out)}")
        groups = [name for name in self.groups.all() if not names.is_system_group(name)]
        if not self.offsets.items() and groups and self.store.commit_log_max_offset:
            text = f"config/{OFFSETS_FILE} is missing or empty: these groups begin like new ones: {_some(groups)}"
            self._files.report(text)
        return contained

    def _restore_topics(self, *, is_lost: bool) -> None:
        """Add topics that have queues but no config: a crash came between their first message and the write of the table."""
        entered = self.topics.enter_missing(self.store.queues())
        if entered and is_lost:
            text = f"config/{TOPICS_FILE} is missing or empty: these topics are known by their queues: {_some(entered)}"
            self._files.report(text)
        elif entered:
            logger.warning("%s has no entry of topics that have messages: %s", TOPICS_FILE, _some(entered))

    @property
    def reports(self) -> Sequence[str]:
        """Facts about the store's configuration files that a person must know, as found at the start."""
        return self._files.reports

    # ---- stop ----

    async def stop(self) -> list[str]:
        """Stop everything; returns the configuration files that are not on disk. Safe again, and after a failed start."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._link is not None:
            await self._link.stop()
        loaded, self._loaded, self._serving = self._loaded, None, None
        for connection in self.client_connections:
            connection.express = None
        if self._grpc is not None:
            await self._grpc.stop()
        if loaded is not None:
            services, self._services = self._services, ()
            for service in reversed(services):
                await service.stop()
            loaded.dispatcher.pull.answer_all()
            await self._files.settle()
            if self._accounts is not None:
                await self._accounts.settle()
            await self._answer_durable(loaded.durable)
        fast_server, self._fast_server = self._fast_server, None
        if fast_server is not None:
            await fast_server.stop()
        await self._server.stop()
        await self._name_server.stop()
        if loaded is not None:
            self._mark_offsets()
            await self._files.stop()
        opening, self._opening = self._opening, None
        if opening is not None:
            (store,) = await asyncio.gather(opening, return_exceptions=True)
            if isinstance(store, MessageStore):
                await asyncio.to_thread(store.close)
        return self._files.unwritten

    async def _answer_durable(self, durable: DurableAnswers | None) -> None:
        if durable is not None:
            try:
                await asyncio.to_thread(self.store.flush)
            except StoreError as error:
                logger.warning("the last messages are not on disk: %s", error)
            durable.close()
        # One turn for the answers of the flush thread, one for the connections to write them.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    # ---- requests ----

    @property
    def connections(self) -> int:
        """Open client connections of the broker, of both protocols."""
        over_grpc = 0 if self._grpc is None else len(self._grpc.server.connections)
        return len(self.client_connections) + over_grpc

    @property
    def client_connections(self) -> list[Connection]:
        """Those of both ports, now."""
        servers = (self._server,) if self._fast_server is None else (self._server, self._fast_server)
        return [connection for server in servers for connection in server.connections]

    def open_connections(self) -> list[tuple[str, Connection | GrpcClient | GrpcConnection]]:
        """Every connection with its side: ``broker``, ``grpc`` and ``name server`` serve it, ``registration`` is our own."""
        link = None if self._link is None else self._link.connection
        grpc = [] if self._grpc is None else self._grpc.open_connections()
        served: list[tuple[str, Iterable[Connection | GrpcClient | GrpcConnection]]] = [
            ("broker", self.client_connections),
            ("grpc", grpc),
            ("name server", self._name_server.connections),
            ("registration", () if link is None else (link,)),
        ]
        return [(side, connection) for side, connections in served for connection in connections]

    @property
    def grpc(self) -> GrpcEndpoint | None:
        """The port of gRPC; None where it is off."""
        return self._grpc

    @property
    def held_pulls(self) -> int:
        """Number of pulls that wait for a message."""
        return 0 if self._loaded is None else len(self._loaded.dispatcher.pull.holds)

    @property
    def timers(self) -> TimerConsole | None:
        """Figures and actions of timer messages, while they are served."""
        return next((service.console for service in self._services if isinstance(service, TimerMessages)), None)

    @property
    def delays(self) -> DelayConsole | None:
        """Figures and actions of the delay levels, while the broker serves."""
        return next((service.console for service in self._services if isinstance(service, DelayService)), None)

    @property
    def atomic(self) -> AtomicService | None:
        """The service of atomic transactions, if they are on and the broker serves."""
        return self._atomic if self._atomic in self._services else None

    @property
    def pops(self) -> PopFamily | None:
        """What consumers received by POP and acknowledge later, while the broker serves."""
        return None if self._serving is None else self._serving.dispatcher.pop

    @property
    def transactions(self) -> TransactionService | None:
        """The service that decides and checks transactions, while the broker runs."""
        return next((service for service in self._services if isinstance(service, TransactionService)), None)

    def _handle(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        serving = self._serving
        return self._refuse(connection, command) if serving is None else serving.dispatcher.handle(connection, command)

    def _served(self) -> Loaded:
        if self._serving is None:
            raise RequestRefusedError(self._unavailable, code=ResponseCode.SERVICE_NOT_AVAILABLE)
        return self._serving

    def _refuse(self, _connection: Connection, command: RemotingCommand) -> RemotingCommand:
        return command.reply(ResponseCode.SERVICE_NOT_AVAILABLE, f"service not available now: {self._unavailable}")

    def _connected(self, connection: Connection) -> None:
        connection.on_closed(self._disconnected)
        connection.held_bytes = partial(self._held_bytes, connection)
        self._offer_express(connection)

    def _held_bytes(self, connection: Connection) -> int:
        return 0 if self._loaded is None else self._loaded.dispatcher.held_bytes(connection)

    @property
    def own_credentials(self) -> Credentials | None:
        """Administrator keys made at the start, for programs that this broker's owner starts; None if none are needed."""
        return None if self._access is None else self._access.internal

    def _offer_express(self, connection: Connection) -> None:
        if self._serving is not None and self._access is None:
            connection.express = partial(self._serving.dispatcher.plain.serve, connection)

    def _disconnected(self, connection: Connection) -> None:
        if self._loaded is not None:
            self._loaded.dispatcher.disconnected(connection)

    async def put_from_console(
        self, topic: str, queue_id: int, body: bytes, properties: Mapping[str, str], flag: int = 0
    ) -> ConsolePut:
        """Store a message as a producer's send would, with the same checks; returns when a send would be answered.

        Queue id -1 is any queue; a unique key is added to the properties if it is missing.

        Raises:
            RequestRefusedError: A check failed or the store refuses the message; says why.
        """
        serving = self._served()
        send, now_ms = serving.dispatcher.send, self._clock()
        all_properties = {UNIQUE_KEY: serving.unique_ids.next_id(), **properties}
        header = header_for_console(topic, queue_id, all_properties, flag, now_ms)
        target = send.admission.admit(header)
        host = send.store_host
        try:
            result = send.put(header, target, body, host)
        except RequestRefusedError:
            self.counters.put_failed += 1
            raise
        durable, end = serving.durable, result.physical_offset + result.wrote_bytes
        if durable is not None and not await durable.wait_for(end):
            remark = f"the message is stored but not yet on disk: {self.store.write_refusal or 'the disk is slow'}"
            raise RequestRefusedError(remark, code=ResponseCode.FLUSH_DISK_TIMEOUT)
        return ConsolePut(
            offset_message_id(host, result.physical_offset),
            target.told_queue_id,
            result.queue_offset,
            result.store_timestamp_ms,
        )

    async def answer_console(self, command: RemotingCommand, *, name_server: bool) -> RemotingCommand:
        """Serve a request of the console as broker or name server would, without an account.

        Raises:
            RequestRefusedError: The broker is starting or stopping.
            OrbitError: See `broker_core.engine.broker.console_requests.answer_console`.
        """
        dispatcher = self._served().dispatcher
        handle = self._name_server.answer_console if name_server else dispatcher.handle_trusted
        return await answer_console(handle, command, self.journal)

    async def create_topic(
        self, name: str, read_queues: int, write_queues: int, permission: int, *, message_type: str = ""
    ) -> None:
        """Create or change a topic, as UPDATE_AND_CREATE_TOPIC does; without a type it keeps the type that it has.

        Raises:
            RequestRefusedError: Its name, its queues or its permission are invalid, or the disk does not take it.
        """
        dispatcher = self._served().dispatcher
        known = self.topics.get(name)
        base = TopicConfig(name, read_queues, write_queues) if known is None else known
        attributes = {**base.attributes, MESSAGE_TYPE: message_type} if message_type else base.attributes
        wanted = replace(base, read_queues=read_queues, write_queues=write_queues, permission=permission)
        dispatcher.topics.put(replace(wanted, attributes=attributes))
        await self._written.wait(TOPICS_FILE)

    # ---- timers and changes ----

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        self._ticks += 1
        now_ms = self._clock()
        self.counters.sample(now_ms)
        if self._accounts is not None:
            self._accounts.look()
        if self._loaded is not None:
            self._loaded.dispatcher.pull.tick()
            self._loaded.dispatcher.plain.tick()
        if self._ticks % max(self.config.flush_consumer_offset_interval_ms // 1000, 1) == 0:
            self._mark_offsets()
        if self._ticks % CLIENT_SCAN_SECONDS == 0:
            self._scan_clients(now_ms)

    def _scan_clients(self, now_ms: int) -> None:
        self.locks.expire(now_ms)
        for peer in self.consumers.silent(now_ms) | self.producers.silent(now_ms):
            if isinstance(peer, Connection):
                peer.close("no heartbeat came for too long")

    def _mark_offsets(self) -> None:
        if self.offsets.changes != self._written_offset_changes:
            self._written_offset_changes = self.offsets.changes
            self._files.mark(OFFSETS_FILE)

    def _topics_changed(self, changed: list[str]) -> None:
        self._files.mark(TOPICS_FILE)
        if self._atomic is not None:
            for name in [name for name in changed if name not in self.topics]:
                self._atomic.topic_removed(name)
        if self._link is not None:
            self._link.topics_changed(changed)


def _on_loop(progress: Progress | None) -> Progress:
    """Carry progress from the thread that opens the store to the loop."""
    if progress is None:
        return lambda _what, _done, _total: None
    loop = asyncio.get_running_loop()

    def carry(what: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(progress, what, done, total)

    return carry


def _some(found: Sequence[str]) -> str:
    more = len(found) - _NAMED_MAX
    return ", ".join(found[:_NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
