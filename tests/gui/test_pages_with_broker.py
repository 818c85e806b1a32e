"""The Transactions and the Delay page with the real worker and real producers: what is shown is so, what is done happens."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from broker_core.client.admin import AdminClient
from broker_core.client.atomic_producer import AbortNeededError, AtomicProducer, FencedError
from broker_core.client.message import Message
from broker_core.client.offsets import ConsumeFrom
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import PushConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.views.dead_letters.retries import LimitFrom
from gui.views.dead_letters.view import DeadLettersView
from gui.views.delay.actions import CANCEL, DELIVER, MOVE
from gui.views.delay.view import DelayView
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK
from gui.views.transactions.view import TransactionsView
from monitoring.sources.base import SourceStatus
from tests.support.client_thread import ClientThread

pytestmark = pytest.mark.timeout(240)

TIMEOUT_MS = 60_000
HOUR_MS = 3_600_000
SMALL = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}


class Scene:
    """A worker, a page over it, and clients."""

    def __init__(self, qtbot: QtBot, worker: WorkerProcess, clients: ClientThread) -> None:
        self.qtbot = qtbot
        self.worker = worker
        self.source = worker.source
        self.clients = clients
        self.view = None

    # ---- ClusterListener: the page gets what the window would give it, until it is closed behind the test ----

    def status_changed(self, status, _reason):
        if isValid(self.view):
            self.view.status_changed(status)

    def stage_changed(self, text, done, total):
        """Nothing is shown of it here."""

    def state_changed(self, state):
        if isValid(self.view):
            self.view.state_changed(state)

    def occurred(self, event):
        """Nothing is shown of it here."""

    # ---- what a test does ----

    def until(self, condition: Callable[[], object], what: str) -> None:
        self.qtbot.waitUntil(lambda: self._check(condition, what), timeout=TIMEOUT_MS)

    def _check(self, condition, what):
        assert condition(), f"{what}; {self.source.status} {self.source.reason}"

    def show(self, view) -> None:
        self.view = view
        self.source.add_listener(self)

    def start(self, client):
        self.clients.call(client.start())
        return client

    @property
    def name_server(self) -> str:
        return self.source.ready.name_server

    def bodies(self, topic: str) -> list[bytes]:
        answers: list[object] = []
        self.source.ask(BrowseQueue(topic, -1, 0, 100)).then(answers.append, answers.append)
        self.until(lambda: answers, "no answer")
        (page,) = answers
        return sorted(bytes(body) for body in page.body_start) if isinstance(page, MessagePage) else []

    def recorded(self) -> list[str]:
        """Actions of the journal, in their order."""
        text = (self.worker.options.store / "config" / "orbitActions.log").read_text(encoding="utf-8")
        return [json.loads(line)["action"] for line in text.splitlines()]

    def carry_out(self, dialog) -> None:
        """Type what is asked for, and start."""
        dialog.typed.setText(dialog.typed.placeholderText())
        assert dialog.go.isEnabled(), dialog.go.toolTip()
        answers: list[object] = []
        dialog.succeeded.connect(answers.append)
        dialog.go.click()
        self.until(lambda: answers or dialog.error.text, "the action does not end")
        assert answers, dialog.error.text


@pytest.fixture
def clients() -> Iterator[ClientThread]:
    with ClientThread() as made:
        yield made


@pytest.fixture
def start(qtbot: QtBot, tmp_path, monkeypatch: pytest.MonkeyPatch, clients: ClientThread):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workers: list[WorkerProcess] = []

    def made(*, read_only: bool = False, **settings: str) -> Scene:
        options = WorkerArguments(tmp_path / "store", 0, 0, settings=SMALL | settings, read_only=read_only)
        worker = WorkerProcess(options)
        workers.append(worker)
        worker.start()
        qtbot.waitUntil(lambda: worker.source.status is not SourceStatus.STARTING, timeout=TIMEOUT_MS)
        assert worker.source.status is SourceStatus.READY, worker.source.reason
        scene = Scene(qtbot, worker, clients)
        scene.until(lambda: worker.source.state is not None, "no figures")
        return scene

    yield made
    for worker in workers:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()


# ---- atomic transactions ----


def test_an_open_atomic_transaction_is_shown_and_aborted(start, show_page, clients):
    scene = start(orbitAtomicTransactions="true")
    shop = scene.start(AtomicProducer(scene.name_server, "shop", timeout_ms=600_000))
    orders, stock = (MessageQueue(topic, "broker-a", 0) for topic in ("orders", "stock"))

    async def open_one():
        for queue in (orders, stock):
            await shop.create_topic(queue.topic, queues=1)
        async with shop.transaction():
            await shop.send(Message("orders", b"before"), queue=orders)
        shop.begin()
        for number in range(3):
            await shop.send(Message("orders", b"o%d" % number), queue=orders)
        await shop.send(Message("stock", b"s"), queue=stock)
        await shop.send_offsets("readers", {orders: 1})

    clients.call(open_one())
    scene.show(show_page(TransactionsView, scene.source))
    panel = scene.view.atomic.make()
    scene.view.open({"show": "atomic"})
    scene.until(lambda: panel.rows.rows and panel.rows.rows[0].is_open, "the open transaction is not listed")
    (row,) = panel.rows.rows
    assert (row.name, row.state, row.held_back, row.positions) == ("shop", "open", 4, 1)
    scene.until(lambda: panel.held.rows, "the queues held back are not shown")
    # The committed message of orders is before the stable offset, which stands at the first open one.
    held = [(one.topic, one.queue_id, one.first_offset, one.held_back) for one in panel.held.rows]
    assert held == [("orders", 0, 1, 3), ("stock", 0, 0, 1)]
    scene.until(lambda: scene.source.state.totals["atomic_open"] == 1, "it is not counted")
    age_ms = scene.source.state.taken_ms - row.start_ms
    scene.until(lambda: scene.source.state.taken_ms - row.start_ms > age_ms, "its age does not grow")
    assert scene.bodies("orders") == [b"before"]

    scene.carry_out(panel.ask_abort())
    scene.until(lambda: not panel.rows.rows[0].is_open, "it is still open")
    assert panel.rows.rows[0].state == "aborted"
    assert (scene.bodies("orders"), scene.bodies("stock")) == ([b"before"], [])
    scene.until(lambda: scene.source.state.totals["atomic_held_back"] == 0, "messages are still held back")
    assert any("abort" in action for action in scene.recorded())

    async def go_on():
        with pytest.raises((AbortNeededError, FencedError)):
            await shop.send(Message("orders", b"late"), queue=orders)
        await shop.close()

    clients.call(go_on())


# ---- half messages ----


def test_transactions_are_decided_asked_about_and_resumed_by_hand(start, show_page, clients):
    scene = start(transactionTimeOut="600000", transactionCheckInterval="300", transactionCheckMax="1")
    asked: list[str] = []

    def check(message):
        asked.append(message.keys)
        return LocalState.UNKNOWN

    pay = scene.start(TransactionProducer(scene.name_server, "pay", check))

    async def prepare():
        for key in ("commit-me", "roll-me-back", "ask-me"):
            await pay.begin(Message("orders", key.encode(), keys=(key,)))

    clients.call(prepare())
    scene.show(show_page(TransactionsView, scene.source))
    view = scene.view
    names = {}

    def shown(key):
        names.update({one.keys: one for one in view.rows.rows})
        return names.get(key)

    scene.until(lambda: len(view.rows.rows) == 3, "the transactions are not listed")
    assert {one.state for one in view.rows.rows} == {"prepared"}
    assert {one.producers for one in view.rows.rows} == {1}

    def act(action, key):
        view.grid.select_key(shown(key).origin)
        scene.carry_out(view.ask(action))

    act(COMMIT, "commit-me")
    scene.until(lambda: len(view.rows.rows) == 2, "it is not committed")
    act(ROLL_BACK, "roll-me-back")
    scene.until(lambda: len(view.rows.rows) == 1, "it is not rolled back")
    assert scene.bodies("orders") == [b"commit-me"]
    act(CHECK, "ask-me")
    scene.until(lambda: asked, "the producer was not asked")
    scene.until(lambda: view.rows.rows and view.rows.rows[0].check_times == 1, "the check is not counted")
    clients.call(pay.close())
    assert [action for action in scene.recorded() if action.startswith("transaction.")] == [
        "transaction.commit", "transaction.rollback", "transaction.check",
    ]  # fmt: skip


def test_a_transaction_that_was_given_up_is_resumed_by_hand(start, show_page, clients):
    scene = start(transactionTimeOut="100", transactionCheckInterval="200", transactionCheckMax="1")
    answers = [LocalState.UNKNOWN]
    pay = scene.start(TransactionProducer(scene.name_server, "pay", lambda _message: answers[-1]))
    clients.call(pay.begin(Message("orders", b"once more", keys=("key-1",))))
    scene.show(show_page(TransactionsView, scene.source))
    view = scene.view
    view.open({"show": "given up"})
    scene.until(lambda: view.rows.rows and view.rows.rows[0].state == "given up", "it is not given up")
    answers.append(LocalState.COMMIT)
    view.grid.select_key(view.rows.rows[0].origin)
    scene.carry_out(view.ask(RESUME))
    scene.until(lambda: scene.bodies("orders") == [b"once more"], "it is not asked about again")
    assert "transaction.resume" in scene.recorded()
    clients.call(pay.close())


# ---- waiting messages ----


def prepare_waiting(scene):
    """Five messages of one delay level, and five with a time of their own."""
    producer = Producer(scene.name_server, "later")

    async def send():
        await producer.start()
        due_ms = time.time_ns() // 1_000_000 + HOUR_MS
        for name in ("deliver", "cancel", "move", "stay-1", "stay-2"):
            await producer.send(Message("orders", f"level-{name}".encode(), keys=(name,), properties={"DELAY": "18"}))
            timer = {"TIMER_DELIVER_MS": str(due_ms)}
            await producer.send(Message("orders", f"timer-{name}".encode(), keys=(name,), properties=timer))
        await producer.close()

    scene.clients.call(send())


@pytest.mark.parametrize("kind", ["level", "timer"])
def test_waiting_messages_are_delivered_cancelled_and_moved_by_hand(start, show_page, kind):
    scene = start()
    prepare_waiting(scene)
    scene.show(show_page(DelayView, scene.source))
    waiting = scene.view.waiting
    scene.view.open({"level": 18} if kind == "level" else {"show": "timers"})

    def rows():
        return {one.keys: one for one in waiting.model.rows if not one.is_cancelled}

    def act(action, name, due=""):
        scene.until(lambda: name in rows(), f"{name} does not wait")
        waiting.grid.select_key(rows()[name].physical_offset)
        dialog = waiting.ask(action)
        for entry in dialog.findChildren(QLineEdit) if due else ():
            if entry is not dialog.typed:
                entry.setText(due)
        scene.carry_out(dialog)

    scene.until(lambda: len(rows()) == 5, "they are not listed")
    act(DELIVER, "deliver")
    scene.until(lambda: scene.bodies("orders") == [f"{kind}-deliver".encode()], "it was not delivered")
    act(CANCEL, "cancel")
    scene.until(lambda: "cancel" not in rows(), "it is still listed")
    act(MOVE, "move", f"{time.time_ns() // 1_000_000 + 10_000}")
    scene.until(lambda: len(scene.bodies("orders")) == 2, "it was not moved")
    assert scene.bodies("orders") == sorted([f"{kind}-deliver".encode(), f"{kind}-move".encode()])
    scene.until(lambda: sorted(rows()) == ["stay-1", "stay-2"], "others do not wait any more")
    first = "delay" if kind == "level" else "timer"
    assert [action for action in scene.recorded() if action.startswith(f"{first}.")] == [
        f"{first}.deliver", f"{first}.cancel", f"{first}.move",
    ]  # fmt: skip


# ---- a connection that may only look ----


def test_over_a_read_only_connection_everything_is_shown_and_nothing_is_done(start, show_page, clients):
    scene = start(read_only=True, orbitAtomicTransactions="true")
    assert scene.source.read_only
    prepare_waiting(scene)
    pay = scene.start(TransactionProducer(scene.name_server, "pay", lambda _message: LocalState.UNKNOWN))
    clients.call(pay.begin(Message("orders", b"open", keys=("pay-1",))))
    scene.show(show_page(TransactionsView, scene.source))
    scene.until(lambda: scene.view.rows.rows, "the transaction is not listed")
    transactions = scene.view
    delays = show_page(DelayView, scene.source)
    delays.open({"level": 18})
    scene.view = delays
    scene.until(lambda: delays.waiting.model.rows, "nothing waits")
    delays.waiting.grid.select_key(delays.waiting.model.rows[0].physical_offset)

    asks = [lambda action=action: transactions.ask(action) for action in (COMMIT, ROLL_BACK, CHECK)]
    asks += [lambda action=action: delays.waiting.ask(action) for action in (DELIVER, CANCEL, MOVE)]
    for ask in asks:
        dialog = ask()
        dialog.typed.setText(dialog.typed.placeholderText())
        assert not dialog.go.isEnabled()
        assert "read-only" in dialog.error.text
        assert "read-only" in dialog.go.toolTip()
        dialog.reject()
    with contextlib.suppress(FileNotFoundError):
        assert scene.recorded() == []
    clients.call(pay.close())


# ---- dead letters ----


def see_attempts_and_origins(scene):
    """A waiting retry of slow, and two dead letters of stock."""
    view = scene.view
    view.open({"show": "retries"})
    view.retry_grid.select_first()
    scene.until(
        lambda: view.waiting.attempts.facts is not None and view.waiting.attempts.facts.limit_from is LimitFrom.GROUP,
        "what the group allows is not known",
    )
    assert (view.waiting.attempts.facts.attempt, view.waiting.attempts.facts.limit) == (1, 16)
    assert [rung.wait_ms for rung in view.ladder.model.rows[:3]] == [HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS]
    view.open({"show": "letters"})
    scene.until(
        lambda: {row.figures.group: row.origins for row in view.groups.rows}["stock"] == (("orders", 2),),
        "where the dead letters came from is not known",
    )


@pytest.fixture
def consumers(start, clients, tmp_path, monkeypatch) -> Iterator[list[PushConsumer]]:
    """Consumers that a test starts; they end before the broker, also after a failure."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    started: list[PushConsumer] = []
    yield started
    for consumer in started:
        clients.call(consumer.close())


