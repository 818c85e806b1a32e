"""Qt's rules for item models: who tells too few or too many rows, or tells them too late, is found out."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from PySide6.QtCore import QAbstractItemModel
from PySide6.QtTest import QAbstractItemModelTester

Site = tuple[str, int]
"""Where a model is made: file below the checkout, line."""


def hold_to_rules(model: QAbstractItemModel) -> None:
    """Look at a model now and at each of its signals, for as long as it lives.

    A broken rule is a warning of Qt, which fails the test. The tester belongs to the model: one that nobody owns is gone
    before the first signal.
    """
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, model)


def model_classes() -> list[type[QAbstractItemModel]]:
    """All classes of item models of the window, as far as their modules are imported."""
    found, left = [], list(QAbstractItemModel.__subclasses__())
    while left:
        one = left.pop()
        left += one.__subclasses__()
        if one.__module__.startswith("gui."):
            found.append(one)
    return found


def places_of_models(package: Path, names: set[str]) -> dict[tuple[str, int, int], str]:
    """Where the sources make models: file below the package's parent, first and last line of the call → class."""
    found = {}
    called_somewhere = re.compile(rf"\b(?:{'|'.join(names)})\b[\[(]")
    for file in sorted(package.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if called_somewhere.search(source) else ():
            called = node.func if isinstance(node, ast.Call) else None
            called = called.value if isinstance(called, ast.Subscript) else called
            if isinstance(node, ast.Call) and isinstance(called, ast.Name) and called.id in names:
                place = (str(file.relative_to(package.parent)), node.lineno, node.end_lineno or node.lineno)
                found[place] = called.id
    return found


@contextmanager
def all_models_held(checkout: Path) -> Iterator[set[Site]]:
    """Within it every model that the window makes is held to the rules; gives where they were made."""
    made: set[Site] = set()
    classes = [one for one in model_classes() if "__init__" in vars(one)]
    before: dict[type[QAbstractItemModel], Any] = {one: one.__init__ for one in classes}
    for one in classes:
        one.__init__ = _holding(before[one], made, checkout)  # type: ignore[method-assign]
    try:
        yield made
    finally:
        for one, init in before.items():
            one.__init__ = init  # type: ignore[method-assign]


def _holding(init: Any, made: set[Site], checkout: Path) -> Any:
    def held(model: QAbstractItemModel, *given: Any, **named: Any) -> None:
        init(model, *given, **named)
        caller = sys._getframe(1)
        if caller.f_locals.get("self") is not model:  # else it is the base of what is being made
            made.add(_site(caller, checkout))
            hold_to_rules(model)

    return held


def _site(frame: FrameType, checkout: Path) -> Site:
    file = Path(frame.f_code.co_filename)
    return (str(file.relative_to(checkout)) if file.is_relative_to(checkout) else str(file)), frame.f_lineno
