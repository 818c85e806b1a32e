import csv
import json
import math
import re
import zipfile
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest

from broker_core.delimited_text import open_csv, read_csv
from broker_core.errors import ReportError
from spark_reports.chinese_words import word_in_chinese
from spark_reports.output.tables import CELL_CHARACTERS_MAX, WORKBOOK, with_common_types, write_table, write_workbook
from spark_reports.reports.common import table
from spark_reports.reports.result import ReportTable
from spark_reports.vocabulary import ValueUnit


def test_both_files_hold_the_same_rows(tmp_path):
    rows = [
        {"topic": 'with "quotes", commas;', "tag": None, "at": datetime(2026, 3, 1, 8, tzinfo=UTC), "messages": 5},
        {"topic": "中文", "tag": "x", "at": datetime(2026, 3, 1, 9, tzinfo=UTC), "messages": 7},
    ]
    data = pa.Table.from_pylist(rows).set_column(2, "at", pa.array([row["at"] for row in rows], pa.timestamp("us", "UTC")))
    assert write_table(ReportTable("name", "Title", data, {}, {}), tmp_path) == ["name.parquet", "name.csv"]
    assert pyarrow.parquet.read_table(tmp_path / "name.parquet").equals(data)
    with (tmp_path / "name.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"topic": 'with "quotes", commas;', "tag": "", "at": "2026-03-01T08:00:00.000Z", "messages": "5"},
            {"topic": "中文", "tag": "x", "at": "2026-03-01T09:00:00.000Z", "messages": "7"},
        ]


