"""The Broker settings page: all settings, searched and explained; live ones staged, reviewed, changed and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.administration import BrokerAnswer
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer, RequestChain
from gui.theme.tokens import Size, State
from gui.views.acting import set_acting
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.broker_settings.changes import (
    Values,
    change_facts,
    changes_of,
    diff_text,
    values_before,
    values_text,
    warnings_of,
)
from gui.views.broker_settings.detail import SettingDetail, human_text, value_text
from gui.views.broker_settings.explanations import EXPLANATIONS, SUBJECTS, subject_of
from gui.views.list_filter import ListFilter
from gui.views.list_read import ListRead
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import IconButton, column, fill, on_key, row
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import MissingNote
from gui.widgets.pane_splitter import PaneSplitter
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said_button
from gui.words.broker_words import broker_words
from gui.words.text import UNKNOWN, tr
from monitoring.admin.settings import Setting, change_request, settings_of, settings_request
from monitoring.sources.base import Pending, SourceStatus
from monitoring.state import ClusterState

ASK_MS = 10_000
"""Read interval, because other administrators may change settings."""
UNDO_MAX = 20
DETAIL_WIDTH = 400
LIVE, AT_START, FIXED = "Now", "At a start", "Never"
"""When a setting can be changed."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its staged value; None for none."""

    setting: Setting
    staged: str | None

    @property
    def note(self) -> str:
        """English; shown through `tr`."""
        if self.staged is not None:
            return "Staged"
        if self.setting.is_apart:
            return "Differs"
        return "Changed" if self.setting.differs else ""


ALL, IS_LIVE, DIFFERS, APART, STAGED = "all", "live", "differs", "apart", "staged"
SHOWN_NAMES = {
    ALL: "All {count}",
    IS_LIVE: "Live {count}",
    DIFFERS: "Not default {count}",
    APART: "Brokers differ {count}",
    STAGED: "Staged {count}",
}


def is_shown(one: SettingRow, key: str) -> bool:
    """Whether a setting is listed under a choice of `SHOWN_NAMES`."""
    if key == STAGED:
        return one.staged is not None
    if key == APART:
        return one.setting.is_apart
    return one.setting.is_live if key == IS_LIVE else one.setting.differs


def setting_columns() -> list[Column[SettingRow]]:
    return [
        Column("key", "Setting", lambda one: one.setting.key, kind=CellKind.STRONG, wants=230),
        Column("value", "Value", lambda one: values_text(one.setting), kind=CellKind.CODE, tip=_values_tip, width=166),
        Column("staged", "New value", lambda one: value_text(one.setting.key, one.staged or ""), kind=CellKind.CODE,
               state=lambda _one: State.PENDING, width=126),
        Column("default", "Default", lambda one: one.setting.default or UNKNOWN, kind=CellKind.CODE, dim=True,
               tip=lambda one: value_text(one.setting.key, one.setting.default), width=110, gives_way=2),
        Column("change", "Can change", lambda one: tr(change_text(one)), dim=True, width=88, gives_way=1),
        Column("note", "Note", lambda one: tr(one.note) if one.note else "", kind=CellKind.CHIP,
               state=_note_state, width=100),
    ]  # fmt: skip


def _values_tip(one: SettingRow) -> str:
    key = one.setting.key
    of_each = "\n".join(f"{broker}: {value_text(key, value) or UNKNOWN}" for broker, value in one.setting.by_broker)
    return of_each or values_text(one.setting)


def _note_state(one: SettingRow) -> State:
    if one.staged is not None:
        return State.PENDING
    return State.WARNING if one.setting.is_apart else State.DELAYED


def section_of(one: SettingRow) -> str:
    """Heading of a setting."""
    return subject_of(one.setting.key)


def change_text(one: SettingRow) -> str:
    """When a setting can be changed; English, shown through `tr`."""
    if one.setting.is_live:
        return LIVE
    return FIXED if one.setting.spec is None else AT_START


