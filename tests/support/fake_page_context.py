"""What a page of the window needs, over a fake source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSettings, QThreadPool
from PySide6.QtWidgets import QApplication

from gui.models.favourites import Pins
from gui.operations.actions import ActionRegistry
from gui.operations.clusters import Clusters
from gui.operations.tasks import TaskList
from gui.processes.demo import DemoController
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.views.time_range import TimeRangeChoice
from gui.words.text import TimeZoneChoice, Words, said
from monitoring.series import History
from tests.support.fake_figures import fake_state
from tests.support.fake_history import fake_history
from tests.support.fake_source import FakeSource

if TYPE_CHECKING:
    from gui.operations.decoding import DecoderBook
    from gui.operations.reports import ReportRunner

BACKGROUND_MS = 60_000


class FakeWindow:
    """Records what a page asks of the window."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, dict[str, object]]] = []
        self.notices: list[tuple[str, State]] = []
        self.words: list[Words] = []
        self.offers: list[tuple[str, Callable[[], None] | None]] = []
        self.restarts = 0
        self.languages: list[str] = []

    def navigate(self, page_id: str, /, **arguments: object) -> None:
        self.opened.append((page_id, arguments))

    def notify(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None:
        self.words.append(words)
        self.notices.append((said(words), state))
        self.offers.append((said(action), on_action))

    def restart(self) -> None:
        self.restarts += 1


def deliver_background_calls() -> None:
    """Let what runs on Qt's pool end, and hand over what it brings; what that starts, too."""
    for _turn in range(4):
        assert QThreadPool.globalInstance().waitForDone(BACKGROUND_MS)
        QApplication.sendPostedEvents(None, QEvent.Type.MetaCall.value)


def read_book(settings: QSettings) -> DecoderBook:
    """Decoder rules that were read."""
    from gui.operations.decoding import DecoderBook, settings_folder

    book = DecoderBook(settings_folder(settings), QApplication.instance())
    deliver_background_calls()
    assert book.is_read, "the decoder rules were not read"
    return book


def fake_context(
    source: FakeSource,
    settings: QSettings,
    *,
    window: FakeWindow | None = None,
    theme: ThemeManager | None = None,
    history: History | None = None,
    demo: DemoController | None = None,
    reports: ReportRunner | None = None,
    clusters: Clusters | None = None,
) -> PageContext:
    """A page's context over a fake source; what is not given is made, real but idle. Needs the application object."""
    from gui.operations.alert_center import AlertCenter
    from gui.operations.reports import ReportRunner

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    window = window or FakeWindow()
    tasks = TaskList(application)
    times = TimeZoneChoice(application, utc=True)
    alerts = AlertCenter(source, window.notify, application, show=lambda: window.navigate("alerts"))
    if source.state is not None:
        alerts.state_changed(source.state)
    return PageContext(
        source=source,
        history=history or fake_history(source.state or fake_state()),
        theme=theme or ThemeManager(application, ThemeMode.DARK, application),
        navigate=window.navigate,
        notify=window.notify,
        tasks=tasks,
        actions=ActionRegistry(application),
        settings=settings,
        times=times,
        time_range=TimeRangeChoice(parent=application),
        demo=demo or DemoController(application),
        reports=reports or ReportRunner(tasks, application),
        restart_worker=window.restart,
        set_language=window.languages.append,
        alerts=alerts,
        decoders=read_book(settings),
        pins=Pins(settings, application),
        clusters=clusters or Clusters(),
    )
