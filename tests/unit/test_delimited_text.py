"""CSV and tab-separated text: what was written is read again, and no cell is a formula of a spreadsheet."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.delimited_text import (
    csv_bytes,
    csv_text,
    guarded,
    new_csv,
    open_csv,
    read_csv,
    tsv_text,
    unguarded,
    write_csv,
)
from broker_core.errors import CodecError
from tests.unit.test_import_circles import ROOT, imported, modules_of

FORMULAS = "=+-@＝＋－＠"
STRIPPED = ' \t\r\n\v\f\0\xa0\u200b\u2028\u3000\ufeff"'
CELLS = st.one_of(
    st.text(st.characters(), max_size=8),  # any code point, lone surrogates too
    st.text(st.sampled_from(f"{FORMULAS}{STRIPPED}',;1.5eA中\ud800"), max_size=8),
)
TABLES = st.lists(st.lists(CELLS, max_size=4), max_size=5)
FULL_TABLES = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5)


def is_number(text: str) -> bool:
    try:
        return float(text.replace(",", "")) is not None
    except ValueError:
        return False


def formulas(rows: list[list[str]]) -> list[str]:
    """Cells that a spreadsheet would run."""
    cells = [cell for row in rows for cell in row]
    return [cell for cell in cells if cell.lstrip(STRIPPED).startswith(tuple(FORMULAS)) and not is_number(cell)]


@given(TABLES)
def test_a_file_reads_back_as_the_same_rows(rows):
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        path.write_bytes(csv_bytes(rows))
        with open_csv(path) as file:
            assert [cells for _line, cells in read_csv(file)] == rows
        with new_csv(path) as file:
            for row in rows:
                write_csv(file, [row])
        assert path.read_bytes() in (csv_bytes(rows), b"")  # without a row nothing is written
        with open_csv(path) as file:
            assert [cells for _line, cells in read_csv(file)] == rows


@given(TABLES)
def test_no_cell_of_a_file_is_a_formula(rows):
    text = csv_bytes(rows).decode("utf-8", "surrogatepass")
    assert text.startswith("\ufeff")
    assert formulas(list(csv.reader(io.StringIO(text[1:], newline=""), strict=True))) == []


@given(FULL_TABLES)
def test_what_is_pasted_holds_the_cells_and_no_formula(rows):
    pasted = list(csv.reader(io.StringIO(tsv_text(rows), newline=""), dialect="excel-tab", strict=True))
    assert [[unguarded(cell) for cell in row] for row in pasted] == rows
    assert formulas(pasted) == []


@pytest.mark.parametrize(
    "cell",
    [
        '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0", "\t=1", "\n=1", "\r\n+1+1", "@SUM(1)", "-1+1", "+x", "＝1", " ＠x",
        '"=1"', "\xa0=1", "\ufeff=1", "\0=1", "\ud800=1", "\u200e-x", "-inf", "+", "-", "-1,2", "+49 30 1", "\ttab", "”=1",
    ],
)  # fmt: skip
def test_a_cell_that_would_be_run_has_an_apostrophe_in_front(cell):
    assert guarded(cell) == f"'{cell}"
    assert unguarded(f"'{cell}") == cell
    assert (guarded(f"'{cell}"), unguarded(f"''{cell}")) == (f"''{cell}", f"'{cell}")


@pytest.mark.parametrize("number", [-5, -0.25, -2e-07, 7, "-5", "+12", "−71", "-16,870", "-1.5E+3", "'-5"])
def test_a_number_stays_a_number(number):
    assert guarded(number) == str(number)


@pytest.mark.parametrize("cell", ["", "it's", "'quoted'", "'", "a=b", "(-1)", "{'=': 1}", "中文", "1-2"])
def test_all_else_stays_as_it_is(cell):
    assert (guarded(cell), unguarded(cell)) == (cell, cell)
    assert guarded(None) == ""


def test_json_without_line_breaks_is_pasted_as_it_is():
    assert tsv_text([['{"a": "b"}', "c"], ["=1\t2", '"']]) == '{"a": "b"}\tc\n"\'=1\t2"\t""""'


def test_text_that_is_no_csv_is_refused_with_its_line():
    with pytest.raises(CodecError, match="no CSV in line 2: "):
        list(read_csv(io.StringIO('a,b\r\n"c"d,e\r\n', newline="")))
    assert list(read_csv(io.StringIO('a;b\n\n\'c;"d\ne"\n', newline=""), ";")) == [
        (1, ["a", "b"]),
        (2, []),
        (4, ["'c", "d\ne"]),
    ]


def test_a_text_that_is_no_file_has_no_mark():
    assert csv_text([["中文", None, 1]]) == "中文,,1\r\n"


# ---- the only writer ---------------------------------------------------------------------------------------------------

OWNER = "broker_core.delimited_text"
READERS = {"csv": {"monitoring.payload.tables"}, "pyarrow.csv": {"spark_reports.reports.reconcile"}}
"""Modules that read CSV of others: bodies of messages, and lists of keys in any dialect."""
WRITERS = frozenset(("writer", "DictWriter", "write_csv", "CSVWriter", "to_csv", "to_excel", "csv"))
NO_TABLES = frozenset(("gui.main_window.menus",))
"""A tab in front of the short cut of a menu."""


def other_writers(name: str, tree: ast.Module) -> Iterator[str]:
    """Lines of a module that write CSV or put tabs between cells."""
    wrong = {module for module in imported(tree) if module in READERS and name not in READERS[module]}
    yield from (f"{name} imports {module}" for module in wrong)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _writes(node):
            yield f"{name}:{node.lineno} writes rows"
        if isinstance(node, ast.JoinedStr) and name not in NO_TABLES and any(map(_is_tab, node.values[1:-1])):
            yield f"{name}:{node.lineno} puts a tab between values"


def _writes(call: ast.Call) -> bool:
    function = call.func
    by_tab = any(_is_bare_tab(one.value) for one in call.keywords if one.arg in ("sep", "delimiter", "end"))
    if not isinstance(function, ast.Attribute):
        return by_tab
    joins = function.attr == "join" and (_is_bare_tab(function.value) or _is_bare_tab(next(iter(call.args), None)))
    return by_tab or joins or function.attr in WRITERS


def _is_tab(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.strip("\n ") == "\t"


def _is_bare_tab(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("\t", b"\t")


@pytest.mark.parametrize(
    "source",
    [
        "import csv\ncsv.writer(file).writerow(row)", "from csv import DictWriter", '"\\t".join(row)', 'f"{a}\\t{b}"',
        "import pyarrow.csv as pa_csv\npa_csv.write_csv(table, path)", "frame.write.csv(path)", "frame.to_csv(path)",
        'print(*row, sep="\\t")',
    ],
)  # fmt: skip
def test_another_writer_is_found(source):
    assert list(other_writers("gui.a", ast.parse(source)))


def test_the_product_has_one_writer_of_rows():
    modules = modules_of(ROOT, r"csv|[Ww]riter|excel|\\t|\t")
    assert OWNER in modules
    assert list(other_writers(OWNER, modules.pop(OWNER)))
    assert [line for name, tree in modules.items() for line in other_writers(name, tree)] == []
