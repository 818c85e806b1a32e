"""`Composing`: sends a new message, or a stored one again, from a dialog or a panel."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QWidget

from broker_core.api import OrbitError, may_be_stored
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.stored_messages import MessageDetail, SendMessage, SendReceipt
from gui.connections.cluster import group_of_source
from gui.connections.sdk_address import no_sdk_reason, sdk_address
from gui.models.compose import DraftTemplate, in_its_queue
from gui.models.messages import (
    ALL_QUEUES,
    MessageDraft,
    draft_fault,
    dropped_properties,
    masked_draft,
    message_to_send,
    resend_draft,
)
from gui.models.queue_window import own_queue, queue_text, write_queues
from gui.operations.queries import LatestQuery
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.views.action_dialog import cannot_reason, read_only_reason
from gui.views.messages.audience import Audience
from gui.views.messages.burst import Burst
from gui.views.messages.compose_form import ComposeForm
from gui.views.messages.draft_menus import PastDrafts, TemplatesMenu
from gui.views.messages.message_import import MessageImport
from gui.widgets.basic import IconButton, label, show_text
from gui.widgets.fitted_dialog import FieldsRoom
from gui.widgets.notice import Notice
from gui.widgets.production_bar import ProductionField
from gui.widgets.progress_line import ProgressLine
from gui.widgets.said import push_button
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text
from gui.words.text import count_text, tr
from monitoring.compose.code import LANGUAGES
from monitoring.compose.sdk_code import SDK_LANGUAGES
from monitoring.compose.template import Moment, Template, TemplateError
from monitoring.dead_letters import known_names
from monitoring.payload.listed import NO_MASK, ListMask
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

if TYPE_CHECKING:
    from PySide6.QtCore import SignalInstance

    _Widget = QWidget
else:
    _Widget = object  # Qt allows one widget class among the bases

_ENDED = {
    "commit": "Half message stored, and committed: consumers get it.",
    "rollback": "Half message stored, and rolled back: nobody gets it.",
    "unknown": "Half message stored and left undecided: the Transactions page shows it.",
}


class Composing(_Widget):
    """Fields, checks, sends and receipts. A subclass lays out the widgets and declares the signals.

    Signals, of the subclass:
        sent: The broker stored the message; carries its topic and `SendReceipt`.
        shown_wanted: Show the stored message; carries the same.
        stored_several: A burst ended; carries its topic and how many messages the broker stored.
    """

    if TYPE_CHECKING:
        sent: SignalInstance
        shown_wanted: SignalInstance
        stored_several: SignalInstance

    def _prepare(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        *,
        topic: str = "",
        resent: MessageDetail | None = None,
        mask: ListMask = NO_MASK,
        settings: QSettings | None = None,
        asked_for: QWidget | None = None,
        is_narrow: bool = False,
    ) -> None:
        """Make the widgets; call it once, before they are laid out and `_begin` is called.

        The arguments are those of `ComposeDialog`; ``asked_for`` is the widget of the window that opened it, and ``is_narrow``
        lays the fields out side by side, without the topic.
        """
        self._source = source
        self._first_state = state
        self._resent = resent
        self._query: LatestQuery[SendReceipt] = LatestQuery(self)
        self._receipt: tuple[str, SendReceipt] | None = None
        self._chance = random.Random()
        self.form = ComposeForm(theme, self._state, is_new=resent is None, is_narrow=is_narrow)
        self.fields = FieldsRoom(self.form)
        self.options = self.form.options
        self.imports = MessageImport(self._import_template, self)
        self.import_button = IconButton(theme, "folder-open", " ", on_click=self._import_clicked)
        self.burst: Burst | None = None
        self.progress = ProgressLine(theme)
        self.copy_as = IconButton(theme, "code", tr("Copy as"), caret=True)
        self.history = IconButton(theme, "clock", tr("History"), caret=True)
        self.templates = IconButton(theme, "list-bullets", tr("Templates"), caret=True)
        self.effect = Notice(theme)
        self.error = label(role="critical", wrap=True, selectable=True)
        self.receipt = label(role="healthy", wrap=True, selectable=True)
        self.send_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._send)
        self.show_button = push_button("Show message", self._show_sent)
        self.copy_button = push_button("Copy ID", self._copy_id)
        self.cancel_button = push_button("Cancel", self._cancel_clicked)
        self.production = ProductionField(asked_for)
        self.past = PastDrafts(settings if resent is None else None, self, group=group_of_source(source))
        kept_in = settings if resent is None else None
        self.templates_menu = TemplatesMenu(kept_in, self._entered, self, group=group_of_source(source))
        self._audience = Audience(source, self)
        self._keeps = settings is not None and resent is None
        self._first = (
            MessageDraft(topic, ALL_QUEUES, "", "", (), b"")
            if resent is None
            else resend_draft(resent, known_names(source.state))
        )
        self._mask = mask

    def _begin(self) -> None:
        """Fill in the message; call it once, after all widgets have a parent: one without a parent would be a window."""
        self._prepare_parts()
        self._connect()
        source = self._source
        self.options.forbid(
            timers=cannot_reason(source, Ability.TIMERS), transactions=cannot_reason(source, Ability.SEND_IN_TRANSACTION)
        )
        self.form.fill(self._first, None if self._resent is None else masked_draft(self._first, self._mask))

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _prepare_parts(self) -> None:
        for widget in (self.progress, self.error, self.receipt, self.show_button, self.copy_button):
            widget.hide()
        self.import_button.setVisible(self._resent is None)
        self._languages = QMenu(self)
        self._languages.setToolTipsVisible(True)
        for language in LANGUAGES:
            self._languages.addAction(language).triggered.connect(lambda _checked=False, name=language: self.copy_code(name))
        self._languages.addSeparator()
        for language in SDK_LANGUAGES:
            action = self._languages.addAction(f"{language}, gRPC")
            action.triggered.connect(lambda _checked=False, name=language: self.copy_sdk_code(name))
        self._languages.aboutToShow.connect(self._allow_sdks)
        self.copy_as.setMenu(self._languages)
        self.history.setMenu(self.past)
        self.templates.setMenu(self.templates_menu)
        for button in (self.history, self.templates):
            button.setVisible(self._keeps)

    def _write_verb(self) -> None:
        count = len(self.imports.messages) or self.options.count.value()
        self.import_button.setText(tr("Without the files") if self._has_import else tr("Import…"))
        if count > 1:
            self.send_button.setText(tr("Send {count} messages", count=count_text(count)))
        elif self._receipt is not None:
            self.send_button.setText(tr("Send again"))
        else:
            self.send_button.setText(tr("Send message") if self._resent is None else tr("Resend 1 message"))

    def _connect(self) -> None:
        self.form.changed.connect(self._check)
        self.production.changed.connect(self._check)
        for menu in (self.past, self.templates_menu):
            menu.chosen.connect(self.form.fill)
        self._audience.changed.connect(self._show_effect)
        self.imports.changed.connect(self._imports_changed)
        for button in (self.cancel_button, self.show_button, self.copy_button, self.send_button):
            button.setAutoDefault(False)
        shortcut = QShortcut(self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.setKeys([QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter")])
        shortcut.activated.connect(self._send)

    # ---- checks ----------------------------------------------------------------------------------------------------

    def _state(self) -> ClusterState | None:
        """The present topics and queues, because the first message may have created its topic."""
        return self._source.state or self._first_state

    def _check(self) -> None:
        fault, refusal = self._fault(), read_only_reason(self._source) or self.production.fault
        self.send_button.setEnabled(not fault and not refusal and not self._is_sending)
        self.send_button.setToolTip(tip_text(refusal or fault or tr("Ctrl+Enter")))
        self.copy_as.setEnabled(not fault)
        self._write_verb()
        self.form.show_note(self.imports.words, self._first_text())
        self._show_effect()

    def _refusal(self) -> str:
        """Why this cluster cannot take a message like this; empty where it can."""
        asked = ((self.options.transaction_end, Ability.SEND_IN_TRANSACTION), (self.options.is_timer, Ability.TIMERS))
        reasons = (cannot_reason(self._source, ability) for is_asked, ability in asked if is_asked)
        return next(filter(None, reasons), "")

    def _entered(self) -> MessageDraft | None:
        """The draft that may be saved as a template."""
        return None if self.form.is_veiled else self.form.draft

    @property
    def _is_sending(self) -> bool:
        return self._query.waiting or self.burst is not None

    def _fault(self) -> str:
        """Why it cannot be sent; empty when it can."""
        if self._has_import or self.imports.is_reading:
            return self.imports.fault or (tr("The files are being read.") if self.imports.is_reading else self.options.fault)
        fault = draft_fault(self.form.draft)
        if fault is not None or self.options.fault:
            return tr(fault.value) if fault is not None else self.options.fault
        refusal = self._refusal()
        if refusal:
            return refusal
        try:
            self._template()
        except TemplateError as error:
            return error_text(error)
        return ""

    def _template(self, draft: MessageDraft | None = None) -> DraftTemplate:
        fills = self.options.fills.isChecked()
        return DraftTemplate(draft or self.form.draft, queues=self.form.queues, fills=fills)

    def _message(self, template: DraftTemplate, number: int) -> SendMessage:
        message = template.message(Moment(number, time.time_ns() // 1_000_000, self._chance))
        return replace(message, transaction=self.options.transaction_end)

    # ---- files -----------------------------------------------------------------------------------------------------

    @property
    def _has_import(self) -> bool:
        """Whether files were chosen, also unusable ones."""
        return bool(self.imports.messages or self.imports.fault)

    def _import_clicked(self) -> None:
        if self._has_import:
            self.imports.forget()
        else:
            self.imports.ask_files()

    def _import_template(self) -> SendMessage:
        """The entered message without its body, for files that are bodies."""
        return message_to_send(replace(self.form.draft, body=b""))

    def _imports_changed(self) -> None:
        self.form.set_for_files(has_files=bool(self.imports.messages))
        show_text(self.error, self.imports.fault)
        self._check()

    def _import_message(self, number: int) -> SendMessage:
        message = self.imports.messages[number - 1]
        queues = write_queues(self._state(), message.topic)
        return replace(in_its_queue(message, queues), transaction=self.options.transaction_end)

    def _first_text(self) -> str:
        """Text of the body in the first message; the entered text where variables cannot be filled in."""
        text = self.form.body.toPlainText()
        if self.form.is_bytes or not self.options.fills.isChecked():
            return text
        try:
            return Template(text).fill(Moment(1, time.time_ns() // 1_000_000, self._chance))
        except TemplateError:
            return text

    def copy_code(self, language: str) -> None:
        """Copy a program that sends the message; variables are filled in, and masked parts stay hidden."""
        ready = self._source.ready
        if ready is not None and not self._fault():
            message = self._message(self._template(self.form.shown_draft), 1)
            broker, queue_id = own_queue(self._state(), message.queue_id, ready.broker_name)
            code = LANGUAGES[language](replace(message, queue_id=queue_id), ready.name_server, broker)
            QGuiApplication.clipboard().setText(code)

    def copy_sdk_code(self, language: str) -> None:
        """As `copy_code`, with an SDK of gRPC."""
        address = sdk_address(self._source)
        if address and not self._fault():
            message = self._message(self._template(self.form.shown_draft), 1)
            QGuiApplication.clipboard().setText(SDK_LANGUAGES[language](message, address))

    def _allow_sdks(self) -> None:
        """Offer programs for SDKs where the address of a gRPC port is known."""
        reason = no_sdk_reason(self._source)
        for action in self._languages.actions()[len(LANGUAGES) + 1 :]:
            action.setEnabled(not reason)
            action.setToolTip(tip_text(reason))

    def _show_effect(self) -> None:
        if self._resent is None:
            self.effect.set("")
            return
        draft = self.form.draft
        stays = draft.body == self._resent.body
        facts = [
            tr("The stored message stays where it is; groups that consume {topic} get one more.", topic=draft.topic),
            tr("Body unchanged.") if stays else tr("Body edited."),
            *([tr("The original is sent, also what is masked.")] if self.form.is_veiled else []),
            tr("A new unique ID is given."),
        ]
        dropped = dropped_properties(self._resent)
        if dropped:
            facts.append(tr("Not sent again: {names}.", names=", ".join(dropped)))
        self._audience.look(draft.topic, self._state())
        warning = self._audience.words(message_to_send(draft))
        state = State.WARNING if warning else State.INFO
        set_role(self.effect, "notice" if warning else "info")
        self.effect.set(tr("Sends 1 message to {topic}", topic=draft.topic), " ".join(filter(None, (warning, *facts))), state)

    # ---- send ------------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        if self._fault() or read_only_reason(self._source) or self.production.fault or self._is_sending:
            return
        self.error.hide()
        self.receipt.hide()
        if self.imports.messages:
            self._send_burst(self._import_message, len(self.imports.messages), self.imports.messages[0].topic)
            return
        template, topic = self._template(), self.form.draft.topic
        self.past.keep(self.form.draft)
        if self.options.count.value() > 1:
            self._send_burst(partial(self._message, template), self.options.count.value(), topic)
            return
        message = self._message(template, 1)
        pending = self._source.ask(message)
        self._query.ask(pending, lambda receipt: self._stored(topic, receipt, message.transaction), self._refused)
        self._check()

    def _send_burst(self, make: Callable[[int], SendMessage], count: int, topic: str) -> None:
        burst = Burst(self._source, make, count=count, rate=self.options.rate.value(), parent=self)
        burst.progressed.connect(lambda stored: self._show_progress(stored, count))
        burst.finished.connect(lambda stored, error: self._burst_over(topic, stored, count, error))
        self.burst = burst
        self.cancel_button.setText(tr("Stop"))
        self.progress.show()
        self._check()
        burst.start()

    def _show_progress(self, stored: int, count: int) -> None:
        self.progress.set_share(stored / count)
        self.receipt.setText(tr("{stored} of {count} stored", stored=count_text(stored), count=count_text(count)))
        self.receipt.show()

    def _burst_over(self, topic: str, stored: int, count: int, error: OrbitError | None) -> None:
        assert self.burst is not None
        doubtful = self.burst.doubtful
        self.burst.deleteLater()
        self.burst = None
        self._show_progress(stored, count)
        if doubtful:
            self.receipt.setText(f"{self.receipt.text()} · {tr('{count} may be stored', count=count_text(doubtful))}")
        self.progress.hide()
        self.cancel_button.setText(tr("Close"))
        if error is not None:
            self._refused(error)
        self._check()
        if stored:
            self.stored_several.emit(topic, stored)

    def _cancel_clicked(self) -> None:
        """Stop a burst, and close when none runs."""
        if self.burst is not None:
            self.burst.stop()
        else:
            self._close_unsent()

    def _close_unsent(self) -> None:
        """Close without sending more."""

    def _stored(self, topic: str, receipt: SendReceipt, end: str) -> None:
        self._receipt = (topic, receipt)
        queue, offset = queue_text(self._state(), receipt.queue_id), count_text(receipt.queue_offset)
        text = (
            tr(_ENDED[end])
            if end
            else tr("Stored in {topic}, queue {queue}, offset {offset}", topic=topic, queue=queue, offset=offset)
        )
        self.receipt.setText(f"{text}\n{receipt.offset_message_id}")
        for widget in (self.receipt, self.copy_button):
            widget.show()
        # The receipt of a transaction names its half message, which no queue of the topic has.
        self.show_button.setVisible(not end)
        self.cancel_button.setText(tr("Close"))
        self._check()
        self.sent.emit(topic, receipt)

    def _refused(self, error: OrbitError) -> None:
        form = "The message may be stored: {reason}" if may_be_stored(error) else "The message was not sent: {reason}"
        self.error.setText(tr(form, reason=error_text(error)))
        self.error.show()
        self._check()

    def _show_sent(self) -> None:
        if self._receipt is not None:
            self.shown_wanted.emit(*self._receipt)

    def _copy_id(self) -> None:
        if self._receipt is not None:
            QGuiApplication.clipboard().setText(self._receipt[1].offset_message_id)
