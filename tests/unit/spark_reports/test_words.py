"""Every label, heading and note that a report can say has a Chinese form."""

import ast
import re
from pathlib import Path

import pytest

import spark_reports.reports
from spark_reports.catalog import reports
from spark_reports.chinese_words import WORDS, word_in_chinese
from spark_reports.vocabulary import COLUMNS, ValueUnit

REPORTS = Path(next(iter(spark_reports.reports.__path__)))
NOTED = {"KeyFigure": 2, "ReportChart": 1, "ReportTable": 1, "bars": 1, "bars_of": 1, "lines": 1, "table": 1}
"""What makes a part of a report → the number of its arguments before those that are shown."""
LATIN = re.compile(r"[A-Za-z]{3}")


def calls():
    """The calls in the modules of reports, with the names of what they call."""
    for path in sorted(REPORTS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield getattr(node.func, "id", ""), node


def sentences():
    """Plain texts that reports hand to key figures, charts, tables and notes."""
    for name, node in calls():
        if name in NOTED:
            yield from (one for part in node.args[NOTED[name] :] for one in plain(part))
        for keyword in node.keywords:
            if keyword.arg in ("notes", "note"):
                yield from plain(keyword.value)


def test_parts_of_reports_are_made_under_these_names():
    assert set(NOTED) <= {name for name, _ in calls()}


def plain(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from plain(one)
    elif isinstance(node, ast.IfExp):
        yield from plain(node.body)
        yield from plain(node.orelse)


def test_reports_say_nothing_that_is_not_known_in_chinese():
    found = list(sentences())
    assert len(found) > 100
    assert [one for one in found if word_in_chinese(one) == one] == []


def test_titles_and_columns_are_known():
    titles = [spec.title for spec in reports()] + [spec.question for spec in reports()]
    titles += [title for title, _ in COLUMNS.values() if LATIN.search(title)]
    assert {one for one in titles if word_in_chinese(one) == one} == {"Spark SQL", "Tag", "Key"}


def test_a_size_is_not_called_a_time():
    sizes = [title for title, unit in COLUMNS.values() if unit in (ValueUnit.BYTES, ValueUnit.COUNT)]
    assert [title for title in sizes if "时间" in word_in_chinese(title)] == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("in 2 topics, 3 topics and tags", "2 个主题，3 个主题与 Tag 组合"),
        ("on 1 day", "共 1 天"),
        ("Ages are at 2026-03-02 08:00 UTC.", "时长截至 2026-03-02 08:00 UTC。"),
        ("orders", "orders"),
    ],
)
def test_figures_and_names_stay(english, chinese):
    assert word_in_chinese(english) == chinese
    assert WORDS.is_file()


def test_every_column_is_one_of_a_report():
    package = REPORTS.parent
    named = {
        node.value
        for path in package.rglob("*.py")
        if path.name != "vocabulary.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert sorted(set(COLUMNS) - named) == []
