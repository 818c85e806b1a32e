"""Found messages as files: JSON Lines, CSV and Parquet, and back to rows.

A file is written under a temporary name and renamed when it is whole. All three formats hold the same values under the same
names (`row_names.NAMES`), bodies in Base64 except in Parquet, so each can be read back without loss.
"""

from __future__ import annotations

import base64
import codecs
import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TextIO

from broker_core.delimited_text import BYTE_ORDER_MARK, new_csv, open_csv, read_csv, write_csv
from broker_core.errors import CodecError, UsageError
from broker_core.outside import read_json
from broker_core.parts import PARQUET, require
from broker_core.platform import files, replacing
from broker_core.tools.search.row_names import MASKED, NAMES, Row

FORMATS = ("jsonl", "csv", "parquet")

_PARTIAL_SUFFIX = ".part"
_PARQUET_ROWS = 4_096
_PARQUET_BYTES = 16 * 1024 * 1024
"""A row group is written when it holds this many rows or this many bytes of bodies."""
_READ_ROWS = 512
_TEXT_COLUMNS = frozenset(("topic", "bornHost", "storeHost", "bodySha256", "offsetMsgId", MASKED))
_NUMBERS = frozenset(NAMES) - _TEXT_COLUMNS - {"properties", "body"}

_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))

WriteRow = Callable[[Row], None]


class _Parquet(Protocol):
    """The part of pyarrow's writer in use, which has no types."""

    def write_table(self, table: object) -> None: ...
    def close(self) -> None: ...


@contextmanager
def exported(path: Path | None, form: str, names: Sequence[str] = NAMES) -> Iterator[WriteRow]:
    """A function that writes rows to a file in one of `FORMATS`, or to standard output without a path.

    Raises `UsageError` when the file cannot be made, or Parquet has no file.
    """
    if path is None:
        if form == "parquet":
            raise UsageError("Parquet is no text: name a file with --out")
        if form == "csv" and _needs_mark(sys.stdout):
            sys.stdout.write(BYTE_ORDER_MARK)
        yield _text_writer(form, sys.stdout, names)
        sys.stdout.flush()
        return
    with _written_beside(path) as beside:
        if form == "parquet":
            with _ParquetFile(beside, names) as file:
                yield file.write
            with beside.open("r+b") as written:  # Windows syncs no file that is open for reading only
                _sync(written)
        else:
            with new_csv(beside) if form == "csv" else beside.open("w", encoding="utf-8", newline="") as text:
                yield _text_writer(form, text, names)
                text.flush()
                _sync(text)


@contextmanager
def _written_beside(path: Path) -> Iterator[Path]:
    """A temporary path that replaces ``path`` at the end, and is deleted after an error.

    A device or a pipe is written itself: replaced, ``/dev/null`` would be a file from then on. So is the target of a link.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    beside = path.with_name(path.name + _PARTIAL_SUFFIX)
    try:
        beside.open("wb").close()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}. Choose another file") from error
    try:
        yield beside
        replacing.replace(beside, path)
        files.sync_directory(path.absolute().parent)
    except BaseException as error:
        written = beside.stat().st_size if beside.exists() else 0
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise UsageError(
                f"{path} was not written: {os.strerror(error.errno)}, after {written:,} bytes; nothing of it is left. "
                "Make room, or choose a file on another disk"
            ) from error
        raise


def _sync(file: IO[Any]) -> None:
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # nothing else can be synced
        os.fsync(file.fileno())


def _text_writer(form: str, file: TextIO, names: Sequence[str]) -> WriteRow:
    if form == "jsonl":
        return lambda row: _write_line(file, row)
    write_csv(file, [names])
    return lambda row: write_csv(file, [map(_cell, row.values())])


def _needs_mark(out: TextIO) -> bool:
    """Whether an output in UTF-8 was sent to a file by the shell: a mark would be a part of the first name in a pipe."""
    try:
        return stat.S_ISREG(os.fstat(out.fileno()).st_mode) and codecs.lookup(out.encoding).name == "utf-8"
    except OSError:
        return False  # tests and other programs may have put something else in its place


def _write_line(file: TextIO, row: Row) -> None:
    file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict) else value


class _ParquetFile:
    """Rows as a Parquet file; bodies are bytes in it, properties a map."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        require(PARQUET)
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._arrow = pa
        kinds = {"properties": pa.map_(pa.string(), pa.string()), "body": pa.binary()}
        kinds |= dict.fromkeys(_TEXT_COLUMNS, pa.string())
        self._schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in names])
        self._file: _Parquet = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def write(self, row: Row) -> None:
        body = base64.b64decode(row["body"])
        self._rows.append({**row, "body": body, "properties": list(row["properties"].items())})
        self._bytes += len(body)
        if len(self._rows) >= _PARQUET_ROWS or self._bytes >= _PARQUET_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._bytes = [], 0


