"""Every dialog of the window: it says to a screen reader what its controls are, and fits a small screen; in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, QSize
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QScrollArea, QWidget

from gui.main_window.close_question import CloseQuestion
from gui.main_window.range_dialog import RangeDialog
from gui.operations.report_schedules import ReportSchedules
from gui.views.chart_table import show_table
from gui.views.connections.asking import ConnectDialog
from gui.views.messages.compare_dialog import CompareDialog
from gui.views.messages.decoding_rules_dialog import DecodingRulesDialog
from gui.views.messages.export_dialog import ExportDialog
from gui.views.messages.hand_dialog import HandDialog
from gui.views.messages.replay_dialog import ReplayDialog
from gui.views.reports.schedule_dialog import ScheduleDialog
from gui.views.tail.tail_rules_dialog import TailRulesDialog
from gui.widgets import fitted_dialog
from gui.widgets.basic import ElidedLabel
from gui.widgets.fitted_dialog import SCREEN_MARGIN, FieldsRoom, FittedDialog
from tests.gui.test_accessible import unnamed
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker
from tests.support.fake_messages import fake_detail
from tests.support.fake_page_context import deliver_background_calls

SMALL_ROOM = QSize(960, 540 - SCREEN_MARGIN)
LARGE_ROOM = QSize(1920, 1080 - SCREEN_MARGIN)


def as_it_is(value: Any) -> Any:
    """Names of the shop, as its source has them."""
    return value


def of_the_frame(window, _named: Callable[[Any], Any] = as_it_is) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs that need no page."""
    services = window.services
    yield ConnectDialog(window, services.theme)
    yield RangeDialog(window.time_range, services.times, window)
    yield CloseQuestion(["“Export” is not finished and would be cancelled."], window, close=lambda: None, stay=lambda: None)
    for action in ("help.shortcuts", "broker.copy"):
        window.actions_known.run(action)
        yield next(one for one in window.findChildren(QDialog) if one.isVisible())


def of_messages(window, named: Callable[[Any], Any] = as_it_is) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs about messages."""
    window.navigate("messages", send=True)
    page = window.area.current
    yield next(one for one in page.findChildren(QDialog) if one.isVisible())
    context, detail = page.context, named(fake_detail(4_711))
    chosen = page.search.chosen()
    yield ExportDialog(context, chosen, page)
    yield ReplayDialog(context, chosen, page)
    yield CompareDialog(context, context.decoders, detail, (("the other", 1_000),), page)
    yield HandDialog(context.source, context.theme, context.source.state, [detail], page)
    rules = DecodingRulesDialog(context.decoders, context.theme, named("orders"), page)
    rules.add.click()
    yield rules
    yield TailRulesDialog(context.theme, (), page)


def of_pages(window, named: Callable[[Any], Any] = as_it_is) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs of the watching pages and of reports."""
    window.navigate("topics", create=True)
    yield next(one for one in window.area.current.findChildren(QDialog) if one.isVisible())
    yield window.area.current.ask_import()
    window.navigate("consumers", group=named("payment-settle"), tab="lag")
    page = window.area.current
    page.refresh()
    yield show_table(page.lag.chart.make(), page.context.theme, page.context.times)
    window.navigate("consumers", group=named("payment-settle"), tab="members")
    deliver_background_calls()
    group = page.group_grid.selected_row
    yield page.dialogs.reset(group)
    yield page.dialogs.delete(group)
    yield page.dialogs.client(named("payment-settle"), page.members.rows[0])
    window.navigate("reports")
    page = window.area.current
    schedules = ReportSchedules(page.context.settings, page)
    yield ScheduleDialog(page.context.theme, schedules, page.form.order, page)


def dialog_classes() -> set[type[QDialog]]:
    """All of the window that are opened, not those that are only built upon."""
    found, left = set(), [QDialog]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        if one.__module__.startswith("gui."):
            found.add(one)
    return found - {
        base for one in found for base in one.__bases__ if base.__name__ in {"FittedDialog", "JobDialog", "LossQuestion"}
    }


