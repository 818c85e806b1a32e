"""Texts of which the parsers of the standard library raise what they do not promise, or need long."""

from __future__ import annotations

DIGITS = "9" * 5_000
DEEP = 3_000
NASTY = (
    DIGITS, f"-{DIGITS}", f"0.{DIGITS}", "1e400", "-1e400", "1E-400", "NaN", "Infinity", "inf", "²", "٣", "1_0", "0x10", "",
    " ", "\0", "\ud800", "\u202e", "[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, "(" * DEEP,
    "not " * DEEP + "a = 1", "9999-12-31T23:59:59Z", "10000-01-01", "0001-01-01", "25:61", "2026-02-30", f"-{'9' * 400}d",
    f"+{'9' * 400}s", f"host:{DIGITS}", f"a > {DIGITS}", f"body.n > {DIGITS}", f"body[{DIGITS}]", f"stored > {DIGITS}",
    f"queue = {DIGITS}", f"lag>{DIGITS}", f"lag>{DIGITS}k", "body ~ /(((((/", "body ~ /(?i)(?-i)a{99999999999}/",
    f"{DIGITS} ms", f"x: {'9' * 400}9 ms", f"{DIGITS} KiB", "{n", "${n}", "{0}", "<a>" * DEEP,
    "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", 'a,b\n"', f"orbit://message/T/{DIGITS}/1", f"orbit://topic/T?queue={DIGITS}",
    "orbit://[", "\x93" * DEEP, "!!bool x", "!!timestamp x", "a: &a [*a]", "?? : [",
)  # fmt: skip
NUMBERS = (
    "bytes", "created_at", "memory_bytes", "minute", "records", "rules", "seconds", "taken_ms", "version", "weekday", "x", "y",
)  # fmt: skip
HEAD = '"report": "r", "state": "complete", "stage": "session", "rows": {"read": 1e400}'


def as_json(text: str) -> tuple[str, ...]:
    """The text, and JSON with it where entries look for numbers, texts and lists."""
    numbers = ", ".join(f'"{name}": {text}' for name in NUMBERS)
    return (
        text,
        f"[[{text}, {text}]]",
        f"{{{HEAD}, {numbers}}}",
        f'{{{HEAD}, "charts": [{{"series": [{{"x": [1], "y": [{text}]}}]}}]}}',
        f'[{{"group": "g", "topic": "t", "taken_ms": {text}, "offsets": [[{text}, {text}]]}}]',
    )
