"""All pages opened and closed over and over while figures come and theme and language change: nothing is left behind."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSettings, Qt, QThreadPool, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window.page_area import MANY_PARTS
from gui.main_window.services import Backend, WindowServices
from gui.main_window.window import MainWindow
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList
from gui.processes.demo import DemoController
from gui.theme.manager import ThemeManager, ThemeMode
from gui.views.registry import PAGES
from gui.words.language import LanguageSwitch
from gui.words.text import TimeZoneChoice
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource, fake_history, fake_state

ROUNDS = int(os.environ.get("ORBIT_GUI_ROUNDS", "6"))
"""50 and more find rarer faults, in minutes."""
KEPT_BY_QT = "object QPanGesture"
"""Qt keeps one for each scroll area that has been, some hundred bytes, until the program ends."""
WAIT_MS = 10_000


@pytest.fixture
def window(qapp, qtbot, tmp_path):
    theme, tasks = ThemeManager(qapp, ThemeMode.DARK), TaskList()
    language = LanguageSwitch(qapp, "en")
    made = MainWindow(
        WindowServices(
            theme=theme,
            settings=QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat),
            tasks=tasks,
            times=TimeZoneChoice(utc=True),
            set_language=language.use,
        )
    )
    language.changed.connect(made.show_language)
    source = FakeSource()
    reports = ReportRunner(tasks, folder=tmp_path / "reports", process=FakeChild())
    history = fake_history(fake_state(), seconds=60)
    made.attach(Backend(source, history, DemoController(process=FakeChild()), reports, lambda: None))
    qtbot.addWidget(made)
    made.show()
    made.navigate("welcome")
    yield made
    language.use("en")
    theme.set_mode(ThemeMode.DARK)
    theme.deleteLater()


def settle(application: QApplication) -> None:
    """Let background reads answer and deferred deletions happen."""
    assert QThreadPool.globalInstance().waitForDone(WAIT_MS)
    for _ in range(3):
        application.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def census(application: QApplication, window: MainWindow) -> Counter[str]:
    """What there is by kind: widgets, running timers, objects of the window and of the application, threads."""
    counted = Counter(f"widget {type(widget).__name__}" for widget in application.allWidgets())
    for owner in (window, application):
        counted.update(f"object {type(each).__name__}" for each in owner.findChildren(QObject))
    counted["running timers"] = sum(timer.isActive() for timer in window.findChildren(QTimer))
    counted["threads"] = threading.active_count()
    return counted


def one_round(number: int, window: MainWindow, application: QApplication) -> None:
    """Open every page but the first, with figures coming, and close it again."""
    source, services = window.backend.source, window.services
    for place, entry in enumerate(PAGES):
        if entry.page_id == "welcome":
            continue
        window.navigate(entry.page_id)
        source.push_later()
        window.live.once()
        application.processEvents()
        if (number + place) % 5 == 0:
            services.set_language("zh" if (number + place) % 2 else "en")
        if (number + place) % 7 == 0:
            services.theme.set_mode(ThemeMode.LIGHT if (number + place) % 2 else ThemeMode.DARK)
        source.push_later()
        window.live.once()
        window.navigation.close_current()
        application.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # as the loop of the program does


@pytest.mark.timeout(600)
def test_pages_opened_and_closed_leave_nothing(window, qapp):
    for number in range(4):
        one_round(number, window, qapp)
    settle(qapp)
    before = census(qapp, window)
    for number in range(ROUNDS):
        one_round(number, window, qapp)
    window.services.set_language("en")
    settle(qapp)
    grown = census(qapp, window) - before
    assert not {kind: count for kind, count in grown.items() if count >= ROUNDS // 2 and kind != KEPT_BY_QT}
    assert not [kind for kind in grown if kind == "running timers"]
    assert [page.page_id for page in window.area.pages] == ["welcome"]


@pytest.mark.parametrize("page_id", ["consumers", "delay", "clients", "reports", "alerts"])
def test_f4_hides_the_pane_beside_the_list_and_brings_it_back(window, page_id):
    window.navigate(page_id)
    page = window.area.current
    pane = page.detail_pane
    assert pane.isVisible()
    window.commands.toggle_detail()
    assert not pane.isVisible()
    window.commands.toggle_detail()
    assert pane.isVisible()


@pytest.mark.parametrize("page_id", ["reports", "messages"])
def test_the_style_sheet_forgets_every_part_of_a_page_that_is_closed(window, page_id):
    window.navigate(page_id)
    parts = window.area.current.findChildren(QWidget)
    followed = Qt.WidgetAttribute.WA_StyleSheet
    assert not all(part.testAttribute(followed) for part in parts)

    window.navigation.close_current()

    assert all(part.testAttribute(followed) for part in parts if len(part.findChildren(QWidget)) < MANY_PARTS)
