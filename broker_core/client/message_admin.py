"""Administration of messages and brokers: search by key, one message consumed now, settings and figures of a broker.

Source: docs/spec/remoting.md §2.2.6, §2.4, §2.5.2, §2.5.3.
"""

from __future__ import annotations

from broker_core.client.record_admin import RecordAdmin
from broker_core.protocol.admin.brokers import read_broker_settings, read_runtime
from broker_core.protocol.admin.running import DirectConsumeResult, read_consume_result
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_records

QUERY_MESSAGES = 32
_TIME_MAX_MS = (1 << 63) - 1
_QUERY_TIMEOUT_MS = 18_000
_DIRECT_TIMEOUT_MS = 12_000


class MessageAdmin(RecordAdmin):
    """Requests of the admin client about messages and brokers."""

    async def messages_by_key(
        self, topic: str, key: str, *, messages_max: int = QUERY_MESSAGES, begin_ms: int = 0, end_ms: int = _TIME_MAX_MS
    ) -> list[StoredMessage]:
        """Messages of a topic with ``key`` among their KEYS, stored from ``begin_ms`` to ``end_ms``, oldest first.

        At most ``messages_max`` come from each broker.
        """
        found = await self._query(topic, key, messages_max, begin_ms, end_ms)
        # The index has only hashes.
        return [item for item in found if item.topic == topic and key in item.properties.get(names.KEYS, "").split()]

    async def messages_by_id(self, topic: str, message_id: str) -> list[StoredMessage]:
        """Messages of a topic with a unique id, oldest first: several when a producer repeated the send."""
        found = await self._query(topic, message_id, QUERY_MESSAGES, 0, _TIME_MAX_MS)
        return [item for item in found if item.topic == topic and item.properties.get(names.UNIQUE_KEY) == message_id]

    async def _query(self, topic: str, key: str, count: int, begin_ms: int, end_ms: int) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        for address in await self._addresses(topic):
            records = await self.records_by_key(
                address, topic, key, count=count, begin_ms=begin_ms, until_ms=end_ms, timeout_ms=_QUERY_TIMEOUT_MS
            )
            found.extend(decode_records(records))
        return sorted(found, key=lambda message: message.store_timestamp_ms)

    async def consume_directly(self, group: str, client_id: str, offset_message_id: str) -> DirectConsumeResult:
        host, _ = parse_offset_message_id(offset_message_id)
        fields = {"consumerGroup": group, "clientId": client_id, "msgId": offset_message_id}
        command = RemotingCommand(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
        response = await self._instance.call(str(host), command, _DIRECT_TIMEOUT_MS)
        return read_consume_result(response.body)

    async def runtime_info(self, address: str) -> dict[str, str]:
        """Figures of a broker, under RocketMQ's keys."""
        return read_runtime(await self._body(address, RequestCode.GET_BROKER_RUNTIME_INFO))

    async def broker_settings(self, address: str) -> dict[str, str]:
        """Settings of a broker, under RocketMQ's keys."""
        return read_broker_settings(await self._body(address, RequestCode.GET_BROKER_CONFIG))
