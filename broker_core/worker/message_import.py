"""Messages of files for the composer: rows of an export or of a table made by hand, or whole files as bodies.

Unlike a replay, which gathers any number in a folder, this holds them in memory, so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.resent_properties import resent_properties
from broker_core.worker.questions.stored_messages import SendMessage

IMPORT_MESSAGES_MAX = 100_000
IMPORT_BYTES_MAX = 64 * 1024 * 1024


def read_imports(paths: Sequence[Path], template: SendMessage) -> list[SendMessage]:
    """Messages of at least one file, in their order. Reads files, so not on a thread that must not wait.

    A file whose name ends in .jsonl, .csv or .parquet has a message in each row, under the names of an export; the only
    required column is a body: ``body`` in Base64, or ``bodyText`` as text. Any other file is one body. ``template`` has the
    topic of rows without one, and all but the body for whole files.

    Raises `UsageError` for an unreadable file, or more than can be held; `CodecError` names a row that is no message.
    """
    found: list[SendMessage] = []
    body_bytes = 0
    for path in paths:
        for message in _messages(path, template):
            found.append(message)
            body_bytes += len(message.body)
            if len(found) > IMPORT_MESSAGES_MAX or body_bytes > IMPORT_BYTES_MAX:
                raise UsageError(
                    f"{path.name} brings more than {IMPORT_MESSAGES_MAX:,} messages or {IMPORT_BYTES_MAX >> 20} MiB of bodies: "
                    "replay the file instead, which takes any number"
                )
    if not found:
        raise UsageError(f"{', '.join(path.name for path in paths)}: there is no message in it")
    return found


def _messages(path: Path, template: SendMessage) -> Iterator[SendMessage]:
    # Compression and file formats take time to load; a window that imports nothing does not load them.
    from broker_core.protocol.message.body import decompress_body
    from broker_core.tools.replay.item import item_of_row
    from broker_core.tools.search.export import FORMATS, read_rows

    if path.suffix.lower().removeprefix(".") in FORMATS:
        now_ms = wall_clock_ms()
        for number, row in read_rows(path):
            where = f"message {number:,} of {path.name}"
            # A table has a cell for the topic in every row, also where it was left empty.
            item = item_of_row(row if row.get("topic") else row | {"topic": template.topic}, where, now_ms)
            if not item.body:
                raise CodecError(f"{where} has an empty body, which brokers refuse")
            properties = resent_properties(item.properties, item.origin_id, without_delay=False)
            try:
                body = decompress_body(item.sys_flag, item.body)
            except CodecError as error:
                raise CodecError(
                    f"{where}: {error.message}. Replay the file instead, which sends it as it was stored"
                ) from error
            yield SendMessage(item.topic, -1, body, properties, item.flag)
        return
    try:
        size = path.stat().st_size
        if size > IMPORT_BYTES_MAX:
            raise UsageError(f"{path.name} has {size:,} bytes; a body that is imported may have {IMPORT_BYTES_MAX:,}")
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    if not body:
        raise UsageError(f"{path.name} is empty, and brokers refuse empty bodies")
    yield replace(template, body=body)
