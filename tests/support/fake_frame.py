"""The main window over a fake source."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from gui.main_window.services import Backend, WindowServices
from gui.main_window.window import MainWindow
from gui.operations.clusters import Clusters
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList
from gui.processes.demo import DemoController
from gui.theme.manager import ThemeManager
from gui.words.language import LanguageSwitch
from gui.words.text import TimeZoneChoice
from tests.support.fake_child import FakeChild
from tests.support.fake_history import shop_history
from tests.support.fake_pages import FAKE_PAGES, RecordingPage
from tests.support.fake_source import FakeSource


class Frame:
    """A main window with the pages Overview, Topics and Welcome, and what surrounds it. Needs the application object.

    Args:
        settings_file: Of the window.
        theme: Outlives it.
        source: A new one if None.
        clusters: As for `WindowServices`.
        attached: Whether it has its backend from the start.
        store_folder: As for `WindowServices`.
    """

    def __init__(
        self,
        settings_file: Path,
        theme: ThemeManager,
        *,
        source: FakeSource | None = None,
        clusters: Clusters | None = None,
        attached: bool = True,
        store_folder: Path | None = None,
    ) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self.source = source or FakeSource()
        self.theme = theme
        self.restarts = 0
        self.settings = QSettings(str(settings_file), QSettings.Format.IniFormat)
        self.tasks = TaskList()
        self.language = LanguageSwitch(application, "en")
        self.demo_child = FakeChild()
        self.demo = DemoController(process=self.demo_child)  # type: ignore[arg-type]  # stands in for one
        self.reports = ReportRunner(self.tasks, process=FakeChild())  # type: ignore[arg-type]  # as above
        self.window = MainWindow(
            WindowServices(
                theme=theme,
                settings=self.settings,
                tasks=self.tasks,
                times=TimeZoneChoice(utc=True),
                set_language=self.language.use,
                pages=FAKE_PAGES,
                clusters=clusters or Clusters(),
                store_folder=store_folder,
            )
        )
        if attached:
            self.window.attach(self.backend(self.source))
        self.language.changed.connect(self.window.show_language)
        self.navigation, self.area = self.window.navigation, self.window.area

    def backend(self, source: FakeSource) -> Backend:
        """What the window is attached to."""
        return Backend(source, shop_history(60), self.demo, self.reports, self._restart)

    def ids(self) -> list[str]:
        """Pages in the order of their tabs."""
        return [tab.page_id for tab in self.area.places]

    @property
    def page(self) -> RecordingPage:
        """The page that is shown."""
        page = self.area.current
        assert isinstance(page, RecordingPage)
        return page

    def _restart(self) -> None:
        self.restarts += 1
