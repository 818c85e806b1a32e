"""`EditSide`: one change in the bodies of several dead letters, or one rewritten body, with a preview."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QSizePolicy, QTextEdit

from broker_core.api import laid_out_json
from gui.models.messages import json_fault
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State, Tokens, mix
from gui.widgets.basic import fill, form_layout, row
from gui.widgets.code_view import CodeView
from gui.widgets.long_text import EDITED_CHARACTERS_MAX
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label, segments
from gui.words.text import count_text, tr
from monitoring.dead_letters import DeadLetter
from monitoring.resending import Part, Patch, edit_counts

LINES_COMPARED_MAX = 400
"""Bodies with more lines are shown after the change only."""
TINT = 14
"""Share of the colour in the ground of a changed line, percent."""


def show_change(view: CodeView, before: str, after: str, tokens: Tokens) -> None:
    """Show a body with its changed lines; JSON is laid out with a line for each value."""
    if len(before) + len(after) > EDITED_CHARACTERS_MAX:
        view.setPlainText(after)
        view.setExtraSelections([])
        return
    lines = _compared(laid_out(before), laid_out(after))
    view.setPlainText("\n".join(lines))
    view.setExtraSelections(_tints(view, lines, tokens) if before != after else [])


def laid_out(text: str) -> str:
    """JSON with a line for each value; other text, and one too long to be edited, unchanged."""
    if len(text) > EDITED_CHARACTERS_MAX:
        return text
    return laid_out_json(text) if text.lstrip().startswith(("{", "[")) and not json_fault(text) else text


def _compared(before: str, after: str) -> list[str]:
    """Lines of a body with ``-`` and ``+`` before changed ones."""
    old, new = before.splitlines(), after.splitlines()
    if before == after or len(old) + len(new) > LINES_COMPARED_MAX:
        return new
    lines = []
    for name, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if name == "equal":
            lines += [f"  {line}" for line in old[start:end]]
        else:
            lines += [f"- {line}" for line in old[start:end]]
            lines += [f"+ {line}" for line in new[new_start:new_end]]
    return lines


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


PART_NAMES = {Part.KEYS: "Keys", Part.TAG: "Tag", Part.PROPERTIES: "Properties", Part.ORDER_KEY: "Order key"}
SAME, FREE = "same", "free"
EDITOR_HEIGHT = 150


class EditSide(Panel):
    """The second step. It is optional: without it nothing is changed.

    Signals:
        changed: Another message would be sent.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(" ")
        self._theme = theme
        self._letters: list[DeadLetter] = []
        self._of: DeadLetter | None = None
        """The letter whose body is in the editor."""
        self._written: dict[str, str] = {}
        """Rewritten bodies, by offset message id of their letters."""
        self.mode = segments({SAME: "Replace", FREE: "Rewrite"})
        self.editor = said(CodeView(theme, "json", editable=True), name="The body, to be rewritten")
        self.layout_button = said_button(theme, "list", "Lay out", role="link", on_click=self._lay_out)
        self.find_text, self.put_text = QLineEdit(), QLineEdit()
        self.keeps = {part: said(QCheckBox(), text=PART_NAMES[part]) for part in Part}
        self.preview = said(CodeView(theme, "json"), name="Body with the change")
        self.effect = Notice(theme)
        self.next_button = said_button(theme, "arrow-right", "On to resend", role="primary")
        self.clear_button = said_button(theme, "arrow-counter-clockwise", "Change nothing", on_click=self.clear)
        self._labels = [said_label(text) for text in ("Replace", "Put in its place", "Keep")]
        self._build()
        for field in (self.find_text, self.put_text):
            field.setFont(mono_font())
            field.textChanged.connect(self._edited)
        for box in self.keeps.values():
            box.setChecked(True)
            box.toggled.connect(lambda _on: self._edited())
        self.mode.chosen.connect(lambda _mode: self._edited())
        self.editor.textChanged.connect(self._typed)
        theme.changed.connect(self._theme_changed)  # a method, which Qt disconnects when the side is deleted
        said(self.find_text, hint="nothing: the bodies stay as they are", name="Text to be replaced")
        said(self.put_text, name="Text in its place")
        on_language(self, self._show)

    @property
    def patch(self) -> Patch:
        """The change in each body, or the one rewritten body."""
        one = self._free_letter
        if one is None:
            return Patch(self.find_text.text(), self.put_text.text())
        written = self._written.get(one.offset_message_id)
        return Patch() if written is None else Patch(of=one.offset_message_id, written=written)

    @property
    def fault(self) -> str:
        """Why it cannot be sent as entered; empty where it can."""
        return tr("Brokers refuse a message without a body.") if self.patch.of and not self.patch.written else ""

    @property
    def _free_letter(self) -> DeadLetter | None:
        """The letter whose body can be rewritten; None where several are chosen or the body is not shown unchanged."""
        is_free = self.mode.current == FREE and len(self._letters) == 1 and self._letters[0].is_whole
        return self._letters[0] if is_free else None

    @property
    def kept(self) -> frozenset[Part]:
        """Parts that are kept beside the body."""
        return frozenset(part for part, box in self.keeps.items() if box.isChecked())

    def show_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Set the chosen dead letters; the preview shows the first that changes."""
        if list(letters) != self._letters:
            before, self._letters = self.patch, list(letters)
            self._show()
            if self.patch != before:
                self.changed.emit()

    def clear(self) -> None:
        """Change nothing."""
        self._written, self._of = {}, None
        for field in (self.find_text, self.put_text):
            field.clear()
        for box in self.keeps.values():
            box.setChecked(True)
        self._edited()

    def _build(self) -> None:
        find, put, keep = self._labels
        self.preview.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        self.preview.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        form = form_layout(across=12, down=8)
        form.addRow(find, self.find_text)
        form.addRow(put, self.put_text)
        # Two lines: four words side by side are wider than the pane.
        keeps = QGridLayout()
        keeps.setVerticalSpacing(4)
        for place, box in enumerate(self.keeps.values()):
            keeps.addWidget(box, place // 2, place % 2)
        form.addRow(keep, keeps)
        self.editor.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        self.editor.setFixedHeight(EDITOR_HEIGHT)
        fill(
            self.content,
            row(self.mode, 1, self.layout_button),
            self.editor,
            form,
            (self.preview, 1),
            self.effect,
            row(self.clear_button, 1, self.next_button),
        )

    def _edited(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        count, one = len(self._letters), self._free_letter
        words = tr("the same change in each") if one is None else tr("its body rewritten")
        self.set_title(tr("Edit {count} messages", count=count_text(count)), words)
        self._show_mode(one)
        self.next_button.setEnabled(count > 0 and not self.fault)
        self._show_effect()
        self._show_preview()

    def _show_mode(self, one: DeadLetter | None) -> None:
        find, put, _keep = self._labels
        for widget in (find, self.find_text, put, self.put_text):
            widget.setVisible(one is None)
        for part in (self.editor, self.layout_button):
            part.setVisible(one is not None)
        if one is not None and one != self._of:
            self.editor.blockSignals(True)
            self.editor.setPlainText(self._written.get(one.offset_message_id, one.body))
            self.editor.blockSignals(False)
        self._of = one
        if one is not None:
            self.layout_button.setEnabled(laid_out(self.editor.toPlainText()) != self.editor.toPlainText())

    def _typed(self) -> None:
        one = self._free_letter
        if one is None:
            return
        text = self.editor.written_text()
        if text == one.body:
            self._written.pop(one.offset_message_id, None)
        else:
            self._written[one.offset_message_id] = text
        self._edited()

    def _lay_out(self) -> None:
        self.editor.setPlainText(laid_out(self.editor.toPlainText()))

    def _why_not_free(self) -> str:
        """Why no body can be rewritten although that mode is chosen; empty where one can."""
        if self.mode.current != FREE or self._free_letter is not None or not self._letters:
            return ""
        if len(self._letters) > 1:
            return tr("One body at a time is rewritten: choose one dead letter.")
        return tr("This body cannot be rewritten: it is masked, no text in UTF-8, or too long.")

    def _show_effect(self) -> None:
        why_not = self.fault or self._why_not_free()
        if why_not:
            set_role(self.effect, "notice")
            self.effect.set(why_not, "", State.WARNING)
            return
        changed, fixed = edit_counts(self._letters, self.patch)
        words = []
        if self.patch.is_any:
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
        after = patch.applied(letter, before) if letter is not None and letter.is_whole else before
        show_change(self.preview, before, after, self._theme.tokens)


def _breaks_json(letter: DeadLetter, patch: Patch) -> bool:
    if len(patch.written) > EDITED_CHARACTERS_MAX:
        return False  # too long to be checked
    return patch.changes(letter) and not json_fault(letter.body) and bool(json_fault(patch.applied(letter, letter.body)))
