"""Return of failed messages to the broker, which delivers them again later (Source: docs/spec/broker.md §8)."""

from __future__ import annotations

import logging

from broker_core.client.instance import ClientInstance
from broker_core.client.message import ReceivedMessage
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.names import AUTO_CREATE_TOPIC, retry_topic

logger = logging.getLogger(__name__)

DEFAULT_RECONSUME_TIMES = 16


class SendBack:
    """Sends failed messages of one group back; after ``reconsume_times_max`` retries a message becomes a dead letter."""

    def __init__(self, instance: ClientInstance, group: str, *, reconsume_times_max: int) -> None:
        self._instance = instance
        self._group = group
        self._reconsume_times_max = reconsume_times_max

    async def later(self, message: ReceivedMessage, delay_level: int = 0) -> bool:
        """Have a message delivered again after a pause; True when the broker has stored it.

        With ``delay_level`` 0 the broker chooses the pause by the number of retries; -1 makes it a dead letter.
        """
        stored = message.stored
        fields = {
            "offset": str(stored.physical_offset),
            "group": self._group,
            "delayLevel": str(delay_level),
            "originMsgId": message.message_id,
            "originTopic": message.queue.topic,
            "unitMode": "false",
            "maxReconsumeTimes": str(self._reconsume_times_max),
        }
        try:
            address = await self._instance.address_of(message.queue)
            timeout_ms = self._instance.config.send_back_timeout_ms
            await self._instance.call(address, RemotingCommand(RequestCode.CONSUMER_SEND_MSG_BACK, fields), timeout_ms)
        except (NetworkError, RemoteError) as error:
            logger.warning("message at %d of %s stays here: %s", message.queue_offset, message.queue, error)
            return False
        return True

    async def bury(self, message: ReceivedMessage) -> bool:
        """Have an orderly message, which used up its retries here, made a dead letter; True when it is stored."""
        stored = message.stored
        origin = offset_message_id(stored.store_host, stored.physical_offset)
        properties = {
            **stored.properties,
            names.RETRY_TOPIC: message.topic,
            names.ORIGIN_MESSAGE_ID: stored.properties.get(names.ORIGIN_MESSAGE_ID, origin),
        }
        for name in (names.DELAY, names.TRANSACTION_PREPARED, names.RECONSUME_TIME, names.MAX_RECONSUME_TIMES):
            properties.pop(name, None)
        fields = {
            "a": self._group,
            "b": retry_topic(self._group),
            "c": AUTO_CREATE_TOPIC,
            "d": "1",
            "e": "0",
            "f": str(stored.sys_flag & _BODY_FLAGS),
            "g": str(stored.born_timestamp_ms),
            "h": str(stored.flag),
            "i": names.encode_properties(properties).decode(),
            "j": str(self._reconsume_times_max + 1),  # 5.1 and later ask for more than the limit
            "k": "false",
            "l": str(self._reconsume_times_max),
            "m": "false",
            "n": message.queue.broker_name,
        }
        try:
            address = await self._instance.address_of(message.queue)
            await self._instance.call(address, RemotingCommand(RequestCode.SEND_MESSAGE_V2, fields, stored.body))
        except (NetworkError, RemoteError) as error:
            logger.warning("message at %d of %s is not buried: %s", message.queue_offset, message.queue, error)
            return False
        return True


_BODY_FLAGS = 0x701
"""SYSFLAG bits that say how the body is compressed."""
