"""Files of ``config/``: read as fastjson wrote them, written as strict JSON, with the former content as ``.bak``.

RocketMQ writes maps with integer keys without quotes (``{0:7,1:9}``), which is no JSON; it reads quoted keys as well. Files
named ``.properties`` hold lines ``key=value`` instead.

Source: docs/spec/store.md §7.1.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from broker_core.engine.store.disk import Disk, is_no_space
from broker_core.errors import CodecError, CorruptStoreError, StoreError, StoreFullError
from broker_core.kept_file import EMPTY, Found, KeptFile, backup_path
from broker_core.protocol.properties_text import format_properties, parse_properties

_STRING_OR_BARE_KEY = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|(?P<before>[{,]\s*)(?P<key>-?\d+)(?=\s*:)', re.DOTALL)

_json = json.JSONEncoder(indent="\t", separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode

_SETTING_LINE = re.compile(r"\s*(?:[#!].*|[\w.-]+\s*=.*)?")
_DIGITS = re.compile(r"-?[0-9]{1,19}")
_EXACT_MAX = 2**53
"""Whole numbers up to this one are exact with a decimal point, too."""

Take = Callable[[Mapping[str, Any]], object]
Value = TypeVar("Value")


def parse_config(text: str) -> dict[str, Any]:
    """Object of a configuration file's text, bare integer keys included; all keys are text.

    Raises:
        ValueError: The text is no JSON object, or an object in it has a member twice.
    """
    value = json.loads(_STRING_OR_BARE_KEY.sub(_quote_key, text), object_pairs_hook=_object_of)
    if not isinstance(value, dict):
        raise ValueError(f"a configuration file holds an object, not {type(value).__name__}")  # noqa: TRY004  one kind for the caller
    return value


def _object_of(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        name = next(name for number, (name, _value) in enumerate(members) if name in dict(members[:number]))
        # 4.9.4 takes the first offsetTable of two, 5.3.3 the last, and each loses the groups of the other without a word.
        raise ValueError(f"“{name}” is there twice, and versions of RocketMQ take different ones: remove the one that is wrong")
    return found


def _quote_key(match: re.Match[str]) -> str:
    if match["key"] is None:
        return match[0]
    return f'{match["before"]}"{match["key"]}"'


class ConfigEntry(Protocol):
    """An entry of a file's table; immutable."""

    def to_json(self) -> Mapping[str, Any]: ...


class EntryTexts:
    """Texts of a table's entries at the last write, so that only new entries are encoded (15 µs each)."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ConfigEntry, str]] = {}

    def of(self, entries: Mapping[str, ConfigEntry]) -> list[str]:
        """Texts of the entries with their names, in order of the names. On one thread at a time."""
        known, self._known = self._known, {}
        for name in sorted(entries):
            entry, found = entries[name], known.get(name)
            if found is None or found[0] is not entry:
                found = entry, f"{_json(name)}:{_inside(_inside(_json(entry.to_json())))}"
            self._known[name] = found
        return [text for _entry, text in self._known.values()]


class EntryTable:
    """A snapshot of a file's table; `text` encodes it later, on any thread.

    Writes of one table share ``texts`` and follow each other.
    """

    def __init__(self, entries: Mapping[str, ConfigEntry], texts: EntryTexts) -> None:
        self._entries = dict(entries)
        self._texts = texts

    def text(self) -> str:
        return _object(self._texts.of(self._entries), "\t")


def format_config(content: Mapping[str, Any]) -> str:
    """Text of a configuration file in RocketMQ's form: tabs, fields in alphabetical order, no space after the colon."""
    return _object([f"{_json(key)}:{_value(content[key])}" for key in sorted(content)])


def _value(value: object) -> str:
    return value.text() if isinstance(value, EntryTable) else _inside(_json(value))


def _object(fields: list[str], indent: str = "") -> str:
    return f"{{\n{indent}\t" + f",\n{indent}\t".join(fields) + f"\n{indent}}}" if fields else "{}"


def _inside(text: str) -> str:
    """A value's text, indented as in an object. Strings of JSON contain no line ends."""
    return text.replace("\n", "\n\t")


def parse_content(name: str, data: bytes) -> Mapping[str, Any]:
    """Content of a configuration file, a byte order mark passed over.

    Args:
        name: Of the file, which says its format; that of its backup will do.
        data: Its bytes.

    Raises:
        ValueError: They are damaged.
        RecursionError: They are nested too deeply.
    """
    text = data.decode("utf-8-sig")
    return _settings_of(text) if _is_properties(name) else parse_config(text)


def _settings_of(text: str) -> dict[str, str]:
    if not text.endswith("\n"):
        raise ValueError("its last line has no end")
    for number, line in enumerate(text.splitlines(), 1):
        if _SETTING_LINE.fullmatch(line) is None:
            raise ValueError(f"line {number} is no key=value")
    return parse_properties(text)


def _is_properties(name: str) -> bool:
    return name.removesuffix(".bak").endswith(".properties")


