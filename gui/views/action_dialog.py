"""`ActionDialog`: says what an action will do, asks for a typed word where data is lost, runs it and reports the result.

On a production cluster it also asks for the name of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.abilities import Ability
from gui.operations.queries import LatestQuery
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import fill, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.production_bar import production_name
from gui.widgets.said import push_button
from gui.words.broker_words import reasons_text
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text, title_text
from gui.words.text import tr
from monitoring.sources.base import ClusterSource, Pending

WIDTH = 480


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """What is shown before an action. All texts are in the language of the window.

    Attributes:
        title: The action, as a question or a heading.
        effects: Consequences, one sentence each.
        verb: Text of the button, with the number of things.
        start: Starts the action.
        facts: Objects of the action, as name and value.
        warning: What is easily overlooked; empty for nothing.
        typed: Word that must be typed first; empty for none.
        is_destructive: Whether data is lost for good.
        enter_starts: Whether Enter starts an action without a typed word, because the action can be repeated or undone.
        refusal: Why the action is impossible, from `read_only_reason`; empty where it is possible.
        is_local: Whether it changes nothing in the cluster itself.
    """

    title: str
    effects: Sequence[str]
    verb: str
    start: Callable[[], Pending[Any]]
    facts: Sequence[tuple[str, str]] = ()
    warning: str = ""
    typed: str = ""
    is_destructive: bool = False
    enter_starts: bool = False
    refusal: str = ""
    is_local: bool = False


def read_only_reason(source: ClusterSource) -> str:
    """Why nothing can be changed through a source; empty where changes are allowed."""
    return tr("This connection is read-only: nothing can be changed over it.") if source.read_only else ""


def cannot_reason(source: ClusterSource, ability: Ability) -> str:
    """Why this cluster lacks an ability; empty where it has the ability or that is not known."""
    state = source.state
    return reasons_text(state.catalog.cannot.get(ability, "")) if state is not None else ""


class ActionDialog(FittedDialog):
    """Enter cancels until the word is typed. The dialog stays open while the broker works, because every action is answered.

    Signals:
        succeeded: The broker carried out the action; carries its answer.
    """

    succeeded = Signal(object)

    def __init__(self, plan: ActionPlan, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plan = plan
        self._query: LatestQuery[Any] = LatestQuery(self)
        self._blocked = ""
        self.setWindowTitle(title_text(plan.title))
        self.setMinimumWidth(WIDTH)
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(plan.typed)
        self.typed.setAccessibleName(tr("Type {word} to confirm", word=plan.typed))
        self.production = "" if plan.is_local else production_name(parent)
        self.cluster_typed = QLineEdit()
        self.cluster_typed.setPlaceholderText(self.production)
        text = tr("{name} is a production cluster: type its name to confirm", name=self.production)
        self.cluster_typed.setAccessibleName(text)
        self.error = Notice(theme)
        self.extra = QVBoxLayout()
        self.go = QPushButton(plan.verb)
        self.go.setProperty("role", "danger" if plan.is_destructive else "primary")
        self.go.setAutoDefault(False)
        self.cancel = push_button("Cancel", self.reject)
        self.cancel.setDefault(True)
        self.go.clicked.connect(self._start)
        self.typed.textChanged.connect(self._check)
        self.cluster_typed.textChanged.connect(self._check)
        self._build(theme)
        self._check()

    def set_blocked(self, reason: str) -> None:
        """Disable the button with a reason, e.g. while a field has no usable value; empty enables it."""
        self._blocked = reason
        self._check()

    @property
    def is_ready(self) -> bool:
        """Whether the action may start."""
        is_held_back = self._plan.refusal or self._blocked or self._query.waiting
        is_typed = (self.typed.text().strip(), self.cluster_typed.text().strip()) == (self._plan.typed, self.production)
        return is_typed and not is_held_back

    def reject(self) -> None:
        """Close without starting; ignored while the action runs."""
        if not self._query.waiting:
            super().reject()

    def _build(self, theme: ThemeManager) -> None:
        plan = self._plan
        lines = self.lay_out()
        lines.addWidget(label(plan.title, "card-title", wrap=True))
        if plan.facts:
            facts = KeyValueList()
            facts.set_pairs(plan.facts)
            lines.addWidget(facts)
        lines.addLayout(self.extra)
        for effect in plan.effects:
            lines.addWidget(label(effect, wrap=True))
        if plan.warning:
            warning = Notice(theme)
            warning.set(plan.warning, state=State.WARNING)
            lines.addWidget(warning)
        if plan.refusal:
            self.error.set(tr("This cannot be done here"), plan.refusal, State.WARNING)
        else:
            for word, field in ((plan.typed, self.typed), (self.production, self.cluster_typed)):
                if word:
                    fill(lines, label(field.accessibleName(), "secondary", wrap=True), field)
        self.set_foot(self.error, row(1, self.cancel, self.go))

    def _check(self) -> None:
        is_ready = self.is_ready
        self.go.setEnabled(is_ready)
        self.cancel.setEnabled(not self._query.waiting)
        by_enter = is_ready and bool(self._plan.typed or self.production or self._plan.enter_starts)
        self.go.setDefault(by_enter)
        self.cancel.setDefault(not by_enter)
        self.go.setToolTip(tip_text(self._plan.refusal or self._blocked))

    def _start(self) -> None:
        if not self.is_ready:
            return
        self.error.set("")
        self._query.ask(self._plan.start(), self._done, self._failed)
        if self.isVisible():
            self._check()

    def _done(self, answer: object) -> None:
        self.succeeded.emit(answer)
        self.accept()

    def _failed(self, error: OrbitError) -> None:
        self.error.set(lambda: tr("Nothing was changed here, or not all of it"), partial(error_text, error), State.CRITICAL)
        self._check()