class BrokerSettingsView(PageView):
    """Changes nothing before it was reviewed."""

    page_id = "broker_settings"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._settings: list[Setting] = []
        self._staged: dict[str, str] = {}
        self._undo: list[Values] = []
        self._asked_ms = self._read_ms = -1
        self._query: LatestQuery[tuple[BrokerAnswer, list[Setting]]] = LatestQuery(self)
        self.undo_button = said_button(theme, "arrow-counter-clockwise", "Undo…", on_click=self.ask_undo)
        self.review_button = IconButton(theme, "check", " ", role="primary", on_click=self.ask_change)
        self.header.add_action(self.undo_button, self.review_button)
        self.model = ColumnTableModel(
            setting_columns(), lambda one: one.setting.key, section=section_of, sections=SUBJECTS, parent=self
        )
        self.filter = ListFilter(
            theme, self.model, SHOWN_NAMES, "Search by name, value or explanation", accepts=is_shown, text_of=searched_text
        )
        self.grid = DataGrid(self.model, theme)
        self.missing = MissingNote()
        self._brokers: list[str] = []
        """Names of the brokers, where there are several."""
        self._list_read = ListRead(context.times)
        self.detail = SettingDetail()
        self.staged_panel = Panel(" ")
        self.staged_facts = KeyValueList(mono=True)
        self._build()
        self.set_parts(grid=self.grid, find=self.filter.focus)
        self.grid.selected.connect(lambda _one: self._show_selected())
        self.grid.activated.connect(lambda _one: self.detail.field.setFocus())
        self.grid.menu_asked.connect(self._open_menu)
        self.detail.staged.connect(self.stage)
        self.detail.kept.connect(self.unstage)
        on_key(self, QKeySequence.StandardKey.Undo, self.ask_undo)
        on_language(self, self._show)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        key = arguments.get("setting")
        if isinstance(key, str) and key:
            self.filter.show_all()
            self.grid.select_key(key)

    def state_changed(self, state: ClusterState) -> None:
        if not 0 <= state.taken_ms - self._asked_ms < ASK_MS and not self._query.waiting:
            self._asked_ms = state.taken_ms
            self.refresh()

    def status_changed(self, status: SourceStatus) -> None:
        if status is not SourceStatus.READY:
            self._asked_ms = -1
        self._show_buttons()

    def refresh(self) -> None:
        source = self.context.source
        if source.status is SourceStatus.READY:
            asked = ReadAnswer(source.ask(settings_request()), lambda answer: (answer, settings_of(answer)))
            self._query.ask(asked, self._take, self._failed)

    # ---- changing ------------------------------------------------------------------------------------------------------

    def stage(self, key: str, value: str) -> None:
        """Stage a value; the value that all brokers have removes the change."""
        known = self._by_key.get(key)
        if known is not None and known.values == (value,):
            self._staged.pop(key, None)
        else:
            self._staged[key] = value
        self._show()

    def unstage(self, key: str) -> None:
        """Drop the staged change of a setting."""
        self._staged.pop(key, None)
        self._show()

    @property
    def _by_key(self) -> dict[str, Setting]:
        return {setting.key: setting for setting in self._settings}

    def ask_change(self) -> ActionDialog | None:
        """Open the dialog that shows the staged changes and applies them."""
        title = tr("Change {count} broker settings?", count=len(self._staged))
        return self._ask(title, {"": dict(self._staged)}, undo=False)

    def ask_undo(self) -> ActionDialog | None:
        return self._ask(tr("Take the last change back?"), self._undo[-1], undo=True) if self._undo else None

    def _ask(self, title: str, wanted: Values, *, undo: bool) -> ActionDialog | None:
        by_key = self._by_key
        changed = changes_of(by_key, wanted)
        if not changed:
            if undo:
                self._undo.pop()
                self._show()
            return None
        keys = list(dict.fromkeys(key for values in changed.values() for key in values))
        plan = ActionPlan(
            title=title,
            facts=change_facts(by_key, changed),
            effects=self._effects(),
            warning="\n".join(warnings_of({key: value for values in changed.values() for key, value in values.items()})),
            verb=tr("Change {count} settings", count=len(keys)),
            start=partial(self._start, changed),
            enter_starts=True,
            refusal=read_only_reason(self.context.source),
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        old = values_before(by_key, keys)
        dialog.succeeded.connect(lambda _answer: self._changed(keys, old, undo=undo))
        return opened(dialog)

    def _start(self, changed: Values) -> Pending[Any]:
        return RequestChain(self.context.source, [change_request(values, broker) for broker, values in changed.items()])

    def _effects(self) -> list[str]:
        effects = [
            tr("The broker changes all of them at once, or none, and goes on with the new values."),
            tr("They are kept over a restart. You can take the change back with Undo."),
        ]
        if self._brokers:
            count = len(self._brokers)
            effects.insert(1, tr("Brokers that are asked, one after the other: {count}", count=count))
        return effects

    def _changed(self, keys: Sequence[str], old: Values, *, undo: bool) -> None:
        if undo:
            self._undo.pop()
        else:
            self._undo = [*self._undo, old][-UNDO_MAX:]
        for key in keys:
            self._staged.pop(key, None)
        self.context.notify(lambda: tr("{count} broker settings changed", count=len(keys)), state=State.HEALTHY)
        self.refresh()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        left = Panel(flush=True, spacing=0)
        fill(left.content, row(self.filter, margins=(8, 8, 8, 8)), (self.grid, 1), self.missing)
        self.staged_panel.content.addWidget(self.staged_facts)
        right = QWidget()
        right.setLayout(column(self.detail, self.staged_panel, spacing=Size.GAP))
        self.content.addWidget(PaneSplitter((left, right), (1_200 - DETAIL_WIDTH, DETAIL_WIDTH), grows=0), 1)

    def _take(self, read: tuple[BrokerAnswer, list[Setting]]) -> None:
        answer, settings = read
        state = self.context.source.state
        self._settings, self._read_ms = settings, state.taken_ms if state is not None else -1
        self._brokers = list(answer.bodies)
        self.missing.say(broker_words(answer.notice))
        self.filter.is_known = True
        now = self._by_key
        self._staged = {key: value for key, value in self._staged.items() if key not in now or now[key].values != (value,)}
        self._list_read.answered()
        self._show()

    def _failed(self, error: OrbitError) -> None:
        self._list_read.refused(error)
        self.missing.say("")
        self.filter.is_known = False
        self._show()

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        is_failed = self._list_read.is_failed
        # What can be changed now is first under each heading.
        settings = [] if is_failed else sorted(self._settings, key=lambda setting: not setting.is_live)
        rows = [SettingRow(setting, self._staged.get(setting.key)) for setting in settings]
        self.model.set_rows(rows)
        self.grid.set_hidden(set() if self._staged else {"staged"})
        self._list_read.show_in(self.grid, lambda: tr("The broker's settings were not read."), self.refresh)
        self.grid.select_first()
        self.filter.choice.show_segment(APART, shown=len(self._brokers) > 1)
        self.filter.write_counts()
        if rows:
            self.grid.set_empty(tr("No setting matches this search."), tr("Show all"), self.filter.show_all)
        else:
            self.grid.set_empty(tr("The broker reports no settings."))
        live = sum(setting.is_live for setting in self._settings)
        differ = sum(setting.differs for setting in self._settings)
        facts = tr("{count} settings, {live} can be changed now, {differ} not at their default",
                   count=len(rows), live=live, differ=differ)  # fmt: skip
        if self._read_ms >= 0:
            facts += ", " + tr("read {time}", time=self.context.times.seconds(self._read_ms))
        self.header.set_facts(facts if rows else "")
        staged = len(self._staged)
        self.header.set_chips([(tr("{count} staged", count=staged), State.PENDING)] if staged else [])
        self._show_buttons()
        self._show_staged()
        self._show_selected()

    def _show_buttons(self) -> None:
        ready = self.context.source.status is SourceStatus.READY
        count = len(self._staged)
        self.review_button.setText(tr("Review {count} changes…", count=count) if count else tr("Review…"))
        refusal = read_only_reason(self.context.source)
        set_acting(self.review_button, refusal, able=ready and bool(self._staged))
        set_acting(self.undo_button, refusal, able=ready and bool(self._undo))

    def _show_staged(self) -> None:
        now = {setting.key: values_text(setting) for setting in self._settings}
        self.staged_panel.setVisible(bool(self._staged))
        self.staged_panel.set_title(tr("Staged"), tr("not changed yet"))
        self.staged_facts.set_pairs(
            [(key, diff_text(key, now.get(key, UNKNOWN), value)) for key, value in self._staged.items()]
        )

    def _show_selected(self) -> None:
        one = self.grid.selected_row
        self.detail.refusal = read_only_reason(self.context.source)
        self.detail.show_setting(one.setting if one is not None else None, one.staged if one is not None else None)

    # ---- menu ----------------------------------------------------------------------------------------------------------

    def _open_menu(self, one: SettingRow, at: QPoint) -> None:
        menu = new_menu(self)
        setting = one.setting
        may_change = setting.is_live and not read_only_reason(self.context.source)
        if may_change and setting.default and setting.values != (setting.default,):
            menu.addAction(tr("Stage the default"), lambda: self.stage(setting.key, setting.default))
        if one.staged is not None:
            menu.addAction(tr("Do not change"), lambda: self.unstage(setting.key))
        text = f"{setting.key}={setting.value}"
        menu.addAction(tr("Copy as key=value"), lambda: QGuiApplication.clipboard().setText(text))
        menu.addAction(tr("Copy row as JSON"), lambda: self.grid.copy(CopyFormat.JSON))
        menu.popup(at)


def searched_text(one: SettingRow) -> str:
    explanation = EXPLANATIONS.get(one.setting.key, "")
    setting = one.setting
    meanings = " ".join(human_text(setting.key, value) for value in setting.values)
    return f"{setting.key} {' '.join(setting.values)} {meanings} {explanation} {tr(explanation) if explanation else ''}"
