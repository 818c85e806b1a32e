"""`SettingDetail`: one setting explained, with a field for another value."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QStackedLayout, QWidget

from broker_core.api import SettingKind
from broker_core.outside import whole_of
from gui.theme.style import mark_fault
from gui.views.broker_settings.explanations import EXPLANATIONS
from gui.widgets.basic import fill, label, row, show_text
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, push_button, said
from gui.words.text import UNKNOWN, size_text, span_text, tr
from monitoring.admin.settings import Fault, Setting, SettingUnit, fault_of, setting_unit

PAGE_BYTES = 4_096
_MS_OF = {SettingUnit.MILLISECONDS: 1, SettingUnit.SECONDS: 1_000, SettingUnit.HOURS: 3_600_000}


class SettingDetail(Panel):
    """Shows the selected setting.

    Signals:
        staged: Another value was chosen; carries key and value. The present value means: no change.
        kept: The staged change is dropped; carries the key.
    """

    staged = Signal(str, str)
    kept = Signal(str)

    def __init__(self) -> None:
        super().__init__(" ")
        self._setting: Setting | None = None
        self._value = ""
        self.refusal = ""
        """Why nothing can be changed; empty where it can."""
        self.explanation = label(wrap=True, selectable=True)
        self.facts = KeyValueList()
        self.field = said(QLineEdit(), name="New value")
        self.switch = said(QComboBox(), name="New value")
        self.switch.addItems(["true", "false"])
        self.meaning = label(role="caption", wrap=True)
        """The meaning of the typed number."""
        self.fault = label(role="critical", wrap=True)
        self.locked = label(role="caption", wrap=True)
        self.stage_button = push_button("Stage", self._stage, role="primary")
        self.default_button = push_button("Stage the default", self._stage_default)
        self.keep_button = push_button("Do not change", self._keep)
        self._fields = QWidget()
        self._stack = QStackedLayout(self._fields)
        self._stack.addWidget(self.field)
        self._stack.addWidget(self.switch)
        self._fields.setFixedHeight(30)
        fill(
            self.content,
            self.explanation,
            self.facts,
            self._fields,
            self.meaning,
            self.fault,
            self.locked,
            row(self.stage_button, self.default_button, self.keep_button, 1),
            1,
        )
        self.field.textChanged.connect(lambda _text: self._check())
        self.field.returnPressed.connect(self._stage)
        self.switch.currentTextChanged.connect(lambda _text: self._check())
        on_language(self, self._write)

    def show_setting(self, setting: Setting | None, staged: str | None) -> None:
        """Show a setting with its staged value. Text typed for the same setting stays."""
        before = self._setting
        shown = "" if setting is None else setting.value if staged is None else staged
        typed = setting is not None and setting == before and self._text() != self._value
        self._setting = setting
        if not typed or shown != self._value:
            self._value = shown
            self.field.setText(shown)
            self.switch.setCurrentText(shown)
        self._write()

    def _write(self) -> None:
        setting = self._setting
        editable = setting is not None and setting.is_live and not self.refusal
        for part in (self._fields, self.stage_button, self.default_button, self.keep_button):
            part.setVisible(editable)
        self.locked.setVisible(setting is not None and not editable)
        if setting is None:
            self.set_title(tr("No setting selected"), "")
            self.explanation.setText("")
            self.facts.set_pairs([])
            self.fault.hide()
            self.meaning.hide()
            return
        self.set_title(setting.key, "")
        self.explanation.setText(tr(EXPLANATIONS[setting.key]) if setting.key in EXPLANATIONS else "")
        self.explanation.setVisible(setting.key in EXPLANATIONS)
        self.facts.set_pairs(_facts(setting))
        self.locked.setText(self.refusal if setting.is_live else _locked_text(setting))
        self._stack.setCurrentIndex(1 if setting.spec is not None and setting.spec.kind is SettingKind.SWITCH else 0)
        self._check()

    def _text(self) -> str:
        return self.switch.currentText() if self._stack.currentIndex() == 1 else self.field.text().strip()

    def _check(self) -> None:
        setting = self._setting
        if setting is None or not setting.is_live:
            self.fault.hide()
            self.meaning.hide()
            return
        text = self._text()
        fault = fault_of(setting, text)
        show_text(self.meaning, "" if fault else human_text(setting.key, text))
        mark_fault(self.field, fault)
        self.fault.setVisible(fault is not None)
        self.fault.setText(fault_text(setting, fault) if fault is not None else "")
        # Where brokers differ, the value of the first one may be wanted for all.
        self.stage_button.setEnabled(fault is None and (text != self._value or bool(setting.by_broker)))
        self.default_button.setEnabled(bool(setting.default) and setting.default != self._value)
        self.keep_button.setEnabled(self._value != setting.value or text != setting.value)

    def _stage(self) -> None:
        setting = self._setting
        if setting is not None and self.stage_button.isEnabled():
            self._value = self._text()
            self.staged.emit(setting.key, self._value)

    def _stage_default(self) -> None:
        setting = self._setting
        if setting is not None and setting.default:
            self.staged.emit(setting.key, setting.default)

    def _keep(self) -> None:
        setting = self._setting
        if setting is not None:
            self.field.setText(setting.value)
            self.switch.setCurrentText(setting.value)
            self._value = setting.value
            self.kept.emit(setting.key)


def fault_text(setting: Setting, fault: Fault) -> str:
    """Why a value is invalid."""
    spec = setting.spec
    match fault:
        case Fault.NO_NUMBER:
            return tr("It takes a whole number")
        case Fault.OUT_OF_BOUNDS:
            assert spec is not None
            return tr("It takes a number from {low} to {high}", low=f"{spec.low:,}", high=f"{spec.high:,}")
        case Fault.NO_SWITCH:
            return tr("It takes true or false")
        case Fault.NO_HOURS:
            return tr("It takes hours from 00 to 23, several as in 04;16")
    return tr("It takes one line without a backslash")


def human_text(key: str, value: str) -> str:
    """The meaning of a value with a unit: ``4 MiB``, ``1 min``; empty where the number says it."""
    unit = setting_unit(key)
    number = whole_of(value)
    if unit is None or not number:
        return ""
    match unit:
        case SettingUnit.BYTES:
            return size_text(number)
        case SettingUnit.PAGES:
            return size_text(number * PAGE_BYTES)
        case SettingUnit.PERCENT:
            return ""  # the number is clear without words
    return span_text(number * _MS_OF[unit])


def value_text(key: str, value: str) -> str:
    """A value followed by its meaning: ``1073741824 (1 GiB)``."""
    human = human_text(key, value)
    return f"{value} ({human})" if human else value


def _facts(setting: Setting) -> list[tuple[str, str]]:
    spec = setting.spec
    facts = [(tr("Value now"), value_text(setting.key, setting.value) or UNKNOWN)]
    if setting.by_broker:
        facts = [(broker, value_text(setting.key, value) or UNKNOWN) for broker, value in setting.by_broker]
    if setting.default:
        facts.append((tr("Default"), value_text(setting.key, setting.default)))
    if spec is not None and spec.low is not None and spec.high is not None:
        low, high = _bound(setting.key, spec.low), _bound(setting.key, spec.high)
        facts.append((tr("Takes"), tr("{low} to {high}", low=low, high=high)))
    elif spec is not None and spec.kind is SettingKind.SWITCH:
        facts.append((tr("Takes"), tr("true or false")))
    return facts


def _locked_text(setting: Setting) -> str:
    if setting.spec is None:
        return tr("This broker does it this way; it cannot be set.")
    return tr("It is read when the broker starts and cannot be changed while it runs.")


def _bound(key: str, number: int) -> str:
    human = human_text(key, str(number))
    return f"{number:,} ({human})" if human else f"{number:,}"
