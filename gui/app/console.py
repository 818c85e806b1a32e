"""The window as a program: application object, services, exception hook, and an orderly end.

`run_window` paints the frame first; the worker and the pages start right after the first paint.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from gui.app.children import Children
from gui.app.display import drop_wild_scales, explained_start
from gui.app.uncaught_errors import UncaughtErrors
from gui.app.window_options import WindowOptions, first_cluster, with_kept
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster, kept_text, same_servers
from gui.connections.kept_clusters import KeptClusters
from gui.connections.secret_file import FILE_NAME, SecretFile
from gui.connections.secret_store import SecretStore
from gui.event_loop.garbage import GarbageTurns
from gui.event_loop.turns import next_turn
from gui.main_window.services import Backend, WindowServices
from gui.main_window.window import MainWindow
from gui.operations.clusters import Clusters
from gui.operations.secret_desk import SecretDesk
from gui.operations.tasks import TaskList
from gui.processes.saved_options import default_store, read_saved
from gui.processes.worker_options import WorkerArguments
from gui.settings.values import DENSITY_KEY, SCALE_KEY, SCALES_PERCENT, whole_number
from gui.theme.icons import application_icon
from gui.theme.manager import STYLE, STYLED, ThemeManager, ThemeMode
from gui.theme.style import FocusMarker
from gui.theme.tokens import Density, State
from gui.words.broker_words import broker_text
from gui.words.language import LanguageSwitch, system_language
from gui.words.text import LANGUAGES, TimeZoneChoice, tr

if TYPE_CHECKING:
    from broker_core.api import OrbitError
    from gui.app.end_signals import EndSignals
    from gui.app.page_imports import PageImports
    from gui.app.window_door import WindowDoor
    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController
    from gui.processes.worker_process import WorkerProcess
    from monitoring.sources.base import Pending

FORCED_END_MS = 15_000
"""The window ends after this time even if a child has not: the worker kills itself once its input has ended."""
THREAD_SECONDS = 0.000_5
"""For this time another thread may keep the GUI thread waiting after each call of Qt, which releases Python's lock.

With Python's 5 ms a turn of 100 calls takes half a second while a large body is read.
"""
WARM_UP_DELAY_MS = 300
"""The first page is on screen by then."""


def run_window(options: WindowOptions) -> int:
    """Show the window until it is closed; returns the exit code of the program.

    Raises:
        UsageError: The connection to show is not one that is kept.
    """
    if options.single and _is_open(options):
        return 0
    set_scale(options.settings_file)
    application = make_application()
    console = Console(application, options)
    if options.link:
        console.window.open_link(options.link)
    console.window.show()
    with GarbageTurns():
        return application.exec()


def _is_open(options: WindowOptions) -> bool:
    from gui.app.window_door import reach_window

    return reach_window(first_cluster(options).place, options.link)


def set_scale(settings_file: Path) -> None:
    """Let Qt draw at the user's scale. Call it before the application is made; a usable environment variable wins."""
    drop_wild_scales()
    percent = whole_number(QSettings(str(settings_file), QSettings.Format.IniFormat), SCALE_KEY, SCALES_PERCENT[0])
    if percent in SCALES_PERCENT[1:]:
        os.environ.setdefault("QT_SCALE_FACTOR", str(percent / 100))


def make_application() -> QApplication:
    """The one application object of the process; from now on Python collects no garbage by itself.

    It stays off after the loop too, when Qt's objects are freed: see `gui.event_loop.garbage`.
    """
    gc.disable()
    sys.setswitchinterval(THREAD_SECONDS)
    QApplication.setApplicationName("orbit")
    QApplication.setApplicationDisplayName("Orbit")
    with explained_start():
        application = QApplication([*sys.argv[:1], "-style", STYLE])
    application.setProperty(STYLED, True)
    application.setQuitOnLastWindowClosed(False)
    return application


