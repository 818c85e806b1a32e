"""Decodes bytes to text: finds the encoding, or that they are no text."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SNIFFED_CHARACTERS: Final = 64 * 1024
"""Characters that are inspected to distinguish text from bytes."""

ENCODINGS: Final = ("utf-8", "gb18030", "utf-16", "big5", "shift_jis", "euc_kr", "latin-1")
"""Encodings for a rule or a user to choose; UTF-8, GB18030 and Latin-1 are tried by default."""

_ASCII = bytes(range(0x80))
_COMMON_PAIR = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
_FOREIGN = re.compile(
    r"[À-ÖØ-öø-ÿ]{3}"  # hardly a word of a Western language has three accents in a row
    r"|(?<![A-Za-zÀ-ÖØ-öø-ÿ])[À-ÖØ-öø-ÿ]{2}(?![A-Za-zÀ-ÖØ-öø-ÿ])"  # two are no word
    r"|[¢-©¬-¾×÷][À-ÿ]|[À-ÿ][¡-\xa7«-\xad¯±´-¶¸¹¼-¿×÷]|[\xa0-¿×÷]{2}"  # nor are letters and signs side by side
    r"|[ß-öø-ÿ][A-Z]"  # nor does a capital letter follow a small one
)
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def decode_text(data: bytes, encoding: str = "") -> tuple[str | None, str]:
    """Text of bytes and its encoding; None if they are no text.

    Without an encoding a byte order mark decides, else UTF-8, else GBK (as GB18030) if the text is common Chinese, else
    Latin-1 if it looks like a Western language, else GBK if it is any Chinese.
    """
    if encoding:
        return _decoded(data, encoding)
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return _decoded(data, name)
    text, name = _decoded(data, "utf-8")
    if text is not None:
        return text, name
    text, name = _decoded(data, "gb18030")
    chinese = (text, name) if text is not None and _looks_chinese(text) else (None, "")
    if chinese[0] is not None and _is_common(data):
        return chinese
    western, name = _decoded(data, "latin-1")
    return (western, name) if western is not None and _looks_western(western) else chinese


def _decoded(data: bytes, encoding: str) -> tuple[str | None, str]:
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError):
        return None, ""
    # Valid UTF-8 is hardly a coincidence; other encodings accept almost any bytes, so their text is checked more strictly.
    strange = ("Cc",) if encoding.startswith("utf-8") else ("Cc", "Cn", "Co")
    return (text, encoding) if _is_printable(text, strange) else (None, "")


def _is_printable(text: str, strange: tuple[str, ...]) -> bool:
    """Whether no character has a strange category; characters of newer Unicode versions are of Cn here."""
    start = text[:SNIFFED_CHARACTERS]
    return start.isprintable() or all(c in "\t\r\n\f\ufeff" or unicodedata.category(c) not in strange for c in start)


def _is_common(data: bytes) -> bool:
    """Whether most bytes above ASCII are pairs of level 1 of GB 2312, its usual characters, or of its punctuation.

    Western text hardly has such pairs: a capital letter or a sign before another letter with an accent.
    """
    start = data[:SNIFFED_CHARACTERS]
    return 2 * len(_COMMON_PAIR.sub(b"", start).translate(None, _ASCII)) <= len(start.translate(None, _ASCII))


def _looks_western(text: str) -> bool:
    """Almost any bytes are valid Latin-1, but in few of them accents are single letters within words of ASCII letters."""
    start = text[:SNIFFED_CHARACTERS]
    high = sum(c > "\x7f" for c in start)
    return 3 * high <= 2 * len(start) and _FOREIGN.search(start) is None


def _looks_chinese(text: str) -> bool:
    """Almost any bytes are valid GB18030, but few of them are common characters."""
    wide = [c for c in text[:SNIFFED_CHARACTERS] if ord(c) > 0x7F]
    common = sum("\u4e00" <= c <= "\u9fff" or "\u3000" <= c <= "\u303f" or "\uff00" <= c <= "\uffef" for c in wide)
    return bool(wide) and common >= 0.9 * len(wide)
