"""`DemoCard`: contents and pace of the demo, and the button that plays or stops it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from gui.processes.demo import DemoController, DemoPace
from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton, IconLabel, column, fill, label, row
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_label
from gui.words.text import count_text, tr

PACE_NAMES = {DemoPace.SLOW: "Slow, {rate}/s", DemoPace.NORMAL: "Normal, {rate}/s", DemoPace.FAST: "Fast, {rate}/s"}
DEMO_FACTS = (
    ("stack", "accent", "Orders and payments", "Real clients on the real port, at the pace you choose"),
    ("timer", "delayed", "Delayed messages", "Unpaid orders are looked at again after 1 s to 2 h"),
    ("arrows-left-right", "checking", "Transactions", "Payments commit, roll back or wait for a check"),
    ("repeat", "retry", "Retries and dead letters", "Some reservations fail once, a few each time"),
    ("hourglass", "pending", "One slow group", "It falls behind, builds a backlog and catches up again"),
)
"""Icon, colour token, title and explanation of each part of the demo."""


class DemoCard(Panel):
    """Card that plays the demo.

    Signals:
        play_wanted: Play at a pace (`DemoPace`).
    """

    play_wanted = Signal(object)

    def __init__(self, theme: ThemeManager, demo: DemoController) -> None:
        super().__init__()
        self._theme = theme
        self._demo = demo
        self._can_play = False
        self._title = said_label("Play a demo", "card-title")
        self._intro = said_label("A small shop sends and consumes real messages on this broker.")
        self._facts = [(said(label(), text=title), said_label(text, "caption")) for _glyph, _colour, title, text in DEMO_FACTS]
        self._pace = said(QComboBox(), name="Pace of the demo")
        for pace in DemoPace:
            self._pace.addItem("", pace)
        self._pace.setCurrentIndex(list(DemoPace).index(DemoPace.NORMAL))
        self.button = IconButton(theme, "play", " ", role="primary", on_click=self._clicked)
        self._note = label(role="caption")
        self._build()
        demo.changed.connect(self._show)
        on_language(self, self._show)

    @property
    def pace(self) -> DemoPace:
        chosen: DemoPace = self._pace.currentData()
        return chosen

    def set_can_play(self, can_play: bool) -> None:
        """Whether there is a broker to play against."""
        self._can_play = can_play
        self._show()

    def _build(self) -> None:
        self.content.setContentsMargins(18, 14, 18, 14)
        self.content.setSpacing(6)
        rocket = IconLabel(self._theme, "rocket-launch", "accent", 18)
        fill(self.content, row(rocket, self._title, 1, spacing=10), self._intro)
        for (glyph, colour, _, _), (title, text) in zip(DEMO_FACTS, self._facts, strict=True):
            words = QWidget()
            words.setLayout(column(title, text, spacing=1))
            mark = IconLabel(self._theme, glyph, colour, 17)
            line = row(mark, words, 1, spacing=10, margins=(0, 10, 0, 0))
            line.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
            self.content.addLayout(line)
        fill(self.content, 1, row(self.button, self._pace, 1, self._note))

    def _clicked(self) -> None:
        if self._demo.is_running:
            self._demo.stop()
        else:
            self.play_wanted.emit(self.pace)

    def _show(self) -> None:
        for index, pace in enumerate(DemoPace):
            self._pace.setItemText(index, tr(PACE_NAMES[pace], rate=count_text(pace.value)))
        running, stopping = self._demo.is_running, self._demo.is_stopping
        self.button.setText(tr("Stop demo") if running else tr("Play a demo"))
        self.button.set_role("" if running else "primary")
        self.button.set_glyph("stop" if running else "play")
        self.button.setEnabled(not stopping and (running or self._can_play))
        self._pace.setEnabled(not running)
        self._note.setText(self._note_text())

    def _note_text(self) -> str:
        if self._demo.is_stopping:
            return tr("Stopping…")
        if self._demo.is_running:
            return tr("Playing") if self._can_play else tr("Waits for the broker")
        return tr("Stop at any time") if self._can_play else tr("Needs a running broker")
