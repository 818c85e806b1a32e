"""Texts of any length from outside: what Qt lays out in one turn of the loop is bounded, and copies are whole."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, Qt
from PySide6.QtGui import QAction, QGuiApplication, QTextDocument
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTreeView

from gui.models.table import Column, ColumnTableModel
from gui.views.dead_letters.edit_side import laid_out, show_change
from gui.views.messages.body_pane import TABLE, TEXT, TREE
from gui.views.messages.compose_form import LINES_MAX, PropertyEditor
from gui.views.messages.json_tree import CHILDREN_MAX, OPENED_ROWS_MAX, VALUE_CHARACTERS_MAX, JsonTree
from gui.views.messages.view import MessagesView
from gui.widgets.code_view import COLOURED_MAX, CodeView, HexView
from gui.widgets.key_values import PAIRS_MAX, KeyValueList
from gui.widgets.long_text import (
    EDITED_CHARACTERS_MAX,
    EDITED_TURNING_MAX,
    LINE_CHARACTERS_MAX,
    PORTION_CHARACTERS,
    PORTION_LINES,
    SHOWN_CHARACTERS_MAX,
    units_of,
)
from gui.widgets.text_table import TextTable
from gui.words.plain_text import CELL_CHARACTERS_MAX
from gui.words.text import TimeZoneChoice
from tests.support.fake_source import FakeSource, fake_detail

BODY_BYTES = 4 * 1000 * 1000
LONG = {
    "base64 in one line": base64.b64encode(bytes(range(256)) * (BODY_BYTES * 3 // 4 // 256)).decode(),
    "numbers in one line": "[" + "1," * (BODY_BYTES // 2) + "1]",
    "one word of emoji": "😀" * (BODY_BYTES // 4),
    "short lines": "\n".join(map(str, range(500_000))),
    "empty lines": "\n" * BODY_BYTES,
    "mixed": ("x" * 700 + "\n" + "é😀\n\n" * 9) * 2_000,
}
GIVEN_MAX = 2 * (PORTION_CHARACTERS + PORTION_CHARACTERS // LINE_CHARACTERS_MAX + 2)
"""Units of UTF-16 in one turn: a portion of emoji, each of two units, with its breaks."""


class LoopProbe:
    """Counts what the layout of a document is given in each turn of the loop."""

    def __init__(self, document: QTextDocument) -> None:
        self.turns = [0]
        document.contentsChange.connect(self._given)

    def _given(self, _at: int, _removed: int, added: int) -> None:
        self.turns[-1] += added

    def run(self, is_done: Callable[[], bool], turns_max: int = 5_000) -> None:
        """Run the loop turn by turn."""
        while not is_done():
            assert len(self.turns) < turns_max, "it never ends"
            self.turns.append(0)
            QCoreApplication.processEvents()


def units_shown(text: str) -> int:
    return units_of(text[:SHOWN_CHARACTERS_MAX])


def is_filled(view: CodeView, text: str) -> bool:
    return view.document().characterCount() > units_shown(text)


@pytest.fixture(params=["NoWrap", "WidgetWidth"])
def view(request, qtbot, theme):
    made = CodeView(theme, "json")
    made.setLineWrapMode(CodeView.LineWrapMode[request.param])
    made.resize(500, 400)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_text_of_short_lines_is_laid_out_in_portions_of_some_lines(view):
    for text in ("\n" * PORTION_CHARACTERS, "\n" * 20_000):
        probe = LoopProbe(view.document())
        view.setPlainText(text)
        probe.run(lambda text=text: is_filled(view, text))
        assert max(probe.turns) <= PORTION_LINES + 1


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_laid_out_in_bounded_portions_and_copied_whole(view, name):
    text, probe = LONG[name], LoopProbe(view.document())

    view.set_code(text, "json")
    probe.run(lambda: is_filled(view, text))

    assert max(probe.turns) <= GIVEN_MAX
    assert max(map(len, QPlainTextEdit.toPlainText(view).split("\n"))) <= LINE_CHARACTERS_MAX
    assert view.toPlainText() == text
    view.selectAll()
    view.copy()
    assert QGuiApplication.clipboard().text() == text


def test_other_colours_and_another_text_are_given_in_portions_too(view, theme):
    text = LONG["numbers in one line"]
    view.set_code(text, "json")
    probe = LoopProbe(view.document())
    probe.run(lambda: is_filled(view, text))
    probe.turns.append(0)

    theme.changed.emit(theme.tokens)
    probe.run(lambda: is_filled(view, text))
    probe.turns.append(0)
    view.set_code("short", "text")

    assert max(probe.turns) <= GIVEN_MAX
    assert view.toPlainText() == QPlainTextEdit.toPlainText(view) == "short"
    assert not view.is_broken


def test_a_part_is_copied_without_the_breaks_of_its_lines(view):
    text = "é😀" + "a" * 1_200 + "\nline\n" + "b" * 800
    view.setPlainText(text)
    LoopProbe(view.document()).run(lambda: is_filled(view, text))
    assert QPlainTextEdit.toPlainText(view).count("\n") == text.count("\n") + 3

    cursor = view.textCursor()
    for start, end in ((0, 3), (1, 3), (400, 600), (499, 502), (500, 1_100), (1_190, 1_260), (0, 2_000)):
        cursor.setPosition(view.document_place(units_of(text[:start])))
        cursor.setPosition(view.document_place(units_of(text[:end])), cursor.MoveMode.KeepAnchor)
        view.setTextCursor(cursor)
        assert view.selected_text() == text[start:end]


def test_marks_of_a_long_text_are_where_its_matches_are_shown(view):
    text = "x" * 900 + "FOUND" + "y" * 30_000 + "FOUND"
    view.set_code(text, "text")
    view.mark([(900, 5), (30_905, 5)])
    LoopProbe(view.document()).run(lambda: is_filled(view, text))

    marked = [selection.cursor.selectedText() for selection in view.extraSelections()]
    assert marked == ["FOUND", "FOUND"]


def test_the_colours_of_one_line_are_bounded(view):
    view.setPlainText("1," * (LINE_CHARACTERS_MAX // 2))
    QCoreApplication.processEvents()

    assert 0 < len(view.document().firstBlock().layout().formats()) <= COLOURED_MAX


def test_bytes_in_hexadecimal_are_given_in_portions(qtbot, theme):
    view = HexView()
    qtbot.addWidget(view)
    probe = LoopProbe(view.document())

    view.set_bytes(bytes(range(256)) * 1_024)
    probe.run(lambda: is_filled(view, view.toPlainText()))

    assert max(probe.turns) <= GIVEN_MAX
    assert view.toPlainText().splitlines()[1] == (
        "00000010  10 11 12 13 14 15 16 17  18 19 1a 1b 1c 1d 1e 1f  ................"
    )


# ---- editors -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def editor(qtbot, theme):
    made = CodeView(theme, "json", editable=True)
    qtbot.addWidget(made)
    made.show()
    return made


def pasted(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data


@pytest.mark.parametrize("name", LONG)
def test_what_is_too_long_to_be_edited_is_held_as_it_is(editor, qtbot, name):
    text, changes = LONG[name], []
    editor.setPlainText("ab")
    editor.moveCursor(editor.textCursor().MoveOperation.Right)
    editor.textChanged.connect(lambda: changes.append(editor.toPlainText()))
    probe = LoopProbe(editor.document())

    editor.insertFromMimeData(pasted(text))
    probe.run(lambda: is_filled(editor, text))

    assert max(probe.turns) <= GIVEN_MAX
    assert (editor.is_held, editor.isReadOnly()) == (True, True)
    assert editor.toPlainText() == f"a{text}b"
    assert changes == [f"a{text}b"]
    qtbot.keyClick(editor, Qt.Key.Key_X)
    assert editor.toPlainText() == f"a{text}b"
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    assert (editor.toPlainText(), editor.is_held, editor.isReadOnly()) == ("", False, False)
    qtbot.keyClicks(editor, "c")
    assert editor.toPlainText() == "c"


def test_what_can_be_edited_is_edited(editor, qtbot):
    line = "x" * (editor.EDITED_LINE_MAX - 1)
    text = "\n".join([line] * (EDITED_CHARACTERS_MAX // len(line) - 1))
    editor.setPlainText(text)
    editor.insertFromMimeData(pasted("y"))

    assert not editor.is_held
    assert editor.toPlainText() == f"y{text}"
    editor.undo()
    assert editor.toPlainText() == text


@pytest.mark.parametrize("word", ["a\u05d0 ", "a\u202eb ", "\U0001e900b "])
def test_a_text_in_two_directions_is_edited_up_to_half_the_length(editor, word):
    half = f"{word * 100}\n" * (EDITED_TURNING_MAX // (len(word) * 100 + 1))
    editor.setPlainText(half)
    assert not editor.is_held
    editor.setPlainText(half * 2)
    assert editor.is_held
    assert editor.toPlainText() == half * 2
    editor.setPlainText(f"{'abc' * 100}\n" * (len(half) * 2 // 301 - 1))
    assert not editor.is_held


UNUSUAL = "a\u00a0b\u2007c\u2028d\x0be\x85f\ufefff\x1cg"
"""Characters of which Qt makes others where it gives a text."""


def test_an_edited_text_keeps_the_characters_and_line_ends_that_are_not_edited(editor, qtbot):
    for end in ("\n", "\r\n"):
        editor.setPlainText(f"{UNUSUAL}{end}line{end}")
        qtbot.keyClick(editor, Qt.Key.Key_X)
        assert editor.written_text() == f"x{UNUSUAL}{end}line{end}"
        editor.selectAll()
        editor.copy()
        assert QGuiApplication.clipboard().text() == f"x{UNUSUAL}\nline\n"


@pytest.mark.parametrize("text", ["a\r\nb\n", "a\rb", "a\u2029b", "a\ufdd0b"])
def test_a_text_whose_line_breaks_an_editor_would_change_is_held(editor, qtbot, text):
    editor.setPlainText(text)
    qtbot.keyClick(editor, Qt.Key.Key_X)

    assert editor.is_held
    assert editor.toPlainText() == text.replace("\r\n", "\n").replace("\r", "\n")
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    assert not editor.is_held


def test_what_is_copied_from_a_long_text_by_any_way_has_no_breaks_of_its_lines(view, qtbot):
    text = "a" * 1_200 + "\n" + UNUSUAL
    view.setPlainText(text)
    LoopProbe(view.document()).run(lambda: is_filled(view, text))
    view.selectAll()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == text
    view.createStandardContextMenu().findChild(QAction, "edit-copy").trigger()
    assert QGuiApplication.clipboard().text() == text


def test_many_properties_are_sent_as_they_are(qtbot, theme):
    editor = PropertyEditor(theme)
    qtbot.addWidget(editor)
    changes = []
    editor.changed.connect(lambda: changes.append(len(editor.pairs())))
    pairs = tuple((f"name{number}", "v") for number in range(10_000))

    editor.set_pairs(pairs)

    assert len(editor.findChildren(QLineEdit)) == 2 * LINES_MAX
    assert editor.pairs() == pairs
    assert changes == [len(pairs)]
    assert editor.rest_words.text() == "Without a line here, sent unchanged: 9,960"
    editor.set_pairs(pairs[:2])
    assert (editor.pairs(), editor.rest_words.text()) == (pairs[:2], "")


# ---- trees and tables --------------------------------------------------------------------------------------------------


def open_rows(tree: QTreeView) -> int:
    """Number of rows that are not inside of a closed branch."""
    model = tree.model()
    roots, count = [model.index(0, 0)], 0
    while roots:
        index = roots.pop()
        count += 1
        if tree.isExpanded(index):
            roots += [model.index(row, 0, index) for row in range(model.rowCount(index))]
    return count


@pytest.mark.parametrize(
    "value",
    [
        {f"name{number}": number for number in range(100_000)},
        [{"a": number} for number in range(100_000)],
        [list(range(50)) for _ in range(2_000)],
        {"k" * 1_000_000: "v" * 1_000_000, "inner": {"q" * 1_000_000: "w" * 1_000_000}},
        json.loads("[" * 900 + "]" * 900),
    ],
    ids=["members", "objects", "lists", "texts", "deep"],
)
def test_a_tree_opens_and_shows_a_bounded_part(qtbot, theme, value):
    tree = JsonTree(theme, TimeZoneChoice(utc=True))
    qtbot.addWidget(tree)

    tree.set_value(value)

    assert 2 <= open_rows(tree) <= CHILDREN_MAX + OPENED_ROWS_MAX + 2
    root = tree.model().index(0, 0)
    texts = [root.data(), *(tree.model().index(row, 0, root).data() for row in range(tree.model().rowCount(root)))]
    assert max(map(len, texts)) <= 2 * VALUE_CHARACTERS_MAX + 10
    tree.setCurrentIndex(root)
    QGuiApplication.clipboard().clear()
    tree.copy_value()
    qtbot.waitUntil(lambda: bool(QGuiApplication.clipboard().text()))
    assert json.loads(QGuiApplication.clipboard().text()) == value


def test_a_row_of_an_object_is_made_from_its_first_members(qtbot, theme):
    class Number(int):
        read = 0

        def __str__(self) -> str:
            Number.read += 1
            return super().__str__()

    tree = JsonTree(theme, TimeZoneChoice(utc=True))
    qtbot.addWidget(tree)
    tree.set_value([{f"name{number}": Number(number) for number in range(2_000)}])

    Number.read = 0
    assert tree.model().index(0, 0, tree.model().index(0, 0)).data().startswith("0 {} name0 0, name1 1")
    assert 0 < Number.read <= 10


def test_very_many_facts_are_shown_in_part_with_their_number(qtbot):
    facts = KeyValueList()
    qtbot.addWidget(facts)
    pairs = [(f"name{number}", "v") for number in range(50_000)]

    facts.set_pairs(pairs)
    assert facts.pairs() == [*pairs[:PAIRS_MAX], ("…", "49,940 more")]
    facts.set_pairs(pairs[:PAIRS_MAX])
    assert facts.pairs() == pairs[:PAIRS_MAX]


def test_a_table_measures_the_beginning_of_a_text_and_has_all_of_it(qtbot):
    table = TextTable()
    qtbot.addWidget(table)
    table.set_rows(["h" * 5_000], [["x" * BODY_BYTES]])

    index = table.model().index(0, 0)
    assert len(index.data()) == len(table.model().headerData(0, Qt.Orientation.Horizontal)) == CELL_CHARACTERS_MAX + 1
    assert table.texts[0][0] == "x" * BODY_BYTES


def test_a_cell_of_a_list_is_painted_from_the_beginning_of_its_text():
    column = Column[str]("key", "Key", lambda text: text)
    model = ColumnTableModel[str]([column], key=lambda text: text)

    assert len(model.cell("k" * 30_000, column).text) == CELL_CHARACTERS_MAX + 1
    assert column.text("k" * 30_000) == "k" * 30_000


# ---- the page of messages ----------------------------------------------------------------------------------------------


@pytest.fixture
def pane(show_page):
    return partial(show_page, MessagesView)(FakeSource()).detail


@pytest.mark.parametrize("name", ["base64 in one line", "numbers in one line"])
def test_a_message_of_one_long_line_is_read_and_copied_whole(pane, qtbot, name):
    text = LONG[name]
    probe = LoopProbe(pane.body.text.document())
    properties = {f"p{number}": "v" for number in range(8_000)} | {"KEYS": "k" * 30_000, "TAGS": "t" * 30_000}
    shown = []
    pane.body.shown.connect(shown.append)
    pane.show_message(replace(fake_detail(0), body=text.encode(), properties=properties))
    qtbot.waitUntil(lambda: bool(probe.turns.append(0) or shown), timeout=60_000)
    probe.turns.append(0)

    for key in (TREE, TABLE, TEXT):
        pane.body.choose_view(key)
    probe.run(lambda: is_filled(pane.body.text, pane.body.text.toPlainText()))

    assert max(probe.turns) <= GIVEN_MAX
    assert pane.body.text.toPlainText() == pane.body.body.content.text
    assert pane.body.body.copied_text() == text
    if name == "base64 in one line":
        assert "long lines in parts, copied whole" in pane.body.note.whole_text()


def test_a_long_body_is_neither_laid_out_nor_compared_at_each_key(qtbot, theme):
    preview = CodeView(theme, "json")
    qtbot.addWidget(preview)
    long = LONG["numbers in one line"]

    assert laid_out(long) == long
    show_change(preview, "[1]", long, theme.tokens)
    assert preview.toPlainText() == long
    show_change(preview, "[1]", "[2]", theme.tokens)
    assert preview.toPlainText() == "  [\n-   1\n+   2\n  ]"