def test_times_are_written_where_the_system_has_no_zone_files(tmp_path, monkeypatch):
    def needs_files(*_):
        raise pa.ArrowInvalid("Cannot locate or parse timezone 'UTC': discover_tz_dir failed to find zoneinfo")

    for name in ("strftime", "assume_timezone", "local_timestamp"):
        monkeypatch.setattr(pyarrow.compute, name, needs_files)
    micros = [1_795_989_479_434_567, None, 253_402_300_799_999_000]
    data = pa.table({"at": pa.chunked_array([pa.array(micros, pa.timestamp("us", "UTC"))])})
    write_table(ReportTable("times", "Times", data, {}, {}), tmp_path, json_lines=True)
    texts = ["2026-11-29T21:57:59.434Z", None, "9999-12-31T23:59:59.999Z"]
    assert [json.loads(line)["at"] for line in (tmp_path / "times.jsonl").read_text().splitlines()] == texts
    with (tmp_path / "times.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["at"] or None for row in csv.DictReader(file)] == texts


def test_times_beyond_the_calendar_are_text_in_all_forms(tmp_path):
    seconds = [-(10**14) // 1_000, 253_402_300_800, (1 << 63) // 1_000_000, None]
    at = pa.array([None if one is None else one * 1_000_000 for one in seconds], pa.timestamp("us", "UTC"))
    day = pa.array([2_932_897, 0, -800_000, None], pa.date32())
    usual = pa.array([datetime(2026, 3, 1, tzinfo=UTC)] * 4, pa.timestamp("us", "UTC"))
    clock = pa.array([time(8)] * 4, pa.time64("us"))
    data = pa.table({"at": at, "day": day, "usual": usual, "clock": clock})

    write_table(ReportTable("times", "Times", data, {}, {}), tmp_path, json_lines=True)
    units = dict.fromkeys(data.column_names, ValueUnit.TEXT)
    write_workbook([ReportTable("times", "Times", data, units, {name: name for name in units})], tmp_path)

    rows = [json.loads(line) for line in (tmp_path / "times.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["at"] for row in rows] == [
        "-1199-02-15T14:13:20.000Z", "10000-01-01T00:00:00.000Z", "<value out of range: 9223372036854000>", None,
    ]  # fmt: skip
    assert [row["day"] for row in rows] == ["10000-01-01", "1970-01-01", "-0221-09-04", None]
    assert with_common_types(data).column("usual").type == usual.type
    with zipfile.ZipFile(tmp_path / WORKBOOK) as book:
        assert "10000-01-01T00:00:00.000Z" in book.read("xl/worksheets/sheet1.xml").decode()


@pytest.mark.parametrize(
    ("lasts", "text"),
    [
        (timedelta(days=1, hours=12), "P1DT12H"),
        (timedelta(days=-3), "-P3D"),
        (timedelta(seconds=-0.25), "-PT0.25S"),
        (timedelta(minutes=1, seconds=10), "PT1M10S"),
        (timedelta(days=400, microseconds=1), "P400DT0.000001S"),
        (timedelta(), "PT0S"),
    ],
)
def test_a_duration_is_one_text_in_all_forms(tmp_path, lasts, text):
    """A sheet would show it as a date of 1900, and CSV as a number without a unit."""
    data = pa.table({"lasts": pa.array([lasts, None], pa.duration("us")), "each": pa.array([[lasts], None])})
    made = table("lasts", "Lasts", data)
    write_table(made, tmp_path, json_lines=True)
    write_workbook([made], tmp_path)
    assert pyarrow.parquet.read_table(tmp_path / "lasts.parquet")["lasts"].to_pylist() == [lasts, None]
    assert json.loads((tmp_path / "lasts.jsonl").read_text().splitlines()[0]) == {"lasts": text, "each": [text]}
    assert json.loads((tmp_path / "lasts.jsonl").read_text().splitlines()[1]) == {"lasts": None, "each": None}
    with open_csv(tmp_path / "lasts.csv") as file:
        assert [row for _line, row in read_csv(file)][1:] == [[text, f'["{text}"]'], ["", ""]]
    with zipfile.ZipFile(tmp_path / WORKBOOK) as book:
        assert f"<t>{text}</t>" in book.read("xl/worksheets/sheet1.xml").decode()
    assert with_common_types(data)["lasts"].to_pylist() == [text, None]


@pytest.mark.parametrize(
    ("number", "cell"),
    [
        ("12345678901234567890.123", "<t>12345678901234567890.123</t>"),
        ("-0.1234567890123456", "<t>-0.1234567890123456</t>"),
        ("0.1", "<v>0.1</v>"),
        ("-123456789.25", "<v>-123456789.25</v>"),
    ],
)
def test_a_decimal_keeps_its_digits_in_a_sheet(tmp_path, number, cell):
    exact = Decimal(number)
    made = table("numbers", "Numbers", pa.table({"price": pa.array([exact])}))
    write_workbook([made], tmp_path)
    with zipfile.ZipFile(tmp_path / WORKBOOK) as book:
        assert cell in book.read("xl/worksheets/sheet1.xml").decode()


def test_a_time_beyond_the_calendar_in_a_list_is_refused_with_the_column():
    data = pa.table({"seen": pa.array([[1 << 62]], pa.list_(pa.timestamp("us", "UTC")))})
    with pytest.raises(ReportError, match="the column seen"):
        with_common_types(data)


def nested_table():
    keys = pa.array([["one", "two"], []], pa.list_(pa.string()))
    maps = pa.array([[("a", "=1+1")], []], pa.map_(pa.string(), pa.string()))
    data = pa.table(
        {"key": ["=SUM(A1)", "中文"], "queue_offset": [2**60, 1], "keys": keys, "properties": maps, "share": [0.5, None]}
    )
    return table("nested", "Nested", data)


def test_lists_and_maps_are_json_in_csv(tmp_path):
    write_table(nested_table(), tmp_path)
    with (tmp_path / "nested.csv").open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file)
    assert (json.loads(first["keys"]), json.loads(first["properties"])) == (["one", "two"], {"a": "=1+1"})
    assert (json.loads(second["keys"]), second["key"]) == ([], "中文")
    assert first["key"] == "'=SUM(A1)"


def test_a_csv_holds_no_formula_and_reads_back_as_it_was(tmp_path):
    texts = ["=1+1", "\t=1+1", "＝1", "-5", None, "'=x", "1\r2", "a\u2028b", "-1+1"]
    data = {"key": texts, "lag": [-5, *range(8)], "change": [-0.25, math.nan, -math.inf, 5.0, None, 0.1, 1e30, -2e-7, -0.0]}
    write_table(table("one", "One", pa.table(data)), tmp_path)
    raw = (tmp_path / "one.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfkey,lag,change\r\n'=1+1,-5,-0.25\r\n")
    with open_csv(tmp_path / "one.csv") as file:
        (_line, head), *rows = read_csv(file)
    assert head == list(data)
    assert [cells[0] for _line, cells in rows] == [text or "" for text in texts]
    assert [int(cells[1]) for _line, cells in rows] == data["lag"]
    assert [cells[2] for _line, cells in rows[:5]] == ["-0.25", "nan", "-inf", "5", ""]


def test_json_lines_hold_one_object_a_row(tmp_path):
    assert "nested.jsonl" in write_table(nested_table(), tmp_path, json_lines=True)
    lines = [json.loads(line) for line in (tmp_path / "nested.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["queue_offset"] for line in lines] == [2**60, 1]
    assert [line["share"] for line in lines] == [0.5, None]


def test_a_float_that_is_no_number_is_null_in_json(tmp_path):
    write_table(table("one", "One", pa.table({"share": [math.nan, math.inf, 0.5]})), tmp_path, json_lines=True)
    assert (tmp_path / "one.jsonl").read_text() == '{"share": null}\n{"share": null}\n{"share": 0.5}\n'


def test_bytes_are_hexadecimal_digits(tmp_path):
    made = table("one", "One", pa.table({"body": [b"\xff\x00", b"ab", None]}))
    write_table(made, tmp_path, json_lines=True)
    assert (tmp_path / "one.csv").read_bytes() == b'\xef\xbb\xbfbody\r\nff00\r\n6162\r\n""\r\n'
    assert (tmp_path / "one.jsonl").read_text() == '{"body": "ff00"}\n{"body": "6162"}\n{"body": null}\n'


def test_a_workbook_has_a_sheet_for_each_table_and_runs_no_formula(tmp_path):
    texts = ["{=1+1}", "https://x.example/", "internal:Sheet1!A1", "+1", "@x"]
    other = table("other", "Other", pa.table({"messages": [7] * 5, "key": texts}))
    assert write_workbook([nested_table(), other], tmp_path) == ()
    with zipfile.ZipFile(tmp_path / WORKBOOK) as book:
        sheets = [book.read(f"xl/worksheets/sheet{index}.xml").decode() for index in (1, 2)]
        names = book.read("xl/workbook.xml").decode()
    assert [part for sheet in sheets for part in ("<f", "<hyperlink") if part in sheet] == []
    assert [text for text in texts if text not in sheets[1]] == []
    assert 'name="nested"' in names
    assert 'name="other"' in names
    assert "=SUM(A1)" in sheets[0]
    assert str(2**60) in sheets[0]  # as text: a number of a sheet would be rounded
    assert "<v>7</v>" in sheets[1]


@pytest.mark.parametrize("character", ["x", "龙", "\U0001f600"])
def test_a_text_that_is_cut_in_a_cell_is_noted(tmp_path, character):
    fits = character * (CELL_CHARACTERS_MAX * 2 // len(character.encode("utf-16-le")))
    made = table("keys", "Keys", pa.table({"key": [fits, fits + character, "=1"]}))
    (note,) = write_workbook([made, table("again", "Again", made.data)], tmp_path)
    assert note == "2 cells of the workbook cut after 32,767 characters: the CSV files hold the whole texts."
    assert word_in_chinese(note).startswith("工作簿中有 2 个单元格")
    with zipfile.ZipFile(tmp_path / WORKBOOK) as book:
        cells = re.findall("<t>([^<]*)</t>", book.read("xl/worksheets/sheet1.xml").decode())
    assert [len(cell.encode("utf-16-le")) // 2 <= CELL_CHARACTERS_MAX for cell in cells] == [True] * 5
    assert (cells[1] == fits, cells[2].endswith(f"{character}…"), cells[3]) == (True, True, "=1")
    assert cells[4] == "1 cell cut after 32,767 characters, whole in keys.csv"
