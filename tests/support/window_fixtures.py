"""Fixtures of all tests that have Qt's widgets; a ``conftest.py`` imports them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui.event_loop.garbage import GarbageTurns
from tests.support.patient_bot import PatientBot


@pytest.fixture(scope="session", autouse=True)
def garbage_turns(qapp: QApplication) -> Iterator[None]:
    """As in the program: what a test leaves is not freed in the midst of Qt's work for the next one.

    Nor at the end of the session: what is freed while Qt lets go of its objects stops the thread for ever.
    """
    gc.disable()
    with GarbageTurns():
        yield


@pytest.fixture(autouse=True)
def closed_widgets_end(qapp: QApplication) -> Iterator[None]:
    """What a test closed is gone before the next one.

    Qt keeps what is deleted later until a loop runs, which few tests do. Thousands of such widgets would take part in each
    change of language, font and palette.
    """
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True)
def no_key_is_held(qapp: QApplication) -> Iterator[None]:
    """Ctrl of a test's last key is not held in the next one, because Qt keeps the modifiers of the last event."""
    yield
    if QGuiApplication.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        QTest.keyRelease(QWidget(), Qt.Key.Key_Control)


@pytest.fixture(name="qtbot")
def patient_bot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)
