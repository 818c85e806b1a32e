"""Fixtures of all tests that have Qt's widgets; a ``conftest.py`` imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.event_loop.garbage import GarbageTurns
from tests.support.patient_bot import PatientBot


@pytest.fixture(scope="session", autouse=True)
def garbage_turns(qapp: QApplication) -> Iterator[None]:
    """As in the program: what a test leaves is not freed in the midst of Qt's work for the next one."""
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


@pytest.fixture(name="qtbot")
def patient_bot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)
