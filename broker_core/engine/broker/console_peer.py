"""The console as a peer: its requests reach the processors without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker_core.engine.tables.peer import UnpacedPeer
from broker_core.errors import OrbitError, WorkerError
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.frame import RemotingCommand

ANSWER_SECONDS = 15.0
"""Longest wait for a later answer; a client that is asked for its stacks has 10 s."""


class ConsolePeer(UnpacedPeer):
    """Sends requests of the window to processors, one at a time each. On the engine's loop only.

    Unlike a connection it subscribes to nothing: oneway requests to it are dropped.
    """

    remote_address = "console"
    language = LanguageCode.PYTHON
    version = RemotingCommand(0).version
    serialize_type = SerializeType.JSON

    def __init__(self) -> None:
        self._answer: asyncio.Future[RemotingCommand] | None = None

    def send(self, command: RemotingCommand) -> bool:
        """Take the answer to the request."""
        answer = self._answer
        if answer is None or answer.done():
            return False
        answer.set_result(command)
        return True

    def send_now(self, command: RemotingCommand) -> bool:
        return self.send(command)

    def send_oneway(self, _command: RemotingCommand) -> bool:
        """Drop a notice; the console's figures show the same."""
        return True

    def ask(self, command: RemotingCommand, _timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        """Refuse: the console is no client that answers requests."""
        answered(WorkerError(f"the console answers no requests (code {command.code})"))

    async def answer_of(
        self, handle: Callable[[ConsolePeer, RemotingCommand], RemotingCommand | None], command: RemotingCommand
    ) -> RemotingCommand:
        """The answer of ``handle``, at once or later.

        Raises:
            WorkerError: There was none within `ANSWER_SECONDS`.
        """
        self._answer = asyncio.get_running_loop().create_future()
        at_once = handle(self, command)
        if at_once is not None:
            return at_once
        try:
            return await asyncio.wait_for(self._answer, ANSWER_SECONDS)
        except TimeoutError as error:
            raise WorkerError(
                f"no answer to request {command.code} in {ANSWER_SECONDS:g} s; the client that was asked may be gone, or the "
                "disk be slow to take a change: look at what is so now before you ask again"
            ) from error