def all_dialogs(window, qapp, named: Callable[[Any], Any] = as_it_is) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Each dialog while it is shown; all that there are."""
    opened: set[type[QDialog]] = set()
    for part in (of_the_frame, of_messages, of_pages):
        for dialog in part(window, named):
            dialog.show()
            settle_layouts(qapp)
            yield dialog
            opened.add(type(dialog))
            dialog.done(0)
            dialog.deleteLater()
            QCoreApplication.sendPostedEvents(dialog, QEvent.Type.DeferredDelete)
    assert {one.__name__ for one in dialog_classes() - opened} == set(), "dialogs that no part opens"


def settle_layouts(qapp) -> None:
    """Scroll bars are shown and hidden by events that come after those of the layout."""
    for _ in range(10):
        QCoreApplication.sendPostedEvents()
        qapp.processEvents()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_all_dialogs_fit_a_full_hd_screen_at_200_percent(window, qapp, monkeypatch, language):  # noqa: F811  the fixture
    monkeypatch.setattr(fitted_dialog, "screen_room", lambda _dialog: SMALL_ROOM)
    window.services.set_language(language)
    too_large: dict[str, object] = {}
    lost: dict[str, list[str]] = {}
    for dialog in all_dialogs(window, qapp):
        assert isinstance(dialog, FittedDialog)
        name = type(dialog).__name__
        for size in (dialog.size(), dialog.minimumSize(), dialog.minimumSizeHint()):
            if size != size.boundedTo(SMALL_ROOM):
                too_large[name] = size
        lost[name] = buttons_out_of_sight(dialog) + cut_texts(dialog)
    window.services.set_language("en")
    assert too_large == {}
    assert {name: buttons for name, buttons in lost.items() if buttons} == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_dialogs_have_names_and_are_not_scrolled_where_there_is_room(window, qapp, monkeypatch, language):  # noqa: F811
    monkeypatch.setattr(fitted_dialog, "screen_room", lambda _dialog: LARGE_ROOM)
    window.services.set_language(language)
    faults: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for dialog in all_dialogs(window, qapp):
        bars = [room.verticalScrollBar() for room in dialog.findChildren(FieldsRoom)]
        scrolled = ["scroll bar" for bar in bars if bar.maximum() or bar.isVisible()]
        faults[type(dialog).__name__] = scrolled + cut_texts(dialog) + buttons_out_of_sight(dialog)
        missing[type(dialog).__name__] = unnamed(dialog)
    window.services.set_language("en")
    assert {name: found for name, found in faults.items() if found} == {}
    assert {name: controls for name, controls in missing.items() if controls} == {}


def cut_texts(dialog: QDialog) -> list[str]:
    """Wrapped and plain texts that are shown with less room than they need; not those that say the rest in a tool tip."""
    shown = [one for one in dialog.findChildren(QLabel) if one.isVisible() and one.text() and not isinstance(one, ElidedLabel)]
    return [one.text() for one in shown if _needed_height(one) > one.height() or _needed_width(one) > one.width()]


def _needed_height(text: QLabel) -> int:
    return text.heightForWidth(text.width()) if text.wordWrap() else text.minimumSizeHint().height()


def _needed_width(text: QLabel) -> int:
    return 0 if text.wordWrap() else text.minimumSizeHint().width()


def buttons_out_of_sight(dialog: QDialog) -> list[str]:
    """Buttons that end the dialog or do its work but are not wholly seen, i.e. those that the keyboard presses by default."""
    buttons = [one for one in dialog.findChildren(QPushButton) if one.isVisible() and not _is_scrolled(one)]
    return [one.text() for one in buttons if not dialog.rect().contains(QRect(one.mapTo(dialog, QPoint()), one.size()))]


def _is_scrolled(widget: QWidget) -> bool:
    above = widget.parentWidget()
    while above is not None and not isinstance(above, QScrollArea):
        above = above.parentWidget()
    return above is not None


def test_a_dialog_makes_room_for_what_becomes_higher_and_then_scrolls(qapp, qtbot, monkeypatch):
    monkeypatch.setattr(fitted_dialog, "screen_room", lambda _dialog: QSize(600, 400))
    dialog = FittedDialog()
    qtbot.addWidget(dialog)
    dialog.setMinimumWidth(300)
    lines = dialog.lay_out()
    parts = [QLabel("Orders are paid once.") for _ in range(3)]
    for part in parts:
        part.setFixedHeight(90)
        lines.addWidget(part)
    parts[2].hide()
    button = QPushButton("Close")
    dialog.set_foot(button)
    dialog.show()
    settle_layouts(qapp)
    low, bar = dialog.height(), dialog.findChild(FieldsRoom).verticalScrollBar()
    assert bar.maximum() == 0
    parts[2].show()
    settle_layouts(qapp)
    assert dialog.height() == low + 90 + lines.spacing()
    assert bar.maximum() == 0
    parts[0].setFixedHeight(250)
    settle_layouts(qapp)
    assert dialog.height() == 400
    assert bar.maximum() > 0
    assert parts[0].width() <= bar.parentWidget().x() - parts[0].x()  # the bar covers nothing
    assert buttons_out_of_sight(dialog) == []
