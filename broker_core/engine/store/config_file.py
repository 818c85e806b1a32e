"""Files of ``config/``: read as fastjson wrote them, written as strict JSON, with the former content as ``.bak``.

RocketMQ writes maps with integer keys without quotes (``{0:7,1:9}``), which is no JSON; it reads quoted keys as well. Files
named ``.properties`` hold lines ``key=value`` instead.

Source: docs/spec/store.md §7.1.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from broker_core.engine.store.disk import Disk, is_no_space
from broker_core.errors import CorruptStoreError, StoreError, StoreFullError
from broker_core.protocol.properties_text import format_properties, parse_properties

_STRING_OR_BARE_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<before>[{,]\s*)(?P<key>-?\d+)(?=\s*:)')

_json = json.JSONEncoder(indent="\t", separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode

_log = logging.getLogger(__name__)


def parse_config(text: str) -> dict[str, Any]:
    """Object of a configuration file's text, bare integer keys included; all keys are text.

    Raises:
        ValueError: The text is no JSON object.
    """
    value = json.loads(_STRING_OR_BARE_KEY.sub(_quote_key, text))
    if not isinstance(value, dict):
        raise ValueError(f"a configuration file holds an object, not {type(value).__name__}")  # noqa: TRY004  one kind for the caller
    return value


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
        """The table as JSON text."""
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


def _is_properties(path: Path) -> bool:
    return path.name.endswith((".properties", ".properties.bak"))


def backup_path(path: Path) -> Path:
    """Path of the former content."""
    return path.with_name(path.name + ".bak")


def load_config(path: Path) -> dict[str, Any]:
    """Content of a configuration file, or of its backup if it is missing or broken; empty without both.

    Raises:
        CorruptStoreError: The backup is broken, and the file is missing or broken as well.
        StoreError: The operating system refuses.
    """
    faults: list[str] = []
    for candidate in (path, backup_path(path)):
        try:
            text = candidate.read_text("utf-8")
            if text.strip():
                return dict(parse_properties(text)) if _is_properties(candidate) else parse_config(text)
            faults.append(f"{candidate.name} is empty")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(
                f"{candidate} cannot be read: {error.strerror}. Check its permissions", file=str(candidate)
            ) from error
        except ValueError as error:
            faults.append(f"{candidate.name}: {error}")
            _log.warning("%s cannot be read (%s)", candidate, error)
    if faults and backup_path(path).exists() and backup_path(path).stat().st_size:
        raise CorruptStoreError(
            f"{path} cannot be read, nor can its backup: {'; '.join(faults)}. Repair one of them, or move both away to start "
            "with defaults",
            file=str(path),
            position=0,
        )
    return {}


def save_config(path: Path, content: Mapping[str, Any], disk: Disk | None = None) -> None:
    """Replace a configuration file atomically; the former content becomes its backup.

    Raises:
        StoreFullError: There is no room; the former file is still in place.
        StoreError: Another fault of the operating system; likewise.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _keep_backup(path)
        text = format_properties(content) if _is_properties(path) else format_config(content)
        (disk or Disk()).replace_file(path, text.encode())
    except OSError as error:
        kind = StoreFullError if is_no_space(error) else StoreError
        raise kind(f"{path} cannot be written: {error.strerror}; its former content is kept", file=str(path)) from error


def _keep_backup(path: Path) -> None:
    """Link the old bytes to the backup's name, which the replacement of the file leaves alone."""
    backup = backup_path(path)
    staged = backup.with_name(f".{backup.name}.new")
    staged.unlink(missing_ok=True)
    os.link(path, staged)
    staged.replace(backup)
