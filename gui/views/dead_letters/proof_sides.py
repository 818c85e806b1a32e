"""`VerifySide` and `CloseSide`: the fate of the letters that were sent again, and which cases are closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Signal

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.acting import set_acting
from gui.views.dead_letters.columns import PROOFS, LetterRow, state_of
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, QueueText, count_text, tr
from monitoring.dead_letters import CONSUMED, DIED_AGAIN, RETRYING, WAITING
from monitoring.letter_notes import HANDLED, PARKED
from monitoring.resending import ResendOutcome

REASONS_SHOWN = 3


def resent_rows(rows: Sequence[LetterRow]) -> list[LetterRow]:
    """Letters that were sent again, the newest first."""
    return sorted((one for one in rows if one.note.queue_offset >= 0), key=lambda one: -one.note.at_ms)


def open_rows(rows: Sequence[LetterRow]) -> list[LetterRow]:
    """Open cases: neither handled nor parked, nor sent again and consumed."""
    return [one for one in rows if one.note.mark not in (HANDLED, PARKED) and one.proof != CONSUMED]


class VerifySide(Panel):
    """The fourth step: each resent message, and what its group did with it."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        theme, times = context.theme, context.times
        self.model: ColumnTableModel[LetterRow] = ColumnTableModel(
            [
                Column("key", "Key", lambda one: one.letter.keys or UNKNOWN, kind=CellKind.MONO,
                       tip=lambda one: one.letter.offset_message_id),
                Column("place", "Sent to", lambda one: _place(one, context.queue_text),
                       tip=lambda one: times.full(one.note.at_ms), dim=True, width=100, gives_way=1),
                Column("state", "State", lambda one: _state(one)[0], kind=CellKind.CHIP, state=lambda one: _state(one)[1],
                       width=104)
            ],
            lambda one: one.letter.offset_message_id,
            parent=self,
        )  # fmt: skip
        self.grid = said(DataGrid(self.model, theme), empty="Nothing was sent again yet.")
        self.summary = label(role="secondary", wrap=True)
        self.failures = Notice(theme)
        self.receipt_button = said_button(theme, "arrow-down", "Receipt…")
        self.next_button = said_button(theme, "arrow-right", "On to close cases", role="primary")
        self.outcome = ResendOutcome()
        fill(self.content, self.summary, self.failures, (self.grid, 1), row(self.receipt_button, 1, self.next_button))
        said(self, title="Verify", subtitle="what the group did with them, while you look")
        on_language(self, self._write_texts)

    def show_rows(self, rows: Sequence[LetterRow]) -> None:
        """Show all known dead letters of the group."""
        sent = resent_rows(rows)
        self.model.set_rows(sent)
        self.summary.setText(summary_text(sent))
        self.summary.setVisible(bool(sent))
        self.next_button.setEnabled(bool(sent))
        self.receipt_button.setEnabled(bool(sent or self.outcome.refused or self.outcome.doubtful))

    def show_outcome(self, outcome: ResendOutcome) -> None:
        """Show what the last resend did not do."""
        self.outcome = outcome
        failed, doubtful = len(outcome.refused) + len(outcome.left), len(outcome.doubtful)
        reasons = Counter(reason for _id, reason in outcome.refused + outcome.doubtful).most_common(REASONS_SHOWN)
        words = [f"{broker_text(reason)} ({count_text(count)})" for reason, count in reasons]
        titles = [tr("{count} were not sent again", count=count_text(failed))] if failed else []
        if doubtful:
            titles.append(tr("{count} possibly sent again", count=count_text(doubtful)))
            words.append(tr("Look for their copies before you send them once more: each carries the id of its dead letter."))
        self.failures.set(" · ".join(titles), "\n".join(words), State.CRITICAL)

    def _write_texts(self) -> None:
        self.summary.setText(summary_text(self.model.rows))
        self.show_outcome(self.outcome)


class CloseSide(Panel):
    """The fifth step: finished cases are marked as handled, others are parked or stay open.

    Signals:
        marked: Mark these rows; carries rows and mark.
    """

    marked = Signal(list, str)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(" ")
        self._rows: list[LetterRow] = []
        self._refusal = ""
        self.facts = KeyValueList()
        self.words = said_label(
            "Dead letters stay in the store until it is cleaned; marks say that nobody has to look again.", wrap=True
        )
        self.handled_button = IconButton(theme, "check-circle", " ", role="primary", on_click=self._mark_consumed)
        self.parked_button = IconButton(theme, "circle-dashed", " ", on_click=self._park)
        fill(self.content, self.facts, self.words, 1, row(self.parked_button, 1, self.handled_button))
        said(self, title="Close cases", subtitle="marks are kept on this computer")
        on_language(self, self._show)

    def show_rows(self, rows: Sequence[LetterRow]) -> None:
        """Set all dead letters of the group."""
        self._rows = list(rows)
        self._show()

    def show_refusal(self, refusal: str) -> None:
        """Set why marks cannot be stored; empty where they can."""
        self._refusal = refusal
        self._show()

    @property
    def consumed(self) -> list[LetterRow]:
        """Sent again and consumed, and not marked as closed."""
        return [one for one in self._rows if one.proof == CONSUMED and one.note.mark not in (HANDLED, PARKED)]

    def _show(self) -> None:
        rows, left = self._rows, open_rows(self._rows)
        count = Counter(one.note.mark for one in rows)
        proofs = Counter(one.proof for one in rows)
        self.facts.set_pairs([
            (tr("Dead letters shown"), count_text(len(rows))), (tr("Sent again"), count_text(len(resent_rows(rows)))),
            (tr("Consumed"), count_text(proofs[CONSUMED])), (tr("Died again"), count_text(proofs[DIED_AGAIN])),
            (tr("Handled"), count_text(count[HANDLED])), (tr("Parked"), count_text(count[PARKED])),
            (tr("Still open"), count_text(len(left))),
        ])  # fmt: skip
        done = len(self.consumed)
        self.handled_button.setText(tr("Mark {count} as handled", count=count_text(done)))
        set_acting(self.handled_button, self._refusal, able=done > 0)
        self.parked_button.setText(tr("Park {count} that are left", count=count_text(len(left))))
        set_acting(self.parked_button, self._refusal, able=bool(left))

    def _mark_consumed(self) -> None:
        self.marked.emit(self.consumed, HANDLED)

    def _park(self) -> None:
        self.marked.emit(open_rows(self._rows), PARKED)


def summary_text(sent: Sequence[LetterRow]) -> str:
    """How many resent letters are in which state."""
    proofs = Counter(one.proof for one in sent)
    names = ((CONSUMED, "Consumed"), (WAITING, "Not read yet"), (RETRYING, "Retrying"), (DIED_AGAIN, "Died again"))
    words = [f"{tr(name)} {count_text(proofs[proof])}" for proof, name in names if proofs[proof]]
    return " · ".join([tr("{count} sent again", count=count_text(len(sent))), *words])


def _place(one: LetterRow, queue_text: QueueText) -> str:
    note = one.note
    return f"{note.topic.removeprefix('%RETRY%')} {queue_text(note.queue_id)}/{count_text(note.queue_offset)}"


def _state(one: LetterRow) -> tuple[str, State]:
    """State of the copy, whatever mark the letter has now."""
    if one.proof in PROOFS:
        word, colour = PROOFS[one.proof]
        return tr(word), colour
    return state_of(one)
