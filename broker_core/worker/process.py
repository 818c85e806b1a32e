"""The worker process: the engine, the channel to the window, and a guaranteed end.

    start   channel taken → Hello → store recovered (Stage) → Ready → Catalog, then Snapshots
    end     input ends, SIGTERM, SIGINT or Shutdown → engine stopped → exit; after 10 s by force

It ends with the window, because the end of the input, even in the middle of a message, is the window's end.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.errors import BugError, OrbitError, WorkerError
from broker_core.platform import memory
from broker_core.worker.channel.schema import PROTOCOL_VERSION, Cancel, Failure, Reply, Request, WindowMessage
from broker_core.worker.channel.worker_end import ChannelReader, ChannelWriter, take_channel
from broker_core.worker.logs import log_file_of, start_logging
from broker_core.worker.questions.lifecycle import Fatal, Hello, Ready, Stage

if TYPE_CHECKING:
    from broker_core.engine.broker.embedded import EmbeddedBroker
    from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
    from broker_core.worker.embedded.stored_engine import StoredEngine
    from broker_core.worker.history import Figures, HistoryService, OpenHistory
    from broker_core.worker.questions.question import Question

_Answer = TypeVar("_Answer")

logger = logging.getLogger(__name__)

SNAPSHOT_SECONDS = 0.1
ATTACHED_SNAPSHOT_SECONDS = 0.5
"""Figures of an attached cluster are read once a second."""
FIRST_LOOK_SECONDS = 0.005
FIRST_LOOKS_MAX = 200
"""How often to check that the window has read `Ready`, before figures are sent nevertheless."""
REQUESTS_MAX = 1_024
STOP_SECONDS_MAX = 10.0
FORCED_EXIT_CODE = 71
_LAST_WORDS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    config: BrokerConfig
    orbit_version: str
    any_port: bool = False
    """Whether to take other ports when those of ``config`` are in use."""
    log_directory: Path | None = None
    open_history: OpenHistory | None = None
    read_only: bool = False
    """Whether to refuse questions of the window that change something."""
    files_only: bool = False
    """Whether no broker runs and the store is only read; implies ``read_only``."""
    attach: AttachOptions | None = None
    """A cluster to attach to instead of an engine; ``config.store.root`` is then the folder of its records."""
    open_as_guest: OpenHistory | None = None
    """Opens the history that another process records in that folder; None: keep none then."""


class Answers(Protocol):
    """Answers the window: `broker_core.worker.embedded.queries.Queries`, or `…attached.queries.ClusterQueries`."""

    async def answer(self, question: Question[_Answer]) -> _Answer: ...


def run_worker(options: WorkerOptions) -> int:
    """Run the worker until its end; returns the exit code of the process."""
    files = take_channel()
    memory.bound_heap()
    start_logging(log_file_of(options.config.store.root, options.log_directory))
    worker = _Worker(options, input_fd=files.input_fd, output_fd=files.output_fd)
    worker.say_hello()
    # The engine is imported after Hello, so that the window knows that the process lives.
    from broker_core.transport.event_loop import new_event_loop

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(worker.run())


class _Worker:
    def __init__(self, options: WorkerOptions, *, input_fd: int, output_fd: int) -> None:
        self._options = options
        self._input_fd = input_fd
        self._began = time.monotonic()
        self._writer = ChannelWriter(output_fd, broken=lambda: self._end_soon("the window does not read any more"))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked: asyncio.Event | None = None
        self._force_timer: threading.Timer | None = None
        self._end_lock = threading.RLock()
        self._queries: Answers | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def say_hello(self) -> None:
        self._writer.send(Hello(PROTOCOL_VERSION, os.getpid(), self._options.orbit_version))

    async def run(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        self._watch_ends()
        try:
            attach = self._options.attach
            code = await (self._run_engine() if attach is None else self._run_attached(attach))
        except OrbitError as error:
            logger.error("the worker cannot go on: %s", error)
            self._writer.send(Fatal(error.kind, error.message, error.context))
            code = error.exit_code
        except Exception as error:
            logger.exception("the worker failed")
            self._writer.send(Fatal("BugError", f"the broker process failed: {error!r}; its log has the details"))
            code = 70
        self._force_exit_later()
        await asyncio.to_thread(self._writer.close, _LAST_WORDS_SECONDS)
        logger.info("ended with exit code %d", code)
        return code

    # ---- the end ----

    def _watch_ends(self) -> None:
        from broker_core.transport.event_loop import on_stop_signals

        assert self._loop is not None
        on_stop_signals(self._loop, self._end_soon)
        reader = ChannelReader(
            self._input_fd,
            received=self._received,
            ended=lambda fault: self._end_soon(f"the input ended{': ' if fault else ''}{fault}"),
            wait_for_room=self._writer.wait_for_room,
        )
        reader.start()

    def _end_soon(self, reason: str) -> None:
        """Ask for the end, from any thread; the process is gone after 10 s, even if the loop hangs."""
        with self._end_lock:
            if self._force_timer is not None:
                return
            logger.info("stopping: %s", reason)
            self._force_exit_later()
        if self._loop is not None and self._stop_asked is not None:
            self._loop.call_soon_threadsafe(self._stop_asked.set)

    def _force_exit_later(self) -> None:
        with self._end_lock:
            if self._force_timer is None:
                self._force_timer = threading.Timer(STOP_SECONDS_MAX, _exit_by_force)
                self._force_timer.daemon = True
                self._force_timer.start()

    # ---- the engine ----

    async def _run_engine(self) -> int:
        if self._options.files_only:
            from broker_core.worker.embedded.stored_engine import StoredEngine

            engine = StoredEngine(self._options.config)
            return await self._run_on(engine, None, self._options.config, lambda: engine.notice)
        from broker_core.engine.broker.embedded import EmbeddedBroker
        from broker_core.engine.store.machine_code import faults_noted
        from broker_core.worker.ports import with_free_ports

        config, notice = self._options.config, ""
        if self._options.any_port:
            config, notice = with_free_ports(config)
        broker = EmbeddedBroker(config)
        with faults_noted(config.store):
            return await self._run_on(broker, broker, config, lambda: notice)

    async def _run_on(
        self,
        engine: EmbeddedBroker | StoredEngine,
        console: EmbeddedBroker | None,
        config: BrokerConfig,
        notice: Callable[[], str],
    ) -> int:
        from broker_core.worker.embedded.queries import Queries
        from broker_core.worker.embedded.sampler import Sampler

        self._writer.send(Stage("Opening the store"))
        if not await self._unless_ended(engine.start(lambda *progress: self._writer.send(Stage(*progress)))):
            return 0
        history = self._history(config)
        self._queries = queries = Queries(
            engine,
            console=console,
            shut_down=lambda: self._end_soon("the window asked for it"),
            history=history,
            read_only=self._options.read_only or self._options.files_only,
        )
        self._writer.send(self._ready(engine, config, notice()))
        try:
            await self._serve(Sampler(engine, clock=wall_clock_ms), history)
        finally:
            self._writer.send(Stage("Stopping"))
            await self._end_requests()
            queries.close()
            if history is not None:
                # Before the engine, which owns the directory.
                await asyncio.to_thread(history.close)
            await engine.stop()
        return 0

    def _history(self, config: BrokerConfig) -> HistoryService | None:
        from broker_core.worker.history import history_of

        open_history = self._options.open_history
        if open_history is None or not config.keep_history or self._options.files_only:
            return None
        return history_of(config, open_history, started_ms=wall_clock_ms())

    async def _run_attached(self, attach: AttachOptions) -> int:
        """As `_run_engine`, for a cluster that runs elsewhere."""
        from broker_core.worker.attached.cluster import AttachedCluster
        from broker_core.worker.attached.queries import ClusterQueries
        from broker_core.worker.attached.recording import TAKEN_OVER, open_recording

        cluster, loop = AttachedCluster(attach), asyncio.get_running_loop()

        def taken_over() -> None:
            loop.call_soon_threadsafe(cluster.figures.recording_taken_over, TAKEN_OVER)

        self._writer.send(Stage(f"Connecting to {attach.name_servers}"))
        folder = self._options.config.store.root.absolute()
        recording = None
        queries = None
        # The modules stay: a garbage collection of them takes 17 ms, in the midst of the first figures.
        gc.freeze()
        try:
            if not await self._connected(cluster):
                return 0
            options = self._options
            recording = open_recording(
                folder,
                options.open_history,
                cluster=attach.name_servers,
                open_as_guest=options.open_as_guest,
                taken_over=taken_over,
            )
            self._queries = queries = ClusterQueries(
                cluster.link,
                cluster.figures,
                cluster.sampling,
                shut_down=lambda: self._end_soon("the window asked for it"),
                history=recording.history,
                read_only=self._options.read_only,
            )
            startup_ms = round((time.monotonic() - self._began) * 1_000)
            read_only, notice = self._options.read_only, recording.notice
            self._writer.send(cluster.ready(folder=str(folder), startup_ms=startup_ms, notice=notice, read_only=read_only))
            # While the window reads `Ready`.
            cluster.figures.listed()
            await self._serve(
                cluster.figures,
                recording.history,
                snapshot_seconds=ATTACHED_SNAPSHOT_SECONDS,
                # Not before: the answers of brokers would be read while the window waits for the names that are known.
                told=cluster.sampling.start,
            )
        finally:
            self._writer.send(Stage("Stopping"))
            await self._end_requests()
            if queries is not None:
                await queries.close()
            await cluster.close()
            if recording is not None:
                await asyncio.to_thread(recording.close)
        return 0

    async def _connected(self, cluster: AttachedCluster) -> bool:
        """Wait for the cluster; False when the end was requested before it answered."""

        def failed(reason: str) -> None:
            self._writer.send(Stage(f"Not connected, tried again until it works: {reason}"))

        return await self._unless_ended(cluster.connect_in_time(failed)) and await self._unless_ended(cluster.sampling.greet())

    async def _unless_ended(self, beginning: Coroutine[Any, Any, None]) -> bool:
        from broker_core.transport.event_loop import unless_stopped

        assert self._stop_asked is not None
        return await unless_stopped(beginning, self._stop_asked)

    def _ready(self, engine: EmbeddedBroker | StoredEngine, config: BrokerConfig, notice: str) -> Ready:
        return Ready(
            name_server=engine.name_server_address,
            broker=engine.broker_address,
            store_directory=str(config.store.root.absolute()),
            cluster_name=config.cluster_name,
            broker_name=config.broker_name,
            started_ms=wall_clock_ms(),
            startup_ms=round((time.monotonic() - self._began) * 1_000),
            notice=notice,
            read_only=self._options.read_only or self._options.files_only,
            commit_log=_spread_over(config.store),
            own_access=_own_access(engine, config),
            grpc=engine.grpc_address,
        )

    async def _serve(
        self,
        figures: Figures,
        history: HistoryService | None,
        *,
        snapshot_seconds: float = SNAPSHOT_SECONDS,
        told: Callable[[], None] | None = None,
    ) -> None:
        """Send and record figures until the end; ``told`` is called once, after the first."""
        from broker_core.worker.history import SAMPLING_SHARE_MAX, FigureFeed

        assert self._stop_asked is not None
        feed = FigureFeed(figures, send=self._writer.send, history=history, clock=wall_clock_ms)
        await self._until_read()
        pause = 0.0
        while not self._stop_asked.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop_asked.wait(), pause)
            pause = snapshot_seconds
            began = time.perf_counter()
            if not self._stop_asked.is_set() and feed.pass_on(window_reads=self._writer.is_idle):
                took = time.perf_counter() - began
                pause = max(snapshot_seconds - took, took / SAMPLING_SHARE_MAX)
            if told is not None:
                told()
                told = None

    async def _until_read(self) -> None:
        """Wait for the window's first read: earlier figures would be recorded alone, and the next are due much later."""
        assert self._stop_asked is not None
        for _look in range(FIRST_LOOKS_MAX):
            if self._writer.is_idle or self._stop_asked.is_set():
                return
            await asyncio.sleep(FIRST_LOOK_SECONDS)

    # ---- requests ----

    def _received(self, message: WindowMessage) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._take, message)

    def _take(self, message: WindowMessage) -> None:
        if isinstance(message, Cancel):
            task = self._tasks.get(message.request_id)
            if task is not None:
                task.cancel()
        elif self._queries is None:
            self._fail(message, WorkerError("the broker is still starting, or already stopping; try again when it is ready"))
        elif len(self._tasks) >= REQUESTS_MAX:
            self._fail(message, WorkerError(f"{REQUESTS_MAX} requests are not answered yet; wait for some of them"))
        else:
            self._tasks[message.request_id] = asyncio.create_task(self._answer(self._queries, message))

    async def _answer(self, queries: Answers, request: Request) -> None:
        try:
            self._writer.send(Reply(request.request_id, await queries.answer(request.body)))
        except OrbitError as error:
            self._fail(request, error)
        except Exception as error:
            logger.exception("request %d failed: %.500r", request.request_id, request.body)
            self._fail(request, BugError(f"the broker process failed at this request: {error!r}; its log has the details"))
        finally:
            del self._tasks[request.request_id]

    def _fail(self, request: Request, error: OrbitError) -> None:
        self._writer.send(Failure(request.request_id, error.kind, error.message, error.context))

    async def _end_requests(self) -> None:
        self._queries = None
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _exit_by_force() -> None:
    logger.error("not stopped within %d s; ending by force, the next start recovers the store", STOP_SECONDS_MAX)
    logging.shutdown()
    os._exit(FORCED_EXIT_CODE)


def _own_access(engine: EmbeddedBroker | StoredEngine, config: BrokerConfig) -> str:
    keys = engine.own_credentials
    details: dict[str, str | bool] = {}
    if keys is not None:
        details |= {"accessKey": keys.access_key, "secretKey": keys.secret_key}
    if config.has_tls and config.tls_mode == "enforcing":
        # The certificate names the hosts that clients use, which need not be loopback.
        details |= {"tls": True, "verify": False}
    return json.dumps({"nameServers": engine.name_server_address, **details}) if details else ""


def _spread_over(store: StoreConfig) -> str:
    """Directories of a commit log, joined by commas, where it lies not only in the store's own one; else empty."""
    from broker_core.engine.store.log_places import SEPARATOR, log_directories

    usual = store.root.absolute() / "commitlog"
    directories = log_directories(store, usual)
    return "" if directories == [usual] else SEPARATOR.join(map(str, directories))
