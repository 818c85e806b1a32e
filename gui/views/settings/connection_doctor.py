"""`ConnectionDoctor`: tests each hop to the broker, with its time and fault.

A process of its own (`ConnectionProbe`) tests those to an attached cluster, with the keys and the proxies of the connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtNetwork import QTcpSocket

from broker_core.api import RequestCode, addresses
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.searches import EndSearch
from gui.models.hops import ConnectionHop
from gui.operations.connection_probe import ConnectionProbe
from gui.operations.queries import LatestQuery
from monitoring.admin.runtime_figures import runtime_request
from monitoring.sources.base import ClusterSource, Pending, SourceStatus

REACH_MS = 3_000
WORKER, NAME_SERVER, BROKER, GRPC = "Broker process", "Name server", "Broker", "gRPC port"


class ReachHost(Protocol):
    """Connects to ``host:port``; later calls one of the two callbacks, `failed` with the reason."""

    def __call__(self, address: str, done: Callable[[], None], failed: Callable[[str], None], parent: QObject, /) -> None: ...


def reach_by_tcp(address: str, done: Callable[[], None], failed: Callable[[str], None], parent: QObject) -> None:
    """Open a connection like a client, and close it again."""
    host, port = addresses.split_address(address)
    socket = QTcpSocket(parent)
    limit = QTimer(socket)
    limit.setSingleShot(True)

    def end(tell: Callable[[], None]) -> None:
        limit.stop()
        socket.blockSignals(True)
        socket.abort()
        socket.deleteLater()
        tell()

    socket.connected.connect(lambda: end(done))
    socket.errorOccurred.connect(lambda _error: end(partial(failed, socket.errorString())))
    limit.timeout.connect(lambda: end(partial(failed, f"no connection within {REACH_MS // 1_000} s")))
    limit.start(REACH_MS)
    socket.connectToHost(host, int(port))


class ConnectionDoctor(QObject):
    """Tests one hop after the other; hops after a fault are not tested.

    Signals:
        changed: A hop was tested.
        ended: The last one was.
    """

    changed = Signal()
    ended = Signal()

    def __init__(
        self, source: ClusterSource, parent: QObject, *, reach: ReachHost | None = None, probe: ConnectionProbe | None = None
    ) -> None:
        super().__init__(parent)
        self._probe = probe or ConnectionProbe(self)
        self._probe.changed.connect(self._probed)
        self._probe.ended.connect(self.ended)
        self._source = source
        self._reach = reach or reach_by_tcp
        self._run = 0
        self._query: LatestQuery[Any] = LatestQuery(self)
        self._began_s = 0.0
        self.hops: list[ConnectionHop] = []

    def run(self) -> None:
        """Test all hops again; a running test is cancelled."""
        self._run += 1
        self._query.cancel()
        self._probe.cancel()
        ready = self._source.ready
        addresses = ("", "")
        if ready is not None:
            # Of several, the first.
            addresses = ready.name_server.partition(";")[0].strip(), ready.broker.partition(",")[0]
        if self._source.kept_under and self._source.connect_details:
            self._probe.start(self._source.name, self._source.connect_details)
            return
        self.hops = [ConnectionHop(WORKER, "this machine")]
        if ready is None or ready.runs_broker:
            self.hops += [ConnectionHop(NAME_SERVER, addresses[0]), ConnectionHop(BROKER, addresses[1])]
            self.hops += [ConnectionHop(GRPC, ready.grpc)] if ready is not None and ready.grpc else []
        if self._source.status is not SourceStatus.READY:
            reason = self._source.reason
            self._tried(0, -1.0, reason.message if reason is not None else "the broker is not running")
            return
        self._try(0)

    def _probed(self) -> None:
        probe = self._probe
        self.hops = probe.hops
        if probe.fault and not probe.hops:
            self.hops = [ConnectionHop(WORKER, "this machine", fault=probe.fault, is_tried=True)]
        self.changed.emit()

    def _asks(self, number: int) -> Pending[Any]:
        source = self._source
        asks: tuple[Callable[[], Pending[Any]], ...] = (
            # A request without effect: every worker answers it without a broker, also an attached one.
            lambda: source.ask(EndSearch(0)),
            lambda: source.ask(AskBroker(RequestCode.GET_NAMESRV_CONFIG, name_server=True)),
            lambda: source.ask(runtime_request()),
            # The connection itself is the test, because the worker has no request over gRPC.
            lambda: source.ask(EndSearch(0)),
        )
        return asks[number]()

    def _try(self, number: int) -> None:
        """Ask a hop; if it has an address, connect to it first, like a client."""
        self._began_s = time.monotonic()
        if number == 0:
            self._ask(number)
            return
        run = self._run
        address = self.hops[number].address
        if not address:
            self._tried(number, -1.0, "no address is known: it does not run, or serves no clients")
            return

        def current(work: Callable[[], None]) -> None:
            if run == self._run:
                work()

        self._reach(
            address,
            lambda: current(lambda: self._ask(number)),
            lambda reason: current(lambda: self._tried(number, -1.0, reason)),
            self,
        )

    def _ask(self, number: int) -> None:
        self._query.ask(
            self._asks(number),
            lambda _answer: self._tried(number, (time.monotonic() - self._began_s) * 1_000, ""),
            lambda error: self._tried(number, -1.0, error.message),
        )

    def _tried(self, number: int, took_ms: float, fault: str) -> None:
        self.hops[number] = replace(self.hops[number], took_ms=took_ms, fault=fault, is_tried=True)
        self.changed.emit()
        if not fault and number + 1 < len(self.hops):
            self._try(number + 1)
        else:
            self.ended.emit()
