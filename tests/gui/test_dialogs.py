"""Every dialog of the window says to a screen reader what its controls are, in both languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QDialog

from gui.main_window.close_question import CloseQuestion
from gui.main_window.connect_dialog import ConnectDialog
from gui.main_window.range_dialog import RangeDialog
from gui.operations.report_schedules import ReportSchedules
from gui.views.chart_tools import show_table
from gui.views.messages.compare_dialog import CompareDialog
from gui.views.messages.export_dialog import ExportDialog
from gui.views.messages.hand_dialog import HandDialog
from gui.views.messages.replay_dialog import ReplayDialog
from gui.views.messages.rules_dialog import RulesDialog
from gui.views.reports.schedule_dialog import ScheduleDialog
from gui.views.tail.rules_dialog import RulesDialog as ColourRulesDialog
from tests.gui.test_accessible import unnamed
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker
from tests.support.fake_messages import fake_detail
from tests.support.fake_page_context import deliver_background_calls


def of_the_frame(window) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs that need no page."""
    services = window.services
    yield ConnectDialog(window, services.theme)
    yield RangeDialog(window.time_range, services.times, window)
    yield CloseQuestion(["“Export” is not finished and would be cancelled."], window, close=lambda: None, stay=lambda: None)
    for action in ("help.shortcuts", "broker.copy"):
        window.actions_known.run(action)
        yield next(one for one in window.findChildren(QDialog) if one.isVisible())


def of_messages(window) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs about messages."""
    window.navigate("messages", send=True)
    page = window.area.current
    yield next(one for one in page.findChildren(QDialog) if one.isVisible())
    context, detail = page.context, fake_detail(4_711)
    chosen = page.search.chosen()
    yield ExportDialog(context, chosen, page)
    yield ReplayDialog(context, chosen, page)
    yield CompareDialog(context, context.decoders, detail, (("the other", 1_000),), page)
    yield HandDialog(context.source, context.theme, context.source.state, [detail], page)
    rules = RulesDialog(context.decoders, context.theme, "orders", page)
    rules.add.click()
    yield rules
    yield ColourRulesDialog(context.theme, (), page)


def of_pages(window) -> Iterator[QDialog]:  # noqa: F811  the fixture
    """Dialogs of the watching pages and of reports."""
    window.navigate("topics", create=True)
    yield next(one for one in window.area.current.findChildren(QDialog) if one.isVisible())
    yield window.area.current.ask_import()
    window.navigate("consumers", group="payment-settle", tab="lag")
    page = window.area.current
    page.refresh()
    yield show_table(page.lag.chart, page.context)
    window.navigate("consumers", group="payment-settle", tab="members")
    deliver_background_calls()
    group = page.group_grid.selected_row
    yield page.dialogs.reset(group)
    yield page.dialogs.delete(group)
    yield page.dialogs.client("payment-settle", page.members.rows[0])
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
    return found - {base for one in found for base in one.__bases__ if base.__name__ in {"GrowingDialog", "LossQuestion"}}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_controls_of_all_dialogs_have_names(window, qapp, language):  # noqa: F811  the fixture
    window.services.set_language(language)
    missing: dict[str, list[str]] = {}
    opened: set[type[QDialog]] = set()
    for part in (of_the_frame, of_messages, of_pages):
        for dialog in part(window):
            dialog.show()
            qapp.processEvents()
            missing[type(dialog).__name__] = unnamed(dialog)
            opened.add(type(dialog))
            dialog.done(0)
            dialog.deleteLater()
            QCoreApplication.sendPostedEvents(dialog, QEvent.Type.DeferredDelete)
    window.services.set_language("en")
    assert {name: controls for name, controls in missing.items() if controls} == {}
    assert {one.__name__ for one in dialog_classes() - opened} == set(), "dialogs that this test does not open"
