"""What lives longer than a page is listened to by methods, which Qt lets go with their object; a function would stay."""

import re
from pathlib import Path

import gui

LASTING = re.compile(r"(?<!self\.)\b(?:theme|times|source|context\.\w+)\.\w+\.connect\((?:lambda|partial)")


def test_no_function_listens_to_what_outlives_a_page():
    assert LASTING.search("theme.changed.connect(lambda _tokens: self._show())")
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(gui.__file__).parent.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if LASTING.search(line)
    ]
    assert found == []
