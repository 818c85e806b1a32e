"""`StagedSettings`: settings of one object in the broker: read, staged, compared, applied, undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from PySide6.QtCore import Signal
from shiboken6 import isValid

from broker_core.api import OrbitError
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer, RequestChain
from gui.theme.tokens import Size, State
from gui.views.acting import set_acting
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.widgets.basic import column, label, row
from gui.widgets.notice import MissingNote, Notice
from gui.widgets.panel import Panel
from gui.widgets.popups import opened
from gui.widgets.said import on_language, push_button, said
from gui.widgets.staged_form import Change, FormField, StagedForm, Value
from gui.words.broker_words import broker_text
from gui.words.text import tr

T = TypeVar("T")
UNDO_MAX = 20
AGAIN_MS = 5_000


@dataclass(frozen=True)
class SettingsSubject(Generic[T]):
    """What a `StagedSettings` edits.

    Attributes:
        title: English heading of the dialog, with ``{name}``.
        fields: The settings.
        ask: Request for the settings of an object by its name.
        read: From the answer to the settings.
        values: From the settings to the form.
        changed: From settings and form values to other settings; a ValueError says what is invalid.
        request: From settings before and after to the request.
        effects: Consequences of changes, one sentence each.
    """

    title: str
    fields: Sequence[FormField]
    ask: Callable[[str], AskBroker]
    read: Callable[[bytes], T]
    values: Callable[[T], Mapping[str, Value]]
    changed: Callable[[T, Mapping[str, Value]], T]
    request: Callable[[T, T], AskBroker]
    effects: Callable[[Sequence[Change]], list[str]]


class StagedSettings(Panel, Generic[T]):
    """A form with Apply, Revert and Undo.

    Signals:
        applied: The broker applied changes; carries the name of the changed object.
    """

    applied = Signal(str)

    def __init__(self, context: PageContext, subject: SettingsSubject[T]) -> None:
        super().__init__(" ")
        self._context = context
        self._subject = subject
        self._query: LatestQuery[tuple[T, dict[str, T], str]] = LatestQuery(self)
        self.name = ""
        self.settings: T | None = None
        """The settings of the broker; None while unknown."""
        self._of_each: dict[str, T] = {}
        """Settings by broker, where several answered."""
        self._notice = ""
        """Which brokers did not answer, and why."""
        self._undo: list[tuple[str, Mapping[str, T]]] = []
        self._asked_ms = 0
        self.form = StagedForm(subject.fields)
        self.fault = Notice(context.theme)
        self.apart = MissingNote()
        """Where brokers differ, and which did not answer."""
        self.note = label(role="secondary", wrap=True)
        self.apply_button = push_button("Apply…", self.ask_apply, role="primary")
        self.revert_button = push_button("Revert")
        self.undo_button = push_button("Undo last change…", self.ask_undo)
        self.revert_button.clicked.connect(self.form.revert)
        self.form.edited.connect(self._check)
        lines = column(
            self.fault,
            self.apart,
            self.form,
            self.note,
            row(self.apply_button, self.revert_button, 1, self.undo_button),
            1,
            spacing=Size.GAP,
            margins=(0, 4, 0, 0),
        )
        self.content.addLayout(lines)
        said(self, title="Settings")
        on_language(self, self._write_apart, self._write_subtitle, self._check)

    def show_subject(self, name: str) -> None:
        """Show the settings of another object; nothing happens for the shown one."""
        if name != self.name:
            self.name = name
            self._forget()
            self.reload()

    def _forget(self) -> None:
        self.settings, self._of_each, self._notice = None, {}, ""
        self._write_apart()
        self.form.clear()

    def reload(self) -> None:
        """Read the settings again; staged changes are dropped."""
        if self.name:
            asked = self._context.source.ask(self._subject.ask(self.name))
            self._query.ask(ReadAnswer(asked, self._read), self._take, self._failed)

    def tend(self, now_ms: int) -> None:
        """Repeat a failed or partial read every few seconds, while the panel is visible and nothing is staged."""
        is_whole = self.settings is not None and not self._notice
        if is_whole or self._query.waiting or self.form.changes or not self.isVisible():
            self._asked_ms = now_ms
        elif not 0 <= now_ms - self._asked_ms < AGAIN_MS:
            self._asked_ms = now_ms
            self.reload()

    def _read(self, answer: BrokerAnswer) -> tuple[T, dict[str, T], str]:
        of_each = {broker: self._subject.read(body) for broker, body in answer.bodies.items()}
        return self._subject.read(answer.body), of_each, answer.notice

    def _take(self, read: tuple[T, dict[str, T], str]) -> None:
        self.settings, self._of_each, self._notice = read
        self.fault.set("")
        self._write_apart()
        self.form.set_values(self._subject.values(self.settings))
        self._write_subtitle()

    def _write_apart(self) -> None:
        self.apart.say("\n".join(filter(None, (self._apart_text(), broker_text(self._notice)))))

    def _write_subtitle(self) -> None:
        words = "of the broker; nothing changes until you apply it"
        if len(self._of_each) > 1 or self._notice:
            words = "of each broker; nothing changes until you apply it"  # a topic has the queues of all
        self.set_subtitle(tr(words))

    def _apart_text(self) -> str:
        told = {broker: self._subject.values(settings) for broker, settings in self._of_each.items()}
        parts = []
        for field in self.form.fields:
            values = {broker: values[field.key] for broker, values in told.items()}
            if len(set(values.values())) > 1:
                each = ", ".join(f"{broker} {field.text(value)}" for broker, value in values.items())
                parts.append(f"{tr(field.title)}: {each}")
        return tr("The brokers differ. {differences}", differences="; ".join(parts)) if parts else ""

    def _failed(self, error: OrbitError) -> None:
        self._forget()
        name = self.name
        say_not_read(self.fault, lambda: tr("The settings of {name} were not read.", name=name), error, self.reload)
        self._check()

    def _wanted(self) -> tuple[T | None, str]:
        """The settings of the form, or why they are invalid."""
        if self.settings is None:
            return None, ""
        try:
            return self._subject.changed(self.settings, self.form.values), ""
        except ValueError as error:
            return None, str(error)

    def _check(self) -> None:
        changes = self.form.changes
        wanted, fault = self._wanted()
        refusal = read_only_reason(self._context.source)
        if refusal:
            self.form.setEnabled(False)
        set_acting(self.apply_button, refusal or fault, able=bool(changes) and wanted is not None)
        self.revert_button.setEnabled(bool(changes))
        set_acting(self.undo_button, refusal, able=any(name == self.name for name, _ in self._undo))
        if refusal:
            self.note.setText(refusal)
        elif fault:
            self.note.setText(fault)
        elif changes:
            self.note.setText(" ".join(self._subject.effects(changes)))
        else:
            self.note.setText("")

    def ask_apply(self) -> ActionDialog | None:
        """Open the dialog that shows the changes and applies them."""
        wanted, _fault = self._wanted()
        changes = self.form.changes
        if wanted is None or not changes:
            return None
        # Each broker keeps its own values of the fields that were not changed in the form.
        typed = {change.field.key: change.after for change in changes}
        subject = self._subject
        after = {broker: subject.changed(has, {**subject.values(has), **typed}) for broker, has in self._present.items()}
        return self._ask(after, changes, undoes=False)

    def ask_undo(self) -> ActionDialog | None:
        before = next((settings for name, settings in reversed(self._undo) if name == self.name), None)
        if before is None or self.settings is None:
            return None
        first = next(iter(before.values()))
        old, new = self._subject.values(self.settings), self._subject.values(first)
        changes = [
            Change(field, old[field.key], new[field.key]) for field in self.form.fields if old[field.key] != new[field.key]
        ]
        return self._ask(before, changes, undoes=True)

    @property
    def _present(self) -> Mapping[str, T]:
        """Settings by broker; under an empty name where one broker alone answered."""
        assert self.settings is not None
        return self._of_each or {"": self.settings}

    def _ask(self, wanted: Mapping[str, T], changes: Sequence[Change], *, undoes: bool) -> ActionDialog:
        before, name, source = self._present, self.name, self._context.source
        requests = [
            replace(self._subject.request(before[broker], wanted[broker]), broker_name=broker)
            for broker in wanted
            if broker in before
        ]
        effects = self._subject.effects(changes)
        if len(requests) > 1:
            effects.append(tr("Brokers that are asked, one after the other: {count}", count=len(requests)))
        plan = ActionPlan(
            title=tr(self._subject.title, name=name),
            effects=effects,
            verb=tr("Apply 1 change") if len(changes) == 1 else tr("Apply {count} changes", count=len(changes)),
            start=lambda: RequestChain(source, requests),
            facts=[(tr(change.field.title), change.text) for change in changes],
            warning=tr("Brokers that did not answer are left as they are.") if self._notice else "",
            enter_starts=True,
            refusal=read_only_reason(source),
        )
        dialog = ActionDialog(plan, self._context.theme, self)
        dialog.succeeded.connect(lambda _answer: self._applied(name, before, undoes=undoes))
        return opened(dialog)

    def _applied(self, name: str, before: Mapping[str, T], *, undoes: bool) -> None:
        if undoes:
            place = max(place for place, (of, _) in enumerate(self._undo) if of == name)
            del self._undo[place:]
            self._context.notify(lambda: tr("The settings of {name} are as they were", name=name), state=State.HEALTHY)
        else:
            self._undo = [*self._undo, (name, before)][-UNDO_MAX:]
            self._context.notify(
                lambda: tr("The settings of {name} are changed", name=name),
                state=State.HEALTHY,
                action=lambda: tr("Undo"),
                on_action=self._undo_if_shown(name),
            )
        self.reload()
        self.applied.emit(name)

    def _undo_if_shown(self, name: str) -> Callable[[], None]:
        """The Undo action of a notice; it does nothing once another object is shown."""

        def ask() -> None:
            if isValid(self) and self.name == name:
                self.ask_undo()

        return ask
