"""Fixtures of all tests that have Qt's widgets; a ``conftest.py`` imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.event_loop.garbage import GarbageTurns
from tests.support.patient_bot import PatientBot


@pytest.fixture(scope="session", autouse=True)
def garbage_turns(qapp: QApplication) -> Iterator[None]:
    """As in the program: what a test leaves is not freed in the midst of Qt's work for the next one."""
    with GarbageTurns():
        yield


@pytest.fixture(name="qtbot")
def patient_bot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)
