"""`SendDialogs`: dialogs of a page that send a message: a new one, a stored one again, or to one consumer."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.detail import MessageDetailPane
from gui.views.messages.hand_dialog import Hand, HandDialog
from gui.views.page import PageContext
from gui.widgets.popups import opened
from monitoring.state import ClusterState


class SendDialogs(QObject):
    """Opens them over a page.

    Signals:
        sent: Messages were stored in a topic; carries its name and the `SendReceipt`, or how many there are (int).
        shown_wanted: Show the sent message; carries topic and `SendReceipt`.
    """

    sent = Signal(str, object)
    shown_wanted = Signal(str, object)

    def __init__(self, context: PageContext, pane: MessageDetailPane, page: QWidget) -> None:
        super().__init__(page)
        self._context = context
        self._pane = pane
        self._page = page
        self.hands = Hand(context, page)
        self.state: ClusterState | None = None
        """The state from which the dialogs offer names; None: unknown."""

    def send(self, topic: str) -> ComposeDialog:
        """Send a new message."""
        context = self._context
        return self._composing(
            ComposeDialog(context.source, context.theme, self.state, topic=topic, settings=context.settings, parent=self._page)
        )

    def resend(self, detail: MessageDetail) -> ComposeDialog:
        """Send a stored message again."""
        context, mask = self._context, self._pane.body.book.mask_of(detail)
        return self._composing(
            ComposeDialog(context.source, context.theme, self.state, resent=detail, mask=mask, parent=self._page)
        )

    def hand(self, detail: MessageDetail) -> HandDialog:
        """Give a stored message to one consumer."""
        return self.hands.open([detail])

    def resend_shown(self) -> None:
        """Send the message that is shown again, if there is one."""
        if self._pane.detail is not None:
            self.resend(self._pane.detail)

    def hand_shown(self) -> None:
        """Give the message that is shown to one consumer, if there is one."""
        if self._pane.detail is not None:
            self.hand(self._pane.detail)

    def _composing(self, dialog: ComposeDialog) -> ComposeDialog:
        dialog.sent.connect(self.sent)
        dialog.shown_wanted.connect(self.shown_wanted)
        dialog.stored_several.connect(self.sent.emit)
        return opened(dialog)
