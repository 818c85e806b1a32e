"""Names inside a store directory.

    abort  checkpoint  lock  orbit.owner  orbit.queues  orbit.cut/  orbit.faults/
    commitlog/<20 digits>
    consumequeue/<topic>/<queue id>/<20 digits>
    consumequeue_ext/<topic>/<queue id>/<20 digits>
    index/<17 digits>
    config/<name>.json  config/<name>.json.bak

Names that begin with ``orbit.`` are ours; a real broker ignores them.

Source: docs/spec/store.md §1.1, §1.2.
"""

from __future__ import annotations

import re
from pathlib import Path

from broker_core.platform.file_names import decoded

OFFSET_NAME_DIGITS = 20

_OFFSET_NAME = re.compile(r"\d{20}")
_QUEUE_ID = re.compile(r"\d{1,9}")
_TOPIC = re.compile(r"[%|a-zA-Z0-9_+-]+")
TOPIC_CHARACTERS_MAX = 255


def offset_name(offset: int) -> str:
    """File name of a base offset."""
    return f"{offset:0{OFFSET_NAME_DIGITS}d}"


def offset_files(directory: Path) -> list[tuple[Path, int]]:
    """Path and base offset of the files named by offset in a directory, ascending; a missing directory has none."""
    if not directory.is_dir():
        return []
    names = (entry.name for entry in directory.iterdir())
    return [(directory / name, int(name)) for name in sorted(names) if _OFFSET_NAME.fullmatch(name)]


def is_topic_name(topic: str) -> bool:
    """Whether a topic name may become a directory name: letters, digits, ``%``, ``|``, ``_``, ``-`` and ``+``."""
    return len(topic) <= TOPIC_CHARACTERS_MAX and _TOPIC.fullmatch(topic) is not None


def queue_directories(consume_queue_directory: Path) -> list[tuple[str, int, Path]]:
    """Topic, queue id and directory of each consume queue on disk, by topic and queue id."""
    if not consume_queue_directory.is_dir():
        return []
    found = [
        (topic, int(queue.name), queue)
        for topic, folder in topic_folders(consume_queue_directory).items()
        for queue in folder.iterdir()
        if _QUEUE_ID.fullmatch(queue.name) and queue.is_dir()
    ]
    return sorted(found, key=lambda entry: entry[:2])


def topic_folders(directory: Path) -> dict[str, Path]:
    """Topic and folder of each topic that has one in a directory of queues or of their extensions.

    Of two folders for one topic the one with its plain name counts.
    """
    folders = sorted(entry for entry in directory.iterdir() if entry.is_dir()) if directory.is_dir() else []
    encoded = {decoded(folder.name): folder for folder in folders}
    return encoded | {folder.name: folder for folder in folders if decoded(folder.name) == folder.name}


class StorePaths:
    """Paths under one store root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.abort = root / "abort"
        self.checkpoint = root / "checkpoint"
        self.lock = root / "lock"
        self.owner = root / "orbit.owner"
        self.queue_manifest = root / "orbit.queues"
        self.cut = root / "orbit.cut"
        self.faults = root / "orbit.faults"
        self.commit_log = root / "commitlog"
        self.consume_queue = root / "consumequeue"
        self.consume_queue_ext = root / "consumequeue_ext"
        self.index = root / "index"
        self.config = root / "config"

    def queue(self, folder: str, queue_id: int) -> Path:
        """Directory of one consume queue; ``folder`` is the topic's (`broker_core.engine.store.topic_folders`)."""
        return self.consume_queue / folder / str(queue_id)

    def queue_extension(self, folder: str, queue_id: int) -> Path:
        """Directory of the extension of one consume queue."""
        return self.consume_queue_ext / folder / str(queue_id)
