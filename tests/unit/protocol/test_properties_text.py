import pytest

from broker_core.protocol.properties_text import format_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1\nb = two words \n", {"a": "1", "b": "two words"}),
        ("a:1\nb 2", {"a": "1", "b": "2"}),
        ("# comment\n! another\n\n  a=x=y", {"a": "x=y"}),
        ("a\nb=", {"a": "", "b": ""}),
        ("a=1\r\na=2", {"a": "2"}),
        ("=nothing", {}),
        ("\f\ta\f=\t1 \f\rb=2", {"a": "1", "b": "2"}),
        ("a=1\u2028b=2\x85c=3\vd=4\x1ce=5", {"a": "1\u2028b=2\x85c=3\vd=4\x1ce=5"}),
        ("\xa0a=1\u3000", {"\xa0a": "1\u3000"}),
    ],
)
def test_lines_are_read_as_java_reads_them(text, values):
    assert parse_properties(text) == values


def test_what_is_written_is_read_back():
    values = {"b": "2", "a": "1;2"}
    assert format_properties(values) == "a=1;2\nb=2\n"
    assert parse_properties(format_properties(values)) == values
