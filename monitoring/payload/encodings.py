"""Text of bytes: which encoding, and whether they are text at all."""

from __future__ import annotations

import unicodedata
from typing import Final

SNIFFED_CHARACTERS: Final = 64 * 1024
"""Looked at to tell text from bytes."""

ENCODINGS: Final = ("utf-8", "gb18030", "utf-16", "big5", "shift_jis", "euc_kr", "latin-1")
"""Encodings that a rule or a person can choose; the first two are tried without being asked."""

_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def decode_text(data: bytes, encoding: str = "") -> tuple[str | None, str]:
    """Text of bytes and its encoding; None when they are no text.

    Without an encoding a byte order mark decides, else UTF-8, else GBK (as GB18030) if what comes out looks like Chinese.
    """
    if encoding:
        return _decoded(data, encoding)
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return _decoded(data, name)
    text, name = _decoded(data, "utf-8")
    if text is not None:
        return text, name
    text, _ = _decoded(data, "gb18030")
    return (text, "gb18030") if text is not None and _looks_chinese(text) else (None, "")


def _decoded(data: bytes, encoding: str) -> tuple[str | None, str]:
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None, ""
    # Bytes that are UTF-8 are hardly so by chance; what other encodings make of any bytes is looked at more closely.
    strange = ("Cc",) if encoding.startswith("utf-8") else ("Cc", "Cn", "Co")
    return (text, encoding) if _is_printable(text, strange) else (None, "")


def _is_printable(text: str, strange: tuple[str, ...]) -> bool:
    """Whether no character is of a strange category; those that came with newer versions of Unicode are of Cn here."""
    start = text[:SNIFFED_CHARACTERS]
    return start.isprintable() or all(c in "\t\r\n\f\ufeff" or unicodedata.category(c) not in strange for c in start)


def _looks_chinese(text: str) -> bool:
    """Almost any bytes are some GB18030 text, but few of them common characters."""
    wide = [c for c in text[:SNIFFED_CHARACTERS] if ord(c) > 0x7F]
    common = sum("\u4e00" <= c <= "\u9fff" or "\u3000" <= c <= "\u303f" or "\uff00" <= c <= "\uffef" for c in wide)
    return bool(wide) and common >= 0.9 * len(wide)
