"""Everything the request processors share; the broker makes it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.config import BrokerConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.clients import Consumers, Producers
from broker_core.engine.tables.consumer_offsets import ConsumerOffsets
from broker_core.engine.tables.counters import Counters
from broker_core.engine.tables.group_table import GroupTable
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.queue_locks import QueueLocks
from broker_core.engine.tables.set_aside import SetAside
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.protocol.message.model import HostAddress


@dataclass(slots=True)
class BrokerState:
    """Tables, store and clock of one broker. Belongs to the loop's thread.

    Attributes:
        config: The current settings. Live ones change, so read them at each use; only `LiveSettings` replaces it.
        clock: Time in ms since the epoch.
        store_host: The broker's address, as records and offset message ids hold it.
    """

    config: BrokerConfig
    store: MessageStore
    topics: TopicTable
    groups: GroupTable
    offsets: ConsumerOffsets
    consumers: Consumers[Peer]
    producers: Producers[Peer]
    locks: QueueLocks
    counters: Counters
    set_aside: SetAside
    clock: Callable[[], int]
    store_host: HostAddress
