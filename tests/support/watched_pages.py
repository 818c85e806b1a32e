"""The real window on a broker with `KnownTraffic`: every page opened, and what it says told as lines.

The broker is the window's own, or one that the window is attached to.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, SendMessage, SendReceipt
from gui.app.console import Console
from gui.app.window_options import WindowOptions
from gui.connections.cluster import STORES_KEY, Cluster, kept_text
from gui.processes.worker_options import WorkerArguments
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.view import MessagesView
from gui.views.settings.view import SECTIONS
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from monitoring.alert_watch import AlertState
from monitoring.sources.base import Pending, SourceStatus
from monitoring.sources.worker import WorkerSource
from tests.support.client_thread import ClientThread
from tests.support.known_traffic import BEHIND, ORDERS, RETRIED, SETTINGS, TEAM, TROUBLED, KnownTraffic
from tests.support.page_portrait import comparable, portrait

A = TypeVar("A")
PATIENCE_S = 150.0
PAGE_PATIENCE_S = 150.0
"""For a page to be as it is wanted."""
TURN_MS = 50
QUIET_TURNS = 10
"""A page is done when it says the same for so many turns of the loop, and waits for nothing."""
WAITING = ("Reading…", "[Reading", "Planning", "Searching")
CONNECTION = "Watched"
"""What a cluster is called that is attached to."""
FIRING = {"nobody", "dead-letters"}
"""Rules that the traffic makes fire: one after a minute."""
READING = "Reading the history…"
"""Of a chart, behind its name."""
ONLY = re.compile(os.environ.get("ORBIT_PAGES", ".*"))
"""Pattern of the names of the pages that a tour goes to."""
Lines = list[str]
Accepts = Callable[[str, Lines], bool]
"""Whether a page, by its name, may be left as it is now."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page and where in it."""

    page_id: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    name: str = ""


def places() -> list[Place]:
    """Every page that shows a cluster, in each of its parts."""
    made = [Place("topic", {"topic": "orders", "tab": tab}, f"topic {tab}") for tab in TOPIC_TABS]
    made += [Place("topic", {"topic": "prices", "tab": tab}, f"order topic {tab}") for tab in ("route", "settings")]
    made += [
        Place("consumers", {"group": group, "tab": tab}, f"group {group} {tab}")
        for group in (BEHIND, TROUBLED, TEAM)
        for tab in GROUP_TABS
    ]
    made += [
        Place("dead_letters", {"group": TROUBLED, "show": "letters"}, "dead letters"),
        Place("dead_letters", {"group": TROUBLED, "show": "retries"}, "retries"),
        Place("delay", {"level": 2}, "delay level 2"),
        Place("delay", {"level": 5}, "delay level 5"),
        Place("delay", {"show": "timers"}, "delay timers"),
    ]
    shown = ("open", "committed", "rolled back", "given up", "past", "atomic")
    made += [Place("transactions", {"show": show}, f"transactions {show}") for show in shown]
    made += [Place(page_id) for page_id in ("clients", "store", "broker_settings", "reports")]
    made += [Place("settings", {"show": section}, f"settings {section}") for section in SECTIONS]
    # What was sent at first is no rate any more, and what waits for a while has happened.
    made += [Place("topics", {"topic": "orders"}), Place("overview"), Place("events"), Place("alerts")]
    made += [
        Place("messages", {"topic": "orders"}, "messages newest"),
        Place("messages", {"topic": "orders", "queue": 1, "offset": 1}, "messages by offset"),
        Place("messages", {"filter": f"topic = 'orders' and key = 'order-{RETRIED}'"}, "search by key"),
        Place("messages", {"filter": "topic = 'orders' and tag = 'open' and body.city = 'Oslo'"}, "search by filter"),
    ]
    return made