class Console(QObject):
    """The window, its child processes and what they share, for the life of the program."""

    def __init__(self, application: QApplication, options: WindowOptions) -> None:
        super().__init__(application)
        self._application = application
        self._given = options
        self._options = replace(options, worker=with_kept(options))
        self.settings = QSettings(str(options.settings_file), QSettings.Format.IniFormat, self)
        self.theme = ThemeManager(application, self._theme_mode(options), self)
        self.theme.set_density(self._density())
        self.language = LanguageSwitch(application, self._first_language(options))
        FocusMarker(application, self)
        self._children: Children | None = None
        self._door: WindowDoor | None = None
        self._old_worker: WorkerProcess | None = None
        self.kept = KeptClusters(self.settings)
        self._shown = first_cluster(options)
        self._begun = False
        self._tasks = TaskList(self)
        file = SecretFile(options.settings_file.with_name(FILE_NAME))
        self.secrets = SecretDesk(SecretStore(file, options.find_key_store), self)
        self._details = ""
        """Connection details of the cluster shown."""
        self._wanted: Cluster | None = None
        """The cluster to show once its secrets are read."""
        self.window = MainWindow(self._services())
        self.language.changed.connect(self._language_changed)
        self._ending = False
        self._imports: PageImports | None = None
        # The icon has five sizes, so it is drawn in a turn of its own.
        self.window.first_painted.connect(lambda: next_turn(self, self._show_icon))
        self.window.first_painted.connect(self.begin)
        self.window.closing.connect(self.end)
        self.window.settings_written.connect(self._follow_kept)
        self._signals: EndSignals | None = None
        self.errors = UncaughtErrors(self.window.frame)

    def _services(self) -> WindowServices:
        return WindowServices(
            theme=self.theme,
            settings=self.settings,
            tasks=self._tasks,
            times=TimeZoneChoice(self, utc=str(self.settings.value("utc", "false")).lower() == "true"),
            set_language=self.language.use,
            language=self.language.language,
            clusters=self._clusters(),
            store_folder=self._options.worker.store if self._options.worker.files_only else None,
        )

    def _clusters(self) -> Clusters:
        if not self._options.worker.files_only:
            return Clusters(
                known=self._known_clusters,
                switch=self.switch,
                open_beside=self.open_beside,
                forget=self.forget,
                keep=self.kept.replace,
                secrets=self.secrets,
            )
        # A store that is only looked at has a window of its own and is not remembered.
        return Clusters(title=self._options.worker.store.name, switch=lambda other: self._look_at(other.address))

    @staticmethod
    def _look_at(store: str) -> None:
        from gui.processes.program import start_window

        start_window(["--open-store", store])

    def _known_clusters(self) -> list[Cluster]:
        return self.kept.behind(self._shown)

    def _theme_mode(self, options: WindowOptions) -> ThemeMode:
        name = options.theme or str(self.settings.value("theme", ThemeMode.SYSTEM.value))
        return ThemeMode(name) if name in [mode.value for mode in ThemeMode] else ThemeMode.SYSTEM

    def _density(self) -> Density:
        name = str(self.settings.value(DENSITY_KEY, "")).upper()
        return Density[name] if name in Density.__members__ else Density.NORMAL

    def _first_language(self, options: WindowOptions) -> str:
        name = options.language or str(self.settings.value("language", "")) or system_language()
        return name if name in LANGUAGES else "en"

    def _language_changed(self, language: str) -> None:
        self.settings.setValue("language", language)
        self.window.show_language(language)

    @property
    def worker(self) -> WorkerProcess:
        return self.children_processes.worker

    @property
    def demo(self) -> DemoController:
        return self.children_processes.demo

    @property
    def reports(self) -> ReportRunner:
        return self.children_processes.reports

    @property
    def children_processes(self) -> Children:
        """The child processes, made at the first call, not yet started."""
        if self._children is None:
            self._children = self._make_children()
        return self._children

    def _show_icon(self) -> None:
        self._application.setWindowIcon(application_icon())

    def begin(self) -> None:
        """Start the worker and open the pages; called after the first paint."""
        if not self._begun and not self._ending:
            self._begun = True
            self._listen_to_signals()
            # The worker needs the connection details. The key store may wait for a user who switches the cluster meanwhile.
            first = self._shown
            self.secrets.details(first, {}, partial(self._begin_with, first), partial(self._begin_without, first))

    def _listen_to_signals(self) -> None:
        from gui.app.end_signals import EndSignals

        self._signals = EndSignals(self)
        self._signals.arrived.connect(self.window.close)

    def _begin_with(self, first: Cluster, details: str) -> None:
        if not self._ending and self._shown == first and self.window.backend is None:
            self._details = details
            self.worker.start()
            self._open()

    def _begin_without(self, first: Cluster, fault: str) -> None:
        """Open the window with an error because the secrets cannot be read; its banner tries again."""
        from broker_core.api import WorkerLostError

        if not self._ending and self._shown == first and self.window.backend is None:
            self._open()
            self.worker.source.worker_ended(WorkerLostError(fault))

    def _open(self) -> None:
        self.window.attach(self._backend(self.children_processes))
        self.window.restore_layout()
        self._settle_on(self._shown)
        QTimer.singleShot(WARM_UP_DELAY_MS, self, self._warm_up)

    def switch(self, cluster: Cluster) -> None:
        """Show another cluster in this window once its secrets are read; the last request wins."""
        if cluster.kind == EMBEDDED:
            cluster = Cluster(EMBEDDED, str(Path(cluster.address).absolute()))
        if self._old_worker is not None or self._ending or not self._begun:
            return
        self._wanted = cluster
        self.secrets.details(cluster, {}, partial(self._go, cluster), partial(self._not_switched, cluster))

    def _not_switched(self, cluster: Cluster, fault: str) -> None:
        if self._wanted == cluster:
            self._wanted = None
        self._no_secrets(fault)

    def _go(self, cluster: Cluster, details: str) -> None:
        """Stop the worker of the cluster shown; `_switched` starts the next."""
        if self._wanted != cluster or self._ending or self._old_worker is not None:
            return
        self._wanted = None
        if (cluster, details) == (self._shown, self._details):
            return
        self.demo.stop()
        self.window.save_layout()
        children = self.children_processes
        self._shown, self._details, self._old_worker = cluster, details, children.worker
        # The new worker starts after the old one has released its ports.
        for ended in (children.worker.stopped, children.worker.lost):
            ended.connect(self._switched)
        children.worker.stop()

    def _follow_kept(self) -> None:
        """Reconnect when another window has changed the connection shown here."""
        shown = self._shown
        if shown.kind != ATTACHED or self._old_worker is not None or self.window.backend is None:
            return
        found = self.kept.as_kept(shown)
        if found is not None and kept_text(found) != kept_text(shown):
            self.switch(found)

    def open_beside(self, cluster: Cluster, link: str) -> None:
        """Show a cluster in a window (and process) of its own; a window that shows it already comes to the front."""
        from gui.processes.program import start_window

        words = ["--store", cluster.address]
        if cluster.kind == ATTACHED:
            words = ["--connection", cluster.address]
            self.kept.remember(cluster, behind=self._shown)
        elif cluster.place == str(read_saved(self.settings).store or default_store()):
            words = []  # what a start without words shows
        if not start_window([*words, *filter(None, (link,))]):
            self.window.notify(lambda: tr("Another window could not be started."), state=State.CRITICAL)

    def forget(self, cluster: Cluster) -> Pending[None]:
        """Remove a cluster that is not shown from the list, a connection after its secrets; the answer says when."""
        from gui.operations.requests import BegunLater

        return BegunLater(partial(self._forget, cluster))

    def _forget(self, cluster: Cluster, done: Callable[[None], None], failed: Callable[[OrbitError], None]) -> None:
        from broker_core.api import SecretError

        def forgotten(_answer: None) -> None:
            self.kept.drop(cluster)
            done(None)

        if cluster.kind == EMBEDDED:
            forgotten(None)
        else:
            self.secrets.forget(cluster, forgotten, lambda fault: failed(SecretError(fault)))

    def _switched(self, _reason: object = None) -> None:
        if self._old_worker is None or self._ending or self._children is None:
            return
        from gui.processes.worker_process import WorkerProcess

        old, self._old_worker = self._old_worker, None
        worker = WorkerProcess(self._worker_options(), self)
        self._children = replace(self._children, worker=worker)
        worker.start()
        self.window.attach(self._backend(self._children))
        self.window.restore_layout()
        old.deleteLater()
        self._settle_on(self._shown)

    def _worker_options(self) -> WorkerArguments:
        options, shown = self._options.worker, self._shown
        if shown.kind == ATTACHED:
            read_only = options.read_only or shown.read_only
            return replace(
                options,
                connect=shown.address,
                kept_under=shown.kept_under,
                connect_details=self._details,
                read_only=read_only,
            )
        return replace(options, store=Path(shown.address))

    def _details_at(self, name_servers: str) -> str | None:
        """Connection details of the cluster shown, as a worker reads them; None for another one, which a child looks up."""
        is_shown = self._shown.kind == ATTACHED and same_servers(self._shown.address, name_servers)
        return self._details if is_shown else None

    def _settle_on(self, cluster: Cluster) -> None:
        """Remember a cluster as the last one used, and listen for second starts; not for a store that is only looked at."""
        if self._options.worker.files_only:
            return
        self.kept.remember(cluster)
        if not self._options.single:
            return
        if self._door is not None:
            self._door.close()
            self._door = None
        from gui.app.window_door import WindowDoor

        self._door = WindowDoor(cluster.place, self)
        self._door.asked.connect(self.window.open_link)

    def _warm_up(self) -> None:
        if self._ending or self._imports is not None:
            return
        from gui.app.page_imports import PageImports

        # Modules stay for the life of the program. A full collection would walk 100,000 of their objects, which blocks the GUI
        # thread for 70 ms.
        self._imports = PageImports(self)
        self._imports.done.connect(gc.freeze)
        self._imports.start()

    def _make_children(self) -> Children:
        # Imported here because they need numpy and msgpack: the frame is on screen before.
        from gui.operations.preparation import ReportPreparation
        from gui.operations.report_estimate import ReportEstimate
        from gui.operations.report_schedules import ReportSchedules
        from gui.operations.reports import ReportRunner
        from gui.processes.demo import DemoController
        from gui.processes.spark_child import SparkChild
        from gui.processes.worker_process import WorkerProcess

        preparation = ReportPreparation(self._tasks, self) if self._options.prepare_reports else None
        reports = ReportRunner(
            self._tasks, self, folder=self._options.reports_folder, session=SparkChild(self), preparation=preparation,
            estimate=ReportEstimate(self, details_of=self._details_at), schedules=ReportSchedules(self.settings, self),
            details_of=self._details_at,
            rules=self.window.decoders(),
        )  # fmt: skip
        return Children(WorkerProcess(self._worker_options(), self), DemoController(self), reports, preparation)

    def _backend(self, children: Children) -> Backend:
        source = children.worker.source
        return Backend(source, source.history, children.demo, children.reports, self._restart_worker)

    def _restart_worker(self) -> None:
        """Restart the broker on the same store, with the ports and sizes that the Settings page holds now.

        Missing secrets of a connection are requested again.
        """
        if self._shown.kind == ATTACHED and not self._details:
            shown = self._shown
            self.secrets.details(shown, {}, partial(self._connect_again, shown), self._no_secrets)
            return
        self.settings.sync()
        self._options = replace(self._options, worker=replace(with_kept(self._given), store=self._options.worker.store))
        self.worker.options = self._worker_options()
        self.worker.restart()

    def _connect_again(self, cluster: Cluster, details: str) -> None:
        """Replace the worker, because the secrets of the connection are known now."""
        if not self._ending and self._old_worker is None and self._shown == cluster and not self._details:
            self.window.save_layout()
            self._details, self._old_worker = details, self.children_processes.worker
            self._switched()

    def _no_secrets(self, fault: str) -> None:
        self.window.notify(partial(broker_text, fault), state=State.CRITICAL)

    def end(self) -> None:
        """Stop all children and then the program, without waiting. The window is already closed."""
        if self._ending:
            return
        self._ending = True
        if self._imports is not None:
            self._imports.stop()
        if self._door is not None:
            self._door.close()
        if self._children is None:
            self._quit()
            return
        self._children.end(self._child_ended)
        QTimer.singleShot(FORCED_END_MS, self, self._quit)
        self._child_ended()

    def _child_ended(self, _reason: object = None) -> None:
        if self._children is not None and not self._children.any_running:
            self._quit()

    def _quit(self) -> None:
        self.settings.sync()
        if self._signals is not None:
            self._signals.close()
        self.errors.close()
        self._application.quit()
