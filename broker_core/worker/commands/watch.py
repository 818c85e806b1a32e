"""Command line of `watch`: the history of a cluster that runs elsewhere, recorded without a window.

    watch (--ns HOST:PORT | --connection NAME | --connection-file FILE) [--folder DIR] [--seconds N]

The window reads the same folder when it connects to this cluster. SIGTERM and SIGINT end it with everything written.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.cluster.access import HELP, ClusterAccess, FindSaved, access_of, add_access, no_saved
from broker_core.cluster.history_folder import folder_of
from broker_core.errors import NetworkError, OrbitError, StoreError, UsageError
from broker_core.json_errors import fail
from broker_core.parts import HISTORY, require
from broker_core.transport.event_loop import on_stop_signals, unless_stopped
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.figures import NOTHING_COMES
from broker_core.worker.attached.recording import open_recording
from broker_core.worker.channel.schema import WorkerMessage
from broker_core.worker.history import SAMPLE_MS, FigureFeed, HistoryService, OpenHistory
from broker_core.worker.logs import start_logging

logger = logging.getLogger(__name__)


def main(argv: list[str], *, open_history: OpenHistory, find_saved: FindSaved = no_saved) -> int:
    """Record until a signal or ``--seconds`` ends it; ``find_saved`` reads saved connections.

    Returns:
        0, or the error's code; that of a connection where none was made within ``--seconds``.
    """
    arguments = _parser().parse_args(argv)
    start_logging(None)
    try:
        if arguments.seconds is not None and not arguments.seconds > 0:
            raise UsageError(f"{arguments.seconds:g} seconds cannot be recorded: give more than 0")
        require(HISTORY)
        access = access_of(arguments, find_saved)
        assert access is not None  # the parser wants one
        folder = arguments.folder or folder_of(access.kept_as or access.name_servers)
        asyncio.run(_watch(access, folder.absolute(), arguments.seconds, open_history))
    except OrbitError as error:
        return fail("orbit watch", error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orbit watch",
        description="Record the figures of a RocketMQ cluster once a second, without a window; changes nothing in it.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_access(parser.add_mutually_exclusive_group(required=True))
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to record; default: as the window does")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long; default: until it is stopped")
    return parser


async def _watch(access: ClusterAccess, folder: Path, seconds: float | None, open_history: OpenHistory) -> None:
    name_servers = access.name_servers
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stop_signals(loop, lambda _signal: stop.set())
    cluster = AttachedCluster(AttachOptions(name_servers, security=access.security))
    recording = open_recording(folder, open_history, cluster=name_servers)
    if recording.history is None:
        await cluster.close()
        raise StoreError(recording.notice)
    try:
        timer = None if seconds is None else loop.call_later(seconds, stop.set)
        reason = await _connect(cluster, stop)
        if reason is None:
            brokers = ",".join(cluster.link.numbers.names)
            sys.stdout.write(f"watching name-server={name_servers} brokers={brokers} folder={folder}\n")
            sys.stdout.flush()
            cluster.sampling.start()
            await _record(cluster, recording.history, stop)
        elif timer is not None and timer.when() <= loop.time():
            raise NetworkError(f"nothing was recorded in {seconds:g} s: {reason}", address=name_servers)
    finally:
        await cluster.close()
        await asyncio.to_thread(recording.close)


async def _connect(cluster: AttachedCluster, stop: asyncio.Event) -> str | None:
    """Find the brokers, however long it takes; returns the reason of their absence where ``stop`` is set before."""
    reason = "no name server has answered yet"

    def failed(told: str) -> None:
        nonlocal reason
        reason = told
        logger.warning("%s", told)

    return None if await unless_stopped(cluster.connect_in_time(failed), stop) else reason


async def _record(cluster: AttachedCluster, history: HistoryService, stop: asyncio.Event) -> None:
    feed = FigureFeed(cluster.figures, send=_nowhere, history=history, clock=wall_clock_ms)
    reasons: dict[str, str] = {}
    while not stop.is_set():
        feed.pass_on(window_reads=False)
        reasons = _tell_changes(reasons, cluster.figures.reasons())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), SAMPLE_MS / 2_000)


def _tell_changes(before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """Log which parts of the cluster are missing in the record, and which are back; returns ``now``."""
    for part, reason in now.items():
        # A broker that answers in part may lack another part each second.
        if part not in before or (reason.startswith(NOTHING_COMES) and not before[part].startswith(NOTHING_COMES)):
            logger.warning("%s: %s", part, reason)
    for part in before.keys() - now.keys():
        logger.info("%s answers again as it should", part)
    return now


def _nowhere(_message: WorkerMessage) -> None:
    """There is no window."""
