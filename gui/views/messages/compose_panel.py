"""`ComposePanel`: sends messages to one topic from beside its figures."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from gui.views.messages.composing import Composing
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, fill, row
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button
from gui.words.text import tr
from monitoring.state import ClusterState

WIDTH_MIN = 500


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
        self.setMinimumWidth(WIDTH_MIN)
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
        # A message of the history, or of a template, goes to the topic that is shown, too.
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
            for told in (self.receipt, self.error, self.show_button, self.copy_button):
                told.hide()
            self.form.set_topic(topic)
            self.set_subtitle(topic)

    def take_focus(self) -> None:
        """Focus the body."""
        self.form.body.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _write_texts(self) -> None:
        self._check()
        self.set_title(tr("Send message"), self._topic)

    def _build(self) -> None:
        # Beside the title there is room for the words of one of them.
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
        # There is nothing to close; a burst is what can be stopped.
        self.cancel_button.setVisible(self.burst is not None)
