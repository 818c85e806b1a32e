"""GUI tests run without a display unless one is asked for. Fixtures for pages over a fake broker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.theme.manager import ThemeManager, ThemeMode
from gui.views.page import PageView
from monitoring.payload import judging
from monitoring.series import History
from tests.support.fake_frame import Frame
from tests.support.fake_history import shop_history
from tests.support.fake_page_context import FakeWindow, fake_context
from tests.support.fake_source import FakeSource
from tests.support.languages import shown_in
from tests.support.window_fixtures import closed_widgets_end, garbage_turns, no_key_is_held, patient_bot  # noqa: F401  fixtures


@pytest.fixture(autouse=True)
def _unhurried_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is masked is judged at once, however busy the machine is."""
    monkeypatch.setattr(judging, "AT_ONCE_SECONDS", 60.0)
    monkeypatch.setattr(judging, "BURST_SECONDS", 1e9)


@pytest.fixture
def chinese(qapp: QApplication) -> Iterator[None]:
    """Texts that are made from now on are Chinese."""
    with shown_in("zh"):
        yield


@pytest.fixture(scope="module")
def theme_of_module(qapp: QApplication) -> Iterator[ThemeManager]:
    manager = ThemeManager(qapp, ThemeMode.DARK)
    yield manager
    manager.deleteLater()


@pytest.fixture
def theme(theme_of_module: ThemeManager) -> Iterator[ThemeManager]:
    """Dark at the begin of each test."""
    yield theme_of_module
    theme_of_module.set_mode(ThemeMode.DARK)


@pytest.fixture(scope="module")
def history() -> History:
    return shop_history()


@pytest.fixture
def window() -> FakeWindow:
    return FakeWindow()


@pytest.fixture
def make_frame(qtbot: QtBot, tmp_path: Path, theme: ThemeManager) -> Iterator[Callable[..., Frame]]:
    """Shows a main window over a fake source; the windows of a test have the same settings. Arguments as for `Frame`."""
    languages = []

    def make(**given: Any) -> Frame:
        made = Frame(tmp_path / "window.ini", theme, **given)
        languages.append(made.language)
        qtbot.addWidget(made.window)
        made.window.show()
        made.window.restore_layout()
        return made

    yield make
    for language in languages:
        language.use("en")


@pytest.fixture
def frame(make_frame: Callable[..., Frame]) -> Frame:
    return make_frame()


@pytest.fixture
def show_page(
    qtbot: QtBot, tmp_path: Path, theme: ThemeManager, history: History, window: FakeWindow
) -> Callable[..., PageView]:
    """Shows a page of the given class over a source; further arguments replace parts of its context."""

    def show(page: type[PageView], source: FakeSource, **given: Any) -> PageView:
        settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
        view = page(fake_context(source, settings, **{"window": window, "theme": theme, "history": history} | given))
        qtbot.addWidget(view)
        view.context.theme.dress(view)
        view.resize(1232, 795)
        view.show()
        view.status_changed(source.status)
        if source.state is not None:
            view.state_changed(source.state)
        return view

    return show
