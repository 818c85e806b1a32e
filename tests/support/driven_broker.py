"""The whole broker, driven by hand: requests without sockets, time that a test moves, restarts and kills.

Its loop runs only inside of the methods here, so that between two of them the files do not change.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from broker_core.config import BrokerConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from tests.support.broker_bench import RecordingPeer
from tests.support.clock import ManualClock

_STEP_MS = 1_000
_TURNS = 12
"""Of the loop after each step of time, for what one alarm asks of the next."""
_ANSWER_SECONDS = 60
_SLOWER = 20

_Result = TypeVar("_Result")


class MovedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be moved on; alarms that are due then ring at once.

    By itself it goes slowly, so that no connection times out on a machine that is busy.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moved_seconds = 0.0

    def time(self) -> float:
        return super().time() / _SLOWER + self.moved_seconds


class DrivenBroker:
    """A broker on a store directory.

    Args:
        config: Its settings; the ports should be 0.
        clock: Its time.

    Attributes:
        root: The store directory; another one after each `kill`.
    """

    def __init__(self, config: BrokerConfig, clock: ManualClock) -> None:
        self._config = config
        self.clock = clock
        self._loop = MovedLoop()
        self._kills = 0
        self.root = config.store.root
        self.start()

    # ---- life ----

    def start(self) -> None:
        self.broker = EmbeddedBroker(replace(self._config, store=replace(self._config.store, root=self.root)), clock=self.clock)
        self._run(self.broker.start())

    def stop(self) -> None:
        self._run(self.broker.stop())

    def kill(self) -> Path:
        """Copy the files as they are now, which is what a kill leaves, and go on in the copy; returns the left directory."""
        left, self._kills = self.root, self._kills + 1
        self.root = self._config.store.root.with_name(f"{self._config.store.root.name}-{self._kills}")
        self._run(self.broker._files.settle())
        parts = self.store._parts
        with parts.index._lock, parts.writer.write_lock:  # a kill is at one moment, and a copy is not
            subprocess.run(["cp", "-a", "--sparse=always", str(left), str(self.root)], check=True)
        self.stop()
        return left

    def close(self) -> None:
        """Stop, and end the loop with its threads."""
        self.stop()
        self._run(self._loop.shutdown_default_executor())
        self._loop.close()

    @property
    def store(self) -> MessageStore:
        return self.broker.store

    # ---- requests and time ----

    def ask(self, code: int, fields: Mapping[str, object] | None = None, body: Any = b"") -> RemotingCommand:
        """Serve a request, and wait for its answer."""
        return self._run(self._ask(code, fields or {}, body if isinstance(body, bytes) else emit(body)))

    async def _ask(self, code: int, fields: Mapping[str, object], body: bytes) -> RemotingCommand:
        peer, loaded = RecordingPeer(), self.broker._loaded
        assert loaded is not None
        ext = {key: str(value) for key, value in fields.items()}
        answer = loaded.dispatcher.handle(peer, RemotingCommand(code, ext, body, opaque=7))
        deadline = self._loop.time() + _ANSWER_SECONDS
        while answer is None and not peer.sent:
            assert self._loop.time() < deadline, f"request {code} is not answered"
            await asyncio.sleep(0.001)
        return answer if answer is not None else peer.sent[0]

    def advance(self, milliseconds: int) -> None:
        """Let time pass, in steps of a second, with all that the broker does meanwhile."""
        for start in range(0, milliseconds, _STEP_MS):
            step = min(_STEP_MS, milliseconds - start)
            self.clock.advance(step)
            self._loop.moved_seconds += step / 1000
            self._run(self._turn())

    async def _turn(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return self._loop.run_until_complete(work)