# ---- and back ----------------------------------------------------------------------------------------------------------


def format_of(path: Path) -> str:
    """Format of a file by its name; raises `UsageError` for another ending."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        names = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{path.name} does not say what it is: files end in {names}")
    return form


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Rows of an exported file with their numbers from 1; the values equal those passed to `exported`.

    Raises `UsageError` when the file cannot be read or has no known format, and `CodecError` with the number of a bad row.
    """
    read = {"jsonl": _read_lines, "csv": _read_csv, "parquet": _read_parquet}[format_of(path)]
    try:
        yield from enumerate(read(path), 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CodecError(f"{path} is no UTF-8 text: byte {error.start:,} of a block is wrong") from error


def _read_lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = read_json(line)
            except ValueError as error:
                raise CodecError(f"line {number:,} of {path.name} is no JSON: {error}") from error
            if not isinstance(row, dict):
                raise CodecError(f"line {number:,} of {path.name} is no JSON object")
            yield row


def _read_csv(path: Path) -> Iterator[Row]:
    with open_csv(path) as file:
        lines = ((line, cells) for line, cells in _csv_lines(file, path.name) if cells)
        _first, names = next(lines, (0, []))
        for line, cells in lines:
            yield _typed(names, cells, f"line {line:,} of {path.name}")


def _csv_lines(file: TextIO, name: str) -> Iterator[tuple[int, list[str]]]:
    try:
        yield from read_csv(file)
    except CodecError as error:
        raise CodecError(f"{name} is {error.message}") from error


def _typed(names: list[str], cells: list[str], where: str) -> Row:
    if len(names) != len(cells):
        raise CodecError(f"{where} has not as many cells as the first line has names")
    try:
        return {name: _value(name, text) for name, text in zip(names, cells, strict=True)}
    except ValueError as error:
        raise CodecError(f"{where} cannot be read: {error}") from error


def _value(name: str, text: str) -> object:
    if name == "properties":
        return read_json(text) if text else {}
    if name in _NUMBERS:
        return int(text) if text else None
    return None if name == "bodySha256" and not text else text


def _read_parquet(path: Path) -> Iterator[Row]:
    require(PARQUET)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_READ_ROWS):
                for row in batch.to_pylist():
                    yield _from_parquet(row)
    except pa.ArrowInvalid as error:
        raise CodecError(f"{path.name} is no Parquet file, or is damaged: {error}") from error


def _from_parquet(row: Row) -> Row:
    body = row.get("body")
    if isinstance(body, bytes):
        row["body"] = base64.b64encode(body).decode()
    if isinstance(row.get("properties"), list):
        row["properties"] = dict(row["properties"])
    return row


def body_bytes(row: Row, where: str) -> bytes:
    """Body of a row: ``body`` in Base64, or ``bodyText`` of a row made by hand; raises `CodecError` without a valid one."""
    text = row.get("body")
    plain = row.get("bodyText")
    if not text and isinstance(plain, str):
        return plain.encode("utf-8", "surrogatepass")
    if not isinstance(text, str):
        raise CodecError(f"{where} has no body")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:  # binascii.Error is one; a character that is not ASCII is another
        raise CodecError(f"the body of {where} is no Base64: {error}") from error
