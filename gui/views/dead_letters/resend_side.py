"""`ResendSide`: target, pace and stop limit of a resend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.administration import ListMembers, Members
from gui.operations.queries import LatestQuery
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.dead_letters.resend import show_rejected
from gui.widgets.basic import IconButton, fill, form_layout, label, row
from gui.widgets.inputs import name_count, number_box, write_count
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label, segments
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text
from gui.words.text import count_text, tr
from monitoring.dead_letters import DeadLetter
from monitoring.resending import PACE_DEFAULT, PACE_MAX, Part, Patch, ResendOrder, ResendTarget
from monitoring.sources.base import ClusterSource

FAILURES_DEFAULT, FAILURES_MAX = 3, 50
_COUNTED = (" failure", " failures")
TARGET_NAMES = {ResendTarget.GROUP: "Group alone", ResendTarget.TOPIC: "Original topic", ResendTarget.OTHER: "Other…"}


class ResendSide(Panel):
    """The third step.

    Signals:
        send_wanted: Send the first chosen letters again; carries how many.
    """

    send_wanted = Signal(int)

    def __init__(self, source: ClusterSource, theme: ThemeManager) -> None:
        super().__init__(" ")
        self._source = source
        self._letters: list[DeadLetter] = []
        self._asked_of = ""
        self._members: Members | None = None
        self._members_query: LatestQuery[Members] = LatestQuery(self)
        self.patch, self.kept = Patch(), frozenset(Part)
        self.target = segments({target.value: TARGET_NAMES[target] for target in ResendTarget})
        self.topic = said(QLineEdit(), hint="Topic")
        self.rate = number_box(1, PACE_MAX, PACE_DEFAULT)
        self.failures = number_box(1, FAILURES_MAX, FAILURES_DEFAULT)
        self._labels = [said_label(text) for text in ("Send to", "Pace", "Stop after")]
        self.changes = label(role="secondary", wrap=True)
        self.repeats = label(role="secondary", wrap=True)
        self.audience = Notice(theme)
        self.note = said_label("New copies are sent; the dead letters stay as proof.", "caption", wrap=True)
        self.first_button = said_button(theme, "paper-plane-tilt", "Send 1 first…", on_click=partial(self.send_wanted.emit, 1))
        self.all_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._all_clicked)
        self._build()
        self.target.chosen.connect(lambda _key: self._show())
        self.topic.textChanged.connect(lambda _text: self._show())
        said(self.rate, name="Messages per second", suffix=" per second")
        said(self.failures, name="Failures one after another that end it")
        on_language(self, self._write_texts)

    @property
    def order(self) -> ResendOrder:
        """The resend as entered."""
        return ResendOrder(
            target=ResendTarget(self.target.current),
            topic=self.topic.text().strip(),
            patch=self.patch,
            keeps=self.kept,
            rate=self.rate.value(),
            failures_max=self.failures.value(),
        )

    @property
    def fault(self) -> str:
        """Why it cannot be sent as entered; empty where it can."""
        if not self._letters:
            return tr("Select the dead letters in the table.")
        order = self.order
        if order.target is ResendTarget.OTHER and not order.topic:
            return tr("Name the topic.")
        if order.target is ResendTarget.TOPIC and not all(letter.origin_topic for letter in self._letters):
            return tr("Without a certain original topic they can only go to the group")
        return ""

    def show_letters(self, letters: Sequence[DeadLetter], handled: int) -> None:
        """Set the chosen dead letters; ``handled`` of them were sent again or handled before."""
        self._letters = list(letters)
        words = tr("Sent again or handled before: {count} of {total}.", count=count_text(handled),
                   total=count_text(len(letters)))  # fmt: skip
        self.repeats.setText(words if handled else "")
        self.repeats.setVisible(bool(handled))
        self._show()

    def show_edit(self, patch: Patch, kept: frozenset[Part]) -> None:
        """Set the change of each letter."""
        self.patch, self.kept = patch, kept
        self._show()

    def _write_texts(self) -> None:
        write_count(self.failures, *_COUNTED)
        self._show()

    def _build(self) -> None:
        name_count(self.failures, *_COUNTED)
        fields = QWidget()
        form = form_layout(fields, across=14, down=8)
        target, pace, stop = self._labels
        form.addRow(target, row(self.target, 1))
        form.addRow("", self.topic)
        form.addRow(pace, row(self.rate, 1))
        form.addRow(stop, row(self.failures, 1))
        self.content.setSpacing(10)
        fill(
            self.content,
            fields,
            self.changes,
            self.repeats,
            self.audience,
            1,
            self.note,
            row(1, self.first_button, self.all_button),
        )

    def _all_clicked(self) -> None:
        self.send_wanted.emit(len(self._letters))

    def _show(self) -> None:
        count, fault, order = len(self._letters), read_only_reason(self._source) or self.fault, self.order
        self.set_title(tr("Resend {count} messages", count=count_text(count)), self._letters[0].group if count else "")
        self.topic.setVisible(order.target is ResendTarget.OTHER)
        self.changes.setText(self._changes_words(order))
        self.all_button.setText(tr("Resend {count}…", count=count_text(max(1, count))))
        for button in (self.first_button, self.all_button):
            button.setEnabled(not fault)
            button.setToolTip(tip_text(fault))
        self._ask_members()

    def _changes_words(self, order: ResendOrder) -> str:
        if not order.changes:
            return tr("Bodies, keys, tags and properties as they are stored.")
        changed = sum(order.patch.changes(letter) for letter in self._letters)
        return tr("{count} bodies are edited; see the second step.", count=count_text(changed))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_members()

    def _ask_members(self) -> None:
        group = self._letters[0].group if self._letters else ""
        if group == self._asked_of or not self.isVisible():
            self._show_audience()
            return
        self._asked_of, self._members = group, None
        self.audience.set("")
        if group:
            self._members_query.ask(self._source.ask(ListMembers(group)), self._take_members, self._not_known)

    def _take_members(self, members: Members) -> None:
        self._members = members
        self._show_audience()

    def _show_audience(self) -> None:
        if self._members is not None and self._letters:
            all_pass = show_rejected(self.audience, self._letters, self._members, says_all_pass=True)
            set_role(self.audience, "info" if all_pass else "notice")

    def _not_known(self, error: OrbitError) -> None:
        self.audience.set(lambda: tr("The consumers of the group are not known"), partial(error_text, error), State.INFO)
