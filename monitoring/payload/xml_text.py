from __future__ import annotations

import re
from typing import Final
from xml.parsers import expat

DEPTH_MAX: Final = 200
_HEAD_CHARACTERS = 64 * 1024

_ENTITY = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)


def laid_out_xml(text: str) -> str:
    """XML with a line for each element; entities are not expanded and nothing is fetched.

    Raises:
        ExpatError: It is no XML.
        ValueError: It declares entities, which could expand without limit.
    """
    if _ENTITY.search(text[:_HEAD_CHARACTERS]):
        raise ValueError("it has a DOCTYPE, whose entities are not expanded here")
    writer = _XmlWriter()
    # The text is decoded already; its declaration names the encoding of the bytes.
    parser = expat.ParserCreate("UTF-8")
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.characters
    parser.CommentHandler = writer.comment
    parser.buffer_text = True
    parser.Parse(text.lstrip("\ufeff").lstrip().encode(), True)
    return writer.text


class _XmlWriter:
    """Writes each element on a line of its own; an element with only text stays on one line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._has_only_text = False

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        words = "".join(f' {key}="{_escaped(value, quote=True)}"' for key, value in attributes.items())
        self._line(f"<{name}{words}>")
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ValueError(f"its elements are nested more than {DEPTH_MAX} deep")
        self._has_only_text = True

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._has_only_text:
            self._lines[-1] += f"</{name}>"
        else:
            self._line(f"</{name}>")
        self._has_only_text = False

    def characters(self, data: str) -> None:
        if not data.strip():
            return
        if self._has_only_text:
            self._lines[-1] += _escaped(data)
        else:
            self._line(_escaped(data.strip()))

    def comment(self, data: str) -> None:
        self._line(f"<!--{data}-->")
        self._has_only_text = False

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._depth + text)


def _escaped(text: str, *, quote: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quote else text
