"""Each line of the list of conformance in docs/spec/grpc.md §11 is named by a test: its number stands in brackets beside it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINE = re.compile(r"^(\d+)\. ", re.MULTILINE)
_NAMED = re.compile(r"^def test_\w+\(.*# \[([\d, ]+)\]$", re.MULTILINE)


def test_each_line_has_a_test():
    text = (ROOT / "docs" / "spec" / "grpc.md").read_text()
    part = text[text.index("\n# 11. Conformance checks") : text.index("\n# 12. ")]
    lines = [int(number) for number in _LINE.findall(part)]
    tests = [*(ROOT / "tests" / "interop").glob("test_*.py"), ROOT / "tests" / "unit" / "engine" / "grpc" / "test_endpoint.py"]
    named = {int(number) for path in tests for found in _NAMED.findall(path.read_text()) for number in found.split(",")}
    assert lines == list(range(1, 57))
    assert sorted(set(lines) - named) == []
