"""The Dead letters page: groups, what died and why nobody knows, notes, resends with proof, and retries that wait."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from broker_core.api import OrbitError, SendReceipt
from gui.models.table import ColumnTableModel
from gui.operations.filter_memory import Cut
from gui.operations.retry_facts import RetryReader
from gui.text import count_text, tr
from gui.theme.tokens import Size, State
from gui.views.action_dialog import ActionDialog
from gui.views.dead_letters.columns import (
    GroupRow,
    LetterRow,
    group_columns,
    letter_columns,
    retry_columns,
    state_of,
)
from gui.views.dead_letters.cuts import CutsButton
from gui.views.dead_letters.ladder import RetryLadder
from gui.views.dead_letters.origins import OriginReader
from gui.views.dead_letters.reader import LETTERS_MAX, DeadLetterReader
from gui.views.dead_letters.resend import resend_dialog
from gui.views.dead_letters.side import SIDE_WIDTH, LetterSide
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField, SegmentedControl
from gui.widgets.panel import Panel
from monitoring.dead_letters import (
    NEW,
    OPEN,
    RESENT,
    DeadLetter,
    Notes,
    WaitingRetry,
    group_figures,
    group_positions,
    proof,
    top_origins,
)
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

NOTES_KEY = "dead_letters/notes"
RETRIES_AGAIN_MS = 5_000
LETTERS, RETRIES = "letters", "retries"
GROUPS_HEIGHT = 196


class DeadLettersView(PageView):
    """Groups on top, the dead letters of the chosen one below, one of them at the side."""

    page_id = "dead_letters"
    title = "Dead letters"
    icon = "x-circle"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self._state: ClusterState | None = None
        self._now_ms = 0
        self._words: list[str] = []
        self._asked = ""
        """The group that was asked for; it is listed in any case."""
        self._dead_for: tuple[str, int, int] | None = None
        self._retries_read_ms = -RETRIES_AGAIN_MS
        self.notes = Notes(str(context.settings.value(NOTES_KEY, "")))
        self.reader = DeadLetterReader(context.source, context.decoders, self)
        self.groups: ColumnTableModel[GroupRow] = ColumnTableModel(
            group_columns(lambda: self._now_ms), lambda one: one.figures.group, parent=self
        )
        self.group_grid = DataGrid(self.groups, theme)
        self.group_panel = Panel(" ", flush=True)
        self.letters: ColumnTableModel[LetterRow] = ColumnTableModel(
            letter_columns(context.times, lambda: self._now_ms), lambda one: one.letter.physical_offset, parent=self
        )
        self.letter_grid = DataGrid(self.letters, theme)
        self.retries: ColumnTableModel[WaitingRetry] = ColumnTableModel(
            retry_columns(context.times, lambda: self._now_ms), lambda one: one.physical_offset, parent=self
        )
        self.retry_grid = DataGrid(self.retries, theme)
        self.parts = SegmentedControl([(LETTERS, " "), (RETRIES, " ")])
        self.search = SearchField(theme, " ", "funnel")
        self.cuts = CutsButton(theme, context.settings, lambda: Cut(self._group, self.search.text().strip()))
        self.origins = OriginReader(context.source, self)
        self.attempts = RetryReader(context.source, self)
        self.ladder = RetryLadder(theme, context.times)
        self.sides = QStackedWidget()
        self.grids = QStackedWidget()
        self.foot = label(role="caption")
        self.side = LetterSide(theme, context.times)
        self._build()
        self._connect()
        self.group_grid.sort_by("dead", descending=True)
        self.letter_grid.sort_by("died", descending=True)
        self.retranslate()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        group = arguments.get("group")
        if isinstance(group, str) and group:
            self._asked = group
            self._show_groups()
            self.group_grid.select_key(group)
        show = arguments.get("show")
        if show in (LETTERS, RETRIES):
            self._show_part(str(show))

    def state_changed(self, state: ClusterState) -> None:
        self._state, self._now_ms = state, state.taken_ms
        figures = group_figures(state)
        self.reader.read_ages(figures, state.taken_ms)
        self.origins.read(figures)
        if figures and state.taken_ms - self._retries_read_ms >= RETRIES_AGAIN_MS:
            self._retries_read_ms = state.taken_ms
            self.reader.read_retries(state)
        self._show_groups()
        self.group_grid.select_first()
        self._read_group()
        self._show_letters()
        self.retry_grid.view.viewport().update()

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self.refresh()

    def refresh(self) -> None:
        self._dead_for = None
        self._retries_read_ms = -RETRIES_AGAIN_MS
        self.reader.forget()
        self.attempts.forget()
        self.origins.forget()
        if self._state is not None:
            self.state_changed(self._state)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.reader.masks.refresh()

    def focus_filter(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def detail_pane(self) -> QWidget:
        return self.sides

    def retranslate(self) -> None:
        self.group_panel.set_title(tr("Groups"), tr("with dead letters or retries"))
        self.parts.set_text(LETTERS, tr("Dead letters"))
        self.parts.set_text(RETRIES, tr("Waiting retries"))
        self.search.setPlaceholderText(tr("Filter by topic, key, tag, body, note or state"))
        self.search.setAccessibleName(tr("Filter by topic, key, tag, body, note or state"))
        self.side.retranslate()
        self.cuts.setText(tr("Cuts"))
        self.ladder.retranslate()
        self.retry_grid.set_empty(tr("No retry waits."))
        for model in (self.groups, self.letters, self.retries):
            model.all_texts_changed()
        self._show_groups()
        self._show_letters()
        self._show_side()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def mark(self, mark: str) -> None:
        """Mark the selected dead letters."""
        for one in self.letter_grid.selected_rows:
            self.notes.change(one.letter.offset_message_id, mark=mark)
        self._keep_notes()

    def ask_resend(self) -> ActionDialog | None:
        """Open the dialog that sends the selected dead letters again."""
        letters = [one.letter for one in self.letter_grid.selected_rows]
        if not letters:
            return None
        dialog = resend_dialog(self.context.source, self.context.theme, letters, self._sent, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.succeeded.connect(self._resent)
        dialog.open()
        return dialog

    def _sent(self, letter: DeadLetter, topic: str, receipt: SendReceipt) -> None:
        self.notes.change(
            letter.offset_message_id, mark=RESENT, topic=topic, queue_id=receipt.queue_id,
            queue_offset=receipt.queue_offset, at_ms=receipt.store_ms,
        )  # fmt: skip
        self._keep_notes()

    def _resent(self, receipts: list[SendReceipt]) -> None:
        self.context.notify(tr("{count} sent again", count=count_text(len(receipts))), state=State.HEALTHY)

    def _note_changed(self, text: str) -> None:
        one = self.letter_grid.selected_row
        if one is None or text == self.notes.of(one.letter.offset_message_id).text:
            return
        mark = self.notes.of(one.letter.offset_message_id).mark
        self.notes.change(one.letter.offset_message_id, text=text, mark=OPEN if mark == NEW else mark)
        self._keep_notes()

    def _keep_notes(self) -> None:
        self.context.settings.setValue(NOTES_KEY, self.notes.as_text())
        self._show_letters()
        self._show_side()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.group_panel.content.addWidget(self.group_grid)
        self.group_panel.setFixedHeight(GROUPS_HEIGHT)
        self.content.addWidget(self.group_panel)
        table = Panel(flush=True)
        table.content.setSpacing(0)
        table.content.addLayout(row(self.parts, 1, self.cuts, self.search, margins=(8, 8, 8, 8)))
        self.search.setMinimumWidth(260)
        for grid in (self.letter_grid, self.retry_grid):
            self.grids.addWidget(grid)
        table.content.addWidget(self.grids, 1)
        table.content.addLayout(row(self.foot, 1, margins=(12, 5, 12, 5)))
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(table)
        for side in (self.side, self.ladder):
            self.sides.addWidget(side)
        split.addWidget(self.sides)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(Size.GAP)
        split.setStretchFactor(0, 1)
        split.setSizes([10 * SIDE_WIDTH, SIDE_WIDTH])
        self.content.addWidget(split, 1)

    def _connect(self) -> None:
        self.group_grid.selected.connect(lambda _group: self._group_chosen())
        self.letter_grid.selected.connect(lambda _letter: self._show_side())
        self.letter_grid.view.selectionModel().selectionChanged.connect(self._show_selected)
        self.parts.chosen.connect(self._show_part)
        self.search.searched.connect(self._filter)
        self.cuts.chosen.connect(self._show_cut)
        self.cuts.refused.connect(self._not_kept)
        self.retry_grid.selected.connect(lambda _retry: self._show_ladder())
        self.attempts.changed.connect(self._show_attempts)
        self.origins.changed.connect(self._show_groups)
        self.side.noted.connect(self._note_changed)
        self.side.marked.connect(self.mark)
        self.side.resend_wanted.connect(self.ask_resend)
        self.reader.letters_changed.connect(self._letters_read)
        self.reader.retries_changed.connect(self._retries_read)
        self.reader.ages_changed.connect(self._show_groups)
        self.reader.letters_failed.connect(self._letters_failed)
        self.reader.retries_failed.connect(self._retries_failed)
        self.reader.masks.changed.connect(self.refresh)

    # ---- reading -------------------------------------------------------------------------------------------------------

    def _group_chosen(self) -> None:
        self._read_group()
        self._show_letters()

    def _read_group(self) -> None:
        chosen = self.group_grid.selected_row
        if chosen is None:
            return
        figures = chosen.figures
        wanted = (figures.group, figures.dead, figures.last_died_ms)
        if wanted == self._dead_for:
            return
        self._dead_for = wanted
        if figures.group != self.reader.group:
            self.letters.set_rows([])
            self.letter_grid.set_loading(figures.dead > 0)
        if figures.dead:
            self.reader.read_letters(figures.group)
        else:
            self.reader.group, self.reader.letters = figures.group, []

    def _letters_read(self) -> None:
        self.letter_grid.set_loading(False)
        self.letter_grid.set_error("")
        self._show_letters()
        self.letter_grid.select_first()
        self._show_side()

    def _retries_read(self) -> None:
        self.retry_grid.set_error("")
        self.retries.set_rows(self.reader.retries or [])
        if self.parts.current == RETRIES:
            self.retry_grid.select_first()
        self._show_ladder()
        self._show_groups()

    def _letters_failed(self, error: OrbitError) -> None:
        self.letter_grid.set_loading(False)
        self.letter_grid.set_error(tr("The dead letters could not be read."), error.message, tr("Try again"), self.refresh)

    def _retries_failed(self, error: OrbitError) -> None:
        self.retries.set_rows([])
        self.retry_grid.set_error(tr("The retries could not be read."), error.message, tr("Try again"), self.refresh)
        self._show_groups()

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_part(self, part: str) -> None:
        self.parts.choose(part)
        self.grids.setCurrentIndex(0 if part == LETTERS else 1)
        self.sides.setCurrentIndex(0 if part == LETTERS else 1)
        for widget in (self.search, self.cuts):
            widget.setVisible(part == LETTERS)
        self._show_ladder()
        self._show_foot()

    def _show_ladder(self) -> None:
        if self.parts.current == RETRIES and self._state is not None:
            self.attempts.read(self.retry_grid.selected_row)
            self._show_attempts()

    def _show_attempts(self) -> None:
        if self._state is not None:
            delays = [int(delay) for delay in self._state.delays.delay_ms]
            self.ladder.show_retry(self.retry_grid.selected_row, self.attempts.facts, delays)

    @property
    def _group(self) -> str:
        """The group that is chosen; empty for none."""
        chosen = self.group_grid.selected_row
        return chosen.figures.group if chosen is not None else ""

    def _not_kept(self, why: str) -> None:
        self.context.notify(why)

    def _show_cut(self, cut: Cut) -> None:
        self._show_part(LETTERS)
        self.group_grid.select_key(cut.group)
        self.search.setText(cut.words)
        self._filter(cut.words)

    def _show_groups(self) -> None:
        if self._state is None:
            return
        figures = group_figures(self._state)
        waiting = self.reader.retries
        self.groups.set_rows(
            GroupRow(
                figures=one,
                recent=(self.reader.recent.get(one.group, -1) if one.dead else 0),
                oldest_ms=self.reader.oldest_ms.get(one.group, -1) if one.dead else -1,
                waiting=-1 if waiting is None else self.reader.waiting[one.group],
                is_cut=self.reader.retries_are_cut,
                origins=tuple(self.origins.of(one.group)),
                first_due_ms=self.reader.first_due_ms.get(one.group, -1),
            )
            for one in figures
            if one.group == self._asked or self.reader.may_have_any(one)
        )
        self.group_grid.set_empty(tr("No group has dead letters or retries. That is good."))
        dead = sum(one.dead for one in figures)
        chips = [(tr("{count} dead", count=count_text(dead)), State.CRITICAL if dead else State.HEALTHY)]
        if waiting is not None:
            chips.append((tr("{count} waiting", count=count_text(len(waiting))), State.RETRY if waiting else State.IDLE))
        self.header.set_chips(chips)

    def _show_letters(self) -> None:
        letters = self.reader.letters
        positions = group_positions(self._state, self.reader.group) if self._state is not None else {}
        rows = []
        for letter in letters:
            note = self.notes.of(letter.offset_message_id)
            rows.append(LetterRow(letter, note, proof(note, letter, letters, positions)))
        self.letters.set_rows(rows)
        self.letter_grid.set_empty(tr("This group has no dead letters.") if not self._words else tr("None passes the filter."))
        self.letter_grid.view.viewport().update()
        self._show_foot()
        self._show_proof()

    def _show_foot(self) -> None:
        if self.parts.current == RETRIES:
            cut = tr("only the first of each delay level are listed") if self.reader.retries_are_cut else ""
            self.foot.setText(cut or tr("{count} retries wait, next first", count=count_text(len(self.retries.rows))))
            return
        origins = ", ".join(f"{topic} {count_text(count)}" for topic, count in top_origins(self.reader.letters))
        parts = [tr("{count} dead letters", count=count_text(len(self.letters.shown_rows)))]
        chosen = self.group_grid.selected_row
        if chosen is not None and chosen.figures.dead > LETTERS_MAX:
            parts.append(tr("the newest {count} of {total}", count=LETTERS_MAX, total=count_text(chosen.figures.dead)))
        if origins:
            parts.append(tr("most from {origins}", origins=origins))
        self.foot.setText(" · ".join(parts))

    def _show_selected(self) -> None:
        self.side.show_selected(self.letter_grid.selected_count)

    def _show_side(self) -> None:
        self.side.show_letter(self.letter_grid.selected_row, self.letter_grid.selected_count)
        self._show_proof()

    def _show_proof(self) -> None:
        self.side.show_proof(self.letter_grid.selected_row, self._now_ms)

    def _filter(self, text: str) -> None:
        self._words = text.casefold().split()
        words = self._words

        def accepts(one: LetterRow) -> bool:
            letter = one.letter
            body = letter.body
            facts = (letter.origin_topic, letter.keys, letter.tag, letter.host, body, one.note.text, state_of(one)[0])
            whole = " ".join(facts).casefold()
            return all(word in whole for word in words)

        self.letters.set_filter(accepts if words else None)
        self._show_letters()
