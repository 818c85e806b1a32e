"""Figures in words, for findings and pages."""

from __future__ import annotations

from datetime import UTC, datetime


def say(template: str, **values: object) -> str:
    """A sentence with its values; the template is its key in the Chinese catalogue."""
    return template.format(**values)


def number(value: int, noun: str) -> str:
    """``1 message``, ``2,000 messages``; y at the end of a noun becomes ies."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:] not in ("ay", "ey", "oy") else f"{noun}s"
    return f"{value:,} {noun if value == 1 else plural}"


def verb(value: int, one: str, several: str) -> str:
    """``1 is``, ``2,000 are``."""
    return f"{value:,} {one if value == 1 else several}"


def part(some: int, whole: int) -> str:
    """``3 of 4 (75.0 %)``."""
    return f"{some:,} of {whole:,} ({share_text(some, whole)})"


def share_text(some: float, whole: float) -> str:
    """A share in percent; a dash if the whole is 0."""
    return f"{100 * some / whole:.1f} %" if whole else "—"


def change_text(relative: float) -> str:
    """A relative change in percent, with its sign."""
    return f"{100 * relative:+.1f} %"


def first_of(shown: int, whole: int) -> str:
    """A note that a ranking is cut; empty if all of it is shown."""
    return say("The first {n:,} of {total:,}.", n=shown, total=whole) if shown < whole else ""


def duration_text(milliseconds_: float | None) -> str:
    """A duration with a fitting unit."""
    if milliseconds_ is None:
        return "unknown"
    size = abs(milliseconds_)
    for limit, divisor, unit in (
        (1_000, 1, "ms"),
        (120_000, 1_000, "s"),
        (7_200_000, 60_000, "min"),
        (172_800_000, 3_600_000, "h"),
    ):
        if size < limit:
            return f"{milliseconds_ / divisor:.{0 if divisor == 1 else 1}f} {unit}"
    return f"{milliseconds_ / 86_400_000:.1f} days"


def clock(moment: object) -> str:
    """A time in UTC, to the minute."""
    assert isinstance(moment, datetime)
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
