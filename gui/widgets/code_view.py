"""`CodeView`: code and JSON in the mono font with simple colours; `HexView`: bytes as offset, hex and characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from PySide6.QtCore import QObject
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextEdit

from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens, mix
from gui.widgets.long_text import LongTextEdit, units_of
from gui.words.text import bytes_text, tr

MARK_SHARE = 38
"""Share of the warning colour in the ground of marked parts, in percent."""
COLOURED_MAX = 100
"""Coloured words of one line, because Qt lays out each anew whenever the line is painted."""
HEX_BYTES_MAX = 256 * 1024
"""Further bytes are not shown; the last line of the view says so."""

_CHARACTERS = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))
"""How each byte is shown as a character."""

_KEYWORDS = {
    "java": "new|var|import|class|public|static|void|return|try|final|throws|int|long|for|private",
    "go": "package|import|func|return|if|err|nil|var|defer|for|range|type|struct",
    "python": "import|from|def|return|with|as|for|in|if|None|True|False|class|try|except",
    "rust": "use|fn|async|await|let|mut|as|Ok|return|struct|impl|Box|Result|dyn|vec",
    "c#": "using|var|await|new|class|public|return|static|async|void|int|long",
    "node": "const|let|require|await|async|new|function|return|import|from",
    "c++": "include|using|namespace|int|return|auto|const|new|main|void",
    "yaml": "",
    "json": "true|false|null",
    "text": "",
}
_STRING = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"


class _Highlighter(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument, parent: QObject, language: str, tokens: Tokens) -> None:
        super().__init__(document)
        self.setParent(parent)
        self._formats: dict[str, QTextCharFormat] = {}
        words = _KEYWORDS[language]
        comment = r"#.*|//.*" if language in ("python", "yaml") else r"//.*"
        parts = [rf"(?P<string>{_STRING})", rf"(?P<comment>{comment})", r"(?P<number>\b\d[\d_.]*\b)"]
        if language == "json":
            parts = [rf"(?P<name>(?:{_STRING})(?=\s*:))", parts[0], r"(?P<number>-?\b\d[\d.eE+-]*\b)"]
        if language == "text":
            parts = []
        if words:
            parts.append(rf"(?P<word>\b(?:{words})\b)")
        self._pattern = re.compile("|".join(parts)) if parts else None
        self.use(tokens)

    def use(self, tokens: Tokens) -> None:
        colours = {
            "string": tokens.committed,
            "comment": tokens.text_3,
            "number": tokens.delayed,
            "word": tokens.checking,
            "name": tokens.accent,
        }
        for name, colour in colours.items():
            self._formats[name] = QTextCharFormat()
            self._formats[name].setForeground(QColor(colour))

    def highlightBlock(self, text: str) -> None:
        if self._pattern is None:
            return
        for match in islice(self._pattern.finditer(text), COLOURED_MAX):
            name = match.lastgroup or ""
            self.setFormat(match.start(), match.end() - match.start(), self._formats[name])


class CodeView(LongTextEdit):
    """Text in the mono font; read-only unless ``editable``."""

    def __init__(self, theme: ThemeManager, language: str = "text", *, editable: bool = False) -> None:
        """Create it; ``language`` is one of java, go, python, node, rust, c#, c++, yaml, json, text."""
        super().__init__(editable=editable)
        self._theme = theme
        self._language = language
        self.setProperty("role", "code")
        self.setFont(mono_font())
        self.setLineWrapMode(LongTextEdit.LineWrapMode.NoWrap)
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(" ") * 4)
        self._marked: list[tuple[int, int]] = []
        self._highlighter = _Highlighter(self.document(), self, language, theme.tokens)
        theme.changed.connect(self._restyle)

    def set_language(self, language: str) -> None:
        self._language = language
        self._highlighter.setDocument(None)
        self._highlighter.deleteLater()
        self._highlighter = _Highlighter(self.document(), self, language, self._theme.tokens)

    def set_code(self, text: str, language: str) -> None:
        """Show a text in the colours of a language; nothing happens where it is shown."""
        if language == self._language and text == self.toPlainText():
            return
        self.setPlainText("")  # the colours of another language would be given to all that is shown
        self.set_language(language)
        self.setPlainText(text)

    def mark(self, spans: Sequence[tuple[int, int]]) -> None:
        """Mark parts of the text by their start and length in characters, in order."""
        self._marked = list(spans)
        self._show_marks(self._theme.tokens)

    def _show_marks(self, tokens: Tokens) -> None:
        text = self.toPlainText() if self._marked else ""
        ground = QTextCharFormat()
        ground.setBackground(QColor(mix(tokens.mark, tokens.panel, MARK_SHARE)))
        selections, reached, units = [], 0, 0
        for start, length in self._marked:
            units += units_of(text[reached:start])
            end = units + units_of(text[start : start + length])
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(self.document_place(units))
            cursor.setPosition(self.document_place(end), QTextCursor.MoveMode.KeepAnchor)
            selection.cursor, selection.format = cursor, ground
            selections.append(selection)
            reached, units = start + length, end
        self.setExtraSelections(selections)

    def grown(self) -> None:
        if self._marked:
            self._show_marks(self._theme.tokens)

    def _restyle(self, tokens: Tokens) -> None:
        self._highlighter.use(tokens)
        if not self.given_anew():
            self._highlighter.rehighlight()
        self._show_marks(tokens)


class HexView(LongTextEdit):
    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "code")
        self.setFont(mono_font(Size.SECONDARY, QFont.Weight.Normal))
        self.setLineWrapMode(LongTextEdit.LineWrapMode.NoWrap)

    def set_bytes(self, data: bytes) -> None:
        """Show ``data``, or its first `HEX_BYTES_MAX` bytes and the number of all."""
        self.setPlainText(hex_text(data))


def hex_text(data: bytes) -> str:
    """Lines of offset, 16 bytes in two groups, and their printable ASCII characters."""
    shown = data[:HEX_BYTES_MAX]
    pairs, characters = shown.hex(" "), shown.translate(_CHARACTERS).decode("ascii")
    lines = [
        f"{place:08x}  {pairs[3 * place : 3 * place + 23]:<23}  {pairs[3 * place + 24 : 3 * place + 47]:<23}  "
        f"{characters[place : place + 16]}"
        for place in range(0, len(shown), 16)
    ]
    if len(data) > HEX_BYTES_MAX:
        sizes = {"shown": bytes_text(HEX_BYTES_MAX), "whole": bytes_text(len(data))}
        lines.append(tr("The first {shown} of {whole} are shown.", **sizes))
    return "\n".join(lines)
