"""The commands of ``./orbit``: the paths that it passes to its tests exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_path_that_the_script_names_exists():
    named = re.findall(r"\btests/[\w/.]+", (ROOT / "orbit").read_text(encoding="utf-8"))
    assert {"tests/unit", "tests/golden"} < set(named)
    assert [path for path in named if not (ROOT / path).exists()] == []
