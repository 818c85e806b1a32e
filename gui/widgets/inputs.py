"""Fields of forms: `NameBox`, `SegmentedControl`, `UnitField`, `SearchField`, and number fields with a unit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QStyleOptionComboBox,
)

from gui.theme.icons import icon
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.widgets.basic import PlainLabel
from gui.words.plain_text import tip_text
from gui.words.text import tr

SEARCH_DELAY_MS = 150
TEXT_PADDING = 8
"""Of text fields in the style sheet."""
FIELD_PADDING = 6
"""Of number fields in narrow forms."""
NAME_WIDTH_MAX = 360
"""Of a choice among names, px."""
_NAME_ROOM = QSize(NAME_WIDTH_MAX, 1_000)
_ARROW_ROOM = 40
"""Px for the arrow and the padding of a choice."""


class NameBox(QComboBox):
    """A choice among names of topics, groups or clients, of bounded width: longer names are cut in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.view().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.currentTextChanged.connect(self._name_changed)

    def sizeHint(self) -> QSize:
        return super().sizeHint().boundedTo(_NAME_ROOM)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().boundedTo(_NAME_ROOM)

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        option.currentText = self._elided(option.currentText)

    def _elided(self, text: str) -> str:
        return self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, max(0, self.width() - _ARROW_ROOM))

    def _name_changed(self, text: str) -> None:
        self.setToolTip(tip_text(text) if self.fontMetrics().horizontalAdvance(text) > NAME_WIDTH_MAX - _ARROW_ROOM else "")


class SegmentedControl(QFrame):
    """A choice of one among a few, side by side.

    Signals:
        chosen: The user chose another segment; carries its key.
    """

    chosen = Signal(str)

    def __init__(self, segments: Sequence[tuple[str, str]]) -> None:
        """Create it from (key, shown text) pairs; the first is chosen."""
        super().__init__()
        self.setProperty("role", "segments")
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        line = QHBoxLayout(self)
        line.setContentsMargins(1, 1, 1, 1)
        line.setSpacing(0)
        for i, (key, text) in enumerate(segments):
            button = QPushButton(text)
            button.setProperty("role", "segment")
            button.setProperty("place", _place(i, len(segments)))
            button.setCheckable(True)
            button.clicked.connect(lambda _checked=False, key=key: self.chosen.emit(key))
            self._group.addButton(button)
            self._buttons[key] = button
            line.addWidget(button)
        self._buttons[segments[0][0]].setChecked(True)
        self.setFixedHeight(Size.CONTROL)

    @property
    def current(self) -> str:
        return next(key for key, button in self._buttons.items() if button.isChecked())

    def choose(self, key: str) -> None:
        """Choose a segment without a signal."""
        self._buttons[key].setChecked(True)

    def set_text(self, key: str, text: str) -> None:
        """Change the text of a segment, e.g. its count."""
        self._buttons[key].setText(text)

    def set_refusal(self, key: str, reason: str) -> None:
        """Disable a segment and say why at the pointer; enable it for an empty reason."""
        self._buttons[key].setEnabled(not reason)
        self._buttons[key].setToolTip(tip_text(reason))

    def show_segment(self, key: str, *, shown: bool) -> None:
        """Show or hide a segment that is neither first nor last; if it is chosen, the first one is chosen instead."""
        if not shown and self.current == key:
            self.choose(next(iter(self._buttons)))
        self._buttons[key].setVisible(shown)


def _place(index: int, count: int) -> str:
    if count == 1:
        return "only"
    return "first" if index == 0 else "last" if index == count - 1 else "middle"


def number_box(low: int, high: int, value: int, *, grouped: bool = False, padding: int = FIELD_PADDING) -> QSpinBox:
    """A field for a number from ``low`` to ``high``; ``grouped``: with separators of thousands."""
    made = QSpinBox()
    made.setRange(low, high)
    made.setValue(value)
    made.setGroupSeparatorShown(grouped)
    # Padding of the style sheet does not reach the text of a spin box.
    made.lineEdit().setTextMargins(padding, 0, 0, 0)
    return made


def name_count(field: QSpinBox, one: str, several: str) -> None:
    """Show the unit of a number field after its number; both forms English, with the space before them."""
    field.valueChanged.connect(lambda _value: write_count(field, one, several))
    write_count(field, one, several)


def write_count(field: QSpinBox, one: str, several: str) -> None:
    """Write the unit of a number field again, e.g. in another language; as `name_count`."""
    field.setSuffix(tr(one) if field.value() == 1 else tr(several))


class UnitField(QLineEdit):
    """A text field that shows a unit at its right edge."""

    def __init__(self) -> None:
        super().__init__()
        self._unit = PlainLabel(self)
        self._unit.setProperty("role", "caption")
        self._unit.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    @property
    def unit(self) -> str:
        return self._unit.text()

    def set_unit(self, unit: str) -> None:
        """Set the unit; empty for none."""
        self._unit.setText(unit)
        self._place_unit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_unit()

    def _place_unit(self) -> None:
        width = self._unit.sizeHint().width() if self._unit.text() else 0
        self.setTextMargins(0, 0, width, 0)
        self._unit.setGeometry(self.width() - width - TEXT_PADDING, 0, width, self.height())


class SearchField(QLineEdit):
    """A text field with a glyph and a clear button, which emits its text when typing pauses.

    Signals:
        searched: The text changed and stayed for `SEARCH_DELAY_MS`, or Enter was pressed; carries it.
    """

    searched = Signal(str)

    def __init__(self, theme: ThemeManager, placeholder: str = "", glyph: str = "magnifying-glass") -> None:
        super().__init__()
        self._theme = theme
        self._glyph = glyph
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder.strip())
        self._action = self.addAction(icon(glyph, theme.tokens.text_2, 15), QLineEdit.ActionPosition.LeadingPosition)
        self.setClearButtonEnabled(True)
        # The glyph has its own distance from the text, in addition to the padding of text fields.
        self.setTextMargins(-TEXT_PADDING, 0, 0, 0)
        self._pause = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._pause.timeout.connect(self._tell)
        self.textChanged.connect(self._pause.start)
        self.returnPressed.connect(self._tell)
        theme.changed.connect(self._restyle)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            self._tell()
            return
        super().keyPressEvent(event)

    def _tell(self) -> None:
        self._pause.stop()
        self.searched.emit(self.text())

    def _restyle(self) -> None:
        self._action.setIcon(icon(self._glyph, self._theme.tokens.text_2, 15))
