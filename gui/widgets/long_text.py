"""`LongTextEdit`: the only field of several lines, because Qt lays out all that it is given in one turn of the loop.

A text that is long, or has a long line, is given in portions, one in each turn, and its long lines in parts. Copies and
`toPlainText` have the whole text without these breaks. Where texts can be edited, such a text is held: it is shown, copied,
replaced and deleted as a whole. So is one with line breaks of several kinds, because an editor of Qt has one kind only.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from PySide6.QtCore import QMimeData, QSignalBlocker, QTimer
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from gui.words.plain_text import tip_text
from gui.words.text import tr

PORTION_CHARACTERS, PORTION_LINES = 8 * 1024, 2_000
"""Given to Qt in one turn: 5 to 35 ms of processor, with colours; most for emoji."""
LINE_CHARACTERS_MAX = 500
"""Of a line that is only read; a longer one is shown in parts."""
SHOWN_CHARACTERS_MAX = 512 * 1024
"""The rest of a longer text is not shown; copies have it."""
EDITED_CHARACTERS_MAX, EDITED_LINES_MAX = 64 * 1024, 5_000
"""A longer text is held."""
EDITED_TURNING_MAX = 32 * 1024
"""Of a text with characters from right to left: each change of the direction takes Qt as long as some more characters."""
_TURNING = re.compile(
    "[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Characters from right to left, and those that change the direction."""

_BREAKS_OF_QT = "\u2029\ufdd0\ufdd1"
"""Characters that Qt takes for line breaks and does not keep."""
_CLEARING = (QKeySequence.StandardKey.Delete, QKeySequence.StandardKey.Backspace, QKeySequence.StandardKey.Cut)


