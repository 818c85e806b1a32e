"""`TransactionDetail`: facts, history and actions of one transaction.

`TimeLine`: events in order, one line each, with the time between. Drawn by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

from broker_core.api import OrbitError, own_offset
from gui.models.transactions import LOST, WAITING, TransactionLife, TransactionRow
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.views.acting import set_acting
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK
from gui.views.transactions.columns import span_text, state_word
from gui.widgets.basic import column, fill, row
from gui.widgets.chip import Chip
from gui.widgets.containers import ScrolledPart
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.paint import paint_line
from gui.widgets.panel import Panel
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language, said_button, said_label
from gui.words.text import UNKNOWN, bytes_text, count_text, duration_text, tr

LINE_HEIGHT = 38
DOT = 9.0
LEFT = 10.0
TEXT_LEFT = 28.0


@dataclass(frozen=True, slots=True)
class TimeLineEntry:
    """One event. Texts are in the language of the window; ``is_ahead`` marks future ones."""

    title: str
    detail: str
    at: str
    gap: str
    state: State
    is_ahead: bool = False


class TimeLine(Drawn):
    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self.entries: Sequence[TimeLineEntry] = ()

    def set_entries(self, entries: Sequence[TimeLineEntry]) -> None:
        if entries == self.entries:
            return
        self.entries = entries
        self.setAccessibleDescription("; ".join(f"{one.at} {one.title} {one.detail}" for one in entries))
        self.setMinimumHeight(LINE_HEIGHT * len(entries))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, LINE_HEIGHT * len(self.entries))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, entry in enumerate(self.entries):
            top = number * LINE_HEIGHT
            middle = top + 11.0
            if number + 1 < len(self.entries):
                dashed = Qt.PenStyle.DotLine if self.entries[number + 1].is_ahead else Qt.PenStyle.SolidLine
                painter.setPen(QPen(QColor(tokens.border_strong), 1.5, dashed))
                painter.drawLine(QPointF(LEFT, middle + DOT / 2 + 2), QPointF(LEFT, middle + LINE_HEIGHT - DOT / 2 - 2))
            colour = QColor(tokens.state(entry.state))
            painter.setPen(QPen(colour, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush if entry.is_ahead else colour)
            painter.drawEllipse(QRectF(LEFT - DOT / 2, middle - DOT / 2, DOT, DOT))
            self._paint_words(painter, entry, top)
        painter.end()

    def _paint_words(self, painter: QPainter, entry: TimeLineEntry, top: float) -> None:
        tokens, right = self._theme.tokens, self.width() - 2.0
        plain, small = text_font(Size.SECONDARY), text_font(Size.CAPTION)
        at, gap = QRectF(TEXT_LEFT, top + 2, right - TEXT_LEFT, 18), QRectF(TEXT_LEFT, top + 18, right - TEXT_LEFT, 16)
        at_width = paint_line(painter, entry.at, at, plain, tokens.text_2, side=Qt.AlignmentFlag.AlignRight)
        gap_width = paint_line(painter, entry.gap, gap, small, tokens.text_3, side=Qt.AlignmentFlag.AlignRight)
        title = at.adjusted(0, 0, -at_width - 8, 0)
        paint_line(painter, entry.title, title, text_font(Size.SECONDARY, QFont.Weight.DemiBold), tokens.text_1)
        paint_line(painter, entry.detail, gap.adjusted(0, 0, -gap_width - 8, 0), small, tokens.text_3)


_STEPS = {
    "prepared": ("Half message stored", State.PENDING),
    "checked": ("Producer asked", State.CHECKING),
    "postponed": ("Copied to the end of the half queue", State.PENDING),
    "resumed": ("Resumed by hand", State.CHECKING),
    "decided": ("Decision recorded", State.COMMITTED),
    "delivered": ("Real message written", State.COMMITTED),
    "given up": ("Given up", State.CRITICAL),
}


class TransactionDetail(Panel):
    """Facts above, the time line below, buttons at the end.

    Signals:
        asked: An action was chosen; carries its name.
    """

    asked = Signal(str)

    def __init__(self, context: PageContext, refusal: Callable[[str], str]) -> None:
        """Create it; ``refusal`` returns why an action is impossible here."""
        super().__init__(" ")
        self._refusal = refusal
        theme = context.theme
        self._context = context
        self._row: TransactionRow | None = None
        self._life: TransactionLife | None = None
        self._now_ms = 0
        self.chip = Chip(theme)
        self.notice = Notice(theme)
        self.facts = KeyValueList()
        self.line = TimeLine(theme)
        self.fault = Notice(theme)
        self._line_title = said_label("What happened", "panel-title")
        self.buttons = {
            COMMIT: said_button(theme, "check-circle", "Commit…", role="small"),
            ROLL_BACK: said_button(theme, "arrow-counter-clockwise", "Roll back…", role="small"),
            CHECK: said_button(theme, "question", "Check now…", role="small"),
            RESUME: said_button(theme, "arrow-clockwise", "Resume…", role="small"),
        }
        self.message = said_button(theme, "envelope-simple", "Message", role="small", on_click=self._open_message)
        for action, button in self.buttons.items():
            button.clicked.connect(lambda _checked=False, action=action: self.asked.emit(action))
        self.add_action(self.chip)
        inner = QWidget()
        inner.setLayout(column(self.notice, self.facts, self._line_title, self.fault, self.line, 1, margins=(0, 0, 6, 0)))
        scroll = ScrolledPart()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(inner)
        inner.setAutoFillBackground(False)
        scroll.viewport().setAutoFillBackground(False)
        fill(
            self.content,
            (scroll, 1),
            row(self.buttons[COMMIT], self.buttons[ROLL_BACK], self.buttons[RESUME], 1, spacing=6),
            row(self.buttons[CHECK], self.message, 1, spacing=6),
        )
        self.fault.hide()
        on_language(self, self._write)

    def show_transaction(self, shown: TransactionRow | None, now_ms: int) -> None:
        """Show a transaction; `show_life` follows with its history."""
        if (shown.origin if shown else -1) != (self._row.origin if self._row else -1):
            self._life = None
            self.fault.hide()
        self._row, self._now_ms = shown, now_ms
        self._write()

    def show_life(self, life: TransactionLife | None) -> None:
        self._life = life
        gone = partial(tr, "The store no longer has the records of this transaction.")
        self.fault.set(gone if life is None else "", state=State.INFO)
        self._write_line()

    def show_fault(self, error: OrbitError, again: Callable[[], None]) -> None:
        """Show why the history was not read; ``again`` reads it."""
        say_not_read(self.fault, lambda: tr("What happened was not read"), error, again)

    def _write(self) -> None:
        shown = self._row
        for action, button in self.buttons.items():
            is_lost = shown is not None and shown.state in LOST
            button.setVisible(is_lost if action == RESUME else not is_lost)
            set_acting(button, self._refusal(action), able=shown is not None and (is_lost or shown.is_undecided))
        self.message.setEnabled(shown is not None)
        for widget in (self.facts, self.line, self._line_title):
            widget.setVisible(shown is not None)
        if shown is None:
            self.set_title(tr("No transaction selected"))
            self.chip.set("", State.PLAIN)
            self.notice.set("")
            return
        self.set_title(shown.keys.split(" ")[0] or shown.unique_key or UNKNOWN)
        self.chip.set(*state_word(shown.state))
        self._write_notice(shown)
        self._write_facts(shown)
        self._write_line()

    def _write_notice(self, shown: TransactionRow) -> None:
        if shown.state == WAITING:
            title = tr("No producer of {group} is connected.", group=shown.group)
            self.notice.set(title, tr("Nobody can be asked. The message waits, and no check is used up."), State.WARNING)
        elif shown.state in LOST:
            title = tr("Consumers do not get this message.")
            text = tr("Its producers gave no answer in time. Resume to ask them again.")
            self.notice.set(title, text, State.CRITICAL)
        else:
            self.notice.set("")

    def _write_facts(self, shown: TransactionRow) -> None:
        times = self._context.times
        left_ms = shown.next_check_ms - self._now_ms
        facts = [
            (tr("Would go to") if shown.is_undecided else tr("Real topic"),
             tr("{topic}, queue {queue}", topic=shown.topic, queue=self._context.queue_text(shown.queue_id))),
            (tr("Producers"), _producers_text(shown)),
            (tr("Born"), times.shown(shown.born_ms, self._now_ms)),
            (tr("Half offset"), self._half_text(shown)),
            (tr("Tag, size"), f"{shown.tag or UNKNOWN}, {bytes_text(shown.body_bytes)}"),
        ]  # fmt: skip
        if shown.is_undecided and shown.next_check_ms >= 0:
            facts.append((tr("Next check"), tr("in {time}", time=duration_text(left_ms)) if left_ms >= 0 else UNKNOWN))
        if not shown.is_undecided:
            facts.append((tr("Op record"), count_text(shown.op_offset)))
        self.facts.set_pairs(facts)

    @staticmethod
    def _half_text(shown: TransactionRow) -> str:
        now, first = count_text(shown.half_offset), count_text(own_offset(shown.origin))
        return now if now == first else tr("{now}, first {first}", now=now, first=first)

    def _write_line(self) -> None:
        self.line.set_entries(() if self._life is None or self._row is None else self._entries(self._life, self._row))

    def _entries(self, life: TransactionLife, shown: TransactionRow) -> tuple[TimeLineEntry, ...]:
        times = self._context.times
        made, before_ms = [], -1
        for step in life.steps:
            word, state = _STEPS.get(step.kind, (step.kind, State.PLAIN))
            if step.kind == "decided" and life.state == "rolled back":
                word, state = "Rolled back", State.IDLE
            gap = f"+{span_text(step.at_ms - before_ms)}" if 0 <= before_ms <= step.at_ms else ""
            detail = tr("offset {offset}, at {physical} of the log", offset=count_text(step.queue_offset),
                        physical=count_text(step.physical_offset))  # fmt: skip
            made.append(TimeLineEntry(tr(word), detail, times.shown(step.at_ms, self._now_ms), gap, state))
            before_ms = step.at_ms
        if shown.is_undecided and shown.next_check_ms >= 0:
            left = duration_text(max(0, shown.next_check_ms - self._now_ms) // 1_000 * 1_000)
            at = times.seconds(shown.next_check_ms)
            made.append(
                TimeLineEntry(tr("Next check"), shown.group, at, tr("in {time}", time=left), State.CHECKING, is_ahead=True)
            )
        return tuple(made)

    def _open_message(self) -> None:
        if self._row is not None:
            self._context.navigate("messages", physical_offset=self._row.physical_offset)


def _producers_text(shown: TransactionRow) -> str:
    if shown.producers < 0:
        return shown.group
    return tr("{group}, {count} connected", group=shown.group, count=shown.producers)
