"""Housekeeping on request: old files, empty queues, forgotten topics (Source: docs/spec/remoting.md §2.5.8).

Deleting files takes time, so it runs on a thread, one request after the other; the answer is sent at its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import StoreError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand

logger = logging.getLogger(__name__)


class MaintenanceProcessor:
    """Serves CLEAN_EXPIRED_CONSUMEQUEUE, CLEAN_UNUSED_TOPIC and DELETE_EXPIRED_COMMITLOG; a `Service` too."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Nothing runs before a request."""

    async def stop(self) -> None:
        """Let pending requests finish, because the store closes next."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def clean_queues(self, peer: Peer, command: RemotingCommand) -> None:
        """Delete queue files whose messages are gone. Queues keep their numbering, so that no group starts over."""
        self._run(peer, command, lambda: f"{self._state.store.clean_queues()} consume queue files")

    def delete_expired(self, peer: Peer, command: RemotingCommand) -> None:
        """Delete files older than ``fileReservedTime``, at any hour."""
        self._run(peer, command, lambda: str(self._state.store.clean()))

    def clean_unused_topics(self, peer: Peer, command: RemotingCommand) -> None:
        """Delete the queues of topics that are no longer in the topic table."""
        state = self._state
        kept = {topic for topic, _ in state.store.queues() if topic in state.topics or state.topics.is_system(topic)}
        unused = sorted({topic for topic, _ in state.store.queues()} - kept)

        def work() -> str:
            for topic in unused:
                state.store.remove_topic(topic)
            return f"topics {', '.join(unused) or 'none'}"

        self._run(peer, command, work)

    def _run(self, peer: Peer, command: RemotingCommand, work: Callable[[], str]) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(peer, command, work), name="store maintenance")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, peer: Peer, command: RemotingCommand, work: Callable[[], str]) -> None:
        async with self._one_at_a_time:
            try:
                done = await asyncio.to_thread(work)
            except StoreError as error:
                response = command.reply(ResponseCode.SYSTEM_ERROR, error.message)
            else:
                logger.info("request %d of %s deleted: %s", command.code, peer.remote_address, done)
                response = command.reply()
        if not command.is_oneway:
            peer.send(response)