class LongTextEdit(QPlainTextEdit):
    """Shows texts of any length."""

    EDITED_LINE_MAX = 4_000
    """A text with a longer line is held, too."""

    def __init__(self, *, editable: bool = False) -> None:
        super().__init__()
        self._is_editable = editable
        self._whole: str | None = None
        """The text, where Qt has not all of it as it is."""
        self._given = self._column = self._units = 0
        self._line_end = "\n"
        self._breaks: list[int] = []
        """Places in the text, in units of UTF-16, before which a line was broken."""
        self._next = QTimer(self, interval=0)
        self._next.timeout.connect(self._give_more)
        self.setReadOnly(not editable)

    @property
    def is_broken(self) -> bool:
        """Whether a long line is shown in parts."""
        return bool(self._breaks)

    @property
    def is_held(self) -> bool:
        """Whether the text is too long to be edited, or has line breaks that would change."""
        return self._is_editable and self._whole is not None

    def toPlainText(self) -> str:
        """The text with LF as line end."""
        # Qt's own makes a space of a no-break space, and a line break of a line separator.
        return self.document().toRawText().replace("\u2029", "\n") if self._whole is None else self._whole

    def written_text(self) -> str:
        """The text with the line end of the text that was set, if it can be edited."""
        return self.toPlainText().replace("\n", self._line_end)

    def setPlainText(self, text: str) -> None:
        line_end = _line_end_of(text)
        self._line_end = line_end or "\n"
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        is_long = self._is_too_long(text) or (self._is_editable and line_end is None)
        self._next.stop()
        self._whole, self._given, self._column, self._units = text if is_long else None, 0, 0, 0
        self._breaks.clear()
        self.setReadOnly(is_long or not self._is_editable)
        self.setUndoRedoEnabled(not is_long)
        held = tr(
            "Too long to be edited here, or with line breaks of several kinds: it is copied, replaced and deleted as a whole."
        )
        self.setToolTip(tip_text(held) if self.is_held else "")
        super().setPlainText(self._portion() if is_long else text)
        if is_long:
            self._next.start()

    def document_place(self, units: int) -> int:
        """The place in the document of a place in the text, both in units of UTF-16; at most the end of what is shown."""
        return min(units + bisect_right(self._breaks, units), self.document().characterCount() - 1)

    def given_anew(self) -> bool:
        """Whether a long text is now laid out anew, e.g. in other colours."""
        if self._whole is not None:
            with QSignalBlocker(self):
                self.setPlainText(self._whole)
        return self._whole is not None

    # ---- giving --------------------------------------------------------------------------------------------------------

    def _is_too_long(self, text: str) -> bool:
        if self._is_editable:
            is_long = len(text) > EDITED_CHARACTERS_MAX or text.count("\n") >= EDITED_LINES_MAX
            is_long = is_long or (len(text) > EDITED_TURNING_MAX and _TURNING.search(text) is not None)
            return is_long or _longest(text) > self.EDITED_LINE_MAX
        is_long = len(text) > PORTION_CHARACTERS or text.count("\n") > PORTION_LINES
        return is_long or _longest(text) > LINE_CHARACTERS_MAX

    def _give_more(self) -> None:
        portion = self._portion()
        if not portion:
            self._next.stop()
            return
        end = QTextCursor(self.document())
        end.movePosition(QTextCursor.MoveOperation.End)
        with QSignalBlocker(self):  # the text is the same
            end.insertText(portion)
        self.grown()

    def grown(self) -> None:
        """More of the text is shown."""

    def _portion(self) -> str:
        """The next part of the text, its long lines broken; empty at its end."""
        assert self._whole is not None
        text = self._whole[self._given : min(self._given + PORTION_CHARACTERS, SHOWN_CHARACTERS_MAX)]
        lines = text.split("\n", PORTION_LINES)
        self._given += len(text)
        if len(lines) > PORTION_LINES:
            self._given -= len(lines[-1])
            lines[-1] = ""
        return "\n".join(self._broken(line, is_first=not place) for place, line in enumerate(lines))

    def _broken(self, line: str, *, is_first: bool) -> str:
        if not is_first:
            self._column, self._units = 0, self._units + 1
        parts = []
        while self._column + len(line) > LINE_CHARACTERS_MAX:
            part = line[: LINE_CHARACTERS_MAX - self._column]
            line = line[len(part) :]
            parts.append(part)
            self._units += units_of(part)
            self._breaks.append(self._units)
            self._column = 0
        self._column += len(line)
        self._units += units_of(line)
        return "\n".join([*parts, line])

    # ---- copying and pasting -------------------------------------------------------------------------------------------

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def selected_text(self) -> str:
        """The selected part of the text; all of it where all that is shown is selected."""
        cursor = self.textCursor()
        if self._whole is None:
            return cursor.selectedText().replace("\u2029", "\n")
        start, end = (self._text_place(place) for place in (cursor.selectionStart(), cursor.selectionEnd()))
        if cursor.selectionStart() == 0 and cursor.selectionEnd() >= self.document().characterCount() - 1:
            return self._whole
        return _part_of(self._whole, start, end)

    def _text_place(self, place: int) -> int:
        """The place in the text of a place in the document, both in units of UTF-16."""
        breaks = self._breaks
        return place - bisect_right(range(len(breaks)), place, key=lambda number: breaks[number] + number + 1)

    def insertFromMimeData(self, source: QMimeData) -> None:
        cursor, pasted = self.textCursor(), source.text()
        before = self.toPlainText()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        if len(pasted) + len(before) > self.EDITED_LINE_MAX:
            after = _part_of(before, 0, start) + pasted + _part_of(before, end, units_of(before))
            if self._is_too_long(after):
                self.setPlainText(after)
                return
        super().insertFromMimeData(source)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.is_held and event.matches(QKeySequence.StandardKey.Paste):
            self.setPlainText(QGuiApplication.clipboard().text())
        elif self.is_held and any(map(event.matches, _CLEARING)):
            if event.matches(QKeySequence.StandardKey.Cut):
                QGuiApplication.clipboard().setText(self.toPlainText())
            self.setPlainText("")
        else:
            super().keyPressEvent(event)


def _longest(text: str) -> int:
    return max(map(len, text.split("\n")))


def _line_end_of(text: str) -> str | None:
    """The line end of a text; None where it has several kinds, or one that Qt does not keep."""
    pairs, feeds, returns = map(text.count, ("\r\n", "\n", "\r"))
    has_several = bool(returns) and not pairs == feeds == returns
    if has_several or any(mark in text for mark in _BREAKS_OF_QT):
        return None
    return "\r\n" if pairs else "\n"


def units_of(text: str) -> int:
    """Length of a text in units of UTF-16, as Qt counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _part_of(text: str, start: int, end: int) -> str:
    """A part of a text between two places in units of UTF-16."""
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
