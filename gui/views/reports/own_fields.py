"""`OwnFields`: fields of the parameters that only one report has."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from gui.models.reports import parameter_fault
from gui.operations.background import BackgroundCall
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import mark_fault
from gui.theme.tokens import Size
from gui.widgets.basic import IconButton, column, form_layout, label, row, show_text
from gui.widgets.long_text import LongTextEdit
from gui.widgets.popups import ask_file, ask_text
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text
from gui.words.text import tr
from spark_reports import saved_queries
from spark_reports.catalog import Parameter, ParameterKind, ReportSpec

LINES_SHOWN = 7
EXAMPLE = "SELECT topic, count(*) AS messages\nFROM messages GROUP BY topic"


class QueryField(QWidget):
    """An editor with a list of saved queries. Files are read and written on another thread.

    Signals:
        textChanged: The query changed; carries it without surrounding blanks.
        loaded: A saved query is about to be shown; carries its name and text.
    """

    textChanged = Signal(str)
    loaded = Signal(str, str)

    def __init__(self, theme: ThemeManager, text: str = "") -> None:
        super().__init__()
        self.shows_loaded = True
        self.editor = LongTextEdit(editable=True)
        self.editor.setPlainText(text)
        self.editor.setFont(mono_font(Size.SECONDARY))
        self.editor.setProperty("role", "filter")  # the frame of a field
        self.editor.setPlaceholderText(EXAMPLE)
        self.editor.setAccessibleName("SQL")
        self.editor.setTabChangesFocus(True)
        self.editor.setFixedHeight(LINES_SHOWN * QFontMetrics(self.editor.font()).lineSpacing() + 16)
        self.saved = QComboBox()
        self.saved.setAccessibleName(tr("Saved queries"))
        self.save_button = IconButton(theme, "plus", tip=tr("Save query…"), on_click=self.ask_name)
        self.remove_button = IconButton(theme, "x", tip=tr("Remove saved query"), on_click=self._remove)
        self.remark = label(role="caption", wrap=True)
        self.remark.hide()
        self.setLayout(
            column(row((self.saved, 1), self.save_button, self.remove_button, spacing=4), self.editor, self.remark, spacing=6)
        )
        self._listing = self._call(self._listed, newest_only=True)
        self._loading = self._call(self._loaded, newest_only=True)
        self._changing = self._call(self._list)
        self.editor.textChanged.connect(self._edited)
        self.saved.activated.connect(self._chosen)
        self._list()

    def text(self) -> str:
        """The query, without surrounding blanks."""
        return self.editor.toPlainText().strip()

    def setText(self, text: str) -> None:
        self.editor.setPlainText(text)

    def leave_loaded(self) -> None:
        """Show no loaded queries; a listener of `loaded` shows them."""
        self.shows_loaded = False

    def show_editor(self, *, shown: bool) -> None:
        """Show or hide its editor: a larger one may have the query."""
        self.editor.setVisible(shown)

    def ask_name(self) -> None:
        words = tr("Name: letters, digits, spaces, - and _")
        ask_text(self, tr("Save query…"), words, str(self.saved.currentData() or ""), self.save)

    def save(self, name: str) -> None:
        """Save the query; it replaces one of the same name."""
        query = self.text()
        if query:
            self._changing.start(lambda: _saved(name.strip(), query))

    def _call(self, done: Callable[..., None], *, newest_only: bool = False) -> BackgroundCall:
        made = BackgroundCall(self, newest_only=newest_only)
        made.done.connect(done)
        made.failed.connect(lambda error: self._say(error_text(error)))
        return made

    def _say(self, text: str) -> None:
        show_text(self.remark, text)

    def _edited(self) -> None:
        self.textChanged.emit(self.text())

    def _list(self, wanted: object = None) -> None:
        self._listing.start(lambda: (saved_queries.names(), wanted))

    def _listed(self, answer: tuple[list[str], object]) -> None:
        names, wanted = answer
        self._say("")
        with QSignalBlocker(self.saved):
            self.saved.clear()
            self.saved.addItem(tr("Saved queries") if names else tr("No saved queries"), "")
            for name in names:
                self.saved.addItem(name, name)
            self.saved.setCurrentIndex(max(0, self.saved.findData(wanted)))
        self.remove_button.setEnabled(bool(self.saved.currentData()))

    def _chosen(self) -> None:
        name = str(self.saved.currentData() or "")
        self.remove_button.setEnabled(bool(name))
        if name:
            self._loading.start(lambda: (name, saved_queries.load(name)))

    def _loaded(self, answer: tuple[str, str]) -> None:
        self._say("")
        self.loaded.emit(*answer)
        if self.shows_loaded:
            self.editor.setPlainText(answer[1])

    def _remove(self) -> None:
        name = str(self.saved.currentData() or "")
        if name:
            self._changing.start(lambda: saved_queries.remove(name))


def _saved(name: str, query: str) -> str:
    saved_queries.save(name, query)
    return name


Field = QLineEdit | QComboBox | QueryField
_ELSEWHERE = (ParameterKind.TIME, ParameterKind.TOPICS, ParameterKind.SAVED)
"""Kinds of parameters that other parts of the form have."""


class OwnFields(QWidget):
    """A row for each own parameter of the chosen report. Entries stay while other reports are shown.

    Signals:
        changed: An entry changed.
        made: The fields were made, also again in another language.
        query_loaded: A saved query is about to be shown; carries its name and text.
    """

    changed = Signal()
    made = Signal()
    query_loaded = Signal(str, str)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._spec: ReportSpec | None = None
        self._entered: dict[tuple[str, str], str] = {}
        self.fields: dict[str, Field] = {}
        self._form = form_layout(self, across=14, down=8, grow="all")

    def show_report(self, spec: ReportSpec) -> None:
        """Show the rows of another report, or the same in another language."""
        self._spec = spec
        while self._form.rowCount():
            self._form.removeRow(0)
        self.fields = {}
        for parameter in self._parameters():
            field = self._field(spec, parameter)
            field.setToolTip(tip_text(tr(parameter.help)))
            field.setAccessibleName(tr(parameter.title))
            self.fields[parameter.name] = field
            shown = self._with_browse(field, parameter) if isinstance(field, QLineEdit) else field
            if isinstance(field, QueryField):
                self._form.addRow(field)
            else:
                self._form.addRow(label(tr(parameter.title), "secondary"), shown)
        self.setVisible(bool(self.fields))
        self.made.emit()

    @property
    def values(self) -> list[tuple[str, str]]:
        """Names and values of entries; defaults are left out."""
        entered = [(parameter, self._text(parameter)) for parameter in self._parameters()]
        return [(parameter.name, text) for parameter, text in entered if text and text != parameter.default]

    @property
    def fault(self) -> str:
        """What is missing or invalid; empty if nothing is."""
        for parameter in self._parameters():
            text = self._text(parameter)
            if parameter_fault(parameter, text):
                if not text:
                    return tr("Enter “{name}”: {help}", name=tr(parameter.title), help=tr(parameter.help))
                return tr("“{entered}” does not fit “{name}”: {help}", entered=text, name=tr(parameter.title),
                          help=tr(parameter.help))  # fmt: skip
        return ""

    @property
    def lacks_entry(self) -> bool:
        """Whether the first fault is an entry that was not made yet, which is no mistake."""
        faulty = (one for one in self._parameters() if parameter_fault(one, self._text(one)))
        first = next(faulty, None)
        return first is not None and not self._text(first)

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
            query.loaded.connect(self.query_loaded)
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
        # A missing entry is not marked; the form reports it in words.
        line.textChanged.connect(lambda text: mark_fault(line, text.strip() and parameter_fault(parameter, text.strip())))
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
        ask_file(self, tr("Choose file"), field.setText, start=field.text())
