"""Texts from outside (names, keys, bodies, reasons) for Qt and the desktop: shown literally.

Qt renders a text as HTML where `Qt.mightBeRichText` says so. A tool tip then opens the files that the HTML names, and so does a
notice of a desktop. Labels, message boxes and questions are plain text (`gui.widgets.basic`, `gui.widgets.popups`), so only
the length of their texts is bounded here.
"""

from __future__ import annotations

import re

from PySide6.QtGui import Qt

TIP_LINES_MAX = 40
TIP_LINE_LENGTH_MAX = 300
TIP_CHARACTERS_MAX = 2_000
"""Qt lays out a whole tool tip in one turn of the loop, and makes it as large as the text."""
LABEL_LINES_MAX = 200
LABEL_CHARACTERS_MAX = 4_000
LINE_CHARACTERS_MAX = 300
"""Of a title, a button, a tab or an entry of a menu: Qt makes each as wide as its text."""
CELL_CHARACTERS_MAX = 500
"""Of a cell of a table: Qt measures all of its text whenever it paints it."""
FILE_NAME_CHARACTERS_MAX = 127
"""The length limit of topic names."""
_JOINER = "\u2060"
"""Word joiner, without width. After `<` and `&` it breaks a possible tag or entity."""
_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, and those that change the direction of text."""
_NO_FILE_NAME = re.compile(r"[^\w%.-]")


def tip_text(text: str) -> str:
    """The text for a tool tip: never rich text, and bounded."""
    shown = _bounded(text)
    return shown.replace("<", f"<{_JOINER}").replace("&", f"&{_JOINER}") if Qt.mightBeRichText(shown) else shown


def label_text(text: str) -> str:
    """The text for a label, bounded: Qt lays out a label at each change of its width, 1 MB in some seconds."""
    lines = text[:LABEL_CHARACTERS_MAX].split("\n", LABEL_LINES_MAX)
    is_cut = len(text) > LABEL_CHARACTERS_MAX or len(lines) > LABEL_LINES_MAX
    return _UNSEEN.sub("\ufffd", "\n".join(lines[:LABEL_LINES_MAX])) + ("…" if is_cut else "")


def table_text(text: str) -> str:
    """The text for a cell of a table, bounded."""
    return text if len(text) <= CELL_CHARACTERS_MAX else f"{text[:CELL_CHARACTERS_MAX]}…"


def notice_text(text: str) -> str:
    """The text for a notice of the desktop, bounded. A desktop may render markup, so ``<`` becomes ``‹``."""
    return _bounded(text).replace("<", "‹").replace("&", f"&{_JOINER}")


def title_text(text: str) -> str:
    """The text for the title of a window, bounded: Qt replaces ``[*]`` there, and shows ``[*][*]`` as ``[*]``."""
    return _line(text).replace("[*]", "[*][*]")


def button_text(text: str) -> str:
    """The bounded text for a button, a tab or a menu entry: Qt makes the letter after a single ``&`` a shortcut."""
    return _line(text).replace("&", "&&")


def file_name(text: str) -> str:
    """The text as the beginning of a file name: without separators, leading dots and HTML."""
    return _NO_FILE_NAME.sub("_", text[:FILE_NAME_CHARACTERS_MAX]).lstrip(".")


def _line(text: str) -> str:
    """The text in one line without control characters; an entry of a menu shows what follows a tab as its shortcut."""
    shown = text[:LINE_CHARACTERS_MAX].replace("\t", " ").replace("\n", " ")
    return _UNSEEN.sub("\ufffd", shown) + ("…" if len(text) > LINE_CHARACTERS_MAX else "")


def _bounded(text: str) -> str:
    """The text in at most `TIP_LINES_MAX` lines without control characters; an ellipsis replaces the rest."""
    shown = _UNSEEN.sub("\ufffd", text[:TIP_CHARACTERS_MAX].replace("\r\n", "\n"))
    lines = [line[at : at + TIP_LINE_LENGTH_MAX] for line in shown.split("\n") for at in _starts(line)]
    is_cut = len(text) > TIP_CHARACTERS_MAX or len(lines) > TIP_LINES_MAX
    return "\n".join(lines[:TIP_LINES_MAX]) + ("…" if is_cut else "")


def _starts(line: str) -> range:
    return range(0, max(1, len(line)), TIP_LINE_LENGTH_MAX)
