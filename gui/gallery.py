"""The gallery: every page on live demo data, without a display, saved as pictures in each theme and language.

Nothing in it is made up: a worker with a store of its own serves on free ports, and the demo plays against it. Pages are shown
before anything is stored (``empty-…``), while the demo plays, with answers that do not come (``loading-…``) or come as errors
(``failed-…``), and after the broker was killed (``lost-…``).
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer
from PySide6.QtWidgets import QDialog, QWidget

from broker_core.api import MessagePage
from gui.app import Console, WindowOptions, make_application
from gui.bridge.demo import DemoPace
from gui.bridge.options import WorkerOptions
from gui.gallery_source import failing, silent
from gui.text import LANGUAGES
from gui.theme.manager import ThemeMode
from gui.views.clients.view import ClientsView
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.consumers.view import ConsumersView
from gui.views.page import PageArguments, PageContext
from gui.views.registry import PAGES
from gui.views.settings.view import SECTIONS
from gui.views.store.view import StoreView
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from gui.views.topics.view import TopicsView
from gui.views.transactions.actions import COMMIT
from gui.views.transactions.view import TransactionsView
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import reports

P = TypeVar("P", bound=QWidget)

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 20.0
REPORT_TIMEOUT_S = 120.0
DEMO_SECONDS = 45.0
"""How long the demo plays before the pictures: enough for a backlog and for lines with a shape."""
PAGE_SETTLE_S = 2.5
"""What a page gets to ask for its data and to paint it: two turns of the live cadence."""
LOOK_TIMEOUT_S = 20.0
LOOK_SETTLE_S = 0.3
"""What a page gets to be painted in another theme or language."""
TURN_MS = 20
WINDOW_SIZE = (1_440, 900)
PAGE_SIZE = (1_232, 795)
"""Of a page in a window of `WINDOW_SIZE`."""
TOPIC, GROUP = "orders", "payment-settle"
TRANSACTION_TOPIC = "pay-result"
"""Of the demo: written by transactions."""
PARTS = (
    ("delay", "timers"),
    ("transactions", "rolled back"),
    ("transactions", "given up"),
    ("transactions", "atomic"),
    *(("settings", key) for key in SECTIONS if key != "connections"),
    ("reports", "result"),
)
"""Parts of pages that get a picture of their own."""
PLACES: dict[str, PageArguments] = {"topic": {"topic": TOPIC}, "consumers": {"group": GROUP}, "message": {"physical_offset": 0}}
"""Where pages are opened that show one thing."""
NO_PLACE: PageArguments = {}
WITHOUT_A_BROKER = ("welcome", "reports", "settings")
"""Pages that ask the broker nothing, so no answer can be missing."""


@dataclass(frozen=True, slots=True)
class Look:
    """A theme and a language."""

    theme: str
    language: str

    @property
    def name(self) -> str:
        return f"{self.theme}-{self.language}"


def main(out: Path, theme: str = "", language: str = "") -> int:
    """Save pictures as ``<theme>-<language>/<page>.png`` in ``out``; returns an exit code.

    Args:
        out: Folder of the pictures.
        theme: ``light`` or ``dark``; empty: both.
        language: One of `LANGUAGES`; empty: all.
    """
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    themes = [theme] if theme else [ThemeMode.LIGHT.value, ThemeMode.DARK.value]
    looks = [Look(one, other) for one in themes for other in ([language] if language else LANGUAGES)]
    application = make_application()
    with tempfile.TemporaryDirectory(prefix="orbit-gallery-") as folder:
        name_server_port, broker_port = free_ports()
        worker = WorkerOptions(Path(folder) / "store", name_server_port=name_server_port, broker_port=broker_port)
        options = WindowOptions(
            worker,
            language=looks[0].language,
            theme=looks[0].theme,
            settings_file=Path(folder) / "window.ini",
            reports_folder=Path(folder) / "reports",
        )
        console = Console(application, options)
        try:
            return _Gallery(console, out, looks).take()
        finally:
            console.window.close()
            _wait(lambda: not console.children_processes.any_running, END_TIMEOUT_S)


class _Gallery:
    """Walks through the pages and saves them in every look."""

    def __init__(self, console: Console, out: Path, looks: Sequence[Look]) -> None:
        self._console = console
        self._window = console.window
        self._out = out
        self._looks = looks
        for look in looks:
            (out / look.name).mkdir(parents=True, exist_ok=True)

    def take(self) -> int:
        """Take all pictures; returns an exit code."""
        self._window.resize(*WINDOW_SIZE)
        self._window.show()
        self._console.begin()
        source, demo = self._console.worker.source, self._console.demo
        settled = (SourceStatus.READY, SourceStatus.LOST)
        if not _wait(lambda: source.status in settled and source.state is not None, START_TIMEOUT_S):
            reason = source.reason.message if source.reason else f"the broker was not ready after {START_TIMEOUT_S:.0f} s"
            sys.stderr.write(f"orbit: no pictures were taken: {reason}\n")
            return 1
        assert source.ready is not None
        self._page("welcome")
        for entry in PAGES[1:]:
            self._page(entry.page_id, prefix="empty-")
        demo.start(source.ready.name_server, DemoPace.NORMAL)
        _wait(lambda: not demo.is_running, DEMO_SECONDS)
        if not demo.is_running:
            sys.stderr.write("orbit: the demo ended early; the pictures show an idle broker\n")
        self._run_report(source.ready.store_directory)
        for entry in PAGES:
            if entry.page_id not in ("welcome", "topic", "message"):
                self._page(entry.page_id)
        for page_id, show in PARTS:
            self._page(page_id, show=show)
        self._details()
        self._dialogs()
        self._stand_ins()
        self._lost()
        return 1 if self._console.errors.count else 0

    # ---- pages of the window ---------------------------------------------------------------------------------------------

    def _details(self) -> None:
        """Topic and group in each of their tabs, and the life line of a message that was sent in a transaction."""
        for tab in TOPIC_TABS:
            self._page("topic", tab=tab, topic=TOPIC)
        for tab in GROUP_TABS:
            self._page("consumers", tab=tab, group=GROUP)
        found: list[object] = []
        self._console.worker.source.browse_queue(TRANSACTION_TOPIC, -1, 0, 1).then(found.append, found.append)
        _wait(lambda: bool(found), PAGE_SETTLE_S)
        page = found[0] if found else None
        if isinstance(page, MessagePage) and page.physical_offset:
            self._page("message", physical_offset=page.physical_offset[0])

    def _lost(self) -> None:
        """What a page says when the broker is gone."""
        self._window.navigate("overview")
        self._console.worker.abort()
        _wait(lambda: self._console.worker.source.status is SourceStatus.LOST, END_TIMEOUT_S)
        for page_id in ("overview", "welcome", "settings"):
            self._page(page_id, prefix="lost-")

    def _page(self, page_id: str, *, prefix: str = "", show: str = "", tab: str = "", **place: object) -> None:
        arguments = {name: value for name, value in (("show", show), ("tab", tab)) if value}
        self._window.navigate(page_id, **arguments, **place)
        _wait(lambda: False, PAGE_SETTLE_S)
        self._save(self._window, prefix + "-".join([page_id, *show.split(), *tab.split()]))

    def _run_report(self, store_directory: str) -> None:
        """Let the first report of the catalogue run over the store, so that its page has a result to show."""
        runner = self._console.reports
        runner.start(runner.order(reports()[0], (store_directory,)))
        if not _wait(lambda: not runner.is_running, REPORT_TIMEOUT_S):
            runner.cancel()
            _wait(lambda: not runner.is_running, END_TIMEOUT_S)
        if runner.run is not None and runner.run.error:
            sys.stderr.write(f"orbit: the report was not made: {runner.run.error}\n")

    # ---- dialogs ---------------------------------------------------------------------------------------------------------

    def _dialogs(self) -> None:
        """Dialogs are made anew in each look: they live shorter than a language."""
        self._window.navigate("consumers", tab="members", group=GROUP)
        _wait(lambda: False, PAGE_SETTLE_S)
        groups = self._shown(ConsumersView)
        self._dialog("dialog-reset", lambda: groups.dialogs.reset(groups.group_grid.selected_row))
        self._dialog("dialog-delete-group", lambda: groups.dialogs.delete(groups.group_grid.selected_row))
        if groups.members.rows:
            self._dialog("dialog-client", lambda: groups.dialogs.client(GROUP, groups.members.rows[0]))
        self._window.navigate("topics", topic=TOPIC)
        topics = self._shown(TopicsView)
        self._dialog("dialog-new-topic", topics.ask_new_topic)
        self._dialog("dialog-send", topics.ask_send)
        self._dialog("dialog-delete-topic", topics.ask_delete)
        self._window.navigate("transactions", show="open")
        _wait(lambda: False, PAGE_SETTLE_S)
        transactions = self._shown(TransactionsView)
        self._dialog("dialog-commit", lambda: transactions.ask(COMMIT))
        self._window.navigate("clients")
        _wait(lambda: False, PAGE_SETTLE_S)
        self._dialog("dialog-close", self._shown(ClientsView).ask_close)
        self._window.navigate("store")
        _wait(lambda: False, PAGE_SETTLE_S)
        self._dialog("dialog-clean", self._shown(StoreView).ask_clean)

    def _shown(self, kind: type[P]) -> P:
        page = self._window.area.current
        assert isinstance(page, kind)
        return page

    def _dialog(self, name: str, make: Callable[[], QDialog | None]) -> None:
        for look in self._looks:
            self._show_in(look)
            dialog = make()
            if dialog is None:
                sys.stderr.write(f"orbit: there is nothing to show {name} for\n")
                return
            _wait(lambda: False, PAGE_SETTLE_S / 2)
            self._write(dialog, look, name)
            dialog.reject()

    # ---- pages over a source that does not answer ------------------------------------------------------------------------

    def _stand_ins(self) -> None:
        """Every page as it is while nothing is answered, and when everything is answered by an error."""
        page = self._window.area.current
        assert page is not None
        source = page.context.source
        for prefix, other in (("loading-", silent(source)), ("failed-", failing(source))):
            for entry in PAGES:
                if entry.page_id not in WITHOUT_A_BROKER:
                    self._stand_in(prefix + entry.page_id, entry.page_id, replace(page.context, source=other))

    def _stand_in(self, name: str, page_id: str, context: PageContext) -> None:
        page = next(entry for entry in PAGES if entry.page_id == page_id).load()(context)
        self._console.theme.dress(page)
        page.resize(*PAGE_SIZE)
        page.show()
        page.status_changed(context.source.status)
        page.open(PLACES.get(page_id, NO_PLACE))
        state = context.source.state
        if state is not None:
            page.state_changed(state)
        page.refresh()
        _wait(lambda: False, LOOK_SETTLE_S)
        self._save(page, name)
        page.close()
        page.deleteLater()

    # ---- saving ----------------------------------------------------------------------------------------------------------

    def _save(self, widget: QWidget, name: str) -> None:
        for look in self._looks:
            self._show_in(look)
            self._write(widget, look, name)
        # The next picture begins with the look of this one: nothing is to be restyled for it.
        self._looks = self._looks[::-1]

    def _show_in(self, look: Look) -> None:
        self._console.theme.set_mode(ThemeMode(look.theme))
        self._console.language.use(look.language)
        _wait(lambda: self._console.theme.is_applied, LOOK_TIMEOUT_S)
        _wait(lambda: False, LOOK_SETTLE_S)

    def _write(self, widget: QWidget, look: Look, name: str) -> None:
        path = self._out / look.name / f"{name}.png"
        # Texts that were written last have not been given their room yet.
        QCoreApplication.sendPostedEvents()
        widget.grab().save(str(path))
        sys.stdout.write(f"{path}\n")


def _wait(done: Callable[[], bool], timeout_s: float) -> bool:
    """Run Qt's loop until ``done`` or the timeout; returns whether it was done."""
    loop, end = QEventLoop(), time.monotonic() + timeout_s
    timer = QTimer()
    timer.setInterval(TURN_MS)
    timer.timeout.connect(lambda: loop.quit() if done() or time.monotonic() >= end else None)
    timer.start()
    loop.exec()
    return done()


def free_ports() -> tuple[int, int]:
    """Two ports of the loopback address that nobody listens on."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
