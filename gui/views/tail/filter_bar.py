"""`TailBar`: the followed topics, and the filter."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.models.messages import topic_names
from gui.operations.filter_memory import FilterMemory
from gui.operations.known_names import KnownNames
from gui.theme.manager import ThemeManager
from gui.views.messages.browse_bar import EXAMPLE, topic_choice
from gui.views.messages.filter_bar import FilterBar
from gui.widgets.basic import IconButton, clear, row
from gui.widgets.said import said
from gui.widgets.saved_menu import menu_name
from gui.words.text import QueueText, tr
from monitoring.state import ClusterState

TOPICS_MAX = 12
"""Maximum of chips; more topics are followed by a filter such as ``topic ~ "^order"``."""
CHIP_CHARACTERS_MAX = 40


class TailBar(QWidget):
    """Topics as chips, a field that adds one, and the filter.

    Signals:
        changed: Topics or filter changed.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, memory: FilterMemory, queue_text: QueueText = str) -> None:
        super().__init__()
        self._theme = theme
        self._topics: list[str] = []
        self._known: list[str] = []
        self.topic_text = said(QLineEdit(), hint="Add topic")
        self.topic = said(topic_choice(self.topic_text), name="Add topic")
        self.names = KnownNames(self)
        self.filter = FilterBar(theme, memory, queue_text, example=EXAMPLE)
        self.filter.use_names(self.names)
        self._chips = row(spacing=6)
        self._last_filter = ""
        """The filter at the last `changed`, or the one that was set since."""
        self.topic.setFixedWidth(150)
        line = row(self.topic, (self.filter, 1))
        line.insertLayout(0, self._chips)
        for part in (self._chips, self.topic):
            line.setAlignment(part, Qt.AlignmentFlag.AlignTop)
        line.setContentsMargins(0, 0, 0, 0)
        self.setLayout(line)
        self.topic.textActivated.connect(self.add_topic)
        self.topic_text.returnPressed.connect(lambda: self.add_topic(self.topic_text.text()))
        self.filter.submitted.connect(self._filter_entered)
        self.filter.edited.connect(self._filter_entered)

    @property
    def topics(self) -> list[str]:
        """The followed topics; empty: every topic that the filter accepts."""
        return list(self._topics)

    @property
    def filter_text(self) -> str:
        return self.filter.text

    def set_topics(self, topics: Sequence[str]) -> None:
        """Set the topics without a signal."""
        self._topics = list(dict.fromkeys(topics))[:TOPICS_MAX]
        self._show_chips()

    def set_filter(self, text: str) -> None:
        """Set the filter without a signal."""
        self._last_filter = text.strip()
        self.filter.set_text(text)

    def show_choices(self, state: ClusterState) -> None:
        """Offer topics, and names for the filter."""
        self.names.take_state(state)
        names = topic_names(state)
        if names != self._known:
            self._known = names
            entered = self.topic_text.text()
            with QSignalBlocker(self.topic):
                self.topic.clear()
                self.topic.addItems(names)
                self.topic.setCurrentIndex(-1)
            self.topic_text.setText(entered)

    def add_topic(self, topic: str) -> None:
        """Follow one more topic, if it is known."""
        topic = topic.strip()
        if topic in self._known and topic not in self._topics and len(self._topics) < TOPICS_MAX:
            self._topics.append(topic)
            self._show_chips()
            self.changed.emit()
        self.topic.setCurrentIndex(-1)
        self.topic_text.clear()

    def remove_topic(self, topic: str) -> None:
        """Stop following a topic."""
        self._topics.remove(topic)
        self._show_chips()
        self.changed.emit()

    def _filter_entered(self, text: str) -> None:
        if text != self._last_filter:
            self._last_filter = text
            self.changed.emit()

    def _show_chips(self) -> None:
        clear(self._chips)
        for topic in self._topics:
            chip = IconButton(
                self._theme, "x", menu_name(topic, CHIP_CHARACTERS_MAX), tip=tr("Follow {topic} no longer", topic=topic)
            )
            chip.clicked.connect(lambda _checked=False, topic=topic: self.remove_topic(topic))
            self._chips.addWidget(chip)
