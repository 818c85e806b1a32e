"""Texts that follow the language: those of parts that Qt has deleted are left out, and each is written once."""

from __future__ import annotations

import importlib

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget
from pytestqt.exceptions import capture_exceptions
from shiboken6 import delete

from gui.theme.manager import ThemeMode
from gui.views.registry import PAGES
from gui.widgets.said import SaidTexts, on_language, said, write_texts
from gui.words.language import LanguageSwitch
from monitoring.sources.base import SourceStatus
from tests.support.fake_page_context import deliver_background_calls, fake_context
from tests.support.fake_source import FakeSource


class _Inner(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.line = said(QLabel(self), text="Topics")
        self.count = 0
        on_language(self, self.write)

    def write(self) -> None:
        self.count += 1
        self.line.setText(f"written {self.count}")


class _Outer(QWidget):
    """Makes its part again with each language, as a list of charts does."""

    def __init__(self) -> None:
        super().__init__()
        self.late_texts: list[SaidTexts] = []
        self.parts: list[_Inner] = []
        self._lines = QVBoxLayout(self)
        on_language(self, self.fill)

    def fill(self) -> None:
        if self.parts:
            delete(self.parts[-1])
        self.parts.append(_Inner())
        self._lines.addWidget(self.parts[-1])


def changed(part: QWidget) -> None:
    QCoreApplication.sendEvent(part, QEvent(QEvent.Type.LanguageChange))


@pytest.fixture
def outer(qtbot):
    made = _Outer()
    qtbot.addWidget(made)
    return made


def test_a_part_that_was_made_again_meanwhile_is_left_out(outer):
    changed(outer)
    delete(outer.parts[-1])
    outer.parts.append(_Inner())
    write_texts(outer.late_texts)
    assert [part.count for part in outer.parts] == [1, 1, 1]


def test_a_part_that_a_hook_deletes_is_left_out_after_it(outer):
    changed(outer)
    changed(outer)
    write_texts(outer.late_texts)
    assert [part.count for part in outer.parts] == [2, 1]


def test_the_object_of_a_hook_may_be_deleted_before_the_widget_that_is_written(qtbot):
    part, owner = QWidget(), _Inner()
    qtbot.addWidget(part)
    on_language(part, owner.write)
    delete(owner)
    changed(part)
    assert owner.count == 2


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.page_id)
def test_a_deleted_page_hears_of_nothing_more(tmp_path, qapp, theme, entry):
    """Language, theme, zone, figures and the state of the broker reach no part of it; an error in a slot fails the test."""
    source = FakeSource()
    context = fake_context(source, QSettings(str(tmp_path / "o.ini"), QSettings.Format.IniFormat), theme=theme)
    switch = LanguageSwitch(qapp, "en")
    view = getattr(importlib.import_module(entry.module), entry.class_name)(context)
    view.show()
    view.status_changed(source.status)
    view.state_changed(source.state)
    qapp.processEvents()
    switch.use("zh")
    delete(view)
    with capture_exceptions() as raised:
        switch.use("en")
        theme.set_mode(ThemeMode.LIGHT)
        theme.set_mode(ThemeMode.DARK)
        context.times.toggle()
        context.time_range.zoom(0, 60_000)
        context.decoders.changed.emit()
        source.push_later()
        source.set_status(SourceStatus.LOST)
        deliver_background_calls()
        qapp.processEvents()
    assert raised == []
    switch.deleteLater()
