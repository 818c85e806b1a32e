"""Literals of programs: text and bytes that a program of any of these languages reads as they are. Pure.

A stored message may hold anything, so what it holds appears only in literals, or in comments without line breaks.
"""

from __future__ import annotations

import base64
import json

_WRITTEN_OUT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x7f\x85\u2028\u2029\ufeff"}
_JAVA_LITERAL_CHARACTERS = 10_000
"""Each takes 6 bytes at most."""
GO_DECODED = """
func decoded(text string) []byte {
\tbody, err := base64.StdEncoding.DecodeString(text)
\tif err != nil {
\t\tpanic(err)
\t}
\treturn body
}
"""
"""The function that `go_body` calls for bytes that are no text."""


def on_one_line(name: str) -> str:
    """A name for a comment, without line breaks."""
    return name if name.isprintable() else json.dumps(name)


def is_text(body: bytes) -> bool:
    """Whether a body is UTF-8 without zero bytes."""
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def quoted(text: str) -> str:
    """A literal of JSON, which Java, Go, Node and C# read alike.

    Go accepts no byte order mark within a program, and some of these languages end a line where JSON does not.
    """
    return json.dumps(text, ensure_ascii=False).translate(_WRITTEN_OUT)


def java_text(text: str) -> str:
    """An expression; a single literal has 65,535 bytes at most."""
    if len(text) <= _JAVA_LITERAL_CHARACTERS:
        return quoted(text)
    parts = (text[at : at + _JAVA_LITERAL_CHARACTERS] for at in range(0, len(text), _JAVA_LITERAL_CHARACTERS))
    return f'String.join("", {", ".join(map(quoted, parts))})'


def java_body(body: bytes) -> str:
    """An expression of a ``byte[]``; it needs the imports of ``StandardCharsets`` and ``Base64``."""
    if is_text(body):
        return f"{java_text(body.decode())}.getBytes(StandardCharsets.UTF_8)"
    return f"Base64.getDecoder().decode({java_text(base64.b64encode(body).decode())})"


def go_body(body: bytes) -> str:
    """An expression of a ``[]byte``; of bytes that are no text it needs `GO_DECODED`."""
    if is_text(body):
        return f"[]byte({quoted(body.decode())})"
    return f'decoded("{base64.b64encode(body).decode()}")'


def node_body(body: bytes) -> str:
    """An expression of a ``Buffer``."""
    if is_text(body):
        return f"Buffer.from({quoted(body.decode())})"
    return f"Buffer.from('{base64.b64encode(body).decode()}', 'base64')"


def rust_text(text: str) -> str:
    """A string literal. The compiler refuses marks that change the direction of text, so all that cannot be seen is escaped."""
    return f'"{"".join(map(_rust_character, text))}"'


def rust_body(body: bytes) -> str:
    """An expression of a ``Vec<u8>``."""
    if is_text(body):
        return f"{rust_text(body.decode())}.as_bytes().to_vec()"
    escaped = "".join(f"\\x{byte:02x}" for byte in body)
    return f'b"{escaped}".to_vec()'


def csharp_body(body: bytes) -> str:
    """An expression of a ``byte[]``; it needs ``using System.Text``."""
    if is_text(body):
        return f"Encoding.UTF8.GetBytes({quoted(body.decode())})"
    return f'Convert.FromBase64String("{base64.b64encode(body).decode()}")'


def _rust_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
