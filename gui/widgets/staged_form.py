"""`StagedForm`: settings beside their values and defaults; changes are only staged until they are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLineEdit, QSpinBox, QWidget

from gui.theme.style import set_role
from gui.widgets.basic import label
from gui.widgets.inputs import TEXT_PADDING, number_box
from gui.widgets.said import on_language
from gui.words.plain_text import tip_text
from gui.words.text import tr

Value = bool | int | str
EDITOR_WIDTH = 230


@dataclass(frozen=True, slots=True)
class FormField:
    """One setting.

    Attributes:
        key: Its name among the values.
        title: English; shown through `tr`.
        default: Its default, whose type is that of the setting.
        tip: English; its effect.
        choices: Values and their English texts, for a choice of one.
        low: Least whole number.
        high: Greatest whole number.
        wire_name: The broker's name of it.
    """

    key: str
    title: str
    default: Value
    tip: str = ""
    choices: tuple[tuple[Value, str], ...] = ()
    low: int = 0
    high: int = 1_000_000
    wire_name: str = ""

    def text(self, value: Value) -> str:
        known = dict(self.choices).get(value)
        if known is not None:
            return tr(known)
        if isinstance(value, bool):
            return tr("yes") if value else tr("no")
        return f"{value:,}" if isinstance(value, int) else value or tr("none")


@dataclass(frozen=True, slots=True)
class Change:
    """A staged value of a field, beside the value before."""

    field: FormField
    before: Value
    after: Value

    @property
    def text(self) -> str:
        return f"{self.field.text(self.before)} → {self.field.text(self.after)}"


class StagedForm(QWidget):
    """A line a setting: name, editor, default, change.

    Signals:
        edited: A value was changed, or changed back.
    """

    edited = Signal()

    def __init__(self, fields: Sequence[FormField]) -> None:
        super().__init__()
        self.fields = tuple(fields)
        self._before: dict[str, Value] = {}
        self._editors: dict[str, QWidget] = {}
        self._names = {field.key: label(role="secondary") for field in fields}
        self._defaults = {field.key: label(role="caption") for field in fields}
        self._notes = {field.key: label(role="caption") for field in fields}
        self._heads = [label(role="caption") for _ in range(4)]
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(9)
        self._grid.setColumnStretch(3, 1)
        for place, head in enumerate(self._heads):
            self._grid.addWidget(head, 0, place)
        for line, field in enumerate(fields, 1):
            editor = self._editor(field)
            self._editors[field.key] = editor
            self._grid.addWidget(self._names[field.key], line, 0)
            self._grid.addWidget(editor, line, 1, Qt.AlignmentFlag.AlignLeft)
            self._grid.addWidget(self._defaults[field.key], line, 2)
            self._grid.addWidget(self._notes[field.key], line, 3)
        on_language(self, self._write_texts)
        self.setEnabled(False)

    @property
    def values(self) -> dict[str, Value]:
        """Values of the editors."""
        return {field.key: _read(self._editors[field.key]) for field in self.fields}

    @property
    def changes(self) -> list[Change]:
        """Differences from the broker's values."""
        values = self.values
        return [
            Change(field, self._before[field.key], values[field.key])
            for field in self.fields
            if field.key in self._before and values[field.key] != self._before[field.key]
        ]

    def editor(self, key: str) -> QWidget:
        return self._editors[key]

    def set_values(self, values: Mapping[str, Value]) -> None:
        """Show the broker's values and drop the staged ones."""
        self._before = dict(values)
        self.setEnabled(True)
        self.stage(values)

    def clear(self) -> None:
        """Disable the form because the values are not known."""
        self._before = {}
        self.setEnabled(False)
        self._mark()

    def stage(self, values: Mapping[str, Value]) -> None:
        """Set values of editors without applying them."""
        for key, value in values.items():
            editor = self._editors.get(key)
            if editor is not None:
                editor.blockSignals(True)
                _write(editor, value)
                editor.blockSignals(False)
        self._mark()
        self.edited.emit()

    def revert(self) -> None:
        """Restore the broker's values."""
        self.stage(self._before)

    def _write_texts(self) -> None:
        for head, text in zip(self._heads, ("Setting", "Value", "Default", "Change"), strict=True):
            head.setText(tr(text))
        for field in self.fields:
            name, editor = self._names[field.key], self._editors[field.key]
            name.setText(tr(field.title))
            tip = "\n".join(filter(None, (tr(field.tip) if field.tip else "", field.wire_name)))
            for widget in (name, editor):
                widget.setToolTip(tip_text(tip))
            editor.setAccessibleName(tr(field.title))
            editor.setAccessibleDescription(tip)
            self._defaults[field.key].setText(field.text(field.default))
            if isinstance(editor, QComboBox):
                for place, (_value, text) in enumerate(field.choices):
                    editor.setItemText(place, tr(text))
            elif isinstance(editor, QCheckBox):
                editor.setText(tr("yes") if editor.isChecked() else tr("no"))
        self._mark()

    def _editor(self, field: FormField) -> QWidget:
        if field.choices:
            choice = QComboBox()
            for value, text in field.choices:
                choice.addItem(tr(text), value)
            choice.currentIndexChanged.connect(self._changed)
            choice.setMinimumWidth(EDITOR_WIDTH)
            return choice
        if isinstance(field.default, bool):
            flag = QCheckBox()
            flag.toggled.connect(lambda on: flag.setText(tr("yes") if on else tr("no")))
            flag.toggled.connect(self._changed)
            return flag
        if isinstance(field.default, int):
            number = number_box(field.low, field.high, 0, grouped=True, padding=TEXT_PADDING)
            number.setFixedWidth(120)
            number.valueChanged.connect(self._changed)
            return number
        text_field = QLineEdit()
        text_field.setMinimumWidth(EDITOR_WIDTH)
        text_field.textChanged.connect(self._changed)
        return text_field

    def _changed(self, *_value: object) -> None:
        self._mark()
        self.edited.emit()

    def _mark(self) -> None:
        changes = {change.field.key: change for change in self.changes}
        for field in self.fields:
            change, note = changes.get(field.key), self._notes[field.key]
            note.setText(change.text if change is not None else "")
            set_role(note, "figure" if change is not None else "caption")


def _read(editor: QWidget) -> Value:
    if isinstance(editor, QComboBox):
        data = editor.currentData()
        assert isinstance(data, bool | int | str)
        return data
    if isinstance(editor, QCheckBox):
        return editor.isChecked()
    if isinstance(editor, QSpinBox):
        return editor.value()
    assert isinstance(editor, QLineEdit)
    return editor.text().strip()


def _write(editor: QWidget, value: Value) -> None:
    if isinstance(editor, QComboBox):
        place = editor.findData(value)
        if place < 0:
            # A value without a choice is kept.
            editor.addItem(str(value), value)
            place = editor.count() - 1
        editor.setCurrentIndex(place)
    elif isinstance(editor, QCheckBox):
        editor.setChecked(bool(value))
        editor.setText(tr("yes") if value else tr("no"))
    elif isinstance(editor, QSpinBox):
        editor.setValue(int(value))
    elif isinstance(editor, QLineEdit):
        editor.setText(str(value))
