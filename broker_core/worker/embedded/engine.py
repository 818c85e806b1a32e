"""The parts of the engine that sampling and queries use.

`broker_core.engine.broker.embedded.EmbeddedBroker` has them; tests supply their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.clients import Consumers, Producers
from broker_core.engine.tables.consumer_offsets import ConsumerOffsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GroupTable
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.protocol import retry_names
from broker_core.protocol.codes import LanguageCode
from broker_core.protocol.retry_names import KnownNames
from broker_core.worker.transactions import Transactions

if TYPE_CHECKING:
    from broker_core.engine.grpc.endpoint import GrpcEndpoint
    from broker_core.engine.processors.atomic_service import AtomicService
    from broker_core.engine.processors.pop.pop_family import PopFamily
    from broker_core.engine.schedule.timer.console import TimerConsole


class OpenConnection(Hashable, Protocol):
    """The attributes that are read of a `broker_core.transport.connection.Connection`."""

    @property
    def remote_address(self) -> str: ...

    @property
    def local_address(self) -> str: ...

    @property
    def language(self) -> LanguageCode: ...

    @property
    def version(self) -> int: ...

    @property
    def connected_at(self) -> float: ...

    @property
    def last_active(self) -> float: ...

    @property
    def bytes_in(self) -> int: ...

    @property
    def bytes_out(self) -> int: ...

    @property
    def requests_in(self) -> int: ...

    def close(self, reason: str = ...) -> None: ...


class EngineView(Protocol):
    """The engine's tables and counters. They are read on the engine's loop only."""

    @property
    def store(self) -> MessageStore: ...

    @property
    def topics(self) -> TopicTable: ...

    @property
    def groups(self) -> GroupTable: ...

    @property
    def offsets(self) -> ConsumerOffsets: ...

    @property
    def consumers(self) -> Consumers[Any]: ...

    @property
    def producers(self) -> Producers[Any]: ...

    @property
    def journal(self) -> ActionJournal: ...

    @property
    def set_aside(self) -> SetAside: ...

    @property
    def reports(self) -> Sequence[str]: ...

    @property
    def connections(self) -> int: ...

    def open_connections(self) -> Sequence[tuple[str, OpenConnection]]:
        """Each with its side, as `ConnectionPage` has it."""

    @property
    def counters(self) -> Counters: ...

    @property
    def held_pulls(self) -> int: ...

    @property
    def delays(self) -> DelayConsole | None: ...

    @property
    def atomic(self) -> AtomicService | None: ...

    @property
    def transactions(self) -> Transactions | None: ...

    @property
    def grpc(self) -> GrpcEndpoint | None:
        """The port of gRPC; None where it is off."""

    @property
    def pops(self) -> PopFamily | None:
        """What consumers received by POP; None where no broker serves."""

    @property
    def timers(self) -> TimerConsole | None: ...


def known_names(engine: EngineView) -> KnownNames:
    """Groups with a config, an offset or a dead letter topic; topics with a config or a queue. On the engine's loop."""
    topics = {*engine.topics.all(), *(topic for topic, _queue in engine.store.queues())}
    return retry_names.known_names({*engine.groups.all(), *engine.offsets.groups()}, topics)
