"""`LetterSide`: one dead letter with origin, body, note, marks, resend and the fate of its copy."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QSizePolicy

from gui.theme.tokens import State
from gui.views.acting import set_acting
from gui.views.action_dialog import read_only_reason
from gui.views.dead_letters.columns import LetterRow, state_of
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, column, label, row
from gui.widgets.chip import Chip
from gui.widgets.code_view import CodeView
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.widgets.said import said, said_button
from gui.words.plain_text import tip_text
from gui.words.text import UNKNOWN, count_text, tr
from monitoring.letter_notes import HANDLED, OPEN, PARKED

SIDE_WIDTH = 392
_VERBS = {OPEN: "Mark as open", PARKED: "Park", HANDLED: "Mark as handled"}


class LetterSide(Panel):
    """Shows the selected letter and reports entries and clicks to the page.

    Signals:
        noted: A note was entered; carries its text.
        marked: Mark the selected letters; carries the mark.
    """

    noted = Signal(str)
    marked = Signal(str)

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        theme = context.theme
        self._context, self._times = context, context.times
        self._shown_id = self._shown_text = ""
        self._note_refusal = ""
        self.facts = KeyValueList(mono=True)
        self.body = said(CodeView(theme, "json"), name="Body")
        self.note = said(QLineEdit(), name="Note")
        self.marks = {
            mark: said_button(theme, "", text, on_click=partial(self.marked.emit, mark)) for mark, text in _VERBS.items()
        }
        self.state = Chip(theme)
        self.add_action(self.state)
        self.resend_button = IconButton(theme, "paper-plane-tilt", " ", role="primary")
        self.proof_line = label(role="caption", wrap=True)
        self.setMinimumWidth(SIDE_WIDTH)
        self.body.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        self.body.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        lines = column(
            self.facts,
            (self.body, 1),
            self.note,
            self.proof_line,
            row(*self.marks.values(), 1),
            row(1, self.resend_button),
            spacing=10,
        )
        self.content.addLayout(lines)
        self.note.editingFinished.connect(self._entered)

    def show_note_refusal(self, refusal: str) -> None:
        """Set why notes cannot be stored; empty where they can."""
        self._note_refusal = refusal

    def show_letter(self, one: LetterRow | None, selected: int) -> None:
        """Show a letter, or None; marks and the resend apply to the ``selected`` letters."""
        self.set_title(tr("Dead letter"), one.letter.keys if one is not None else tr("none is selected"))
        self.state.set(*state_of(one) if one is not None else ("", State.PLAIN))
        self.note.setEnabled(one is not None and not self._note_refusal)
        self.note.setToolTip(tip_text(self._note_refusal))
        self.facts.set_pairs([] if one is None else self._pairs(one))
        self.body.setPlainText("" if one is None else one.letter.body)
        self._show_note(one)
        self.show_selected(selected)

    def _show_note(self, one: LetterRow | None) -> None:
        letter_id = one.letter.offset_message_id if one is not None else ""
        is_entered = letter_id == self._shown_id and self.note.hasFocus()
        self._shown_id = letter_id
        text = one.note.text if one is not None else ""
        if not is_entered:
            self._shown_text = text
            if self.note.text().strip() != text:
                self.note.setText(text)

    def _entered(self) -> None:
        # The field emits also without a change: an unchanged text must not become the note of all selected letters.
        text = self.note.text().strip()
        if text != self._shown_text:
            self._shown_text = text
            self.noted.emit(text)

    def show_selected(self, count: int) -> None:
        """Set the number of selected letters."""
        for button in self.marks.values():
            set_acting(button, self._note_refusal, able=count > 0)
        set_acting(self.resend_button, read_only_reason(self._context.source), able=count > 0)
        self.resend_button.setText(tr("Resend {count}…", count=count_text(max(count, 1))))
        many = tr("A note on all {count} selected, kept on this computer", count=count_text(count))
        words = many if count > 1 else tr("A note, kept on this computer")
        self.note.setPlaceholderText(self._note_refusal or words)

    def show_proof(self, one: LetterRow | None, now_ms: int) -> None:
        """Show the fate of the letter's copy, if it was sent again."""
        if one is None or one.note.queue_offset < 0:
            self.proof_line.setText("")
            return
        note = one.note
        place = tr(
            "Sent again {time} to {topic}, queue {queue}, offset {offset}",
            time=self._times.shown(note.at_ms, now_ms), topic=note.topic,
            queue=self._context.queue_text(note.queue_id), offset=count_text(note.queue_offset),
        )  # fmt: skip
        self.proof_line.setText(f"{place}: {state_of(one)[0]}")

    def _pairs(self, one: LetterRow) -> list[tuple[str, str]]:
        letter = one.letter
        return [
            (tr("Original topic"), letter.origin_text or UNKNOWN), (tr("Died"), self._times.full(letter.died_ms)),
            (tr("Tries"), count_text(letter.tries)), (tr("Producer"), letter.host),
            (tr("Message ID"), letter.offset_message_id),
        ]  # fmt: skip
