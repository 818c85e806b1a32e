"""Administration of messages and brokers: search by key, one message consumed now, settings and figures of a broker.

Source: docs/spec/remoting.md §2.2.6, §2.4, §2.5.2, §2.5.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.client.admin_requests import AdminRequests
from broker_core.client.instance import answer_error
from broker_core.protocol.admin.brokers import read_broker_settings, read_runtime
from broker_core.protocol.admin.running import DirectConsumeResult, read_consume_result
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_records

QUERY_MESSAGES = 32
_TIME_MAX_MS = (1 << 63) - 1
_QUERY_TIMEOUT_MS = 18_000
_DIRECT_TIMEOUT_MS = 12_000


class MessageAdmin(AdminRequests):
    """Requests of the admin client about messages and brokers."""

    async def messages_by_key(
        self, topic: str, key: str, *, messages_max: int = QUERY_MESSAGES, begin_ms: int = 0, end_ms: int = _TIME_MAX_MS
    ) -> list[StoredMessage]:
        """Messages of a topic with ``key`` among their KEYS, stored from ``begin_ms`` to ``end_ms``, oldest first.

        At most ``messages_max`` come from each broker.
        """
        fields = {"maxNum": str(messages_max), "beginTimestamp": str(begin_ms), "endTimestamp": str(end_ms)}
        found = await self._query(topic, key, fields)
        # The index has only hashes.
        return [item for item in found if item.topic == topic and key in item.properties.get(names.KEYS, "").split()]

    async def messages_by_id(self, topic: str, message_id: str) -> list[StoredMessage]:
        """Messages of a topic with a unique id, oldest first: several when a producer repeated the send."""
        fields = {"maxNum": str(QUERY_MESSAGES), "beginTimestamp": "0", "endTimestamp": str(_TIME_MAX_MS)}
        found = await self._query(topic, message_id, fields)
        return [item for item in found if item.topic == topic and item.properties.get(names.UNIQUE_KEY) == message_id]

    async def _query(self, topic: str, key: str, fields: Mapping[str, str]) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        route = await self.readable_route(topic)
        for name in sorted(route.brokers):
            address = route.address_of(name)
            if address is None:
                continue
            # Without the flag for unique ids: see `records_by_key`.
            command = RemotingCommand(RequestCode.QUERY_MESSAGE, {"topic": topic, "key": key, **fields})
            response = await self._instance.request(address, command, _QUERY_TIMEOUT_MS)
            if response.code == ResponseCode.QUERY_NOT_FOUND:
                continue
            if response.code != ResponseCode.SUCCESS:
                raise answer_error(address, command.code, response)
            found.extend(decode_records(response.body))
        return sorted(found, key=lambda message: message.store_timestamp_ms)

    async def consume_directly(self, group: str, client_id: str, offset_message_id: str) -> DirectConsumeResult:
        host, _ = parse_offset_message_id(offset_message_id)
        fields = {"consumerGroup": group, "clientId": client_id, "msgId": offset_message_id}
        command = RemotingCommand(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
        response = await self._instance.call(str(host), command, _DIRECT_TIMEOUT_MS)
        return read_consume_result(response.body)

    async def runtime_info(self, address: str) -> dict[str, str]:
        """Figures of a broker, under RocketMQ's keys."""
        response = await self._instance.call(address, RemotingCommand(RequestCode.GET_BROKER_RUNTIME_INFO))
        return read_runtime(response.body)

    async def broker_settings(self, address: str) -> dict[str, str]:
        """Settings of a broker, under RocketMQ's keys."""
        response = await self._instance.call(address, RemotingCommand(RequestCode.GET_BROKER_CONFIG))
        return read_broker_settings(response.body)
