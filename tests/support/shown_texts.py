"""The texts that the window shows, read from its source."""

from __future__ import annotations

import ast
from pathlib import Path

import gui

GUI = Path(gui.__file__).parent

TEXT_ARGUMENTS = {
    "tr": (0,),
    "Action": (1, 3),
    "PageEntry": (1, 3),
    "ChartSeries": (1,),
    "Column": (1,),
    "number_column": (1,),
    "shown_read": (1,),
    "FormField": (1, 3),
    "push_button": (0,),
    "said_label": (0,),
}
"""Calls whose arguments at these places are shown through ``tr``."""
SAID = ("text", "title", "subtitle", "hint", "tip", "name", "empty", "suffix")
"""Named arguments of `gui.widgets.said.said` that are shown through ``tr``."""


def literal_texts(folder: str = "") -> dict[str, str]:
    """Texts that go through ``tr`` as literals, of the window or of a folder of it, with the file that says them."""
    found: dict[str, str] = {}
    for path in sorted((GUI / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                places = TEXT_ARGUMENTS.get(node.func.id, ())
                arguments = node.args
                if node.func.id == "partial" and isinstance(node.args[0], ast.Name) and node.args[0].id == "tr":
                    arguments, places = node.args[1:], (0,)
                shown = [arguments[place] for place in places if place < len(arguments)]
                for argument in (*shown, *said_texts(node.func.id, node)):
                    if isinstance(argument, ast.Constant) and argument.value:
                        found[str(argument.value)] = str(path.relative_to(GUI))
    return found


def said_texts(name: str, call: ast.Call) -> list[ast.expr]:
    """Arguments of the functions of `gui.widgets.said` that are texts."""
    if name == "segments" and call.args and isinstance(call.args[0], ast.Dict):
        return call.args[0].values
    if name == "say_items" and isinstance(call.args[1], ast.List | ast.Tuple):
        return call.args[1].elts
    first = {"said": 1, "said_button": 2, "say": 2, "say_tabs": 1}.get(name)
    if first is None:
        return []
    named = [] if name == "say" else [one.value for one in call.keywords if one.arg in SAID]
    return [*call.args[first:], *named]