def test_dead_letters_are_noted_sent_again_and_what_became_of_them_is_shown(start, show_page, clients, consumers):
    # A retry takes the third level first: none comes back while the test looks at it.
    scene = start(messageDelayLevel="1s 5s 1h 2h")
    producer = scene.start(Producer(scene.name_server, "shop"))
    poisonous = {b"bad", b"worse"}
    seen: list[bytes] = []

    def listen(messages):
        for message in messages:
            seen.append(message.body)
            if message.body in poisonous:
                raise ValueError(message.body)

    async def begin():
        async with AdminClient(scene.name_server) as admin:
            await admin.create_topic("orders", queues=2)
        for group, most in (("stock", 0), ("slow", 16)):
            consumer = PushConsumer(
                scene.name_server,
                group,
                {"orders": "*"},
                listen,
                reconsume_times_max=most,
                consume_from=ConsumeFrom.FIRST_OFFSET,
            )
            await consumer.start()
            consumers.append(consumer)
        for body in (b"good", b"bad", b"worse"):
            await producer.send(Message("orders", body, "paid", (body.decode(),)))

    born_ms = scene.source.state.taken_ms
    clients.call(begin())
    scene.show(show_page(DeadLettersView, scene.source))
    view = scene.view
    scene.until(lambda: len(view.letters.rows) == 2, "the dead letters are not listed")
    letters = {row.letter.keys: row.letter for row in view.letters.rows}
    assert {(letter.origin_topic, letter.tag, letter.tries) for letter in letters.values()} == {("orders", "paid", 1)}
    scene.until(lambda: len(view.retries.rows) == 2, "the retries are not listed")
    assert {(row.group, row.attempt) for row in view.retries.rows} == {("slow", 1)}
    assert all(row.due_ms - born_ms >= HOUR_MS for row in view.retries.rows)
    see_attempts_and_origins(scene)

    poisonous.remove(b"bad")
    for key in ("bad", "worse"):
        view.letter_grid.select_key(letters[key].physical_offset)
        scene.carry_out(view.ask_resend())

    def proofs() -> dict[str, str]:
        return {row.letter.keys: row.proof for row in view.letters.rows if not row.letter.made_from}

    scene.until(lambda: proofs() == {"bad": "consumed", "worse": "died again"}, "the proof does not come")
    assert sum(row.letter.made_from == letters["worse"].offset_message_id for row in view.letters.rows) == 1
    scene.until(lambda: seen.count(b"good") == 2, "not every group got the good one")

    clients.call(producer.close())
