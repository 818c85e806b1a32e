import pytest

from broker_core.delimited_text import csv_bytes
from broker_core.errors import UsageError
from spark_reports.reports.reconcile import listed_keys


@pytest.fixture
def keys_file(tmp_path):
    return tmp_path / "keys.csv"


def test_keys_are_text_whatever_they_look_like(keys_file):
    keys_file.write_text('id,name\n007,"a, b"\n 12 ,c\n,d\n1e3,"two\nlines"\n', encoding="utf-8")
    assert listed_keys(keys_file, "")["key"].to_pylist() == ["007", "12", "1e3"]
    assert listed_keys(keys_file, "name")["key"].to_pylist() == ["a, b", "c", "d", "two\nlines"]


@pytest.mark.parametrize(
    "text",
    [
        "id;name\nk,1;a\nk2;b\n", "id\tname\nk,1\ta\nk2\tb\n", "id|name\nk,1|a\nk2|b\n", "sep=;\nid;name\nk,1;a\nk2;b\n",
        "\ufeffid;name\r\nk,1;a\r\nk2;b\r\n", '"id";"name, first"\n"k,1";"a"\nk2;b\n', 'id,"a;b;c"\n"k,1",x\nk2,y\n',
        'id\n"k,1"\nk2\n',
    ],
)  # fmt: skip
def test_columns_are_separated_as_the_heading_says(keys_file, text):
    keys_file.write_text(text, encoding="utf-8", newline="")
    assert listed_keys(keys_file, "id").to_pylist() == [{"key": "k,1", "list_row": 1}, {"key": "k2", "list_row": 2}]


@pytest.mark.parametrize(
    ("data", "column", "said"),
    [
        (b"id\n1\n", "key", "has no column key. Columns: id"),
        (b"id\n\n", "", "holds no key"),
        (b"", "", "cannot be read as CSV"),
        (b"id,b\n1\n", "", "cannot be read as CSV"),
        (b"id\n\xff\xfe\n", "", "cannot be read as CSV"),
        ("id\n1\n".encode("utf-16"), "", "cannot be read as CSV in UTF-8"),
    ],
)
def test_a_list_that_is_none_is_refused(keys_file, data, column, said):
    keys_file.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        listed_keys(keys_file, column)


def test_keys_of_a_csv_that_orbit_wrote_have_no_guard(keys_file):
    keys = ["=1+1", "'=1+1", "-5", "it's", "'x", "\t@x"]
    keys_file.write_bytes(csv_bytes([["=key", "n"], *([key, -1] for key in keys)]))
    assert listed_keys(keys_file, "")["key"].to_pylist() == listed_keys(keys_file, "=key")["key"].to_pylist() == keys


def test_empty_lines_count_as_rows(keys_file):
    keys_file.write_text("id\n\na\n\n\nb\n\n", encoding="utf-8")
    assert listed_keys(keys_file, "").to_pylist() == [{"key": "a", "list_row": 2}, {"key": "b", "list_row": 5}]
