"""`ComposeDialog`: send a new message, or a stored one again."""

from __future__ import annotations

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.theme.manager import ThemeManager
from gui.views.messages.composing import Composing
from gui.widgets.basic import column, label, row
from gui.widgets.fitted_dialog import FittedDialog
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
