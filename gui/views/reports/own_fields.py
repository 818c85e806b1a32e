"""`OwnFields`: controls for the parameters that only one report has."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QFormLayout, QLineEdit, QWidget

from gui.models.reports import parameter_fault
from gui.theme.manager import ThemeManager
from gui.theme.style import repolish
from gui.views.reports.query_field import QueryField
from gui.widgets.basic import IconButton, label, row
from gui.words.text import tr
from spark_reports.catalog import Parameter, ParameterKind, ReportSpec

Field = QLineEdit | QComboBox | QueryField
_ELSEWHERE = (ParameterKind.TIME, ParameterKind.TOPICS, ParameterKind.SAVED)
"""Kinds that other parts of the form ask for."""


class OwnFields(QWidget):
    """One row for each parameter of the chosen report beside times and topics. What was entered stays while others are shown.

    Signals:
        changed: Something else is entered.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._spec: ReportSpec | None = None
        self._entered: dict[tuple[str, str], str] = {}
        self.fields: dict[str, Field] = {}
        self._form = QFormLayout(self)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setHorizontalSpacing(14)
        self._form.setVerticalSpacing(8)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)

    def show_report(self, spec: ReportSpec) -> None:
        """Show the rows of another report, or the same ones in another language."""
        self._spec = spec
        while self._form.rowCount():
            self._form.removeRow(0)
        self.fields = {}
        for parameter in self._parameters():
            field = self._field(spec, parameter)
            field.setToolTip(tr(parameter.help))
            field.setAccessibleName(tr(parameter.title))
            self.fields[parameter.name] = field
            shown = self._with_browse(field, parameter) if isinstance(field, QLineEdit) else field
            if isinstance(field, QueryField):
                self._form.addRow(field)
            else:
                self._form.addRow(label(tr(parameter.title), "secondary"), shown)
        self.setVisible(bool(self.fields))

    @property
    def values(self) -> list[tuple[str, str]]:
        """Names and values of what was entered; what is as by default is left away."""
        entered = [(parameter, self._text(parameter)) for parameter in self._parameters()]
        return [(parameter.name, text) for parameter, text in entered if text and text != parameter.default]

    @property
    def fault(self) -> str:
        """What is missing or wrong, in words; empty if nothing is."""
        for parameter in self._parameters():
            text = self._text(parameter)
            if parameter_fault(parameter, text):
                if not text:
                    return tr("“{name}” is missing: {help}", name=tr(parameter.title), help=tr(parameter.help))
                return tr("“{entered}” does not fit “{name}”: {help}", entered=text, name=tr(parameter.title),
                          help=tr(parameter.help))  # fmt: skip
        return ""

    def _parameters(self) -> list[Parameter]:
        return [one for one in self._spec.parameters if one.kind not in _ELSEWHERE] if self._spec is not None else []

    def _text(self, parameter: Parameter) -> str:
        field = self.fields[parameter.name]
        return str(field.currentData()) if isinstance(field, QComboBox) else field.text().strip()

    def _field(self, spec: ReportSpec, parameter: Parameter) -> Field:
        place = (spec.name, parameter.name)
        if parameter.kind is ParameterKind.QUERY:
            query = QueryField(self._theme, self._entered.get(place, ""))
            query.textChanged.connect(lambda text: self._keep(place, text))
            return query
        if parameter.kind is ParameterKind.CHOICE:
            choice = QComboBox()
            for one in parameter.choices:
                choice.addItem(tr(one), one)
            choice.setCurrentIndex(max(0, choice.findData(self._entered.get(place, parameter.default))))
            choice.currentIndexChanged.connect(lambda: self._keep(place, str(choice.currentData())))
            return choice
        line = QLineEdit(self._entered.get(place, ""))
        line.setPlaceholderText(parameter.default)
        line.textChanged.connect(lambda text: self._keep(place, text))
        line.textChanged.connect(lambda text: _mark(line, parameter, text.strip()))
        return line

    def _keep(self, place: tuple[str, str], text: str) -> None:
        self._entered[place] = text
        self.changed.emit()

    def _with_browse(self, field: QLineEdit, parameter: Parameter) -> QWidget:
        if parameter.kind is not ParameterKind.FILE:
            return field
        button = IconButton(self._theme, "folder-open", role="icon-box", on_click=lambda: self._browse(field))
        button.set_tip(tr("Choose file"))
        made = QWidget()
        made.setLayout(row(field, button))
        return made

    def _browse(self, field: QLineEdit) -> None:
        dialog = QFileDialog(self, tr("Choose file"), field.text())
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(field.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _mark(field: QLineEdit, parameter: Parameter, text: str) -> None:
    """Show that what was entered is wrong; that something is missing is said in words."""
    shown = "false" if text and parameter_fault(parameter, text) else ""
    if field.property("valid") != shown:
        field.setProperty("valid", shown)
        repolish(field)
