import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from broker_core.version import ORBIT_VERSION
from spark_reports.catalog import find
from spark_reports.datasource.plan import ReadPlan
from spark_reports.output.manifest import Source, manifest, with_files, with_times
from spark_reports.output.page import PRINTED_ROWS_MAX, ROWS_MAX, charts_text, format_value, render_page
from spark_reports.parameters import ReportParameters
from spark_reports.progress import StageTime
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable, Skip
from spark_reports.vocabulary import ValueUnit

HOSTILE = "</script><img src=https://example.org/x>"


class Links(HTMLParser):
    """Everything in a page that makes a browser ask for something."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found += [(tag, value) for name, value in attrs if name in ("src", "href", "srcset", "data", "poster", "action")]


def result_with(rows=3):
    data = pa.table({"topic": [HOSTILE] * rows, "messages": list(range(rows))})
    table = ReportTable(
        "by_topic",
        "By topic",
        data,
        {"topic": ValueUnit.TEXT, "messages": ValueUnit.COUNT},
        {"topic": "Topic", "messages": "Messages"},
    )
    chart = ReportChart(
        "messages", "Messages", "stack", ValueUnit.COUNT, (ReportSeries(HOSTILE, [0], [1.0]),), "Counted by minute."
    )
    skips = (Skip("outside the time range", 4, 400, damaged=False), Skip("zeros", 1, 9, True, "/store", 77))
    return ReportResult(3, 0, 60_000, skips, (KeyFigure(3, ValueUnit.COUNT, "messages"),), ("3 of 3.",), (chart,), (table,))


def page_of(result, language="en", name="throughput"):
    source = Source(["/store"], ReadPlan(files=("/store/commitlog/0",)), "local[*]", "21")
    facts = manifest(find(name), ReportParameters(), source, result, now=datetime(2026, 3, 1, tzinfo=UTC))
    facts = with_times(
        with_files(facts, result, {table.name: [] for table in result.tables}), [StageTime("read", "Read", 1.5, 3)], 2.0
    )
    return facts, render_page(result, facts, "Who?", language)


def test_the_page_asks_the_network_for_nothing():
    _, page = page_of(result_with())
    assert {value[0] for _, value in Links(page).found} == {"#"}
    assert "default-src 'none'" in page


def test_names_from_messages_stay_text():
    _, page = page_of(result_with())
    assert HOSTILE not in page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_charts_get_names_without_tags_and_entities(language):
    """Plotly makes bold words and links of them."""
    name = '<a href="https://example.org">x</a> &lt;'
    drawn = [ReportChart(kind, "A", kind, ValueUnit.COUNT, (ReportSeries(name, [name], [2.0]),)) for kind in ("bars", "lines")]
    _, page = page_of(replace(result_with(), charts=tuple(drawn)), language)
    for chart in json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1]):
        (one,) = chart["series"]
        escaped = '&lt;a href="https://example.org"&gt;x&lt;/a&gt; &amp;lt;'
        assert (one["name"], one["x"], one["label"]) == (escaped, [escaped], name)


def test_the_manifest_adds_up_and_says_partial():
    facts, page = page_of(result_with())
    assert facts["state"] == "partial"
    assert facts["rows"] == {"looked_at": 7, "read": 3, "skipped": 4, "damaged_places": 1, "damaged_bytes": 9}
    assert facts["range"]["found"] == {"from": "1970-01-01T00:00:00.000Z", "to": "1970-01-01T00:01:00.000Z"}
    assert "7 messages = 3 in this report + 4 left out" in page
    assert "1 place, 9 bytes: zeros, first at physical offset 77 of /store" in page


def test_a_page_in_chinese_keeps_names_and_figures():
    _, page = page_of(result_with(), "zh")
    assert '<html lang="zh-CN">' in page
    for words in ("吞吐随时间变化", "按分钟统计。", "在时间范围之外", "按主题", "= 3 在本报表中 + 4 略去"):
        assert words in page
    assert Links(page).found == Links(page_of(result_with())[1]).found


def test_figures_and_labels_of_a_chinese_page_have_chinese_words():
    table = pa.table({"late_ms": [86_400_000 * 3]})
    late = ReportTable("late", "Late", table, {"late_ms": ValueUnit.DURATION}, {"late_ms": "Late for"})
    charts = (
        ReportChart("a", "A", "bars", ValueUnit.COUNT, (ReportSeries("A", ["orders · (no tag)", "dead"], [1.0, 2.0]),)),
        ReportChart("b", "B", "lines", ValueUnit.DURATION, (ReportSeries("median", [1], [2.0]),), words=True),
    )
    result = replace(result_with(), charts=charts, tables=(late,))
    english, chinese = (page_of(result, language)[1] for language in ("en", "zh"))
    for page, words in ((english, ("3.0 days", '"orders · (no tag)", "dead"', '"median"')),
                        (chinese, ("3.0 天", '"orders · （无 Tag）", "dead"', '"中位数"', '"days": "天"'))):  # fmt: skip
        assert [word for word in words if word not in page] == []


def test_charts_are_told_with_what_is_not_known():
    chart = ReportChart("a", "A", "lines", ValueUnit.COUNT, (ReportSeries("b", [1, 2], [float("nan"), 2.0]),))
    told = json.loads(charts_text(replace(result_with(), charts=(chart,))))
    assert told["charts"][0]["series"] == [{"name": "b", "x": [1, 2], "y": [None, 2.0]}]
    _, page = page_of(replace(result_with(), charts=(chart,)))
    assert '"y": [null, 2.0]' in page  # a gap, not a zero
    assert manifest_charts(result_with()) == "charts.json"
    assert manifest_charts(replace(result_with(), charts=())) is None


def manifest_charts(result):
    return page_of(result)[0].get("charts")


def test_a_table_without_a_row_says_so():
    assert ['<td class="quiet" colspan="2">nothing</td>' in page_of(result_with(rows))[1] for rows in (0, 1)] == [True, False]


def test_long_tables_are_cut_and_say_so():
    _, page = page_of(result_with(ROWS_MAX + 1_234))
    on_paper = ROWS_MAX + 1_234 - PRINTED_ROWS_MAX
    assert '<span class="screen">1,234 more rows in by_topic.csv' in page
    assert f'<span class="paper">{on_paper:,} more rows in by_topic.csv' in page
    assert f"tr:nth-child(n+{PRINTED_ROWS_MAX + 1}) {{ display: none; }}" in page
    assert 'class="paper"' not in page_of(result_with(PRINTED_ROWS_MAX))[1]


@pytest.mark.parametrize(("language", "word"), [("en", "given up"), ("zh", "已放弃回查")])
def test_outcomes_are_words(language, word):
    table = ReportTable("t", "T", pa.table({"outcome": ["given_up"]}), {"outcome": ValueUnit.TEXT}, {"outcome": "Outcome"})
    assert f">{word}</td>" in page_of(replace(result_with(), tables=(table,)), language)[1]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, ValueUnit.TEXT, "—"),
        (1234567, ValueUnit.COUNT, "1,234,567"),
        (2**53 + 1, ValueUnit.COUNT, "9,007,199,254,740,993"),
        (2**53 + 1, ValueUnit.TEXT, "9,007,199,254,740,993"),
        (0.25, ValueUnit.TEXT, "0.25"),
        (1234.5, ValueUnit.TEXT, "1,234.5"),
        (10.0, ValueUnit.TEXT, "10"),
        (512, ValueUnit.BYTES, "512 B"),
        (1536, ValueUnit.BYTES, "1.5 KiB"),
        (5 << 40, ValueUnit.BYTES, "5.0 TiB"),
        (0.125, ValueUnit.SHARE, "12.5 %"),
        (12.34, ValueUnit.RATE, "12.3"),
        (datetime(2026, 3, 1, 8, tzinfo=UTC), ValueUnit.TIME, "2026-03-01 08:00"),
    ],
)
def test_values_are_written_with_their_unit(value, unit, text):
    assert format_value(value, unit) == text


def test_values_stand_beside_bars_as_the_tables_write_them():
    bars = ReportChart("a", "A", "bars", ValueUnit.DURATION, (ReportSeries("A", ["x", "y"], [1_500.0, float("nan")]),))
    result = replace(result_with(), charts=(bars,))
    for language, text in (("en", '"texts": ["1.5 s", "—"]'), ("zh", '"texts": ["1.5 秒", "—"]')):
        assert text in page_of(result, language)[1]
    assert "texts" not in charts_text(result)


@pytest.mark.parametrize(
    ("report", "stores", "is_shown"), [("lag", ["/a", "/a"], False), ("lag", ["/a", "/b"], True), ("sql", ["/a", "/a"], True)]
)
def test_one_store_takes_no_column_of_the_page(report, stores, is_shown):
    table = ReportTable("t", "T", pa.table({"store": stores, "n": [1, 2]}), {"store": ValueUnit.TEXT, "n": ValueUnit.COUNT},
                  {"store": "Store", "n": "N"}, {"n": 3.0})  # fmt: skip
    _, page = page_of(replace(result_with(), tables=(table,)), name=report)
    assert ('data-title="Store"' in page) is is_shown


def test_the_manifest_names_the_version_that_made_it():
    assert page_of(result_with())[0]["versions"]["orbit"] == ORBIT_VERSION


def test_charts_of_several_names_have_a_legend_that_wraps():
    drawn = [
        ReportChart(kind, "A", kind, ValueUnit.COUNT, (ReportSeries("b", [1], [2.0]),))
        for kind in ("stack", "lines", "bars", "heat")
    ]
    _, page = page_of(replace(result_with(), charts=tuple(drawn)))
    assert [chart.name for chart in drawn if f'id="legend-{chart.name}"' in page] == ["stack", "lines"]
