"""The broker's connection to a name server: registers at start, every 30 s and when topics change.

The name server removes a broker whose connection ends, so one connection is kept open and reopened when it breaks.

Source: docs/spec/broker.md §1.2.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from ssl import SSLContext

from broker_core.config import BrokerConfig
from broker_core.engine.nameserver.registration import Registration
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.protocol.admin.topics import READ_AND_WRITE, TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.signature import Credentials
from broker_core.transport.client import connect
from broker_core.transport.connection import Connection

logger = logging.getLogger(__name__)

REGISTER_TIMEOUT_MS = 6_000
UNREGISTER_TIMEOUT_MS = 1_000
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 10_000, 60_000
RECONNECT_SECONDS = 1.0

_CRC_MASK = 0x7FFFFFFF


class RegistrationLink:
    """Keeps the broker's topics registered at one name server.

    Addresses are ``host:port``. ``credentials`` and ``tls`` are for a name server with access control, or one that accepts only
    TLS. ``routed`` is called at once with changed topics, for a name server in this process.

    Attributes:
        connection: The connection to the name server, while there is one.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        name_server: str,
        broker_address: str,
        topics: TopicTable,
        credentials: Credentials | None = None,
        tls: SSLContext | None = None,
        routed: Callable[[Iterable[TopicConfig]], None] = lambda _topics: None,
        filter_servers: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._config = config
        self._routed = routed
        self._filter_servers = filter_servers
        self._name_server = name_server
        self._broker_address = broker_address
        self._topics = topics
        self._credentials = credentials
        self._tls = tls
        self.connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed: set[str] = set()
        self._flush_scheduled = False
        self._due = asyncio.Event()

    async def start(self) -> None:
        """Register the whole table, then keep it registered.

        Raises:
            NetworkError: The name server cannot be reached.
            RemoteError: It refuses.
        """
        await self._register_all()
        self._task = asyncio.create_task(self._keep_registered(), name="broker registration")

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply changed settings: the permission that topics are sent with, the time between registrations."""
        self._config = config

    def topics_changed(self, names: list[str]) -> None:
        """Send changed topics to the name server: all changes of one turn of the loop in one request.

        Only changed topics are sent: with the whole table, a thousand new topics one by one would send half a million configs.
        """
        if self.connection is None:
            return
        self._routed([self._as_permitted(topic) for name in names if (topic := self._topics.get(name)) is not None])
        self._changed.update(names)
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._send_changed)

    async def stop(self) -> None:
        """Unregister and end the connection. Safe to call again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        connection, self.connection = self.connection, None
        if connection is None:
            return
        try:
            await connection.request(RemotingCommand(RequestCode.UNREGISTER_BROKER, self._identity()), UNREGISTER_TIMEOUT_MS)
        except NetworkError as error:
            # Harmless: the name server removes the broker when the connection ends.
            logger.info("the broker could not unregister: %s", error)
        connection.close()

    # ---- inside ----

    async def _keep_registered(self) -> None:
        period = min(max(self._config.register_interval_ms, INTERVAL_MS_MIN), INTERVAL_MS_MAX) / 1000
        while True:
            await self._wait(period)
            try:
                await self._register_all()
            except (NetworkError, RemoteError, CodecError) as error:
                logger.warning("registering at name server %s failed, it is tried again: %s", self._name_server, error)
                await asyncio.sleep(RECONNECT_SECONDS)
                self._due.set()

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._due.wait()
        self._due.clear()

    async def _register_all(self) -> None:
        connection = await self._connected()
        answer = await connection.request(self._request(self._topics.all()), REGISTER_TIMEOUT_MS)
        if answer.code != ResponseCode.SUCCESS:
            raise RemoteError(f"the name server refuses the broker: {answer.remark}", code=answer.code)
        if len(answer.body):
            table = parse_object(answer.body).get("table")
            self._topics.apply_order(_names(table))

    async def _connected(self) -> Connection:
        if self.connection is None or self.connection.is_closed:
            self.connection = await connect(self._name_server, tls=self._tls)
            self.connection.credentials = self._credentials
            self.connection.on_closed(self._lost)
        return self.connection

    def _lost(self, connection: Connection) -> None:
        if self.connection is connection:
            logger.warning("the connection to name server %s ended: %s", self._name_server, connection.close_reason)
            self._due.set()

    def _send_changed(self) -> None:
        self._flush_scheduled = False
        names, self._changed = self._changed, set()
        topics = {name: topic for name in names if (topic := self._topics.get(name)) is not None}
        if self.connection is not None and topics:
            self.connection.send_oneway(self._request(topics))

    def _request(self, topics: Mapping[str, TopicConfig]) -> RemotingCommand:
        sent = {name: self._as_permitted(topic) for name, topic in topics.items()}
        body = Registration(self._topics.version, sent, self._filter_servers()).to_bytes()
        fields = {**self._identity(), "haServerAddr": "", "compressed": "false", "bodyCrc32": str(zlib.crc32(body) & _CRC_MASK)}
        return RemotingCommand(RequestCode.REGISTER_BROKER, fields, body)

    def _as_permitted(self, topic: TopicConfig) -> TopicConfig:
        """The topic with the broker's permission, if that is not to read and to write."""
        permission = self._config.permission
        if permission & READ_AND_WRITE == READ_AND_WRITE:
            return topic
        return TopicConfig(topic.name, topic.read_queues, topic.write_queues, permission, topic.filter_type, topic.sys_flag)

    def _identity(self) -> dict[str, str]:
        return {
            "brokerName": self._config.broker_name,
            "brokerAddr": self._broker_address,
            "clusterName": self._config.cluster_name,
            "brokerId": str(self._config.broker_id),
        }


def _names(table: object) -> list[str]:
    return [str(name) for name in table] if isinstance(table, Mapping) else []
