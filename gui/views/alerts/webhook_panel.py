"""`WebhookPanel`: the address that receives alerts, and the result of the last request."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit

from broker_core.api import UsageError
from gui.operations.alert_center import post_text
from gui.views.page import PageContext
from gui.widgets.basic import column, label
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.webhook import check_url


class WebhookPanel(Panel):
    """Shows and changes the web hook of the `AlertCenter`; the process that evaluates the rules sends the requests."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._center = context.alerts
        self._is_trying = False
        self._is_refused = False
        """Whether the address in the field is invalid; it stays there to be corrected."""
        self.address = said(QLineEdit(), name="Address of the web hook")
        self.address.setPlaceholderText("https://hooks.example.org/orbit")
        self.try_button = said_button(context.theme, "paper-plane-tilt", "Try it", role="small", on_click=self._try)
        self.result = label(role="caption", wrap=True, selectable=True)
        self.content.addLayout(column(self.address, self.result, 1))
        self.add_action(self.try_button)
        self.address.editingFinished.connect(self._edited)
        self._center.changed.connect(self._show)
        self._center.posted.connect(self._posted)
        said(self, title="Web hook", subtitle="POST with JSON, also when an alert is over")
        on_language(self, self._show)

    def _edited(self) -> None:
        self._is_refused = False
        url = self.address.text().strip()
        if url == self._center.webhook:
            self._show()
            return
        try:
            if url:
                check_url(url)
        except UsageError as error:
            self._is_refused = True
            self.result.setText(error_text(error))
            self.try_button.setEnabled(False)
            return
        self._center.set_webhook(url)

    def _show(self) -> None:
        center = self._center
        self.address.setEnabled(center.is_read)
        if self._is_refused:
            return
        self.try_button.setEnabled(bool(center.webhook))
        if self.address.hasFocus():
            return
        self.address.setText(center.webhook)
        if not self._is_trying:
            self._show_result()

    def _show_result(self) -> None:
        last = self._center.last_post
        if last is None:
            self.result.setText("" if self._center.webhook else tr("No address: nobody outside this machine is notified."))
            return
        words = "Last time: {result}" if last.succeeded else "Failed: {result}"
        self.result.setText(tr(words, result=post_text(last)))

    def _try(self) -> None:
        self._is_trying = True
        self.result.setText(tr("Sending…"))
        self._center.try_webhook()

    def _posted(self) -> None:
        self._is_trying = False
        self._show_result()
