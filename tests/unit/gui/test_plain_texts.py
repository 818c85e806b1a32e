"""Texts of the window are plain and bounded: only `gui.widgets` and `gui.words.plain_text` give Qt what came from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gui

ROOT = Path(gui.__file__).parent
LABELS, QUESTIONS, TABLES = "widgets/basic.py", "widgets/popups.py", "models/table.py"
MAKERS = {"QLabel": LABELS, "QMessageBox": QUESTIONS, "QInputDialog": QUESTIONS, "QPlainTextEdit": "widgets/long_text.py"}
"""Class of Qt that guesses whether a text is HTML, or lays out all of it at once → the module that bounds it."""
UNUSED = frozenset(
    {
        "QErrorMessage", "QGraphicsTextItem", "QProgressDialog", "QSplashScreen", "QStaticText", "QTextBrowser",
        "QTextDocument", "QTextEdit", "QWhatsThis", "QWizard", "LabelItem", "LegendItem", "QTableWidget", "QTableWidgetItem",
    }
)  # fmt: skip
"""They show HTML, too, or lay out all cells at once, and nobody needs them."""
RICH = frozenset({"setHtml", "insertHtml", "appendHtml", "setMarkdown", "setStatusTip", "setWhatsThis", "setOpenExternalLinks"})
HOMES = {
    "setTextFormat": {LABELS, QUESTIONS},
    "ToolTipRole": {TABLES, "models/hit_table.py", "widgets/text_table.py"},
    "showMessage": {"main_window/tray.py"},
}
"""Name → the modules that may use it."""
CLEANED = {
    "setToolTip": (0, "tip_text"),
    "setTabToolTip": (1, "tip_text"),
    "showText": (1, "tip_text"),
    "setWindowTitle": (0, "title_text"),
}
"""Setter → the argument that is its text, and what a text that is not ours goes through."""


def faults(tree: ast.AST, place: str) -> Iterator[str]:
    """What of a module may show a text as HTML."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.ClassDef, ast.alias)):
            yield from (f"{place}:{node.lineno}: {fault}" for fault in faults_of(node, place))


def faults_of(node: ast.Name | ast.Attribute | ast.Call | ast.ClassDef | ast.alias, place: str) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        yield from (
            f"class over {name}" for base in node.bases if MAKERS.get(name := name_of(base), place) != place or name in UNUSED
        )
    elif isinstance(node, ast.Call):
        yield from faults_of_call(node, place)
    elif isinstance(node, ast.alias):
        if node.asname and (node.name in MAKERS or node.name in UNUSED):
            yield f"{node.name} under another name"
    elif (name := name_of(node)) in RICH or place not in HOMES.get(name, {place}):
        yield name


def faults_of_call(node: ast.Call, place: str) -> Iterator[str]:
    name = name_of(node.func)
    of_class = name_of(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if name in UNUSED or any(MAKERS.get(one, place) != place for one in (name, of_class)):
        yield f"{of_class} {name}".strip()
    if name == "addRow" and len(node.args) > 1 and is_text(node.args[0]):
        yield "addRow with a text"
    if name in CLEANED:
        argument, cleaned_by = CLEANED[name]
        if not is_ours(node.args[argument], cleaned_by):
            yield f"{name} without {cleaned_by}"


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_text(node: ast.expr) -> bool:
    """Whether Qt would make a label of its own of it; it makes none of an empty text."""
    is_words = isinstance(node, ast.Constant) and bool(node.value)
    return is_words or isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and name_of(node.func) == "tr")


def is_ours(node: ast.expr, cleaned_by: str) -> bool:
    """Whether nothing from outside is in a text: it is written here, without fields, or was cleaned."""
    if isinstance(node, ast.IfExp):
        return is_ours(node.body, cleaned_by) and is_ours(node.orelse, cleaned_by)
    if isinstance(node, ast.Call) and name_of(node.func) == "tr":
        key = node.args[0]
        return not node.keywords and (isinstance(key, ast.Constant) or name_of(key).isupper())
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and name_of(node.func) == cleaned_by)


def test_all_texts_of_the_window_are_plain_texts():
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        found += faults(ast.parse(path.read_text("utf-8")), place)
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "QLabel(name)",
        "class Mine(QLabel): pass",
        "QMessageBox.warning(self, title, text)",
        "QInputDialog(self)",
        "from PySide6.QtWidgets import QLabel as Words",
        "QTextEdit()",
        "QPlainTextEdit()",
        "class Mine(QPlainTextEdit): pass",
        "QTableWidgetItem(text)",
        "view.setHtml(text)",
        "label.setTextFormat(Qt.TextFormat.RichText)",
        "button.setToolTip(refusal)",
        "button.setToolTip(tr('Leave out {name}', name=name))",
        "QToolTip.showText(at, text, self)",
        "tabs.setTabToolTip(0, title)",
        "role == Qt.ItemDataRole.ToolTipRole",
        "form.addRow(tr('Name'), field)",
        "dialog.setWindowTitle(client_id)",
    ],
)
def test_a_new_place_would_be_found(line):
    assert list(faults(ast.parse(line), "views/new.py"))


@pytest.mark.parametrize(
    "line", ["button.setToolTip(tip_text(refusal))", "button.setToolTip(tr('Close'))", "form.addRow('', field)"]
)
def test_what_is_plain_is_left_alone(line):
    assert list(faults(ast.parse(line), "views/new.py")) == []
