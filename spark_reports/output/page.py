"""The HTML page of a result: one self-contained file that loads nothing from a network.

The template is in ``resources/report_templates``; the page contains the plotly program once. It follows the reader's light
or dark setting, and prints in light colours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from typing import Any

import jinja2
import plotly.offline
import pyarrow.compute as pc
from markupsafe import Markup

from resources import RESOURCE_FOLDER
from spark_reports.chinese_words import UNIT_WORDS, figure_in_chinese, label_in_chinese, word_in_chinese
from spark_reports.output.tables import with_common_types
from spark_reports.reports.result import ReportChart, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text
from spark_reports.vocabulary import ValueUnit, is_free, word_columns, word_in_english

TEMPLATES = RESOURCE_FOLDER / "report_templates"
ROWS_MAX = 500
PRINTED_ROWS_MAX = 100
"""Rows of a table on paper; the template's style has the same number."""
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def render_page(result: ReportResult, manifest: Mapping[str, object], question: str, language: str = "en") -> str:
    """The page as text, in English (``en``) or Chinese (``zh``); names, keys and texts of messages are not translated.

    The manifest is shown at the end and used for title and state.
    """
    is_chinese = language == "zh"
    translate = word_in_chinese if is_chinese else word_in_english
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["value"] = _value_in_chinese if is_chinese else format_value
    environment.filters["exact"] = exact_value
    environment.filters["tr"] = translate
    environment.globals["word_columns"] = word_columns(str(manifest["report"]))
    environment.filters["count"] = lambda number: f"{number:,}"
    return environment.get_template("report.html").render(
        manifest=manifest,
        language=language,
        question=question,
        result=result,
        tables=[_shown(table, is_free=is_free(str(manifest["report"]))) for table in result.tables],
        charts_json=_script_json([_written(chart, is_chinese=is_chinese) for chart in result.charts]),
        unit_words=_script_json(UNIT_WORDS if is_chinese else {}),
        plotly=Markup(plotly.offline.get_plotlyjs()),  # noqa: S704  the library's own text, no input of ours
    )


def _shown(table: ReportTable, *, is_free: bool) -> dict[str, object]:
    """A table for the page: without the column of a single store, whose name is in the heading."""
    names_one_store = not is_free and "store" in table.units and pc.count_distinct(table.data["store"]).as_py() <= 1
    columns = [name for name in table.units if name != "store" or not names_one_store]
    rows = [[row[column] for column in columns] for row in with_common_types(table.data.slice(0, ROWS_MAX)).to_pylist()]
    more = table.data.num_rows - len(rows)
    unprinted = table.data.num_rows - min(len(rows), PRINTED_ROWS_MAX)
    return {"table": table, "columns": columns, "rows": rows, "more": more, "unprinted": unprinted}


def charts_text(result: ReportResult) -> str:
    """The charts of a result as JSON, for programs that draw them themselves; null is unknown."""
    return json.dumps({"charts": [_drawn(chart) for chart in result.charts]}, ensure_ascii=False)


def _drawn(chart: ReportChart, label: Callable[[str, bool], str] | None = None) -> dict[str, Any]:
    """A chart as JSON; unknown values are null, which draws nothing.

    ``label`` translates a label; its second argument is whether it is one of the report's own words.
    """
    drawn = asdict(chart)
    for one in drawn["series"]:
        one["y"] = [y if math.isfinite(y) else None for y in one["y"]]
        if label is not None:
            one["name"] = label(one["name"], chart.words or chart.kind == "heat")
            one["x"] = [label(at, chart.words) if isinstance(at, str) else at for at in one["x"]]
    return drawn


def _written(chart: ReportChart, *, is_chinese: bool) -> dict[str, object]:
    """A chart for the page: bars are labelled with their values, formatted as in the tables.

    Plotly renders tags and entities in a text, so it gets names escaped; the legend has them as ``label``.
    """
    drawn = _drawn(chart, label_in_chinese if is_chinese else None)
    for one in drawn["series"]:
        one["label"], one["name"] = one["name"], escape(one["name"], quote=False)
        one["x"] = [escape(at, quote=False) if isinstance(at, str) else at for at in one["x"]]
    if chart.kind == "bars":
        write = _value_in_chinese if is_chinese else format_value
        for one in drawn["series"]:
            one["texts"] = [write(math.nan if y is None else y, chart.unit) for y in one["y"]]
    return drawn


def _value_in_chinese(value: object, unit: ValueUnit) -> str:
    text = format_value(value, unit)
    return figure_in_chinese(text) if unit is ValueUnit.DURATION else text


def format_value(value: object, unit: ValueUnit) -> str:
    """A value for readers."""
    match value:
        case None:
            return "—"
        case bool():
            return "yes" if value else "no"
        case bytes():
            return value.hex()
        case list():
            return json.dumps(dict(value) if value and isinstance(value[0], tuple) else value, ensure_ascii=False, default=str)
        case datetime():
            return (
                value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")
                if unit is ValueUnit.TIME
                else str(value)
            )
        case int() | float():
            return _format_number(value, unit)
        case _:
            return str(value)


def _format_number(value: float, unit: ValueUnit) -> str:
    if not math.isfinite(value):
        return "—"
    if unit is ValueUnit.TEXT:  # a number of a query
        return f"{value:,}".removesuffix(".0")
    if unit is ValueUnit.SHARE:
        return f"{100 * value:.1f} %"
    if unit is ValueUnit.RATE:
        return f"{value:,.1f}"
    if unit is ValueUnit.RATIO:
        return f"{value:,.3f}"
    if unit is ValueUnit.DURATION:
        return duration_text(value)
    if unit is ValueUnit.BYTES:
        return _format_bytes(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"


def _format_bytes(value: float) -> str:
    for name in _BINARY_UNITS:
        if abs(value) < 1024 or name == _BINARY_UNITS[-1]:
            return f"{value:,.0f} B" if name == "B" else f"{value:,.1f} {name}"
        value /= 1024
    return ""


def exact_value(value: object) -> str:
    """A value for sorting by programs."""
    return value.isoformat() if isinstance(value, datetime) else "" if value is None else str(value)


def _script_json(data: object) -> Markup:
    text = json.dumps(data, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704  escaped above
