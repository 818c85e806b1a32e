"""Name server and broker in the foreground, without a window: ``orbit broker``."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.store.machine_code import faults_noted
from broker_core.parts import HISTORY, install_text, lacks
from broker_core.platform import memory
from broker_core.transport.event_loop import new_event_loop, on_stop_signals, unless_stopped
from broker_core.worker.logs import start_logging

if TYPE_CHECKING:
    from broker_core.worker.history import OpenHistory

FIRST_CLIENTS_SECONDS = 0.5
"""For so long only clients are served, because the imports of the history would hold up their first requests."""

EXIT_UNWRITTEN = 1

logger = logging.getLogger(__name__)


def run_headless(config: BrokerConfig, open_history: OpenHistory | None = None) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process. Raises an `OrbitError` where it cannot start.

    The code is `EXIT_UNWRITTEN` if a stop could not write all configuration files, else 0.

    Prints one line to standard output when clients are served; all else is written to standard error. ``open_history`` opens
    the history of the store; None: none is kept, nor is one where what records it is not installed.
    """
    memory.bound_heap()
    start_logging(None)
    missing = lacks(HISTORY) if config.keep_history and open_history is not None else []
    if missing:
        logger.warning("no history is kept: %s", install_text(HISTORY, missing))
    with faults_noted(config.store), asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_serve(config, open_history if config.keep_history and not missing else None))


async def _serve(config: BrokerConfig, open_history: OpenHistory | None) -> int:
    stop = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), lambda _signal: stop.set())
    started_ms = wall_clock_ms()
    broker = EmbeddedBroker(config)
    if not await unless_stopped(broker.start(_log_progress), stop):
        return 0
    store = config.store.root.absolute()
    grpc = "off" if broker.grpc is None else broker.grpc.server.address
    addresses = f"name-server={broker.name_server_address} broker={broker.broker_address} grpc={grpc}"
    sys.stdout.write(f"ready {addresses} store={store}\n")
    sys.stdout.flush()
    # The modules stay: a garbage collection need not look at them.
    gc.freeze()
    gc.enable()
    async with _recorded(broker, open_history, started_ms, stop):
        await stop.wait()
        logger.info("stopping")
    return EXIT_UNWRITTEN if await broker.stop() else 0


@contextlib.asynccontextmanager
async def _recorded(
    broker: EmbeddedBroker, open_history: OpenHistory | None, started_ms: int, stop: asyncio.Event
) -> AsyncIterator[None]:
    """Keep the history while the block lasts; it ends before the broker, which owns the directory."""
    if open_history is None:
        yield
        return
    recording = asyncio.create_task(_record(broker, open_history, started_ms, stop))
    recording.add_done_callback(_tell_failure)
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait((recording,))


async def _record(broker: EmbeddedBroker, open_history: OpenHistory, started_ms: int, stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), FIRST_CLIENTS_SECONDS)
    await asyncio.to_thread(importlib.import_module, "broker_core.worker.history")
    from broker_core.worker.history import history_of, record

    history = history_of(broker.config, open_history, started_ms=started_ms)
    try:
        await record(broker, history, stop)
    finally:
        await asyncio.to_thread(history.close)


def _tell_failure(recording: asyncio.Task[None]) -> None:
    """Log why the history ended; the broker continues without it."""
    if not recording.cancelled() and recording.exception() is not None:
        logger.error("no history is kept any more", exc_info=recording.exception())


def _log_progress(text: str, done: int, total: int) -> None:
    logger.info("%s: %d of %d bytes", text, done, total)
