"""Services of the frame: before the first paint, the backend after it, and what its parts use of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QMainWindow

from gui.operations.actions import ActionRegistry, Navigate, Notify
from gui.operations.clusters import Clusters
from gui.operations.tasks import TaskList
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.registry import PAGES, PageEntry
from gui.widgets.toast import Repeats
from gui.words.text import TimeZoneChoice, Words
from monitoring.sources.base import ClusterSource, SourceStatus

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.worker.questions.lifecycle import Ready
    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController
    from monitoring.series import History
    from monitoring.state import ClusterState


@dataclass(frozen=True, slots=True)
class WindowServices:
    """Services of the first paint; made by `gui.app.console`."""

    theme: ThemeManager
    settings: QSettings
    tasks: TaskList
    times: TimeZoneChoice
    set_language: Callable[[str], None]
    language: str = "en"
    pages: Sequence[PageEntry] = PAGES
    clusters: Clusters = field(default_factory=Clusters)
    store_folder: Path | None = None
    """The store that is only read; None where a broker runs."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What the window shows and controls. Made after the first paint: its imports (numpy) take longer than the frame."""

    source: ClusterSource
    history: History
    demo: DemoController
    reports: ReportRunner
    restart_worker: Callable[[], None]


@dataclass(frozen=True, slots=True)
class FrameServices:
    """What the parts of the frame use of the window."""

    host: QMainWindow
    """Parent of dialogs and menus."""
    app: WindowServices
    actions: ActionRegistry
    navigate: Navigate
    open_link: Callable[[str], None]
    notify: Notify
    keep_notice: Callable[[Words, State, Repeats | None], None]
    """Adds a line under the bell without a toast."""
    backend: Callable[[], Backend | None]
    """None until the window is attached."""

    @property
    def ready(self) -> Ready | None:
        """The broker's report when it was ready."""
        backend = self.backend()
        return backend.source.ready if backend is not None else None

    @property
    def address(self) -> str:
        """Name server address; empty while the broker does not run."""
        ready = self.ready
        return ready.name_server if ready is not None else ""

    @property
    def status(self) -> SourceStatus:
        """Status of the broker; starting until the window is attached."""
        backend = self.backend()
        return backend.source.status if backend is not None else SourceStatus.STARTING

    @property
    def state(self) -> ClusterState | None:
        """The newest figures, once known."""
        backend = self.backend()
        return backend.source.state if backend is not None else None

    def has_page(self, page_id: str) -> bool:
        return any(entry.page_id == page_id for entry in self.app.pages)
