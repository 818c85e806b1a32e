"""A folder of messages as Parquet, which is continued by reading only new messages.

    DIR/orbit-parquet.json        the manifest, see below; replaced atomically after all new parts are on the disk
    DIR/orbit-parquet.lock        held by the run that continues it
    DIR/parts/….parquet           parts of the logs, in the columns of `spark_reports.datasource.schema`

    format        1
    columns       names of the columns; the body among them only if that was requested at the beginning
    stores        of each store: its directory; begin and end, physical offsets between which it was read; last, the last record
                  read (offset, bytes, store_ms, body_crc), which identifies the log; damage (offset, reason, bytes);
                  tail_bytes of an incomplete record at the end, 0: none
    parts         file, store, bytes, rows, store_bytes, first_ms and last_ms (store times)

A part that is not in the manifest is left from a cancelled run, and the next run removes it. A folder of an older Orbit that
lacks a column of today is prepared again when it is continued, if the logs still hold all its messages.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from broker_core.errors import CorruptStoreError, ForeignStoreError, ReportError, UsageError
from broker_core.kept_file import replace_file
from broker_core.outside import read_json
from broker_core.platform import locks

FORMAT = 1
MANIFEST = "orbit-parquet.json"
LOCK = "orbit-parquet.lock"
PARTS = "parts"


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The last record that was read of a log; it identifies the log."""

    offset: int
    bytes: int
    store_ms: int
    body_crc: int


@dataclass(frozen=True, slots=True)
class PreparedDamage:
    """A place of a log that could not be read."""

    offset: int
    reason: str
    bytes: int


@dataclass(frozen=True, slots=True)
class PreparedStore:
    """The part of one store that was read."""

    store: str
    begin: int
    end: int
    last: LastRecord | None = None
    damage: tuple[PreparedDamage, ...] = ()
    tail_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PreparedPart:
    """One file; times are store times in epoch milliseconds."""

    file: str
    store: str
    bytes: int
    rows: int
    store_bytes: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class PreparedFolder:
    """Content of a folder; ``parts`` in the order of the logs."""

    path: Path
    columns: tuple[str, ...]
    stores: tuple[PreparedStore, ...] = ()
    parts: tuple[PreparedPart, ...] = field(default=())

    def file(self, part: PreparedPart) -> Path:
        return self.path / PARTS / part.file

    def store(self, name: str) -> PreparedStore | None:
        """The part of a store that was read, None if it was not."""
        return next((one for one in self.stores if one.store == name), None)

    def save(self) -> None:
        """Write the manifest; raises `ReportError` if that fails."""
        data = {"format": FORMAT, "columns": self.columns, "stores": [asdict(one) for one in self.stores],
                "parts": [asdict(one) for one in self.parts]}  # fmt: skip
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
        try:
            replace_file(self.path / MANIFEST, text.encode())
        except OSError as error:
            raise ReportError(
                f"{self.path / MANIFEST} cannot be written: {error.strerror}. What was prepared before is untouched.",
                path=str(self.path),
            ) from error


def open_folder(path: Path) -> PreparedFolder:
    """Content of a folder, after checking that its parts have the right sizes.

    Raises:
        ForeignStoreError: It is no folder of prepared messages, or one of another Orbit.
        CorruptStoreError: Its manifest or a part is damaged.
    """
    manifest = path / MANIFEST
    if not manifest.is_file():
        raise ForeignStoreError(
            f"{path} holds no prepared messages: there is no {MANIFEST}. Prepare some with "
            "report --parquet DIR --store STORE, or check the path.",
            path=str(path),
        )
    try:
        found = _read(path, read_json(manifest.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise CorruptStoreError(
            f"{manifest} is damaged: {error!r}. Remove {path} and prepare the messages anew.", file=str(manifest), position=0
        ) from error
    for part in found.parts:
        file = found.file(part)
        there = file.stat().st_size if file.is_file() else None
        if there != part.bytes:
            what = "is missing" if there is None else f"has {there:,} bytes"
            raise CorruptStoreError(
                f"{file} {what}; the manifest names {part.bytes:,} bytes with {part.rows:,} messages. Put it back, or remove "
                f"{path} and prepare the messages anew.",
                file=str(file),
                position=there or 0,
            )
    return found


def _read(path: Path, data: Mapping[str, Any]) -> PreparedFolder:
    if data["format"] != FORMAT:
        raise ForeignStoreError(
            f"{path} was prepared by another Orbit: its format is {data['format']}, this one knows {FORMAT}. "
            "Prepare the messages into another folder.",
            path=str(path),
        )
    stores = [
        PreparedStore(
            str(one["store"]), int(one["begin"]), int(one["end"]), LastRecord(**one["last"]) if one["last"] else None,
            tuple(PreparedDamage(**place) for place in one["damage"]), int(one["tail_bytes"]),
        )
        for one in data["stores"]
    ]  # fmt: skip
    parts = tuple(PreparedPart(**one) for one in data["parts"])
    for part in parts:
        if Path(part.file).name != part.file:
            raise ValueError(f"a part is called {part.file}")
    return PreparedFolder(path, tuple(map(str, data["columns"])), tuple(stores), parts)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock a folder against other runs for the duration of the block; creates the folder.

    Raises:
        UsageError: Another run continues it, or it has other content.
        ReportError: The folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in path.iterdir()}
        if names and not names & {MANIFEST, LOCK}:
            raise UsageError(f"{path} holds other files and no {MANIFEST}. Name a new or empty folder.", path=str(path))
        lock = (path / LOCK).open("w")
    except OSError as error:
        raise ReportError(
            f"messages cannot be prepared in {path}: {error.strerror}. Choose another folder.", path=str(path)
        ) from error
    with lock:
        try:
            locks.lock_file(lock.fileno())
        except OSError as error:
            raise UsageError(f"another run continues {path} at this moment. Wait for its end.", path=str(path)) from error
        (path / PARTS).mkdir(exist_ok=True)
        yield


def clean(folder: PreparedFolder) -> None:
    """Remove parts that are not in the manifest."""
    named = {part.file for part in folder.parts}
    for file in (folder.path / PARTS).iterdir():
        if file.name not in named:
            file.unlink()
