"""What a page says, as lines of text: tables row by row, labels, buttons and whether they are grey, pictures by what they tell.

Nothing is picked out by hand, so nothing that a page shows is forgotten. Only what is visible counts: tabs that lie behind are
no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QWidget,
)

from gui.widgets.basic import ElidedLabel
from gui.widgets.data_grid import DataGrid
from gui.words.text import tr

_VOLATILE = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d+)?)?", "<time>"),
    (r"(\b\d\d-\d\d )?\b\d\d:\d\d(:\d\d(\.\d+)?)?\b(?! h)", "<time>"),
    (r"\b\d:\d\d:(<time>|\d\d)?", "<age>"),
    (r"\b[0-9A-F]{32}\b", "<id>"),
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"127\.0\.0\.1@\d+#\d+", "<client>"),
    (r"(?<![\w.])[−+]?[\d,.]+ (ms|s|min|h)\b( [\d,.]+ (ms|s|min|h)\b)*", "<age>"),
    (r"(?<![\w.])\d[\d,.]* (B|KiB|MiB|GiB|TiB)\b", "<size>"),
    (r"(?<![\w.])[\d.]+ ?%", "<share>"),
)
"""What no two runs have alike, and what stands for it. Days are left: nothing here is so old."""
_NUMBER = re.compile(r"[\d.,]+")
_UNITS = frozenset({"ms", "s", "min", "h", "%"})
"""Of tiles, whose number is a line of its own."""
_TAGS = re.compile(r"<[^>]+>")
_SPACES = re.compile(r"\s+")
_SILENT = (QHeaderView, QScrollBar)


def portrait(page: QWidget) -> list[str]:
    """What is visible of a page, in the order of its widgets."""
    return [line for line in map(_plain, _lines(page)) if line]


def comparable(lines: list[str]) -> list[str]:
    """The same lines without what no two runs have alike: times, ages, sizes, shares, addresses and ids."""
    found: list[str] = []
    for line in lines:
        for pattern, word in _VOLATILE:
            line = re.sub(pattern, word, line)  # noqa: PLW2901  one after the other
        if line in _UNITS and found and _NUMBER.fullmatch(found[-1]):
            found[-1], line = "<number>", "<unit>"  # noqa: PLW2901  what is 59 s here is 2 min there
        found.append(line)
    return found


def _lines(widget: QWidget) -> Iterator[str]:
    for child in widget.children():
        if isinstance(child, QWidget) and not isinstance(child, _SILENT) and child.isVisible() and not child.isWindow():
            yield from _of(child)


def _of(widget: QWidget) -> Iterator[str]:
    match widget:
        case DataGrid():
            yield from _grid(widget)
        case ElidedLabel():
            yield widget.whole_text()
        case QLabel():
            yield widget.text()
        case QAbstractButton():
            yield from _button(widget)
        case QComboBox():
            yield f"[choice: {widget.currentText()}]"
        case QTabBar():
            names = [widget.tabText(place) for place in range(widget.count())]
            yield f"[tabs: {' | '.join(names)}; {widget.tabText(widget.currentIndex())}]"
        case QLineEdit():
            yield f"[field: {widget.text() or widget.placeholderText()}{'' if widget.isEnabled() else ', grey'}]"
        case QPlainTextEdit() | QTextEdit():
            yield widget.toPlainText()
        case QAbstractSpinBox():
            yield f"[field: {widget.text()}]"
        case _:
            yield from _picture(widget)
            yield from _lines(widget)


def _grid(grid: DataGrid[object]) -> Iterator[str]:
    if grid.placeholder.isVisible():
        yield "[table]"
        yield from _lines(grid.placeholder)
        return
    columns = grid.model.columns
    yield f"[table: {' | '.join(tr(column.title) for column in columns)}]"
    for row in map(grid.model.row_at, range(grid.model.rowCount())):
        if row is not None:
            yield f"- {' | '.join(column.text(row) for column in columns)}"


def _button(button: QAbstractButton) -> Iterator[str]:
    name = button.text() or button.accessibleName()
    state = "" if button.isEnabled() else f", grey: {button.toolTip()}"
    ticked = ", on" if button.isChecked() else ""
    yield f"[button: {name}{ticked}{state}]"


def _picture(widget: QWidget) -> Iterator[str]:
    name, told = widget.accessibleName(), widget.accessibleDescription()
    if told:
        yield f"[picture: {name}: {told}]"
    elif name:
        yield f"[{name}]"


def _plain(text: str) -> str:
    return _SPACES.sub(" ", _TAGS.sub("", text)).strip()