class WatchedPages:
    """A console, and what is done with it. On the GUI thread."""

    def __init__(
        self,
        application: QApplication,
        folder: Path,
        cluster: Cluster | None = None,
        *,
        language: str = "en",
        opened_store: Path | None = None,
    ) -> None:
        """Make the window.

        Args:
            application: Qt's.
            folder: Where everything is kept.
            cluster: What to attach to; None: the window runs a broker itself.
            language: Of the window.
            opened_store: A store that is read instead, without a broker.
        """
        settings_file = folder / "window.ini"
        if cluster is not None:
            settings = QSettings(str(settings_file), QSettings.Format.IniFormat)
            settings.setValue(STORES_KEY, [kept_text(cluster)])
            settings.sync()
        worker = WorkerArguments(folder / "store", name_server_port=0, broker_port=0, settings=SETTINGS)
        if opened_store is not None:
            worker = WorkerArguments(opened_store, files_only=True)
        options = WindowOptions(
            worker,
            language=language,
            theme="dark",
            settings_file=settings_file,
            reports_folder=folder / "reports",
            connection=cluster.name if cluster is not None else "",
            find_key_store=lambda: None,
        )
        self._hook = sys.excepthook
        self.console = Console(application, options)
        self.window = self.console.window
        self._name_server = cluster.address if cluster is not None else ""
        self.traffic: KnownTraffic | None = None

    @property
    def source(self) -> WorkerSource:
        """The cluster."""
        return self.console.worker.source

    def start(self) -> None:
        """Show the window and wait for the cluster."""
        self.window.resize(1_440, 900)
        self.window.show()
        self.console.begin()
        self.until(lambda: self.source.status is SourceStatus.READY and self.source.state is not None, "it is not ready")

    def send_traffic(self, clients: ClientThread) -> None:
        """Send everything and wait until the window knows of it."""
        assert self.source.ready is not None
        self.traffic = KnownTraffic(self._name_server or self.source.ready.name_server)
        sending = clients.begin(self.traffic.send())
        self.until(sending.done, "the traffic is not sent")
        sending.result()
        self.until(lambda: self._known() == (ORDERS, 2), "the traffic is not known")

    def _known(self) -> tuple[int, int]:
        """Orders that are kept, and members of the team that are online."""
        state = self.source.state
        if state is None or "orders" not in state.catalog.topics or TEAM not in state.catalog.groups:
            return 0, 0
        topics, groups = state.catalog.topics, state.catalog.groups
        return int(state.topic_kept_messages[topics.index("orders")]), int(state.group_members[groups.index(TEAM)])

    def close(self, clients: ClientThread) -> None:
        """End clients, window and children."""
        if self.traffic is not None:
            leaving = clients.begin(self.traffic.close())
            self.until(leaving.done, "the clients do not leave")
        self.window.close()
        self.until(lambda: not self.console.children_processes.any_running, "a child is left")
        self.window.deleteLater()
        self.console.deleteLater()
        sys.excepthook = self._hook

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the window run until something is so."""
        assert self._turns(condition), f"{what}; {self.source.status} {self.source.reason}"

    def _turns(self, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
        loop, end = QEventLoop(), time.monotonic() + patience_s
        held: list[bool] = []
        timer = QTimer()
        timer.setInterval(TURN_MS)

        def turn() -> None:
            if condition():
                held.append(True)
            if held or time.monotonic() >= end:
                loop.quit()

        timer.timeout.connect(turn)
        timer.start()
        loop.exec()
        timer.stop()
        return bool(held)

    # ---- pages ----

    def tour(self, accepts: Accepts) -> dict[str, Lines]:
        """What each place says, by name, once it is done and accepted; what never is, is told as it was last."""
        self.until(self._is_calm, "figures still move")
        found = {}
        for place in places():
            if ONLY.fullmatch(place.name or place.page_id):
                found[place.name or place.page_id] = self.see(place, accepts)
        for name, widget in self._one_by_one():
            if ONLY.fullmatch(name):
                found[name] = self.settled(name, partial(_same, widget), accepts)
        return found

    def _is_calm(self) -> bool:
        """Whether nothing of the traffic moves any more, and what alerts because of it does."""
        state, alerts = self.source.state, self.window.broker.alerts
        if state is None or alerts is None or any(rate > 0 for rate in (*state.topic_put_rate, *state.topic_got_rate)):
            return False
        return {rule.rule_id for rule in alerts.rules if alerts.state_of(rule) is AlertState.FIRING} >= FIRING

    def see(self, place: Place, accepts: Accepts) -> Lines:
        """What one place says, as `tour` does it."""
        self.window.navigate(place.page_id, **place.arguments)
        if "filter" in place.arguments:
            self._choose_first_hit(place.arguments["filter"])
        return self.settled(place.name or place.page_id, self._page, accepts)

    def _choose_first_hit(self, text: object) -> None:
        """Of those that come first one is shown at once; which queues of a cluster answer first is chance."""
        page = self._page()
        assert isinstance(page, MessagesView)
        run = page.search.run
        self.until(lambda: run.text == text and run.is_over, "the search does not end")
        page.search.grid.select_key(page.search.model.key_at(0))

    def _page(self) -> QWidget:
        page = self.window.area.current
        assert page is not None
        return page

    def settled(self, name: str, widget: Callable[[], QWidget], accepts: Accepts) -> Lines:
        """What a widget says when it has said so for a while."""
        said: Lines = []
        quiet = 0

        def done() -> bool:
            nonlocal said, quiet
            now = comparable(portrait(widget()))
            is_waiting = any(line.startswith(WAITING) or READING in line for line in now)
            quiet = quiet + 1 if now == said and not is_waiting else 0
            said = now
            return quiet >= QUIET_TURNS and accepts(name, said)

        self._turns(done, PAGE_PATIENCE_S)
        return said

    def _one_by_one(self) -> Iterator[tuple[str, QWidget]]:
        """Single messages, an ID, a time, the composer, and a tail that sees a message come."""
        for name, topic, queue, offset in (
            ("life of a retried order", "orders", RETRIED % 4, RETRIED // 4),
            ("life of a payment", "payments", 0, 0),
            ("life of a dead letter", f"%DLQ%{TROUBLED}", 0, 0),
        ):
            page = self.answer(self.source.ask(BrowseQueue(topic, queue, offset, 1)), MessagePage)
            self.window.navigate("message", physical_offset=page.physical_offset[0])
            yield name, self._page()
        assert self.traffic is not None
        sent = self.traffic.orders[RETRIED]
        for name, message_id in (("messages by id", sent.offset_message_id), ("messages by unique id", sent.message_id)):
            self.window.navigate("messages", message_id=message_id)
            yield name, self._page()
        self.window.navigate("messages", topic="orders", queue=1)
        view = self._page()
        assert isinstance(view, MessagesView)
        view.tabs.setCurrentIndex(0)
        self.until(lambda: view.pages.model.rows, "the queue is not shown")
        view.bar.time.setText("-2h")
        view.bar.time.returnPressed.emit()
        yield "messages by time", view
        yield from self._composer(view)
        self.window.navigate("tail", topics=["audit"])
        tail = self._page()
        self.settled("tail", lambda: tail, lambda _name, _said: True)
        self.answer(self.source.ask(SendMessage("audit", 0, b"audit at last", {"TAGS": "late"})), SendReceipt)
        yield "tail", tail

    def _composer(self, view: MessagesView) -> Iterator[tuple[str, QWidget]]:
        dialog = view.ask_send()
        assert isinstance(dialog, ComposeDialog)
        yield "composer", dialog
        dialog.form.body.setPlainText("from the composer")
        receipts: list[object] = []
        dialog.sent.connect(lambda _topic, receipt: receipts.append(receipt))
        self.until(dialog.send_button.isEnabled, "nothing can be sent")
        dialog.send_button.click()
        self.until(lambda: receipts, "it is not sent")
        yield "composer after a send", dialog
        dialog.reject()

    def answer(self, pending: Pending[A], kind: type[A]) -> A:
        """What the source answers."""
        answers: list[object] = []
        pending.then(answers.append, answers.append)
        self.until(lambda: answers, "no answer")
        (found,) = answers
        assert isinstance(found, kind), found
        return found


def _same(widget: QWidget) -> QWidget:
    return widget


class WatchedScene:
    """A window, clients beside it, and what they do together."""

    def __init__(self, clients: ClientThread, watched: WatchedPages) -> None:
        self.clients = clients
        self.watched = watched

    @property
    def banner(self) -> str:
        """What stands over all pages; empty while nothing does."""
        banner = self.watched.window.banner
        return banner.text if banner.isVisible() else ""

    def run(self, work: Coroutine[Any, Any, A]) -> A:
        """What clients do beside the window, which runs meanwhile."""
        doing = self.clients.begin(work)
        self.watched.until(doing.done, "the clients are not done")
        return doing.result()


@contextmanager
def watching(application: QApplication, folder: Path, cluster: Cluster | None = None) -> Iterator[WatchedPages]:
    """A window with the traffic in its cluster, for the time of a block."""
    with ClientThread() as clients:
        watched = WatchedPages(application, folder, cluster)
        try:
            watched.start()
            watched.send_traffic(clients)
            yield watched
        finally:
            watched.close(clients)
