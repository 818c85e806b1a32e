"""`PastDrafts`: the menu of what was sent last, which it keeps in the settings."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QMenu, QWidget

from gui.models.compose_history import draft_name, drafts_from_text, drafts_to_text, with_draft
from gui.models.messages import MessageDraft
from gui.words.text import tr

HISTORY_KEY = "compose/history"


class PastDrafts(QMenu):
    """Lists drafts, newest first, as they were entered.

    Args:
        settings: Where they are kept; None: none are.
        parent: Qt's owner.
        group: See `gui.connections.cluster.own_group`.

    Signals:
        chosen: A draft is to be entered again; carries it.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings | None, parent: QWidget, *, group: str = "") -> None:
        super().__init__(parent)
        self._key = f"{group}{HISTORY_KEY}"
        self._settings = settings
        self.aboutToShow.connect(self._fill)

    @property
    def drafts(self) -> list[MessageDraft]:
        """What was sent last."""
        return drafts_from_text(str(self._settings.value(self._key, "[]"))) if self._settings is not None else []

    def keep(self, draft: MessageDraft) -> None:
        """Put a draft first."""
        if self._settings is not None:
            self._settings.setValue(self._key, drafts_to_text(with_draft(self.drafts, draft)))

    def _fill(self) -> None:
        self.clear()
        drafts = self.drafts
        for draft in drafts:
            # An ampersand would underline what follows it.
            self.addAction(draft_name(draft).replace("&", "&&"), partial(self.chosen.emit, draft))
        if not drafts:
            self.addAction(tr("Nothing was sent yet")).setEnabled(False)
