import pytest

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
    ("data", "column", "said"),
    [
        (b"id\n1\n", "key", "has no column key. Columns: id"),
        (b"id\n\n", "", "holds no key"),
        (b"", "", "cannot be read as CSV"),
        (b"id,b\n1\n", "", "cannot be read as CSV"),
        (b"id\n\xff\xfe\n", "", "cannot be read as CSV"),
    ],
)
def test_a_list_that_is_none_is_refused(keys_file, data, column, said):
    keys_file.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        listed_keys(keys_file, column)
