"""What the frame is given: services before the first paint, the backend after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings

from gui.main_window.clusters import Clusters
from gui.operations.tasks import TaskList
from gui.theme.manager import ThemeManager
from gui.views.registry import PAGES, PageEntry
from gui.words.text import TimeZoneChoice
from monitoring.sources.base import ClusterSource

if TYPE_CHECKING:
    from pathlib import Path

    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController
    from monitoring.series import History


@dataclass(frozen=True, slots=True)
class WindowServices:
    """What the frame needs to be painted; made by `gui.app.console`."""

    theme: ThemeManager
    settings: QSettings
    tasks: TaskList
    times: TimeZoneChoice
    set_language: Callable[[str], None]
    language: str = "en"
    pages: Sequence[PageEntry] = PAGES
    clusters: Clusters = field(default_factory=Clusters)
    store_folder: Path | None = None
    """The store that is read, where no broker runs."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What the window shows and controls. It comes after the first paint, as its imports (numpy) take longer than the frame."""

    source: ClusterSource
    history: History
    demo: DemoController
    reports: ReportRunner
    restart_worker: Callable[[], None]


def whole_number(settings: QSettings, key: str, default: int) -> int:
    """A whole number from the settings file, or the default where it is missing or none."""
    text = str(settings.value(key, default))
    return int(text) if text.lstrip("-").isdigit() else default


def text_list(settings: QSettings, key: str) -> list[str]:
    """A list of texts from the settings file; Qt gives a list of one back as the one."""
    value = settings.value(key, [])
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, list) else []


def is_on(settings: QSettings, key: str, *, default: bool) -> bool:
    """A switch from the settings file."""
    return str(settings.value(key, default)).lower() == "true"
