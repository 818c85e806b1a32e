"""Name server and broker in the foreground, without a window: ``orbit broker``."""

from __future__ import annotations

import asyncio
import logging
import sys

from broker_core.broker.embedded import EmbeddedBroker
from broker_core.config import BrokerConfig
from broker_core.worker.event_loop import new_event_loop, on_stop_signals
from broker_core.worker.logs import start_logging

logger = logging.getLogger(__name__)


def run_headless(config: BrokerConfig) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process.

    Prints one line to standard output when clients are served, all else goes to standard error.

    Raises:
        OrbitError: It cannot start.
    """
    start_logging(None)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(config))
    return 0


async def _serve(config: BrokerConfig) -> None:
    stop = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), lambda _signal: stop.set())
    broker = EmbeddedBroker(config)
    starting = asyncio.create_task(broker.start(_log_progress))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait((starting,))
        return
    try:
        await starting
    except BaseException:
        stopping.cancel()
        raise
    store = config.store.root.absolute()
    sys.stdout.write(f"ready name-server={broker.name_server_address} broker={broker.broker_address} store={store}\n")
    sys.stdout.flush()
    await stopping
    logger.info("stopping")
    await broker.stop()


def _log_progress(text: str, done: int, total: int) -> None:
    logger.info("%s: %d of %d bytes", text, done, total)
