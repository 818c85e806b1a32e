"""Menus of messages to enter again: `TemplatesMenu`, saved under names, and `PastDrafts`, sent last.

The functions read and write drafts of the composer as texts of the settings. Large bodies are left out, because settings are
no place for them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from gui.models.messages import MessageDraft
from gui.settings.values import listed, named
from gui.widgets.popups import ask_name
from gui.widgets.saved_menu import add_saved
from gui.words.plain_text import button_text, tip_text
from gui.words.text import bytes_text, count_text, tr

DRAFTS_MAX = 20
TEMPLATES_MAX = 50
NAME_CHARACTERS_MAX = 80
BODY_BYTES_MAX = 64 * 1024


def with_draft(kept: Sequence[MessageDraft], draft: MessageDraft) -> list[MessageDraft]:
    """The newest drafts, this one first and only once."""
    if len(draft.body) > BODY_BYTES_MAX:
        return list(kept)
    return [draft, *(one for one in kept if one != draft)][:DRAFTS_MAX]


def drafts_to_text(drafts: Sequence[MessageDraft]) -> str:
    return json.dumps([_row(draft) for draft in drafts], ensure_ascii=False)


def drafts_from_text(text: str) -> list[MessageDraft]:
    """Inverse of `drafts_to_text`; unreadable drafts are left out."""
    drafts = (_draft(row) for row in listed(text) if isinstance(row, list))
    return [draft for draft in drafts if draft is not None][:DRAFTS_MAX]


def templates_to_text(templates: Mapping[str, MessageDraft]) -> str:
    return json.dumps({name: _row(draft) for name, draft in templates.items()}, ensure_ascii=False)


def templates_from_text(text: str) -> dict[str, MessageDraft]:
    """Inverse of `templates_to_text`; unreadable templates are left out."""
    drafts = {name: _draft(row) for name, row in named(text).items() if isinstance(row, list)}
    names = sorted(drafts, key=str.casefold)[:TEMPLATES_MAX]
    return {name: draft for name in names if (draft := drafts[name]) is not None}


def with_template(kept: Mapping[str, MessageDraft], name: str, draft: MessageDraft) -> dict[str, MessageDraft]:
    """The templates with one added or replaced; unchanged where there is no room for it."""
    name = name[:NAME_CHARACTERS_MAX]
    if len(draft.body) > BODY_BYTES_MAX or (name not in kept and len(kept) >= TEMPLATES_MAX):
        return dict(kept)
    return {**kept, name: draft}


def _row(draft: MessageDraft) -> list[object]:
    pairs = [list(pair) for pair in draft.properties]
    body = base64.b64encode(draft.body).decode()
    return [draft.topic, draft.queue_id, draft.tag, draft.keys, pairs, body, draft.flag]


def _draft(row: list[object]) -> MessageDraft | None:
    match row:
        case [str(topic), int(queue_id), str(tag), str(keys), list(pairs), str(body), int(flag)]:
            properties = tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
            try:
                return MessageDraft(topic, queue_id, tag, keys, properties, base64.b64decode(body, validate=True), flag)
            except ValueError:  # other characters than those of base 64, or too few of them
                return None
    return None


def draft_name(draft: MessageDraft) -> str:
    """Name of a draft in a list: topic, tag, keys and start of its body."""
    start = " ".join(draft.body[:60].decode("utf-8", "replace").split())
    return "  ".join(part for part in (draft.topic, draft.tag, draft.keys, start) if part)


HISTORY_KEY = "compose/history"


class PastDrafts(QMenu):
    """Lists drafts, newest first, as they were entered.

    Signals:
        chosen: Enter a draft again; carries it.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings | None, parent: QWidget, *, group: str = "") -> None:
        super().__init__(parent)
        self._key = f"{group}{HISTORY_KEY}"
        self._settings = settings
        self.aboutToShow.connect(self._fill)

    @property
    def drafts(self) -> list[MessageDraft]:
        """The drafts that were sent last."""
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
            self.addAction(button_text(draft_name(draft)), partial(self.chosen.emit, draft))
        if not drafts:
            self.addAction(tr("Nothing was sent yet")).setEnabled(False)


TEMPLATES_KEY = "compose/templates"


class TemplatesMenu(QMenu):
    """Lists templates by name, and saves the entered message as another one unless parts of it are masked.

    Signals:
        chosen: Enter a template; carries its draft.
    """

    chosen = Signal(object)

    def __init__(
        self, settings: QSettings | None, entered: Callable[[], MessageDraft | None], parent: QWidget, *, group: str = ""
    ) -> None:
        super().__init__(parent)
        self._key = f"{group}{TEMPLATES_KEY}"
        self._settings = settings
        self._entered = entered
        self._parent = parent
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)

    @property
    def templates(self) -> dict[str, MessageDraft]:
        """All of them, by name; read each time, because other windows write them too."""
        return templates_from_text(str(self._settings.value(self._key, "{}"))) if self._settings is not None else {}

    def save(self, name: str) -> None:
        """Save the entered message under a name; it replaces one of the same name."""
        draft = self._entered()
        if draft is not None:
            self._write(with_template(self.templates, name, draft))

    def forget(self, name: str) -> None:
        self._write({kept: draft for kept, draft in self.templates.items() if kept != name})

    def ask_save(self) -> QInputDialog:
        words = tr("Name of the template; one that exists is replaced.")
        return ask_name(self._parent, tr("Save as a template"), words, "", self.save)

    def _write(self, templates: dict[str, MessageDraft]) -> None:
        if self._settings is not None:
            self._settings.setValue(self._key, templates_to_text(templates))

    def _choose(self, name: str) -> None:
        draft = self.templates.get(name)
        if draft is not None:
            self.chosen.emit(draft)

    def _fill(self) -> None:
        self.clear()
        templates = self.templates
        save = self.addAction(tr("Save as a template…"), self.ask_save)
        fault = self._fault(len(templates))
        save.setEnabled(not fault)
        save.setToolTip(tip_text(fault))
        tips = {name: "  ".join(filter(None, (draft.topic, draft.tag, draft.keys))) for name, draft in templates.items()}
        add_saved(self, tips, self._choose, self.forget)

    def _fault(self, count: int) -> str:
        """Why the entered message cannot be saved; empty where it can."""
        draft = self._entered()
        if draft is None:
            return tr("What is masked is not kept in a template.")
        if count >= TEMPLATES_MAX:
            return tr("There are {count} templates already; forget one first.", count=count_text(count))
        if len(draft.body) > BODY_BYTES_MAX:
            return tr("A template takes bodies up to {size}.", size=bytes_text(BODY_BYTES_MAX))
        return ""