def others_in(content: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Members that this version does not know, for example of a later RocketMQ: a rewrite keeps them."""
    return {key: value for key, value in content.items() if key not in known}


def object_in(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object that a configuration file holds.

    Raises:
        CodecError: It is missing, or something else.
    """
    found = content.get(key)
    if not isinstance(found, Mapping):
        raise CodecError(f"it has no object “{key}”")
    return found


def whole_number(value: object, what: str) -> int:
    """A number of 64 bits, its digits as text, or a whole number such as ``2.0``, which RocketMQ takes as well.

    Raises:
        CodecError: It is something else; names ``what``.
    """
    is_digits = isinstance(value, str) and _DIGITS.fullmatch(value) is not None
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_MAX
    number = int(value) if isinstance(value, str | float) and (is_digits or is_whole) else value
    if isinstance(number, bool) or not isinstance(number, int) or not -(2**63) <= number < 2**63:
        raise CodecError(f"{what} should be a whole number, not {str(value)[:100]!r}")
    return number


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """What becomes of a file of which neither it nor its backup can be used.

    Attributes:
        effect: What a start without the file means.
        is_rebuilt: Whether the broker starts all the same, because the content comes back or is of no consequence.
        by_hand: What a person may write into the file instead, if that is short.
    """

    effect: str
    is_rebuilt: bool = False
    by_hand: str = ""


class Loaded(NamedTuple, Generic[Value]):
    """Value of a file or its backup, None without one, and what a person must know of the file; empty where it is sound."""

    value: Value | None
    report: str


class ConfigFile:
    """One file below ``config/``.

    Args:
        path: The file.
        disk: The operating system.
    """

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self.path = path
        self._kept = KeptFile(path, partial(parse_content, path.name), replace=(disk or Disk()).replace_file)

    @property
    def is_there(self) -> bool:
        """Whether there is a file or a backup, or something else in its place."""
        return any(map(os.path.lexists, (self.path, backup_path(self.path))))

    def look(self, take: Take = lambda _content: None) -> Found[Mapping[str, Any]]:
        """Content of the file, else of its backup; nothing on the disk is changed.

        Args:
            take: Takes the content over; raises CodecError where it is not what it should be, and changes nothing then.

        Raises:
            StoreError: The operating system refuses.
        """
        return _look(self._kept, take)

    def load(self, take: Take, rule: ConfigRule, *, holds_messages: Callable[[], bool]) -> tuple[Mapping[str, Any], str]:
        """Content as `look` finds it, and what was wrong; a damaged file is set aside, a backup that was used takes its place.

        Args:
            take: As for `look`.
            rule: What becomes of the file where neither it nor its backup can be used.
            holds_messages: Whether the store holds messages; without them an empty file has lost nothing.

        Raises:
            CorruptStoreError: Neither can be used, and the rule is not to start then; both are left alone.
            StoreError: The operating system refuses.
        """
        loaded = load_kept(self._kept, take, rule, holds_messages=holds_messages)
        return loaded.value or {}, loaded.report

    def save(self, content: Mapping[str, Any]) -> None:
        """Replace the file at once; the former content becomes its backup.

        Raises:
            StoreFullError: There is no room; the former file is still in place.
            StoreError: Another fault of the operating system; likewise.
        """
        text = format_properties(content) if _is_properties(self.path.name) else format_config(content)
        try:
            self._kept.write(text.encode(errors="backslashreplace"))  # a lone surrogate as JSON escapes it
        except OSError as error:
            raise _not_written(self.path, error) from error


def load_kept(
    kept: KeptFile[Value], take: Callable[[Value], object], rule: ConfigRule, *, holds_messages: Callable[[], bool]
) -> Loaded[Value]:
    """Value of a kept file or its backup, and what was wrong; see `ConfigFile.load`."""
    found = _look(kept, take)
    if found.value is None and found.faults and not rule.is_rebuilt and (not _is_blank(found) or holds_messages()):
        raise _refusal(kept.path, found, rule)
    try:
        kept.sweep()
        aside = kept.mend(found) if found.faults.get(kept.path.name) or found.is_backup else []
    except OSError as error:
        raise _not_written(kept.path, error) from error
    return Loaded(found.value, report_of(kept.path, found, rule, aside))


def _look(kept: KeptFile[Value], take: Callable[[Value], object]) -> Found[Value]:
    try:
        return kept.read(take)
    except OSError as error:
        raise StoreError(
            f"{error.filename or kept.path} cannot be read: {error.strerror}. Check its permissions", file=str(kept.path)
        ) from error


def _refusal(path: Path, found: Found[Value], rule: ConfigRule) -> CorruptStoreError:
    by_hand = f", or write {rule.by_hand} into it" if rule.by_hand else ""
    return CorruptStoreError(
        f"{path} cannot be used, nor its backup ({found.faults_text}). Without it {rule.effect}. "
        f"Restore the file from a copy{by_hand}; to start without it, move it and its .bak away",
        file=str(path),
        position=0,
    )


def _not_written(path: Path, error: OSError) -> StoreError:
    kind = StoreFullError if is_no_space(error) else StoreError
    return kind(f"{path} cannot be written: {error.strerror}; its former content is kept", file=str(path))


def _is_blank(found: Found[Value]) -> bool:
    return set(found.faults.values()) == {EMPTY}


def report_of(path: Path, found: Found[Value], rule: ConfigRule, kept: Sequence[Path] = ()) -> str:
    """What a person must know of a file that was read; empty where the file is sound, or was never written."""
    aside = f". It is kept as {', '.join(one.name for one in kept)}" if kept else ""
    if found.is_backup:
        fault = found.faults.get(path.name)
        state = f"cannot be used ({fault})" if fault else "is missing"
        return f"config/{path.name} {state}: its backup is used, without the changes after it{aside}"
    if found.value is None and found.faults:
        return f"config/{path.name} cannot be used, nor its backup ({found.faults_text}): {rule.effect}{aside}"
    return ""
