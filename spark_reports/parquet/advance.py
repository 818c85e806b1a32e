"""Continues a folder of prepared messages: reads the logs after its end and adds the messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from broker_core.errors import ForeignStoreError, OrbitError, UsageError
from broker_core.outside import read_json
from spark_reports.datasource.log_files import first_offset, head_at, log_files
from spark_reports.datasource.plan import Continued, FileRange, ReadPlan, grouped, ranges_from
from spark_reports.datasource.schema import MESSAGES
from spark_reports.parquet.folder import (
    MANIFEST,
    PARTS,
    LastRecord,
    PreparedDamage,
    PreparedFolder,
    PreparedPart,
    PreparedStore,
    clean,
    held,
    open_folder,
)
from spark_reports.parquet.parts import PARTS_FORMAT, ParquetPartsDataSource
from spark_reports.parquet.records import DERIVED

BODY = "body"


@dataclass(frozen=True, slots=True)
class Addition:
    """The source of an addition; without ``bodies`` as the folder has it."""

    stores: Sequence[str]
    directories: Sequence[Path] = ()
    bodies: bool | None = None


def advance(
    spark: SparkSession, path: Path, addition: Addition, began: Callable[[int], None] = lambda _tasks: None
) -> PreparedFolder:
    """Add new messages; return the folder's new content. A missing folder is created.

    ``began`` is called with the number of tasks before they run.

    Raises:
        ForeignStoreError: The folder belongs to other stores, or a store's log is not the one that was read before.
        CorruptStoreError: The folder is damaged.
        UsageError: Another run continues it; or it has bodies and the addition has none, or the other way round.
        ReportError: It cannot be written.
    """
    with held(path):
        before = _folder(path, addition)
        clean(before)
        folder = _with_all_columns(before, addition)
        stores = _absolute([*addition.stores, *(one.store for one in before.stores if folder is not before)])
        found = {store: _new(folder.store(store), store, addition) for store in stores}
        tasks = [task for one in found.values() for task in grouped(one.ranges)]
        began(len(tasks))
        written = _written(spark, folder, tasks)
        folder = _with(folder, found, written)
        folder.save()
        clean(folder)
    return folder


def _with_all_columns(folder: PreparedFolder, addition: Addition) -> PreparedFolder:
    """An empty folder in place of one that an older Orbit prepared without a column of today, so that all is read again.

    The folder stays if a log has lost some of its messages: better without a column than without messages.
    """
    columns = (*MESSAGES.names, *([BODY] if BODY in folder.columns else []))
    if set(columns) <= {*folder.columns, *DERIVED}:
        return folder
    for one in folder.stores:
        try:
            _check_same(one, addition.directories)
            is_whole = first_offset(one.store, addition.directories) <= one.begin
        except OrbitError:
            is_whole = False
        if not is_whole:
            return folder
    return PreparedFolder(folder.path, columns)


def _absolute(stores: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(str(Path(store).absolute()) for store in stores))


def _folder(path: Path, addition: Addition) -> PreparedFolder:
    if not (path / MANIFEST).is_file():
        return PreparedFolder(path, (*MESSAGES.names, *([BODY] if addition.bodies else [])))
    folder = open_folder(path)
    known = [one.store for one in folder.stores]
    strange = [store for store in _absolute(addition.stores) if store not in known]
    if strange:
        raise ForeignStoreError(
            f"{path} holds messages of {', '.join(known)}, and {strange[0]} is another store. "
            "Prepare that into another folder.",
            path=str(path),
        )
    if addition.bodies is not None and addition.bodies != (BODY in folder.columns):
        raise UsageError(
            f"{path} was begun {'with' if BODY in folder.columns else 'without'} bodies, and that stays so. "
            "Prepare into another folder to have it otherwise.",
            path=str(path),
        )
    return folder


def _new(known: PreparedStore | None, store: str, addition: Addition) -> Continued:
    if known is not None:
        _check_same(known, addition.directories)
    start = first_offset(store, addition.directories) if known is None else known.end
    return ranges_from(store, start, directories=addition.directories)


def _check_same(known: PreparedStore, directories: Sequence[Path]) -> None:
    """Refuse a log that is not the one that was read before: it ends too early, or its last record has changed."""
    files = log_files(Path(known.store), directories)
    end = files[-1].base + files[-1].size if files else 0
    if end < known.end:
        raise ForeignStoreError(
            f"the log of {known.store} ends at {end:,}, and was read up to {known.end:,} before: it was cut or replaced. "
            "Prepare it into another folder.",
            path=known.store,
        )
    last = known.last
    holder = next((file for file in files if last and file.base <= last.offset < file.base + file.size), None)
    if last is None or holder is None:
        return  # nothing was read, or the broker has cleaned it away since
    if head_at(holder, last.offset, last.bytes) != (last.bytes, last.store_ms, last.body_crc):
        raise ForeignStoreError(
            f"the log of {known.store} is not the one that was read before: its record at {last.offset:,} is another one. "
            "Prepare it into another folder.",
            path=known.store,
        )


def _written(
    spark: SparkSession, folder: PreparedFolder, tasks: Sequence[tuple[FileRange, ...]]
) -> list[tuple[PreparedPart | None, LastRecord | None, list[PreparedDamage], str]]:
    if not tasks:
        return []
    spark.dataSource.register(ParquetPartsDataSource)
    reader = spark.read.format(PARTS_FORMAT).option("plan", ReadPlan(tuple(tasks)).to_json())
    reader = reader.option("folder", str((folder.path / PARTS).absolute())).option("columns", json.dumps(folder.columns))
    rows = sorted(reader.load().toArrow().to_pylist(), key=lambda row: int(row["task"]))
    return [
        (
            PreparedPart(**read_json(row["part"])) if row["part"] else None,
            LastRecord(**read_json(row["last"])) if row["last"] else None,
            [PreparedDamage(**place) for place in read_json(row["damage"])],
            tasks[row["task"]][0].store,
        )
        for row in rows
    ]


def _with(
    folder: PreparedFolder,
    found: dict[str, Continued],
    written: Sequence[tuple[PreparedPart | None, LastRecord | None, list[PreparedDamage], str]],
) -> PreparedFolder:
    stores = {one.store: one for one in folder.stores}
    for store, new in found.items():
        begin = new.ranges[0].base_offset + new.ranges[0].start if new.ranges else new.end
        before = stores.get(store) or PreparedStore(store, begin, new.end)
        own = [one for one in written if one[3] == store]
        last = next((one for _, one, _, _ in reversed(own) if one is not None), before.last)
        damage = (*before.damage, *(place for _, _, places, _ in own for place in places))
        tail_bytes = new.tail.byte_count if new.tail else 0
        stores[store] = replace(before, end=new.end, last=last, damage=damage, tail_bytes=tail_bytes)
    parts = (*folder.parts, *(part for part, _, _, _ in written if part is not None))
    return replace(folder, stores=tuple(stores.values()), parts=parts)
