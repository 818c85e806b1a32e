"""Rows of texts as a table of Markdown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Row = Sequence[str]

_SPECIAL = re.compile(r"([\\|`*~<&\[\]$]|(?<![^\W_])_|_(?![^\W_]))")
"""Special characters of Markdown within a cell, also of links, pictures, entities and formulas; ``_`` is none in a word."""
_LINE_BREAK = re.compile(r"\r\n?|\n")


def as_markdown(rows: Iterable[Row]) -> str:
    """A table whose first row is the head; line breaks within a cell become those of Markdown."""
    head, *rest = [list(map(_markdown_cell, row)) for row in rows]
    lines = (head, ["---"] * len(head), *rest)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _markdown_cell(text: str) -> str:
    return _LINE_BREAK.sub("<br>", _SPECIAL.sub(r"\\\1", text.strip())).replace("\t", " ")
