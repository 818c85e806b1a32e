"""Rows of the Store page over a `StorePicture`."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.administration import StorePicture


@dataclass(frozen=True, slots=True)
class LogFileShape:
    """A file of the commit log; shares from 0 to 1 of its length.

    Attributes:
        base: Its first offset, which is its name.
        first_ms: Store time of its first record, -1 while there is none.
        written: Share that is filled.
        flushed: Share that is on the disk.
    """

    base: int
    first_ms: int
    written: float
    flushed: float


@dataclass(frozen=True, slots=True)
class QueueTopicRow:
    """Consume queues of a topic; ``behind`` entries are in memory only."""

    topic: str
    queues: int
    entries: int
    behind: int
    size: int


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index file. Times are ms since the epoch; ``size`` in bytes."""

    name: str
    entries: int
    capacity: int
    begin_ms: int
    end_ms: int
    size: int


@dataclass(frozen=True, slots=True)
class CleaningRow:
    """A run of cleaning; ``number`` distinguishes runs of the same moment."""

    number: int
    at_ms: int
    trigger: str
    log_files: int
    queue_files: int
    index_files: int
    log_bytes: int
    error: str


def log_shapes(picture: StorePicture) -> list[LogFileShape]:

    def share(end: int, base: int) -> float:
        return min(1.0, max(0.0, (end - base) / picture.log_file_bytes)) if picture.log_file_bytes > 0 else 0.0

    return [
        LogFileShape(base, first_ms, share(picture.log_end, base), share(picture.log_flushed, base))
        for base, first_ms in zip(picture.log_base, picture.log_first_ms, strict=True)
    ]


def queue_rows(picture: StorePicture) -> list[QueueTopicRow]:
    columns = (picture.queue_topic, picture.queue_count, picture.queue_entries, picture.queue_behind, picture.queue_bytes)
    return [QueueTopicRow(*row) for row in zip(*columns, strict=True)]


def index_rows(picture: StorePicture) -> list[IndexRow]:
    columns = (
        picture.index_name, picture.index_entries, picture.index_capacity, picture.index_begin_ms, picture.index_end_ms,
        picture.index_bytes,
    )  # fmt: skip
    return [IndexRow(*row) for row in zip(*columns, strict=True)][::-1]


def cleaning_rows(picture: StorePicture) -> list[CleaningRow]:
    columns = (
        picture.clean_ms, picture.clean_trigger, picture.clean_log_files, picture.clean_queue_files,
        picture.clean_index_files, picture.clean_log_bytes, picture.clean_error,
    )  # fmt: skip
    return [CleaningRow(number, *row) for number, row in enumerate(zip(*columns, strict=True))][::-1]
