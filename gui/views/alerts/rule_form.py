"""`RuleForm`: the fields of one rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QLineEdit,
    QWidget,
)

from broker_core.api import UsageError
from gui.views.alerts.words import SEVERITY_NAMES, series_words
from gui.widgets.basic import ElidedLabel, form_layout, label, row, show_text
from gui.widgets.inputs import UnitField
from gui.widgets.said import on_language, push_button, said, said_label, say_items
from gui.words.amounts import value_text
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.alert_rules import AlertRule, Severity, check_rule, unit_of
from monitoring.alert_watch import amount_text

ABOVE, BELOW = 0, 1


class RuleForm(QWidget):
    """Edits a copy of a rule; nothing changes before Save.

    Signals:
        saved: Save was pressed; carries the rule.
        threshold_changed: Carries the threshold in the field.
    """

    saved = Signal(object)
    threshold_changed = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._rule: AlertRule | None = None
        self._shown_name = ""
        """Name of the rule in the language of the window."""
        self.name = QLineEdit()
        self.series = QComboBox()
        self.series.setEditable(True)
        self.series.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        # Otherwise the longest series that is known when the form is first shown widens it, at the cost of the rules.
        self.series.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.words = ElidedLabel(role="caption")
        """The series in words."""
        self.side = QComboBox()
        say_items(self.side, ("above", "below"))
        # Its texts are set later, and again in another language.
        self.side.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.threshold = said(UnitField(), name="Threshold")
        self.seconds = QLineEdit()
        self.severity = QComboBox()
        say_items(self.severity, [SEVERITY_NAMES[severity] for severity in Severity])
        self.enabled = said(QCheckBox(), text="Watch this")
        self.desktop = said(QCheckBox(), text="Notify through the desktop")
        self.webhook = said(QCheckBox(), text="Call the web hook")
        self.fault = label(role="critical", wrap=True)
        self.save = push_button("Save", self._save, role="primary")
        self.revert = push_button("Revert", lambda: self._show(self._rule))
        names = ("Name", "Series", "Fires", "For, seconds", "Severity")
        self._labels = [said_label(name, "") for name in names]
        for entry, name in zip((self.name, self.series, self.side, self.seconds, self.severity), names, strict=True):
            said(entry, name=name)
        editor = self.series.lineEdit()
        assert editor is not None
        said(editor, name="Series")
        self._build()
        for field in (self.name, self.threshold, self.seconds):
            field.textEdited.connect(lambda _text: self._check())
            field.returnPressed.connect(self._save)
        self.series.editTextChanged.connect(lambda _text: self._check())
        for choice in (self.side, self.severity):
            choice.currentIndexChanged.connect(lambda _index: self._check())
        for box in (self.enabled, self.desktop, self.webhook):
            box.toggled.connect(lambda _on: self._check())
        on_language(self, self._write_name, self._write_series)

    def show_rule(self, rule: AlertRule | None) -> None:
        """Show a rule. Edits of the rule with the same id stay."""
        same = rule is not None and self._rule is not None and rule.rule_id == self._rule.rule_id
        if same and self.is_changed and rule is not None:
            self._rule = replace(rule)
            return
        if rule != self._rule:
            self._show(rule)

    def set_series(self, names: Sequence[str]) -> None:
        if [self.series.itemText(place) for place in range(self.series.count())] == list(names):
            return
        shown = self.series.currentText()
        self.series.blockSignals(True)
        self.series.clear()
        self.series.addItems(list(names))
        self.series.setEditText(shown)
        self.series.blockSignals(False)
        completer = self.series.completer()
        if completer is not None:
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)

    def set_threshold(self, value: float) -> None:
        """Set a threshold that was dragged on the chart, rounded to three digits."""
        self.threshold.setText(f"{float(f'{value:.3g}'):.10g}")
        self._check()

    @property
    def is_changed(self) -> bool:
        """Whether the fields differ from the rule."""
        if self._rule is None:
            return False
        try:
            return self.rule() != self._rule
        except UsageError:
            return True

    def rule(self) -> AlertRule:
        """The rule of the fields.

        Raises:
            UsageError: A field is invalid; says which.
        """
        assert self._rule is not None
        made = replace(
            self._rule,
            name=self._name(),
            series=self.series.currentText().strip(),
            above=self.side.currentIndex() == ABOVE,
            threshold=_number(self.threshold.text()),
            for_ms=round(_number(self.seconds.text()) * 1_000),
            severity=list(Severity)[self.severity.currentIndex()],
            enabled=self.enabled.isChecked(),
            desktop=self.desktop.isChecked(),
            webhook=self.webhook.isChecked(),
        )
        check_rule(made)
        return made

    def _name(self) -> str:
        """The stored name: a shipped rule keeps its English name, unless the user entered another."""
        assert self._rule is not None
        written = self.name.text().strip()
        return self._rule.name if written == self._shown_name else written

    def _write_name(self) -> None:
        """Translate the shown name, unless the user is editing it."""
        shown = tr(self._rule.name) if self._rule is not None else ""
        if self.name.text().strip() == self._shown_name != shown:
            self._shown_name = shown
            self.name.setText(shown)

    def _write_series(self) -> None:
        """Show the series in words, where it has some."""
        series = self.series.currentText().strip()
        words = series_words(series)
        self.words.setText(words if words != series else "")

    def _build(self) -> None:
        form = form_layout(self, down=6)
        condition = row(self.side, (self.threshold, 1))
        form.addRow(self._labels[0], self.name)
        form.addRow(self._labels[1], self.series)
        form.addRow("", self.words)
        form.addRow(self._labels[2], condition)
        form.addRow(self._labels[3], self.seconds)
        form.addRow(self._labels[4], self.severity)
        form.addRow(row(self.enabled, self.desktop, self.webhook, 1, spacing=16))
        form.addRow(self.fault)
        form.addRow(row(self.save, self.revert, 1))

    def _show(self, rule: AlertRule | None) -> None:
        self._rule = rule
        self.setEnabled(rule is not None)
        fields = (self.name, self.series, self.side, self.threshold, self.seconds, self.severity, self.enabled, self.desktop,
                  self.webhook)  # fmt: skip
        for field in fields:
            field.blockSignals(True)
        self._shown_name = tr(rule.name) if rule else ""
        self.name.setText(self._shown_name)
        self.series.setEditText(rule.series if rule else "")
        self.side.setCurrentIndex(ABOVE if rule is None or rule.above else BELOW)
        self.threshold.setText(f"{rule.threshold:.10g}" if rule else "")
        self.seconds.setText(f"{rule.for_ms / 1_000:g}" if rule else "")
        self.severity.setCurrentIndex(list(Severity).index(rule.severity) if rule else 0)
        self.enabled.setChecked(rule is None or rule.enabled)
        self.desktop.setChecked(rule is None or rule.desktop)
        self.webhook.setChecked(rule is None or rule.webhook)
        for field in fields:
            field.blockSignals(False)
        self._check()

    def _check(self) -> None:
        if self._rule is None:
            self.fault.setText("")
            self.fault.hide()
            return
        reason = ""
        series = self.series.currentText().strip()
        self._write_series()
        self.threshold.set_unit(unit_of(series))
        try:
            made = self.rule()
            self.threshold.set_unit(_unit_text(series, made.threshold))
            self.threshold_changed.emit(made.threshold)
        except UsageError as error:
            reason = error_text(error)
        show_text(self.fault, reason)
        self.save.setEnabled(not reason and self.is_changed)
        self.revert.setEnabled(self.is_changed)

    def _save(self) -> None:
        if self._rule is not None and self.save.isEnabled():
            made = self.rule()
            self._rule = made
            self.saved.emit(made)
            self._check()


def _number(text: str) -> float:
    try:
        number = float(text.replace(",", "").replace(" ", ""))
    except ValueError as error:
        raise UsageError(tr("“{text}” is no number", text=text)) from error
    if not math.isfinite(number):
        raise UsageError(tr("“{text}” is no number", text=text))
    return number


def _unit_text(series: str, threshold: float) -> str:
    """The unit of a threshold, with the value in larger units: ``ms = 10 min``."""
    unit, in_words = unit_of(series), value_text(series, threshold)
    return f"{unit} = {in_words}" if unit and in_words != amount_text(series, threshold) else unit
