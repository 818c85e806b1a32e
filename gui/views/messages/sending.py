"""`SendDialogs`: dialogs of a page that send a message: a new one, a stored one again, or to one consumer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.stored_messages import MessageDetail, SendReceipt
from gui.views.messages.compose_dialog import ComposeDialog
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

    def __init__(self, context: PageContext, page: QWidget, shown: Callable[[], MessageDetail | None]) -> None:
        """``shown`` returns the message that the page shows."""
        super().__init__(page)
        self._context = context
        self._shown = shown
        self._page = page
        self.hands = Hand(context, page)
        self.state: ClusterState | None = None
        """The state from which the dialogs offer names; None: unknown."""

    def send(self, topic: str) -> ComposeDialog:
        context = self._context
        return self._composing(
            ComposeDialog(context.source, context.theme, self.state, topic=topic, settings=context.settings, parent=self._page)
        )

    def resend(self, detail: MessageDetail) -> ComposeDialog:
        """Send a stored message again."""
        context, mask = self._context, self._context.decoders.mask_of(detail)
        return self._composing(
            ComposeDialog(context.source, context.theme, self.state, resent=detail, mask=mask, parent=self._page)
        )

    def resend_shown(self) -> ComposeDialog | None:
        """Send the message that is shown again, if there is one."""
        shown = self._shown()
        return None if shown is None else self.resend(shown)

    def hand_shown(self) -> HandDialog | None:
        """Give the message that is shown to one consumer, if there is one."""
        shown = self._shown()
        return None if shown is None else self.hands.open([shown])

    def _composing(self, dialog: ComposeDialog) -> ComposeDialog:
        dialog.sent.connect(self.sent)
        dialog.shown_wanted.connect(self.shown_wanted)
        dialog.stored_several.connect(self.sent.emit)
        return opened(dialog)


def show_sent(context: PageContext, topic: str, receipt: SendReceipt) -> None:
    """Show a sent message among those of its queue."""
    context.navigate("messages", topic=topic, queue=receipt.queue_id, offset=receipt.queue_offset)
