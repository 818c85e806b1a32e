"""`LetterFlow`: the five steps of work on dead letters: inspect, edit, resend, verify, close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from broker_core.api import csv_bytes
from gui.models.queue_window import queue_text
from gui.operations.background import write_file
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog
from gui.views.dead_letters.columns import LetterRow
from gui.views.dead_letters.edit_side import EditSide
from gui.views.dead_letters.notebook import NoteBook
from gui.views.dead_letters.proof_sides import CloseSide, VerifySide, open_rows, resent_rows
from gui.views.dead_letters.resend import resend_dialog
from gui.views.dead_letters.resend_side import ResendSide
from gui.views.dead_letters.side import SIDE_WIDTH, LetterSide
from gui.views.page import PageContext
from gui.widgets.containers import LazyTab
from gui.widgets.popups import ask_to_save, opened
from gui.widgets.said import on_language
from gui.widgets.step_bar import StepBar
from gui.words.error_words import error_text
from gui.words.text import QueueText, count_text, tr
from monitoring.dead_letters import CONSUMED, DeadLetter
from monitoring.letter_notes import HANDLED, RESENT
from monitoring.resending import ResendOrder, ResendOutcome

HEAD = ("dead_letter_id", "group", "original_topic", "keys", "sent_at", "sent_to", "queue", "offset", "outcome", "reason")


def receipt_csv(rows: Sequence[LetterRow], outcome: ResendOutcome, queue_text: QueueText) -> bytes:
    """A line for each dead letter that was sent again, or should have been in the last resend; CSV, times in UTC."""
    refused, doubtful, left = dict(outcome.refused), dict(outcome.doubtful), set(outcome.left)
    lines: list[tuple[object, ...]] = [HEAD]
    for one in rows:
        message_id, note = one.letter.offset_message_id, one.note
        head = (message_id, one.letter.group, one.letter.origin_text, one.letter.keys)
        if message_id in refused:
            lines.append((*head, "", "", "", "", "not sent", refused[message_id]))
        elif message_id in doubtful:
            lines.append((*head, "", "", "", "", "no answer, may be there", doubtful[message_id]))
        elif message_id in left:
            lines.append((*head, "", "", "", "", "not tried", ""))
        elif note.queue_offset >= 0:
            at = _time_text(note.at_ms)
            queue = queue_text(note.queue_id)
            lines.append((*head, at, note.topic, queue, note.queue_offset, one.proof or note.mark, ""))
    return csv_bytes(lines)


def _time_text(at_ms: int) -> str:
    """A time in UTC; empty for old notes without a time."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds") if at_ms >= 0 else ""


INSPECT, EDIT, RESEND, VERIFY, CLOSE = STEPS = ("inspect", "edit", "resend", "verify", "close")
STEP_NAMES = {INSPECT: "Inspect", EDIT: "Edit", RESEND: "Resend", VERIFY: "Verify", CLOSE: "Close cases"}


