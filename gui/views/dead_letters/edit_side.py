"""`EditSide`: the same change in the bodies of several dead letters, with what becomes of one of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import ndiff

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLineEdit, QSizePolicy, QTextEdit

from gui.models.messages import json_fault
from gui.text import count_text, tr
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State, Tokens, mix
from gui.widgets.basic import IconButton, label, row
from gui.widgets.code_view import CodeView
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from monitoring.dead_letters import DeadLetter
from monitoring.resending import Part, Patch, edit_counts

PART_NAMES = {Part.KEYS: "Keys", Part.TAG: "Tag", Part.PROPERTIES: "Properties", Part.ORDER_KEY: "Order key"}
LINES_COMPARED_MAX = 400
"""More lines are shown as they will be, without what was."""
TINT = 14
"""Of the colour of a changed line in its ground, percent."""


class EditSide(Panel):
    """The second step. It may be left out: nothing is changed then.

    Signals:
        changed: Something else would be sent.
        next_wanted: On to the third step.
    """

    changed = Signal()
    next_wanted = Signal()

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(" ")
        self._theme = theme
        self._letters: list[DeadLetter] = []
        self.find_text, self.put_text = QLineEdit(), QLineEdit()
        self.keeps = {part: QCheckBox() for part in Part}
        self.preview = CodeView(theme, "json")
        self.effect = Notice(theme)
        self.next_button = IconButton(theme, "arrow-right", " ", role="primary", on_click=self.next_wanted.emit)
        self.clear_button = IconButton(theme, "arrow-counter-clockwise", " ", on_click=self.clear)
        self._labels = [label(role="secondary") for _ in range(3)]
        self._build()
        for field in (self.find_text, self.put_text):
            field.setFont(mono_font())
            field.textChanged.connect(self._edited)
        for box in self.keeps.values():
            box.setChecked(True)
            box.toggled.connect(lambda _on: self._edited())
        theme.changed.connect(self._theme_changed)  # a method: Qt lets it go with the side
        self.retranslate()

    @property
    def patch(self) -> Patch:
        """The change in each body."""
        return Patch(self.find_text.text(), self.put_text.text())

    @property
    def kept(self) -> frozenset[Part]:
        """What is kept beside the body."""
        return frozenset(part for part, box in self.keeps.items() if box.isChecked())

    def show_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Know which dead letters are meant; the change is shown in the first that it changes."""
        if list(letters) != self._letters:
            self._letters = list(letters)
            self._show()

    def clear(self) -> None:
        """Change nothing."""
        for field in (self.find_text, self.put_text):
            field.clear()
        for box in self.keeps.values():
            box.setChecked(True)

    def retranslate(self) -> None:
        """Write all texts anew."""
        words = ("Replace", "Put in its place", "Keep")
        for shown, text in zip(self._labels, words, strict=True):
            shown.setText(tr(text))
        self.find_text.setAccessibleName(tr("Text to be replaced"))
        self.find_text.setPlaceholderText(tr("nothing: the bodies stay as they are"))
        self.put_text.setAccessibleName(tr("Text in its place"))
        for part, box in self.keeps.items():
            box.setText(tr(PART_NAMES[part]))
        self.preview.setAccessibleName(tr("Body with the change"))
        self.clear_button.setText(tr("Change nothing"))
        self.next_button.setText(tr("On to resend"))
        self._show()

    def _build(self) -> None:
        find, put, keep = self._labels
        self.preview.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        self.preview.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(8)
        form.addRow(find, self.find_text)
        form.addRow(put, self.put_text)
        form.addRow(keep, row(*self.keeps.values(), 1, spacing=8))
        self.content.addLayout(form)
        self.content.addWidget(self.preview, 1)
        self.content.addWidget(self.effect)
        self.content.addLayout(row(self.clear_button, 1, self.next_button))

    def _edited(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        count = len(self._letters)
        self.set_title(tr("Edit {count} messages", count=count_text(count)), tr("the same change in each"))
        self.next_button.setEnabled(count > 0)
        self._show_effect()
        self._show_preview()

    def _show_effect(self) -> None:
        changed, fixed = edit_counts(self._letters, self.patch)
        words = []
        if self.patch.find:
            total = count_text(len(self._letters))
            words.append(tr("Bodies that become others: {count} of {total}.", count=count_text(changed), total=total))
        broken = sum(_breaks_json(one, self.patch) for one in self._letters)
        if broken:
            words.append(tr("{count} of them are no JSON any more.", count=count_text(broken)))
        if fixed:
            why = tr("{count} cannot be edited here (masked, no text in UTF-8, or too long) and go as they are stored.",
                     count=count_text(fixed))  # fmt: skip
            words.append(why)
        is_lost = bool(self.patch.find) and not changed
        title = tr("This text is in no body that can be edited.") if is_lost else " ".join(words)
        is_warning = is_lost or fixed or broken
        set_role(self.effect, "notice" if is_warning else "info")
        self.effect.set(title, "", State.WARNING if is_warning else State.INFO)

    def _theme_changed(self, _tokens: object) -> None:
        self._show_preview()

    def _show_preview(self) -> None:
        patch = self.patch
        letter = next((one for one in self._letters if patch.changes(one)), next(iter(self._letters), None))
        before = "" if letter is None else letter.body
        after = patch.applied(before) if letter is not None and letter.is_whole else before
        lines = _compared(_laid_out(before), _laid_out(after))
        self.preview.setPlainText("\n".join(lines))
        self.preview.setExtraSelections(_tints(self.preview, lines, self._theme.tokens) if before != after else [])


def _breaks_json(letter: DeadLetter, patch: Patch) -> bool:
    return patch.changes(letter) and not json_fault(letter.body) and bool(json_fault(patch.applied(letter.body)))


def _laid_out(text: str) -> str:
    """JSON with a line for each value, anything else as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False) if text.lstrip().startswith(("{", "[")) else text
    except ValueError:
        return text


def _compared(before: str, after: str) -> list[str]:
    """Lines of a body with ``-`` and ``+`` before those that change."""
    old, new = before.splitlines(), after.splitlines()
    if before == after or len(old) + len(new) > LINES_COMPARED_MAX:
        return new
    return [line.rstrip("\n") for line in ndiff(old, new) if not line.startswith("?")]


def _tints(view: CodeView, lines: Sequence[str], tokens: Tokens) -> list[QTextEdit.ExtraSelection]:
    found = []
    for number, line in enumerate(lines):
        colour = {"-": tokens.critical, "+": tokens.healthy}.get(line[:1])
        if colour is None:
            continue
        tint = QTextEdit.ExtraSelection()
        ground = QTextCharFormat()
        ground.setBackground(QColor(mix(colour, tokens.panel, TINT)))
        ground.setProperty(QTextFormat.Property.FullWidthSelection, True)
        tint.format = ground
        tint.cursor = QTextCursor(view.document().findBlockByNumber(number))
        found.append(tint)
    return found
