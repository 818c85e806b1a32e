"""The gallery: every page on live demo data, without a display, saved as pictures in each theme and language.

The data are real: a worker with a store of its own serves on free ports, and the demo plays against it. Pages are shown
before anything is stored (``empty-…``), while the demo plays, with their overlays (`gui.gallery.overlays`), with pending
answers (``loading-…``), with errors (``failed-…``), and after the broker was killed (``lost-…``).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage
from gui.app.console import Console, make_application
from gui.app.display import drop_wild_scales
from gui.event_loop.garbage import GarbageTurns
from gui.gallery.overlays import Open, Overlays, opened_for_a_picture, picture_of
from gui.gallery.palette import with_palette
from gui.gallery.readme import GROUP, PICTURES, REPORT, TOPIC
from gui.gallery.sources import failing, silent
from gui.gallery.stage import WINDOW_SIZE, Look, pause, wait, window_options, write_screen
from gui.main_window.navigation import page_class
from gui.processes.child_process import ChildProcess
from gui.processes.demo import DemoPace
from gui.theme.manager import ThemeMode
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.page import PageArguments, PageContext
from gui.views.registry import PAGES, page_entry
from gui.views.settings.view import SECTIONS
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from gui.words.text import LANGUAGES
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import reports

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 20.0
REPORT_TIMEOUT_S = 240.0
ANSWER_TIMEOUT_S = 10.0
ATTACHED_TIMEOUT_S = 300.0
DEMO_SECONDS = 45.0
"""Time of the demo before the pictures: enough for a backlog and for lines with a shape."""
PAGE_SETTLE_S = 2.5
"""Time for a page to read and paint its data: two turns of the live cadence."""
LOOK_TIMEOUT_S = 20.0
LOOK_SETTLE_S = 0.3
"""Time for a page to be painted in another theme or language."""
PAGE_SIZE = (1_232, 795)
"""Size of a page in a window of `WINDOW_SIZE`."""
TRANSACTION_TOPIC = "pay-result"
"""A topic of the demo that is written by transactions."""
FAILING_GROUP, FAILING_TOPIC = "stock-worker", "inventory-reserve"
PARTS = (
    ("dead_letters", "retries"),
    *(("dead_letters", step) for step in ("edit", "resend", "verify", "close")),
    ("delay", "timers"),
    ("transactions", "rolled back"),
    ("transactions", "given up"),
    ("transactions", "atomic"),
    *(("settings", key) for key in SECTIONS if key != "connections"),
    ("reports", "result"),
)
"""Parts of pages that get a picture of their own."""
REPORTS_WITH_FIELDS = ("delay", "sql")
"""Reports with fields beside the range."""
REPORTS_RUN = 2
PLACES: dict[str, PageArguments] = {"topic": {"topic": TOPIC}, "consumers": {"group": GROUP}, "message": {"physical_offset": 0}}
"""Arguments of pages that show one thing."""
NO_PLACE: PageArguments = {}
WITHOUT_A_BROKER = ("welcome", "reports", "settings")
"""Pages without requests to the broker."""


def main(out: Path, theme: str = "", language: str = "", *, name_servers: str = "", readme: bool = False) -> int:
    """Save pictures as ``<theme>-<language>/<page>.png`` in ``out``; returns an exit code.

    Args:
        out: Folder of the pictures.
        theme: ``light`` or ``dark``; empty: both.
        language: One of `LANGUAGES`; empty: all.
        name_servers: Of a running cluster: only its pages are saved, as ``attached-…``; empty: none.
        readme: Save the pictures of README.md instead, as ``<name>.png``.
    """
    themes = [theme] if theme else [ThemeMode.LIGHT.value, ThemeMode.DARK.value]
    looks = [Look(one, other) for one in themes for other in ([language] if language else LANGUAGES)]
    with tempfile.TemporaryDirectory(prefix="orbit-gallery-") as folder:
        os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={write_screen(Path(folder))}")
        drop_wild_scales()
        application = make_application()
        console = Console(application, window_options(Path(folder), looks[0], name_servers))
        with GarbageTurns():
            try:
                gallery = _Gallery(console, out, looks)
                take = gallery.take_attached if name_servers else gallery.take
                return gallery.run(gallery.take_readme if readme else take)
            finally:
                console.window.close()
                wait(lambda: not console.children_processes.any_running, END_TIMEOUT_S)


class _Gallery:
    """Walks through the pages and saves them in every look."""

    def __init__(self, console: Console, out: Path, looks: Sequence[Look]) -> None:
        self._console = console
        self._window = console.window
        self._out = out
        self._looks = looks
        self._overlays = Overlays(console, self._over, lambda: pause(PAGE_SETTLE_S), TOPIC, GROUP)

    def run(self, take: Callable[[], None]) -> int:
        """Take pictures once the window has figures; returns an exit code."""
        if not self._is_ready():
            return 1
        take()
        return 1 if self._console.errors.count else 0

    def take(self) -> None:
        source = self._console.worker.source
        assert source.ready is not None
        self._page("welcome")
        for entry in PAGES[1:]:
            self._page(entry.page_id, prefix="empty-")
        self._play(source.ready.name_server)
        self._reports(source.ready.store_directory)
        for entry in PAGES:
            if entry.page_id not in ("welcome", "topic", "message"):
                self._page(entry.page_id)
        for page_id, show in PARTS:
            self._page(page_id, show=show)
        self._details()
        self._overlays.take_all()
        self._attached(source.ready.name_server)
        self._stand_ins()
        self._lost()

    def take_attached(self) -> None:
        for entry in PAGES:
            if entry.page_id not in ("welcome", "message"):
                self._page(entry.page_id, prefix="attached-", place=PLACES.get(entry.page_id, NO_PLACE))

    def take_readme(self) -> None:
        source = self._console.worker.source
        assert source.ready is not None
        self._play(source.ready.name_server)
        self._report(REPORT, source.ready.store_directory)
        self._window.notices.toasts.close_all()
        for picture in PICTURES:
            self._show_in(picture.look)
            self._window.navigate(picture.page_id, **picture.place)
            pause(PAGE_SETTLE_S)
            self._write_to(self._out / f"{picture.name}.png", with_palette(self._window.grab().toImage()))

    def _is_ready(self) -> bool:
        """Show the window, and wait for the first figures."""
        self._window.resize(*WINDOW_SIZE)
        self._window.show()
        self._console.begin()
        source = self._console.worker.source
        settled = (SourceStatus.READY, SourceStatus.LOST)
        if wait(lambda: source.status in settled and source.state is not None, START_TIMEOUT_S):
            return True
        reason = source.reason.message if source.reason else f"the broker was not ready after {START_TIMEOUT_S:.0f} s"
        sys.stderr.write(f"orbit: no pictures were taken: {reason}\n")
        return False

    # ---- pages of the window ---------------------------------------------------------------------------------------------

    def _details(self) -> None:
        for tab in TOPIC_TABS:
            self._page("topic", tab=tab, place={"topic": TOPIC})
        for tab in GROUP_TABS:
            self._page("consumers", tab=tab, place={"group": GROUP})
        for report in REPORTS_WITH_FIELDS:
            self._page("reports", name=f"reports-{report}", place={"report": report})
        page = self._newest(TRANSACTION_TOPIC, 1)
        if page:
            self._page("message", place={"physical_offset": page[0]})

    def _attached(self, name_servers: str) -> None:
        """Take the pages of this broker as an attached cluster, in another process because a process has one window."""
        child = ChildProcess(self._window)
        child.line_read.connect(lambda line: sys.stdout.write(f"{line}\n"))
        child.error_read.connect(lambda line: sys.stderr.write(f"{line}\n"))
        for look in self._looks:
            words = ["gallery", "--ns", name_servers, "--out", str(self._out), "--theme", look.theme, "--lang", look.language]
            child.start(words)
            if not wait(lambda: not child.is_running, ATTACHED_TIMEOUT_S):
                child.cancel()
                wait(lambda: not child.is_running, END_TIMEOUT_S)

    def _lost(self) -> None:
        self._window.navigate("overview")
        self._console.worker.abort()
        wait(lambda: self._console.worker.source.status is SourceStatus.LOST, END_TIMEOUT_S)
        for page_id in ("overview", "welcome", "settings"):
            self._page(page_id, prefix="lost-")

    def _page(
        self, page_id: str, *, name: str = "", prefix: str = "", show: str = "", tab: str = "", place: PageArguments = NO_PLACE
    ) -> None:
        arguments = {key: value for key, value in (("show", show), ("tab", tab)) if value}
        self._window.navigate(page_id, **arguments, **place)
        pause(PAGE_SETTLE_S)
        self._save(self._window, name or prefix + "-".join([page_id, *show.split(), *tab.split()]))

    def _over(self, name: str, open_it: Open) -> None:
        for look in self._looks:
            self._show_in(look)
            widget = opened_for_a_picture(open_it, lambda: pause(PAGE_SETTLE_S / 2))
            if widget is None:
                sys.stderr.write(f"orbit: there is nothing to show {name} for\n")
                continue
            self._write(picture_of(widget, self._window), look, name)
            # A palette is hidden and used again; the others are deleted when they close.
            widget.close() if widget.isWindow() else widget.hide()

    # ---- what happens beside the demo ------------------------------------------------------------------------------------

    def _play(self, name_server: str) -> None:
        """Play the demo; it goes on while the pictures are taken."""
        demo = self._console.demo
        demo.start(name_server, DemoPace.NORMAL)
        wait(lambda: not demo.is_running, DEMO_SECONDS)
        if not demo.is_running:
            sys.stderr.write("orbit: the demo ended early; the pictures show an idle broker\n")

    def _report(self, name: str, store_directory: str) -> None:
        runner = self._console.reports
        runner.start(runner.order(next(spec for spec in reports() if spec.name == name), (store_directory,)))
        self._wait_for_reports()
        self._check_report()

    def _newest(self, topic: str, count: int) -> list[int]:
        """Physical offsets of the newest messages of a topic."""
        found: list[object] = []
        self._console.worker.source.ask(BrowseQueue(topic, -1, 0, count)).then(found.append, found.append)
        wait(lambda: bool(found), ANSWER_TIMEOUT_S)
        page = found[0] if found else None
        return list(page.physical_offset) if isinstance(page, MessagePage) else []

    def _reports(self, store_directory: str) -> None:
        """Take the pages of a failed report, then of others while they run and after they have ended."""
        runner, none = self._console.reports, Path(store_directory).with_name("no-store")
        none.mkdir()
        runner.start(runner.order(reports()[0], (str(none),)))
        self._wait_for_reports()
        self._page("reports", name="reports-failed")
        self._overlays.notices()
        self._window.notices.toasts.close_all()
        for spec in reports()[:REPORTS_RUN]:
            runner.submit(runner.order(spec, (store_directory,)))
        self._page("reports", name="reports-running")
        self._overlays.tasks()
        for order in runner.waiting:
            runner.withdraw(order)
        self._wait_for_reports()
        self._check_report()

    def _check_report(self) -> None:
        run = self._console.reports.run
        if run is not None and run.error:
            sys.stderr.write(f"orbit: the report was not made: {run.error}\n")

    def _wait_for_reports(self) -> None:
        runner = self._console.reports
        if not wait(lambda: not runner.is_running, REPORT_TIMEOUT_S):
            runner.cancel()
            wait(lambda: not runner.is_running, END_TIMEOUT_S)

    # ---- pages over a source that does not answer ------------------------------------------------------------------------

    def _stand_ins(self) -> None:
        """Take every page while all answers are pending, and after all have failed."""
        page = self._window.area.current
        assert page is not None
        source = page.context.source
        for prefix, other in (("loading-", silent(source)), ("failed-", failing(source))):
            for entry in PAGES:
                if entry.page_id not in WITHOUT_A_BROKER:
                    self._stand_in(prefix + entry.page_id, entry.page_id, replace(page.context, source=other))

    def _stand_in(self, name: str, page_id: str, context: PageContext) -> None:
        page = page_class(page_entry(page_id))(context)
        self._console.theme.dress(page)
        page.resize(*PAGE_SIZE)
        page.show()
        page.status_changed(context.source.status)
        page.open(PLACES.get(page_id, NO_PLACE))
        state = context.source.state
        if state is not None:
            page.state_changed(state)
        page.refresh()
        pause(LOOK_SETTLE_S)
        self._save(page, name)
        page.close()
        page.deleteLater()

    # ---- saving ----------------------------------------------------------------------------------------------------------

    def _save(self, widget: QWidget, name: str) -> None:
        for look in self._looks:
            self._show_in(look)
            # The layout of the last texts is still pending.
            QCoreApplication.sendPostedEvents()
            self._write(widget.grab(), look, name)
        # The next picture begins with the look of this one, which saves a change of the style.
        self._looks = self._looks[::-1]

    def _show_in(self, look: Look) -> None:
        self._console.theme.set_mode(ThemeMode(look.theme))
        self._console.language.use(look.language)
        wait(lambda: self._console.theme.is_applied, LOOK_TIMEOUT_S)
        pause(LOOK_SETTLE_S)

    def _write(self, picture: QPixmap, look: Look, name: str) -> None:
        self._write_to(self._out / look.name / f"{name}.png", picture)

    def _write_to(self, path: Path, picture: QPixmap | QImage) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(str(path))
        sys.stdout.write(f"{path}\n")