class LetterFlow(QObject):
    """Owns the bar of the steps and the pane of each step beside the table; the page lays them out.

    Signals:
        step_chosen: Another step is shown; carries its key.
    """

    step_chosen = Signal(str)

    def __init__(self, context: PageContext, notes: NoteBook, page: QWidget) -> None:
        super().__init__(page)
        self._context = context
        self._notes = notes
        self._page = page
        self._rows: list[LetterRow] = []
        self._chosen: list[LetterRow] = []
        self._dead = 0
        theme = context.theme
        self.bar = StepBar(theme, STEPS)
        self.inspect = LetterSide(context)
        # The other steps are made at their first use, because together they take as long to make as the rest of the page.
        self.edit, self.resend = LazyTab(self._make_edit), LazyTab(self._make_resend)
        self.verify, self.close = LazyTab(self._make_verify), LazyTab(self._make_close)
        self.sides: dict[str, QWidget] = dict(
            zip(STEPS, (self.inspect, self.edit, self.resend, self.verify, self.close), strict=True)
        )
        for side in self.sides.values():
            side.setMinimumWidth(SIDE_WIDTH)
        self.bar.chosen.connect(self._chosen_in_bar)
        self.inspect.resend_button.clicked.connect(lambda _checked=False: self.go_to(RESEND))
        on_language(page, self._show_steps)

    # ---- what the page calls -------------------------------------------------------------------------------------------

    def show_rows(self, rows: Sequence[LetterRow], dead: int) -> None:
        """Set the dead letters of the group, and their total."""
        self._rows, self._dead = list(rows), dead
        for side in (self.verify.made, self.close.made):
            if side is not None:
                side.show_rows(self._rows)
        self._show_steps()

    def show_note_refusal(self, refusal: str) -> None:
        """Set why notes cannot be stored; empty where they can."""
        self.inspect.show_note_refusal(refusal)
        if self.close.made is not None:
            self.close.made.show_refusal(refusal)

    def show_chosen(self, rows: Sequence[LetterRow]) -> None:
        """Set the selected dead letters."""
        self._chosen = list(rows)
        if self.edit.made is not None:
            self.edit.made.show_letters(self._letters)
        if self.resend.made is not None:
            self._show_chosen_in(self.resend.made)
        self._show_steps()

    @property
    def _letters(self) -> list[DeadLetter]:
        return [one.letter for one in self._chosen]

    def _show_chosen_in(self, resend: ResendSide) -> None:
        handled = sum(one.note.mark in (RESENT, HANDLED) for one in self._chosen)
        resend.show_letters(self._letters, handled)

    def go_to(self, step: str) -> None:
        """Show a step."""
        self.bar.choose(step)
        self._chosen_in_bar(step)

    def begin(self) -> None:
        """Forget edits and the last outcome, because another group is shown."""
        if self.edit.made is not None:
            self.edit.made.clear()
        if self.verify.made is not None:
            self.verify.made.show_outcome(ResendOutcome())
        if self.bar.current != INSPECT:
            self.go_to(INSPECT)

    def ask_resend(self, count: int = 0) -> ActionDialog | None:
        """Ask whether to send the chosen letters again, or the first ``count`` of them, as entered."""
        letters = self._letters[: count or None]
        if not letters:
            return None
        if self.edit.made is not None and self.edit.made.fault:
            self.go_to(EDIT)
            return None
        context = self._context
        dialog = resend_dialog(
            context, letters, self._notes.sent, self._page, order=self.resend.make().order,
            ended=self.verify.make().show_outcome,
        )  # fmt: skip
        dialog.succeeded.connect(self._resent)
        return opened(dialog)

    # ---- steps ---------------------------------------------------------------------------------------------------------

    def _make_edit(self) -> EditSide:
        made = EditSide(self._context.theme)
        made.show_letters(self._letters)
        made.changed.connect(self._edited)
        made.next_button.clicked.connect(lambda _checked=False: self.go_to(RESEND))
        return made

    def _make_resend(self) -> ResendSide:
        made = ResendSide(self._context.source, self._context.theme)
        self._show_chosen_in(made)
        if self.edit.made is not None:
            made.show_edit(self.edit.made.patch, self.edit.made.kept)
        made.send_wanted.connect(self.ask_resend)
        return made

    def _make_verify(self) -> VerifySide:
        made = VerifySide(self._context)
        made.show_rows(self._rows)
        made.next_button.clicked.connect(lambda _checked=False: self.go_to(CLOSE))
        made.receipt_button.clicked.connect(self._ask_file)
        return made

    def _make_close(self) -> CloseSide:
        made = CloseSide(self._context.theme)
        made.show_refusal(self._notes.refusal)
        made.show_rows(self._rows)
        made.marked.connect(self._notes.mark)
        return made

    def _chosen_in_bar(self, step: str) -> None:
        side = self.sides[step]
        if isinstance(side, LazyTab):
            side.make()
        self.step_chosen.emit(step)

    def _edited(self) -> None:
        if self.resend.made is not None:
            self.resend.made.show_edit(self.edit.make().patch, self.edit.make().kept)
        self._show_steps()

    def _resent(self, outcome: ResendOutcome) -> None:
        failed, doubtful = len(outcome.refused) + len(outcome.left), len(outcome.doubtful)

        def text() -> str:
            parts = [tr("{count} sent again", count=count_text(len(outcome.sent)))]
            parts += [tr("{count} possibly sent again", count=count_text(doubtful))] if doubtful else []
            return ", ".join([*parts, *([tr("{count} were not", count=count_text(failed))] if failed else [])])

        self._context.notify(text, state=State.WARNING if failed or doubtful else State.HEALTHY)
        self._show_steps()
        self.go_to(VERIFY)

    def _show_steps(self) -> None:
        sent, chosen = resent_rows(self._rows), len(self._chosen)
        consumed = sum(one.proof == CONSUMED for one in sent)
        changes = self._changes
        left = len(open_rows(self._rows))
        # Only the newest are read, and there may be more.
        left_text = count_text(left) if 0 <= self._dead <= len(self._rows) else f"≥ {count_text(left)}"
        facts: dict[str, tuple[str, bool]] = {
            INSPECT: (tr("{count} dead", count=count_text(self._dead)), chosen > 0),
            EDIT: (tr("{count} changes staged", count=count_text(changes)) if changes else tr("optional"), changes > 0),
            RESEND: (tr("{count} selected", count=count_text(chosen)), bool(sent)),
            VERIFY: (_verified(len(sent), consumed), bool(sent) and consumed == len(sent)),
            CLOSE: (tr("{count} still open", count=left_text), bool(self._rows) and not left),
        }
        outcome = self.verify.made.outcome if self.verify.made is not None else ResendOutcome()
        why_not = "" if sent or outcome != ResendOutcome() else tr("Send dead letters again first.")
        for step, (fact, is_done) in facts.items():
            needs = why_not if step in (VERIFY, CLOSE) else ""
            self.bar.show_step(step, tr(STEP_NAMES[step]), fact, is_done=is_done, why_not=needs)

    @property
    def _changes(self) -> int:
        """How many parts of each letter change."""
        edit = self.edit.made
        return 0 if edit is None else replace(ResendOrder(), patch=edit.patch, keeps=edit.kept).changes

    # ---- the receipt ---------------------------------------------------------------------------------------------------

    def _ask_file(self) -> None:
        dialog = ask_to_save(self._page, tr("Receipt of the resends"), "dead-letter-receipt.csv", self.write_receipt)
        self._context.theme.dress(dialog)

    def write_receipt(self, path: Path) -> None:
        """Write the fate of each letter as CSV, on another thread."""
        rows, outcome = list(self._rows), self.verify.make().outcome
        of_now = partial(queue_text, self._context.source.state)

        def written(_size: int) -> None:
            self._context.notify(lambda: tr("The receipt is in {path}", path=path), state=State.HEALTHY)

        write_file(self, path, lambda: receipt_csv(rows, outcome, of_now), written, self._not_written)

    def _not_written(self, error: Exception) -> None:
        self._context.notify(
            lambda: tr("The receipt was not written: {reason}", reason=error_text(error)), state=State.CRITICAL
        )


def _verified(sent: int, consumed: int) -> str:
    if not sent:
        return tr("nothing sent yet")
    return tr("{count} of {total} consumed", count=count_text(consumed), total=count_text(sent))
