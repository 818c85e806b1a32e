"""`ComposeDialog`: send a new message, or a stored one again; `ComposePanel`: send to one topic from beside its figures."""

from __future__ import annotations

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.theme.manager import ThemeManager
from gui.views.messages.composing import Composing
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column, fill, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button
from gui.words.text import tr
from monitoring.payload.listed import NO_MASK, ListMask
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

FORM_WIDTH = 620


class ComposeDialog(Composing, FittedDialog):
    """Asks for a message and sends it; stays open with the receipt so that more can be sent.

    Signals: those of `Composing`.
    """

    sent = Signal(str, object)
    shown_wanted = Signal(str, object)
    stored_several = Signal(str, int)

    def __init__(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        *,
        topic: str = "",
        resent: MessageDetail | None = None,
        mask: ListMask = NO_MASK,
        settings: QSettings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            source: Receives the message.
            theme: Colours.
            state: Topics and queues to choose from until the source knows any.
            topic: Proposed topic of a new message.
            resent: The stored message to send again; None for a new one.
            mask: Hides parts of it.
            settings: Hold the history of sent messages; None: no history.
            parent: Qt's owner.
        """
        FittedDialog.__init__(self, parent)
        self.setWindowTitle(tr("Send message") if resent is None else tr("Resend message"))
        self._prepare(source, theme, state, topic=topic, resent=resent, mask=mask, settings=settings, asked_for=parent)
        self.fields.setMinimumWidth(FORM_WIDTH)
        self.shown_wanted.connect(lambda _topic, _receipt: self.accept())
        lines = column(
            label(self.windowTitle(), "card-title"),
            self.effect,
            (self.fields, 1),
            self.production,
            self.progress,
            self.error,
            self.receipt,
            spacing=12,
            margins=(20, 18, 20, 16),
        )
        self.setLayout(lines)
        left = (self.templates, self.history, self.import_button, self.copy_as, self.show_button, self.copy_button)
        lines.addLayout(row(*left, 1, self.cancel_button, self.send_button))
        self._begin()

    def reject(self) -> None:
        """Stop a burst, and close when none runs."""
        self._cancel_clicked()

    def _close_unsent(self) -> None:
        FittedDialog.reject(self)


PANEL_WIDTH_MIN = 500


class ComposePanel(Composing, Panel):
    """The composer without a dialog: entered fields stay when another topic is shown.

    Signals: those of `Composing`, and
        whole_wanted: Open all fields in a dialog.
    """

    sent = Signal(str, object)
    shown_wanted = Signal(str, object)
    stored_several = Signal(str, int)
    whole_wanted = Signal()

    def __init__(self, context: PageContext, state: ClusterState | None, topic: str, page: QWidget) -> None:
        Panel.__init__(self, " ")
        self.setMinimumWidth(PANEL_WIDTH_MIN)
        self._prepare(
            context.source, context.theme, state, topic=topic, settings=context.settings, asked_for=page, is_narrow=True
        )
        self.whole_button = said_button(
            context.theme, "arrow-square-out", on_click=self.whole_wanted.emit, tip="All fields in a window"
        )
        self.reason = ElidedLabel(role="warning")
        self._topic = topic
        self._build()
        self._begin()
        # Messages of the history and of templates are sent to the shown topic, too.
        for menu in (self.past, self.templates_menu):
            menu.chosen.connect(lambda _draft: self.form.set_topic(self._topic))
        self.import_button.hide()
        self.cancel_button.hide()
        said(self.templates, text="Templates")
        said(self.show_button, text="Show message")
        said(self.copy_button, text="Copy ID")
        for button, words in ((self.history, "History"), (self.copy_as, "Copy as")):
            said(button, tip=words)
        on_language(self, self._write_texts)

    def set_topic(self, topic: str) -> None:
        """Send to another topic; the receipt of the topic before is hidden."""
        if topic != self._topic:
            self._topic = topic
            for part in (self.receipt, self.error, self.show_button, self.copy_button):
                part.hide()
            self.form.set_topic(topic)
            self.set_subtitle(topic)

    def take_focus(self) -> None:
        """Focus the body."""
        self.form.body.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _write_texts(self) -> None:
        self._check()
        self.set_title(tr("Send message"), self._topic)

    def _build(self) -> None:
        # As icons, because there is room for the text of one button beside the title.
        for button in (self.history, self.copy_as):
            button.setText("")
            button.setProperty("caret", False)
            button.set_role("icon")
        self.add_action(self.templates, self.history, self.copy_as, self.whole_button)
        lines = self.content
        fill(lines, (self.fields, 1), self.effect, self.production, self.progress, self.error)
        fill(
            lines,
            row((self.receipt, 1), self.show_button, self.copy_button),
            row((self.reason, 1), self.import_button, self.cancel_button, self.send_button),
        )

    def _check(self) -> None:
        super()._check()
        draft = self.form.draft
        is_begun = bool(draft.body or draft.tag or draft.keys or draft.properties)
        self.reason.setText(self._fault() if is_begun else "")
        # A panel cannot be closed; the button stops a burst.
        self.cancel_button.setVisible(self.burst is not None)
