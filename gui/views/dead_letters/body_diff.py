"""Two texts of a body line by line, for a `CodeView`: what goes is red, what comes is green."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import ndiff

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QTextEdit

from gui.theme.tokens import Tokens, mix
from gui.widgets.code_view import CodeView

LINES_COMPARED_MAX = 400
"""More lines are shown as they will be, without what was."""
TINT = 14
"""Of the colour of a changed line in its ground, percent."""


def show_change(view: CodeView, before: str, after: str, tokens: Tokens) -> None:
    """Show a body with what changes in it; JSON with a line for each value, also where it is stored in one."""
    lines = _compared(laid_out(before), laid_out(after))
    view.setPlainText("\n".join(lines))
    view.setExtraSelections(_tints(view, lines, tokens) if before != after else [])


def laid_out(text: str) -> str:
    """JSON with a line for each value, anything else as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False) if text.lstrip().startswith(("{", "[")) else text
    except ValueError:
        return text


def _compared(before: str, after: str) -> list[str]:
    """Lines of a body with ``-`` and ``+`` before those that change."""
    old, new = before.splitlines(), after.splitlines()
    if before == after or len(old) + len(new) > LINES_COMPARED_MAX:
        return new
    return [line.rstrip("\n") for line in ndiff(old, new) if not line.startswith("?")]


def _tints(view: CodeView, lines: Sequence[str], tokens: Tokens) -> list[QTextEdit.ExtraSelection]:
    found = []
    for number, line in enumerate(lines):
        colour = {"-": tokens.critical, "+": tokens.healthy}.get(line[:1])
        if colour is None:
            continue
        tint = QTextEdit.ExtraSelection()
        ground = QTextCharFormat()
        ground.setBackground(QColor(mix(colour, tokens.panel, TINT)))
        ground.setProperty(QTextFormat.Property.FullWidthSelection, True)
        tint.format = ground
        tint.cursor = QTextCursor(view.document().findBlockByNumber(number))
        found.append(tint)
    return found
