"""Locks of an orderly consumer on its queues at the brokers (Source: docs/spec/broker.md §6.3, §7.5).

A lock is trusted for ``lock_valid_ms`` after the broker confirmed it, half of the time that the broker keeps it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from broker_core.client.instance import ClientInstance
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object

logger = logging.getLogger(__name__)


class HeldLocks:
    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group
        self._confirmed: dict[MessageQueue, float] = {}

    def holds(self, queue: MessageQueue) -> bool:
        """Whether the lock of a queue was confirmed within ``lock_valid_ms``."""
        confirmed = self._confirmed.get(queue)
        valid_s = self._instance.config.lock_valid_ms / 1000
        return confirmed is not None and asyncio.get_running_loop().time() - confirmed < valid_s

    async def lock(self, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
        """Take or renew locks; returns the queues locked by others. A broker that is not reached changes nothing."""
        lost: set[MessageQueue] = set()
        for address, asked in (await self._by_broker(queues)).items():
            now = asyncio.get_running_loop().time()
            try:
                response = await self._instance.call(address, self._command(RequestCode.LOCK_BATCH_MQ, asked))
                body = parse_object(response.body)
            except (NetworkError, RemoteError, CodecError) as error:
                logger.warning("%d queues of group %s are not locked: %s", len(asked), self._group, error)
                continue
            held = {as_message_queue(item) for item in body.get("lockOKMQSet") or ()}
            for queue in asked:
                if queue in held:
                    self._confirmed[queue] = now
                else:
                    self._confirmed.pop(queue, None)
                    lost.add(queue)
        return lost

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Release locks; one whose broker is not reached expires."""
        gone = list(queues)
        for queue in gone:
            self._confirmed.pop(queue, None)
        for address, asked in (await self._by_broker(gone)).items():
            try:
                await self._instance.call(address, self._command(RequestCode.UNLOCK_BATCH_MQ, asked))
            except (NetworkError, RemoteError) as error:
                logger.info("%d queues of group %s are not unlocked: %s", len(asked), self._group, error)

    def _command(self, code: RequestCode, queues: list[MessageQueue]) -> RemotingCommand:
        body = {"clientId": self._instance.client_id, "consumerGroup": self._group, "mqSet": queues}
        return RemotingCommand(code, body=emit(body))

    async def _by_broker(self, queues: Iterable[MessageQueue]) -> dict[str, list[MessageQueue]]:
        found: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            try:
                found.setdefault(await self._instance.address_of(queue), []).append(queue)
            except (NetworkError, RemoteError) as error:
                logger.warning("the lock of %s cannot be asked for: %s", queue, error)
        return found
