"""Texts and figures as they are shown: translation, and the formats of numbers, sizes and times.

Every text for a person goes through `tr`; the key is the English text. The Chinese texts are JSON files under
``resources/translations/zh``, one file per part of the window, all merged. Names from the broker (topics, groups, keys, codes)
are never translated. An unknown figure (None, NaN, a negative count) is shown as `UNKNOWN`, never as zero.

English has singulars ("1 file"): ``resources/translations/singular.json`` has, for a text and each of its counts, the words
that change and their form when the count is 1. Qt's own forms (``%n``) allow one count a text, without our separators. Chinese
needs no such forms.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cached_property, lru_cache
from string import Formatter

from PySide6.QtCore import QCoreApplication, QObject, QTranslator, Signal

from resources import RESOURCE_FOLDER

UNKNOWN = "—"
LANGUAGES = {"en": "English", "zh": "简体中文"}
LANGUAGE_PROPERTY = "language"
"""Of the application object: a code of `LANGUAGES`."""

_CONTEXT = "orbit"
_KILO = 1024


def tr(text: str, /, **values: object) -> str:
    """The text in the language of the window, with ``{name}`` fields filled from ``values``; a count of 1 in the singular."""
    try:
        shown = QCoreApplication.translate(_CONTEXT, text)
    except UnicodeEncodeError:  # half of a pair of UTF-16, as JSON from outside may hold it: no text of ours
        shown = text
    if not values:
        return shown
    if shown == text:
        shown = _singular(text, values)
    return shown.format(**values)


Words = str | Callable[[], str]
"""A text, or a function that writes it again after a change of language; it holds a key and values, and no widget."""
QueueText = Callable[[int], str]
"""Writes a queue, from its shown number (`gui.models.queue_window.queue_text`)."""


def said(words: Words) -> str:
    return words if isinstance(words, str) else words()


def _singular(text: str, values: Mapping[str, object]) -> str:
    """The English text with the words of each count that is 1 in the singular."""
    ones = [name for name, value in values.items() if value in (1, "1") and value is not True]
    if ones:
        forms = load_singulars().get(text, {})
        for plural, singular in (forms[name] for name in ones if name in forms):
            text = text.replace(plural, singular)
    return text


@lru_cache(maxsize=1)
def load_singulars() -> dict[str, dict[str, tuple[str, str]]]:
    """English text → name of a count → the words that change when it is 1, and their singular."""
    path = RESOURCE_FOLDER / "translations" / "singular.json"
    forms = json.loads(path.read_text(encoding="utf-8"))
    return {text: {name: (plural, one) for name, (plural, one) in counts.items()} for text, counts in forms.items()}


def shown_language() -> str:
    """Code of the language of the window, see `LANGUAGES`; `gui.words.language.LanguageSwitch` stores it in the application."""
    application = QCoreApplication.instance()
    language = None if application is None else application.property(LANGUAGE_PROPERTY)
    return str(language or "en")


def spoken_forms(form: str) -> list[str]:
    """All forms of a text with fields: with all counts in the plural, and with any of them in the singular."""
    spoken = [form]
    for plural, singular in load_singulars().get(form, {}).values():
        spoken += [one.replace(plural, singular) for one in spoken]
    return spoken


def told_anew(form: str, fields: Mapping[str, str]) -> str:
    """A known text in the language of the window; a count that its singular leaves out is 1."""
    return tr(form, **dict.fromkeys(fields_of(form), "1") | dict(fields))


def fields_of(form: str) -> list[str]:
    return [name for _text, name, _spec, _conversion in Formatter().parse(form) if name is not None]


KNOWN_CHARACTERS_MAX = 3_000
"""Of a text whose form is looked for: the forms of a hostile one of 200,000 characters take minutes."""


class KnownTexts:
    """English texts of another process, recognised by their form; their names and figures stay, and so do very long texts.

    The forms have ``{name}`` fields for the variable parts, and are the keys of the catalogue.
    """

    def __init__(self, *forms: str) -> None:
        self._forms = forms

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        # Compiled at the first use: the frame is on screen before the worker writes anything.
        return [
            (form, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(spoken))))
            for form in self._forms
            for spoken in spoken_forms(form)
        ]

    def text(self, text: str, *, named: Mapping[str, Callable[[str], str]] | None = None) -> str:
        """The text in the language of the window; of an unknown form through `tr`, else unchanged.

        ``named`` has functions for fields that are texts themselves.
        """
        for form, pattern in self._patterns if len(text) <= KNOWN_CHARACTERS_MAX else ():
            found = pattern.fullmatch(text)
            if found is not None:
                fields = found.groupdict()
                return told_anew(form, {name: (named or {}).get(name, str)(value) for name, value in fields.items()})
        return tr(text)


def load_catalogue(language: str) -> dict[str, str]:
    """All texts of a language, English text → shown text. English itself has none."""
    texts: dict[str, str] = {}
    for path in sorted((RESOURCE_FOLDER / "translations" / language).glob("*.json")):
        texts.update(json.loads(path.read_text(encoding="utf-8")))
    return texts


class CatalogueTranslator(QTranslator):
    """Answers Qt's translation requests from a catalogue; Qt notifies every widget when it is installed or removed."""

    def __init__(self, texts: dict[str, str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._texts = texts

    def isEmpty(self) -> bool:
        return False

    def translate(
        self,
        context: str,
        source_text: str,
        _disambiguation: str | None = None,
        _n: int = -1,
    ) -> str | None:
        # None, a null string, makes Qt use the English text.
        return self._texts.get(source_text) if context == _CONTEXT else None


# ---- figures -----------------------------------------------------------------------------------------------------------


def is_unknown(value: float | None) -> bool:
    """Whether a figure is not known: None, NaN or infinite."""
    return value is None or not math.isfinite(value)


def count_text(value: float | None) -> str:
    """A count: ``18,402``. Negative counts mean unknown."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN
    return f"{round(value):,}"


def messages_unit(count: float) -> str:
    """The unit of a count of messages that is written separately."""
    return tr("message") if count == 1 else tr("messages")


def signed_count_text(value: float | None) -> str:
    """A change: ``+12``, ``−71``, ``0``."""
    if value is None or is_unknown(value):
        return UNKNOWN
    whole = round(value)
    sign = "+" if whole > 0 else "−" if whole < 0 else ""
    return f"{sign}{abs(whole):,}"


def short_count_text(value: float | None) -> str:
    """A count for narrow places: ``412``, ``18.4k``, ``4.3M``."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN
    if value < 10_000:
        return f"{round(value):,}"
    for factor, unit in ((1_000, "k"), (1_000_000, "M")):
        if value < factor * 999.5:
            return _three_digits(value / factor) + unit
    return _three_digits(value / 1_000_000_000) + "G"


def _three_digits(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 99.95 else f"{value:,.0f}"


def rate_number(value: float | None) -> str:
    """A rate without its unit: ``1,284``, ``7.2``, ``0.3``, ``0``."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN
    if value == 0:
        return "0"
    if value < 0.05:
        return "<0.1"
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def rate_text(value: float | None) -> str:
    """A rate: ``1,284/s``."""
    number = rate_number(value)
    return number if number == UNKNOWN else f"{number}/s"


def bytes_text(value: float | None) -> str:
    """A size in binary units: ``640 B``, ``1.9 KiB``, ``8.1 GiB``."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN
    if value < _KILO:
        return f"{round(value)} B"
    scaled = value
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        scaled /= _KILO
        if scaled < 1000 or unit == "TiB":
            break
    return f"{scaled:.1f} {unit}" if scaled < 99.95 else f"{scaled:.0f} {unit}"


def bytes_exact_text(value: float | None) -> str:
    """A size to the byte, for tooltips: ``8,697,308,774 bytes``."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN
    return tr("{count} bytes", count=f"{round(value):,}")


def byte_rate_text(value: float | None) -> str:
    """A data rate: ``1.2 MiB/s``."""
    size = bytes_text(value)
    return size if size == UNKNOWN else f"{size}/s"


def percent_text(share: float | None, digits: int = 1) -> str:
    """A share between 0 and 1: ``41.8 %``."""
    if share is None or is_unknown(share):
        return UNKNOWN
    return f"{share * 100:.{digits}f} %"


LATENCY_MAX_MS = 180_000.0
"""Longer latencies are shown as durations."""


def milliseconds_text(value: float | None) -> str:
    """A latency: ``0.31 ms``, ``4.2 ms``, ``131 ms``, ``1.2 s``; from three minutes on a duration."""
    number, unit = milliseconds_parts(value)
    return f"{number} {unit}".strip()


def milliseconds_parts(value: float | None) -> tuple[str, str]:
    """A latency as number and unit, for headlines; a duration has its units in the number."""
    if value is None or is_unknown(value) or value < 0:
        return UNKNOWN, ""
    if value >= LATENCY_MAX_MS:
        return duration_text(value), ""
    if value >= 1_000:
        return f"{value / 1_000:.1f}", "s"
    if value >= 99.5:
        return f"{value:.0f}", "ms"
    return (f"{value:.1f}", "ms") if value >= 0.995 else (f"{value:.2f}", "ms")


def duration_text(milliseconds: float | None) -> str:
    """A duration: ``0.7 s``, ``131 s`` up to three minutes, then ``14 min``, ``2 h 14 min``, ``3 d``; units translated."""
    if milliseconds is None or is_unknown(milliseconds) or milliseconds < 0:
        return UNKNOWN
    seconds = milliseconds / 1_000
    if seconds == 0:
        return tr("{seconds} s", seconds=0)
    if seconds < 180:
        return tr("{seconds} s", seconds=f"{seconds:.1f}" if seconds < 9.95 else f"{seconds:.0f}")
    minutes = int(seconds // 60)
    if minutes < 60:
        return tr("{minutes} min", minutes=minutes)
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return tr("{hours} h {minutes} min", hours=hours, minutes=minutes) if minutes else tr("{hours} h", hours=hours)
    days, hours = divmod(hours, 24)
    return tr("{days} d {hours} h", days=days, hours=hours) if hours and days < 3 else tr("{days} d", days=days)


def span_text(milliseconds: float) -> str:
    """An exact duration of a setting: ``200 ms``, ``1.5 s``, ``1 min``, ``1 min 30 s``, ``2 h``, ``3 d``."""
    if 0 < milliseconds < 1_000:
        return tr("{count} ms", count=f"{milliseconds:g}")
    seconds = milliseconds / 1_000
    sizes = (("{days} d", "days", 86_400), ("{hours} h", "hours", 3_600), ("{minutes} min", "minutes", 60))
    parts = []
    for form, name, size in sizes:
        if seconds >= size:
            parts.append(tr(form, **{name: int(seconds // size)}))
            seconds %= size
    return " ".join([*parts, tr("{seconds} s", seconds=f"{seconds:g}")] if seconds or not parts else parts)


def size_text(value: float) -> str:
    """A size of a setting: as `bytes_text`, whole ones without a fraction: ``1 GiB``, ``5.7 MiB``."""
    return bytes_text(value).replace(".0 ", " ")


def age_text(then_ms: float | None, now_ms: float) -> str:
    """Time since a moment: ``0.2 s``, ``52 min``. An unknown or never reached moment is `UNKNOWN`."""
    if then_ms is None or is_unknown(then_ms) or then_ms < 0:
        return UNKNOWN
    return duration_text(max(0.0, now_ms - then_ms))


# ---- moments -----------------------------------------------------------------------------------------------------------


LAST_MS = 253_402_214_400_000
"""The last day of the year 9999, the end of the calendar; clients may write any number as a time."""


def _no_moment(at_ms: float | None) -> str:
    """Text of a time outside the calendar: a dash if it is not known, else the number."""
    return UNKNOWN if at_ms is None or is_unknown(at_ms) or at_ms < 0 else f"{int(at_ms)} ms"


def _clock(moment: datetime, at_ms: float) -> str:
    # Lists write one for each painted row; strftime takes four times as long.
    return f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}.{int(at_ms) % 1000:03d}"


class TimeZoneChoice(QObject):
    """Format of moments: local time or UTC.

    Signals:
        changed: The zone changed; shown moments must be written again.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None, *, utc: bool = False) -> None:
        super().__init__(parent)
        self.utc = utc

    def set_utc(self, utc: bool) -> None:
        if utc != self.utc:
            self.utc = utc
            self.changed.emit()

    def toggle(self) -> None:
        self.set_utc(not self.utc)

    @property
    def zone(self) -> tzinfo | None:
        """Argument for `datetime.fromtimestamp`: None is local time."""
        return UTC if self.utc else None

    def name(self, at_ms: float) -> str:
        """The zone as ``UTC+08:00``; the offset is the one valid at ``at_ms``."""
        if self.utc:
            return "UTC"
        offset = self.moment(min(max(at_ms, 0), LAST_MS)).astimezone().strftime("%z")
        return f"UTC{offset[:3]}:{offset[3:5]}"

    def moment(self, at_ms: float) -> datetime:
        """The moment as a datetime of the chosen zone."""
        return datetime.fromtimestamp(at_ms / 1_000, tz=self.zone)

    def clock(self, at_ms: float | None) -> str:
        """``10:15:02.640``."""
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return _no_moment(at_ms)
        return _clock(self.moment(at_ms), at_ms)

    def seconds(self, at_ms: float | None) -> str:
        """``10:15:02``."""
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return _no_moment(at_ms)
        return self.moment(at_ms).strftime("%H:%M:%S")

    def minutes(self, at_ms: float | None) -> str:
        """``2026-11-21 10:15``."""
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return _no_moment(at_ms)
        return self.moment(at_ms).strftime("%Y-%m-%d %H:%M")

    def minutes_near(self, at_ms: float | None, now_ms: float) -> str:
        """``10:15`` today, ``minutes`` on other days."""
        text = self.minutes(at_ms)
        return text.removeprefix(f"{self.moment(now_ms).date()} ")

    def full(self, at_ms: float | None) -> str:
        """``2026-11-21 10:15:02.640``."""
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return _no_moment(at_ms)
        moment = self.moment(at_ms)
        return f"{moment.date()} {_clock(moment, at_ms)}"

    def seconds_near(self, at_ms: float | None, now_ms: float) -> str:
        """``10:15:02`` today, ``11-21 10:15:02`` in the same year, with the year in others."""
        text = self.seconds(at_ms)
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return text
        day, today = self.moment(at_ms).date(), self.moment(now_ms).date()
        if day == today:
            return text
        return f"{day:%m-%d} {text}" if day.year == today.year else f"{day} {text}"

    def shown(self, at_ms: float | None, now_ms: float) -> str:
        """``clock`` today, ``full`` on other days."""
        if at_ms is None or not 0 <= at_ms <= LAST_MS:
            return _no_moment(at_ms)
        moment = self.moment(at_ms)
        day, clock = moment.date(), _clock(moment, at_ms)
        return clock if day == self.moment(now_ms).date() else f"{day} {clock}"
