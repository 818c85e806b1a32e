"""Pages over three sources that had the same traffic: our own broker, RocketMQ 4.9.4 and 5.3.3. They show the same."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message, RawMessage
from broker_core.client.offsets import ConsumeFrom
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.client.push_consumer import PushConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.message.properties import encode_properties
from broker_core.remoting.json_body import MessageQueue
from gui.bridge.worker_process import WorkerOptions, WorkerProcess
from gui.models.table import ColumnTableModel
from gui.views.page import PageView
from gui.views.registry import PAGES
from gui.widgets.data_grid import DataGrid
from monitoring.sources.base import SourceStatus
from tests.support.client_thread import ClientThread
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(600)]

TIMEOUT_S = 60.0
BROKER = "broker-a"
ORDERS, QUEUES = 30, 3
COMMITTED = (4, 10, 0)
SMALL = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}


# ---- the traffic -------------------------------------------------------------------------------------------------------


@dataclass
class Traffic:
    """What is sent, and the clients that stay."""

    name_server: str
    clients: ClientThread
    online: list[Producer | PushConsumer] = field(default_factory=list)

    def begin(self) -> None:
        self.clients.call(self._begin())

    def end(self) -> None:
        for client in self.online:
            self.clients.call(client.close())

    async def _begin(self) -> None:
        async with AdminClient(self.name_server) as admin:
            for topic, queues in (("orders", QUEUES), ("pay", 1), ("%DLQ%billing", 1)):
                await admin.create_topic(topic, queues=queues)
            for group in ("billing", "audit"):
                await admin.set_group(group)
            shop = Producer(self.name_server, "shop")
            await shop.start()
            self.online.append(shop)

            async def is_routed() -> bool:
                return [len(await shop.queues(topic)) for topic in ("orders", "pay", "%DLQ%billing")] == [QUEUES, 1, 1]

            await eventually_answers(is_routed)
            await self._send(shop)
            await self._transact()
            audit = PushConsumer(self.name_server, "audit", {"orders": "*"}, _taken, consume_from=ConsumeFrom.FIRST_OFFSET)
            await audit.start()
            self.online.append(audit)
            async with PullConsumer(self.name_server, "billing") as billing:
                for queue, offset in enumerate(COMMITTED):
                    await billing.commit(MessageQueue("orders", BROKER, queue), offset)

            async def is_consumed() -> bool:
                offsets = [
                    await admin.consumer_offset("audit", MessageQueue("orders", BROKER, queue)) for queue in range(QUEUES)
                ]
                return offsets == [ORDERS // QUEUES] * QUEUES

            await eventually_answers(is_consumed)

    async def _send(self, shop: Producer) -> None:
        for number in range(ORDERS):
            message = Message("orders", b'{"order": %d}' % number, tags="paid" if number % 2 else "new", keys=f"k{number}")
            await shop.send(message, queue=MessageQueue("orders", BROKER, number % QUEUES))
        for number in range(3):
            await shop.send(Message("orders", b"later", keys=f"late{number}", properties={"DELAY": "18"}))
        dead = {"KEYS": "d1", "TAGS": "paid", "RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "ID", "DLQ_ORIGIN_TOPIC": "orders"}
        raw = RawMessage(topic="%DLQ%billing", body=b"dead", properties=encode_properties(dead))
        await shop.send_raw(raw, MessageQueue("%DLQ%billing", BROKER, 0))

    async def _transact(self) -> None:
        states = {"apple": LocalState.UNKNOWN, "birch": LocalState.COMMIT}
        async with TransactionProducer(self.name_server, "bank", lambda _message: LocalState.UNKNOWN) as bank:
            for key, state in states.items():
                await bank.send_in_transaction(Message("pay", b"x", keys=key), lambda _message, state=state: state)


async def _taken(_messages):
    """Consume them."""


# ---- the sources -------------------------------------------------------------------------------------------------------


@dataclass
class Scene:
    """A worker on a source that had the traffic; a page is shown over it."""

    worker: WorkerProcess
    view: PageView | None = None

    # What a page is told in the window.

    def status_changed(self, status, _reason):
        if self.view is not None and isValid(self.view):
            self.view.status_changed(status)

    def stage_changed(self, text, done, total):
        """Nothing is shown of it here."""

    def state_changed(self, state):
        if self.view is not None and isValid(self.view):
            self.view.state_changed(state)

    def occurred(self, event):
        """Nothing is shown of it here."""


@pytest.fixture(scope="module", params=["4.9.4", "5.3.3"])
def scenes(qapp, request, tmp_path_factory) -> Iterator[tuple[Scene, Scene]]:
    """Our own broker and a real one, which had the same traffic."""
    folder = tmp_path_factory.mktemp("clusters")
    with pytest.MonkeyPatch.context() as environment, contextlib.ExitStack() as stack:
        environment.setenv("XDG_STATE_HOME", str(folder / "state"))
        environment.setenv("XDG_DATA_HOME", str(folder / "data"))
        ours = stack.enter_context(_scene(WorkerOptions(folder / "store", 0, 0, settings=SMALL)))
        peer = stack.enter_context(running_peer(request.param, folder / "real", autoCreateTopicEnable="true"))
        peer.until_registered()
        yield ours, stack.enter_context(_scene(WorkerOptions(folder / "none", connect=peer.name_server)))


def until(condition: Callable[[], object]) -> None:
    """Turn Qt's loop until something is so."""
    loop, deadline = QEventLoop(), time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        QTimer.singleShot(20, loop.quit)
        loop.exec()


