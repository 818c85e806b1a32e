"""`CodeView`: code and JSON in the mono font with simple colours; `HexView`: bytes as offset, hex and characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens, mix
from gui.words.text import bytes_text, tr

MARK_SHARE = 38
"""Share of the warning colour in the ground of marked parts, in percent."""
HEX_BYTES_MAX = 256 * 1024
"""Further bytes are not shown; the last line of the view says so."""

_KEYWORDS = {
    "java": "new|var|import|class|public|static|void|return|try|final|throws|int|long|for|private",
    "go": "package|import|func|return|if|err|nil|var|defer|for|range|type|struct",
    "python": "import|from|def|return|with|as|for|in|if|None|True|False|class|try|except",
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
            "number": tokens.warning,
            "word": tokens.checking,
            "name": tokens.accent,
        }
        for name, colour in colours.items():
            self._formats[name] = QTextCharFormat()
            self._formats[name].setForeground(QColor(colour))
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        if self._pattern is None:
            return
        for match in self._pattern.finditer(text):
            name = match.lastgroup or ""
            self.setFormat(match.start(), match.end() - match.start(), self._formats[name])


class CodeView(QPlainTextEdit):
    """Text in the mono font; read-only unless ``editable``."""

    def __init__(
        self, theme: ThemeManager, language: str = "text", *, editable: bool = False, parent: QWidget | None = None
    ) -> None:
        """Create it; ``language`` is one of java, go, python, node, c++, yaml, json, text."""
        super().__init__(parent)
        self._theme = theme
        self.setProperty("role", "code")
        self.setReadOnly(not editable)
        self.setFont(mono_font())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(" ") * 4)
        self._marked: list[tuple[int, int]] = []
        self._highlighter = _Highlighter(self.document(), self, language, theme.tokens)
        theme.changed.connect(self._restyle)

    def set_language(self, language: str) -> None:
        """Change the language of the colours."""
        self._highlighter.setDocument(None)
        self._highlighter.deleteLater()
        self._highlighter = _Highlighter(self.document(), self, language, self._theme.tokens)

    def set_code(self, text: str, language: str) -> None:
        self.set_language(language)
        self.setPlainText(text)

    def mark(self, spans: Sequence[tuple[int, int]]) -> None:
        """Mark parts of the text by their start and length in characters, in order."""
        self._marked = list(spans)
        self._show_marks(self._theme.tokens)

    def _show_marks(self, tokens: Tokens) -> None:
        text = self.toPlainText() if self._marked else ""
        ground = QTextCharFormat()
        ground.setBackground(QColor(mix(tokens.warning, tokens.panel, MARK_SHARE)))
        selections, reached, units = [], 0, 0
        for start, length in self._marked:
            units += _units(text[reached:start])
            end = units + _units(text[start : start + length])
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(units)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection.cursor, selection.format = cursor, ground
            selections.append(selection)
            reached, units = start + length, end
        self.setExtraSelections(selections)

    def _restyle(self, tokens: Tokens) -> None:
        self._highlighter.use(tokens)
        self._show_marks(tokens)


def _units(text: str) -> int:
    """Length of a text in units of UTF-16, as Qt counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class HexView(QPlainTextEdit):
    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "code")
        self.setReadOnly(True)
        self.setFont(mono_font(Size.SECONDARY, QFont.Weight.Normal))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)

    def set_bytes(self, data: bytes) -> None:
        """Show ``data``, or its first `HEX_BYTES_MAX` bytes and the number of all."""
        self.setPlainText(hex_text(data))


def hex_text(data: bytes) -> str:
    """Lines of offset, 16 bytes in two groups, and their printable ASCII characters."""
    lines = [_hex_line(offset, data[offset : offset + 16]) for offset in range(0, min(len(data), HEX_BYTES_MAX), 16)]
    if len(data) > HEX_BYTES_MAX:
        shown, whole = bytes_text(HEX_BYTES_MAX), bytes_text(len(data))
        lines.append(tr("The first {shown} of {whole} are shown.", shown=shown, whole=whole))
    return "\n".join(lines)


def _hex_line(offset: int, chunk: bytes) -> str:
    left, right = chunk[:8].hex(" "), chunk[8:].hex(" ")
    characters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)
    return f"{offset:08x}  {left:<23}  {right:<23}  {characters}"
