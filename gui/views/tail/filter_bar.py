"""`TailBar`: which topics are followed, and the filter; says where a filter cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from broker_core.api import FilterError
from gui.models.messages import topic_names
from gui.text import tr
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.views.messages.browse_bar import topic_choice
from gui.widgets.basic import IconButton, label, row
from gui.widgets.inputs import SearchField
from monitoring.state import ClusterState

TOPICS_MAX = 12
"""Chips that fit; more topics are followed by a filter such as ``topic ~ "^order"``."""


class TailBar(QWidget):
    """Topics as chips, a field that adds one, and the filter.

    Signals:
        changed: Topics or filter are others now.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._topics: list[str] = []
        self._known: list[str] = []
        self.topic_text = QLineEdit()
        self.topic = topic_choice(self.topic_text)
        self.filter = SearchField(theme, " ", "funnel")
        self.error = label(role="critical", wrap=True, selectable=True)
        self.error.hide()
        self._chips = QHBoxLayout()
        self._chips.setSpacing(6)
        self._told = ""
        self._build()
        self.retranslate()

    @property
    def topics(self) -> list[str]:
        """What is followed; empty: every topic that the filter takes."""
        return list(self._topics)

    @property
    def filter_text(self) -> str:
        return self.filter.text().strip()

    def set_topics(self, topics: Sequence[str]) -> None:
        """Follow these, without telling anyone."""
        self._topics = list(dict.fromkeys(topics))[:TOPICS_MAX]
        self._show_chips()

    def set_filter(self, text: str) -> None:
        """Write the filter, without telling anyone."""
        with QSignalBlocker(self.filter):
            self.filter.setText(text)
        self._told = text.strip()

    def show_choices(self, state: ClusterState) -> None:
        """Topics to choose from."""
        names = topic_names(state)
        if names != self._known:
            self._known = names
            entered = self.topic_text.text()
            with QSignalBlocker(self.topic):
                self.topic.clear()
                self.topic.addItems(names)
                self.topic.setCurrentIndex(-1)
            self.topic_text.setText(entered)

    def show_error(self, error: FilterError | None) -> None:
        """Say why the filter is none, and select the place; None: it is one."""
        self.error.setVisible(error is not None)
        if error is None:
            return
        position, length = error.context.get("position"), error.context.get("length")
        if isinstance(position, int) and isinstance(length, int):
            self.filter.setSelection(position, max(length, 1))
            self.error.setText(tr("Character {position}: {reason}", position=position + 1, reason=error.message))
        else:
            self.error.setText(error.message)

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
        """Follow a topic no longer."""
        self._topics.remove(topic)
        self._show_chips()
        self.changed.emit()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.topic_text.setPlaceholderText(tr("Add topic"))
        self.topic.setAccessibleName(tr("Add topic"))
        self.filter.setPlaceholderText(tr('Filter, e.g. tag = "paid" and body.amount > 100'))
        self.filter.setAccessibleName(tr("Filter"))

    def _build(self) -> None:
        self.filter.setFont(mono_font())
        self.topic.setFixedWidth(150)
        line = row(self.topic, self.filter)
        line.setStretch(1, 1)
        line.insertLayout(0, self._chips)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(6)
        lines.addLayout(line)
        lines.addWidget(self.error)
        self.topic.textActivated.connect(self.add_topic)
        self.topic_text.returnPressed.connect(lambda: self.add_topic(self.topic_text.text()))
        self.filter.searched.connect(self._filter_searched)

    def _filter_searched(self, text: str) -> None:
        if text.strip() != self._told:
            self._told = text.strip()
            self.changed.emit()

    def _show_chips(self) -> None:
        while (item := self._chips.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for topic in self._topics:
            chip = IconButton(self._theme, "x", topic, tip=tr("Follow {topic} no longer", topic=topic))
            chip.clicked.connect(lambda _checked=False, topic=topic: self.remove_topic(topic))
            self._chips.addWidget(chip)
