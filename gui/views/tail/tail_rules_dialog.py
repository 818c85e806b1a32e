"""`TailRulesDialog`: which messages of a live tail are marked, and in which colour."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QVBoxLayout, QWidget

from broker_core.api import OrbitError
from gui.models.tail import ColourRule
from gui.models.tail_rows import MARKS
from gui.theme.fonts import mono_font
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager
from gui.theme.tokens import STATE_GLYPHS, State
from gui.widgets.basic import IconButton, fill, label, row, take_out
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.error_words import error_text
from gui.words.text import tr

RULES_MAX = 8
WIDTH = 560
MARK_NAMES = {State.WARNING: "Amber", State.CRITICAL: "Red", State.HEALTHY: "Green", State.INFO: "Blue"}


class TailRulesDialog(FittedDialog):
    """The first rule that a message passes marks it. The broker process checks whether a rule is valid.

    Signals:
        wanted: Use another list of rules; carries it.
    """

    wanted = Signal(list)

    def __init__(self, theme: ThemeManager, rules: Sequence[ColourRule], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: list[_Line] = []
        self.error = label(role="critical", wrap=True, selectable=True)
        self.add_button = IconButton(theme, "plus", tr("Add rule"), role="quiet", on_click=self.add)
        self.use_button = push_button("Use rules", lambda: self.wanted.emit(self.rules()), role="primary")
        self._cancel = push_button("Cancel", self.reject)
        self._lines = QVBoxLayout()
        self.setWindowTitle(tr("Colour rules"))
        self.setMinimumWidth(WIDTH)
        effect = tr("Messages that arrive from now on are marked by the first rule that they pass.")
        self.error.hide()
        self._lines.setSpacing(6)
        fill(
            self.lay_out(),
            label(self.windowTitle(), "card-title"),
            label(effect, "secondary", wrap=True),
            self._lines,
            row(self.add_button, 1),
        )
        self.set_foot(self.error, row(1, self._cancel, self.use_button))
        for rule in rules or (ColourRule("", MARKS[0]),):
            self.add(rule)

    def rules(self) -> list[ColourRule]:
        """The entered rules; empty lines are left out."""
        return [ColourRule(text, line.mark) for line in self.lines if (text := line.filter.text().strip())]

    def add(self, rule: ColourRule | None = None) -> None:
        """Add a line."""
        line = _Line(self._theme, rule or ColourRule("", MARKS[len(self.lines) % len(MARKS)]))
        line.remove.clicked.connect(lambda _checked=False: self._remove(line))
        self.lines.append(line)
        self._lines.addWidget(line)
        self._check()

    def show_error(self, error: OrbitError) -> None:
        """Show why the rules are refused."""
        self.error.setText(error_text(error))
        self.error.show()

    def _remove(self, line: _Line) -> None:
        self.lines.remove(line)
        take_out(self._lines, line)
        self._check()

    def _check(self) -> None:
        self.add_button.setEnabled(len(self.lines) < RULES_MAX)


class _Line(QWidget):
    def __init__(self, theme: ThemeManager, rule: ColourRule) -> None:
        super().__init__()
        self.colour = QComboBox()
        self.colour.setAccessibleName(tr("Colour"))
        for mark in MARKS:
            self.colour.addItem(icon(STATE_GLYPHS[mark], theme.tokens.state(mark), 14), tr(MARK_NAMES[mark]), mark)
        self.colour.setCurrentIndex(MARKS.index(rule.mark))
        self.filter = QLineEdit(rule.filter)
        self.filter.setFont(mono_font())
        self.filter.setPlaceholderText('tag = "REFUND"')
        self.filter.setAccessibleName(tr("Filter"))
        self.remove = IconButton(theme, "x", tip=tr("Remove rule"))
        self.colour.setFixedWidth(120)
        self.setLayout(row(self.colour, (self.filter, 1), self.remove))

    @property
    def mark(self) -> State:
        return MARKS[self.colour.currentIndex()]