@contextlib.contextmanager
def _scene(options: WorkerOptions) -> Iterator[Scene]:
    worker = WorkerProcess(options)
    made = Scene(worker)
    worker.start()
    try:
        until(lambda: worker.source.status is SourceStatus.READY)
        with ClientThread() as clients:
            traffic = Traffic(worker.source.ready.name_server, clients)
            try:
                traffic.begin()
                worker.source.add_listener(made)
                yield made
            finally:
                traffic.end()
    finally:
        stopped: list[bool] = []
        worker.stopped.connect(lambda: stopped.append(True))
        worker.stop()
        until(lambda: stopped)


# ---- what pages show ---------------------------------------------------------------------------------------------------

OWN_TIME = frozenset((
    "last", "oldest", "newest", "age", "next", "due", "in", "asked", "died", "span", "behind", "spark", "stored", "drains",
    "heartbeat", "lane", "out", "p50", "p99", "checks",
))  # fmt: skip
"""Columns of times and rates: the traffic came to one source after the other."""
INSIDE = frozenset(("disk", "size", "owner", "host", "client", "failed"))
"""Columns that only the inside of a broker knows, or that name processes."""
OWN_PROPERTIES = frozenset(("UNIQ_KEY", "MSG_REGION", "TRACE_ON", "WAIT"))
"""Properties that name a message, or that real brokers add."""
NAMES = frozenset(("orders", "pay", "billing", "audit"))
"""Topics and groups of the traffic; brokers have others of their own."""
ARGUMENTS: dict[str, dict[str, object]] = {
    "topic": {"topic": "orders"},
    "messages": {"topic": "orders"},
    "consumers": {"group": "billing"},
    "dead_letters": {"group": "billing"},
    "delay": {"level": 18},
}
ROWS = {
    "overview": {"topic": 2, "group": 2},
    "topics": {"topic": 2, "queue": QUEUES, "group": 2},
    "topic": {"queue": QUEUES},
    "messages": {"stored": ORDERS, "name": 3},
    "consumers": {"group": 2, "topic": QUEUES},
    "dead_letters": {"group": 1, "died": 1},
    "delay": {"level": 18, "due": 3},
    "transactions": {"state": 1},
}
"""Page → first column of a table → rows that it must have. Pages of the broker itself tell of different brokers."""

Tables = dict[str, list[dict[str, str]]]


def tables(view: QWidget) -> Tables:
    """What the tables of a page show: keys of columns → rows, each key → text."""
    found: Tables = {}
    for grid in view.findChildren(DataGrid):
        model = grid.view.model()
        if isinstance(model, ColumnTableModel):
            columns = [column for column in model.columns if column.key not in OWN_TIME | INSIDE]
            first = model.columns[0]
            found[" ".join(column.key for column in model.columns)] = [
                {column.key: column.text(row) for column in columns}
                for row in model.shown_rows
                if (first.key not in ("topic", "group") or first.text(row) in NAMES) and first.text(row) not in OWN_PROPERTIES
            ]
    return found


@pytest.mark.parametrize("page_id", list(ROWS))
def test_a_page_shows_of_a_real_cluster_what_it_shows_of_our_own(scenes, show_page, page_id):
    page = next(page for page in PAGES if page.page_id == page_id)
    for scene in scenes:
        scene.view = show_page(page.load(), scene.worker.source)
        scene.view.open(ARGUMENTS.get(page_id, {}))
    ours, real = scenes

    def are_the_same() -> bool:
        shown = tables(ours.view)
        counts = {(name.split()[0], len(rows)) for name, rows in shown.items()}
        return counts >= ROWS[page_id].items() and shown == tables(real.view)

    try:
        until(are_the_same)
    except AssertionError:
        # What differs says more than that it does.
        assert tables(ours.view) == tables(real.view)
        raise
