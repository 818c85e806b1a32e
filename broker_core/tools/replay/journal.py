"""The folder of one replay: messages to send, their order, and the result of each message.

    plan.json         where to, how, how many; written when all messages are in the spool
    messages.spool    i32 bytes | msgpack of a ReplayItem          (per message)
    messages.index    i64 order in ms | i64 position in the spool  (per message)
    receipt.jsonl     one line per message; {"handed": n} comes before the messages up to the n-th are sent, {"held": […]}
                      names those of them that were not sent after all, {"again": […]} those of an earlier run, held or
                      refused there, that are about to be sent by this one. Of "status", "unknown" says that no answer
                      came: the message may be there; "failed" is surely not, unless it says "maybeStored"

A replay that ended early resumes from here: messages in "handed" without a line of their own may be at the broker already, so
they are sent again and marked. The messages are those of the first search, whatever the store holds by now.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from broker_core.errors import CodecError, UsageError
from broker_core.kept_file import replace_file
from broker_core.outside import read_json
from broker_core.tools.line_file import LineFile
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget

PLAN_FILE = "plan.json"
SPOOL_FILE = "messages.spool"
INDEX_FILE = "messages.index"
RECEIPT_FILE = "receipt.jsonl"
PLAN_VERSION = 1

_NOT_DONE = ("failed", "unknown")
"""Results after which the next run sends a message again."""
_LENGTH = struct.Struct(">i")
_INDEX = struct.Struct("<qq")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What a replay does.

    Attributes:
        source: Where the messages came from, in words.
        name_servers: Of the target cluster.
        body_bytes: Bytes of the messages' bodies as stored.
        saved_as: Name of the saved connection to that cluster, which has its keys; empty for none.
    """

    source: str
    name_servers: str
    target: ReplayTarget
    pace: Pace
    count: int
    body_bytes: int
    saved_as: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "version": PLAN_VERSION,
            "source": self.source,
            "nameServers": self.name_servers,
            "target": asdict(self.target),
            "pace": asdict(self.pace),
            "count": self.count,
            "bodyBytes": self.body_bytes,
            "connection": self.saved_as,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ReplayPlan:
        """Plan of a file; raises `CodecError` when it is none."""
        if not isinstance(values, dict) or values.get("version") != PLAN_VERSION:
            raise CodecError("the plan of the replay is none, or of another version of Orbit")
        try:
            return cls(
                source=str(values["source"]),
                name_servers=str(values["nameServers"]),
                target=ReplayTarget.from_json(values["target"]),
                pace=Pace.from_json(values["pace"]),
                count=int(values["count"]),
                body_bytes=int(values["bodyBytes"]),
                saved_as=str(values.get("connection", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CodecError(f"the plan of the replay is not whole: {error}") from error


class Spool:
    """Writes messages to a new folder; `finish` writes the plan, which makes it a replay.

    Raises `UsageError` when the folder holds a replay already, or cannot be made or written.
    """

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self.body_bytes = 0
        self._folder = folder
        self._position = 0
        self._last_ms: dict[tuple[str, int], int] = {}
        if (folder / PLAN_FILE).exists():
            raise UsageError(f"{folder} holds a replay already: go on with it (--resume), or name another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._spool: BinaryIO = (folder / SPOOL_FILE).open("wb")
            self._index: BinaryIO = (folder / INDEX_FILE).open("wb")
        except OSError as error:
            raise _not_kept(folder, error) from error

    def add(self, item: ReplayItem) -> None:
        """Append a message. Messages of one queue keep their order even if the broker's clock was set back."""
        data = item.pack()
        queue = (item.topic, item.queue_id)
        order_ms = max(item.store_timestamp_ms, self._last_ms.get(queue, item.store_timestamp_ms))
        self._last_ms[queue] = order_ms
        try:
            self._spool.write(_LENGTH.pack(len(data)))
            self._spool.write(data)
            self._index.write(_INDEX.pack(order_ms, self._position))
        except OSError as error:
            raise _not_kept(self._folder, error) from error
        self._position += _LENGTH.size + len(data)
        self.count += 1
        self.body_bytes += len(item.body)

    def close(self) -> None:
        """Close the files, and delete them if `finish` was not called."""
        for file in (self._spool, self._index):
            with contextlib.suppress(OSError):  # `add` or `finish` has raised it
                file.close()
        if not (self._folder / PLAN_FILE).exists():
            for name in (SPOOL_FILE, INDEX_FILE):
                (self._folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # a folder that holds something else stays
                self._folder.rmdir()

    def finish(self, plan: ReplayPlan) -> None:
        """Sync everything to the disk, the plan last."""
        try:
            for file in (self._spool, self._index):
                file.flush()
                os.fsync(file.fileno())
            replace_file(self._folder / PLAN_FILE, json.dumps(plan.as_json(), ensure_ascii=False, indent=1).encode())
        except OSError as error:
            raise _not_kept(self._folder, error) from error


@dataclass(slots=True)
class Progress:
    """Results of the messages so far."""

    sent: int = 0
    failed: int = 0
    skipped: int = 0
    in_doubt: int = 0
    """Sent again after a replay ended early: these may be at the target twice."""
    unknown: int = 0
    """Sent without an answer, in this run or before, and not sent again yet."""

    def __str__(self) -> str:
        parts = [f"{self.sent:,} sent"]
        parts += [f"{self.failed:,} failed"] if self.failed else []
        parts += [f"{self.unknown:,} without an answer may be there"] if self.unknown else []
        parts += [f"{self.skipped:,} left out"] if self.skipped else []
        parts += [f"{self.in_doubt:,} may be there twice"] if self.in_doubt else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one message.

    Attributes:
        number: Its place in the replay, from 0.
        status: ``sent``, ``failed`` (surely not at the target), ``unknown`` (it may be) or ``skipped``.
        more: Further values of its line in the receipt.
    """

    number: int
    item: ReplayItem
    status: str
    more: dict[str, Any] = field(default_factory=dict)


class ReplayJournal:
    """An open replay, which no other process can have open.

    Raises `UsageError` when there is none, another process works on it, or it cannot be read;
    `CodecError` when its files are damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.progress = Progress()
        self._handed = 0
        self._refused_before: set[int] = set()
        with contextlib.ExitStack() as files:
            try:
                self.plan = ReplayPlan.from_json(read_json((folder / PLAN_FILE).read_text("utf-8")))
                self._receipt = files.enter_context(contextlib.closing(LineFile(folder / RECEIPT_FILE, "a+b")))
                self._spool: BinaryIO = files.enter_context((folder / SPOOL_FILE).open("rb"))
                self._orders_ms, self._positions = self._read_order()
            except OSError as error:
                raise _not_opened(folder, error) from error
            except ValueError as error:
                raise CodecError(f"{folder / PLAN_FILE} is no JSON: {error}") from error
            self._done = bytearray(self.plan.count)
            self._receipt.take_in(self._take_in)
            self._handed_before = self._handed
            self._unknown = {number for number in self._not_done() if self.is_in_doubt(number)}
            self.progress.unknown = len(self._unknown)
            self._files = files.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        with self._files:
            self._receipt.sync()

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def left(self) -> int:
        """Messages without a result, and those that failed."""
        return self._done.count(False)

    def open_items(self) -> Iterator[tuple[int, int, ReplayItem]]:
        """Number, order in ms and message of each that is to be sent, in order."""
        for number in self._not_done():
            yield number, self._orders_ms[number], self._item(self._positions[number])

    def _not_done(self) -> list[int]:
        return [number for number, is_done in enumerate(self._done) if not is_done]

    def is_in_doubt(self, number: int) -> bool:
        """Whether an earlier run may have sent it."""
        return number < self._handed_before and number not in self._refused_before

    def hand_on(self, numbers: Sequence[int]) -> None:
        """Record that messages are about to be sent, so that after a kill they are known to be in doubt."""
        up_to = max(numbers, default=-1) + 1
        again = [number for number in numbers if number in self._refused_before]
        if up_to > self._handed:
            self._handed = up_to
            self._receipt.write([{"handed": up_to}])
        if again:
            self._receipt.write([{"again": again}])

    def hold(self, numbers: Sequence[int]) -> None:
        """Record that messages were not sent after `hand_on`; those in doubt for another reason stay so."""
        self._receipt.write([{"held": [number for number in numbers if not self.is_in_doubt(number)]}])

    def note(self, results: Sequence[Result]) -> None:
        self._receipt.write(_line(result) for result in results)
        for result in results:
            self._count(result.number, result.status)

    def sync(self) -> None:
        self._receipt.sync()

    def _count(self, number: int, status: str) -> None:
        (self._unknown.add if status == "unknown" else self._unknown.discard)(number)
        self.progress.unknown = len(self._unknown)
        if status in _NOT_DONE:
            self.progress.failed += status == "failed"
            return
        self._done[number] = True
        if status == "sent":
            self.progress.sent += 1
            self.progress.in_doubt += self.is_in_doubt(number)
        else:
            self.progress.skipped += 1

    def _item(self, position: int) -> ReplayItem:
        self._spool.seek(position)
        head = self._spool.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise CodecError(f"{SPOOL_FILE} in {self._folder} ends at {position:,}, in the midst of its messages")
        return ReplayItem.unpack(self._spool.read(_LENGTH.unpack(head)[0]))

    def _read_order(self) -> tuple[array[int], array[int]]:
        """Order in ms and place in the spool of each message, in the order in which they are sent."""
        data = (self._folder / INDEX_FILE).read_bytes()
        count = len(data) // _INDEX.size
        if count != self.plan.count:
            text = f"{INDEX_FILE} in {self._folder} names {count:,} messages, the plan {self.plan.count:,}"
            raise CodecError(f"{text}: the replay cannot go on")
        index = array("q", data[: count * _INDEX.size])
        if sys.byteorder == "big":
            index.byteswap()
        orders_ms, positions = index[::2], index[1::2]
        order = sorted(range(count), key=orders_ms.__getitem__)
        return array("q", map(orders_ms.__getitem__, order)), array("q", map(positions.__getitem__, order))

    def _take_in(self, values: Mapping[str, Any]) -> None:
        handed, held, again, number = (values.get(name) for name in ("handed", "held", "again", "number"))
        if isinstance(handed, int):
            self._handed = max(self._handed, handed)
        elif isinstance(held, list):
            self._refused_before.update(held)
        elif isinstance(again, list):
            self._refused_before.difference_update(again)
        elif isinstance(number, int) and 0 <= number < self.plan.count:
            if values.get("status") in _NOT_DONE:
                # A refused message is surely not there; an unanswered one may be.
                (self._refused_before.discard if values.get("maybeStored") else self._refused_before.add)(number)
            else:
                self._done[number] = True
                self.progress.sent += values.get("status") == "sent"
                self.progress.skipped += values.get("status") == "skipped"
                self.progress.in_doubt += bool(values.get("maybeTwice"))


def _not_kept(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"the replay cannot be kept in {folder}: {error.strerror}. Name another with --journal")


def _not_opened(folder: Path, error: OSError) -> UsageError:
    if isinstance(error, BlockingIOError):
        return UsageError(f"another process is at work on the replay in {folder}: end it first")
    if isinstance(error, FileNotFoundError) and error.filename == str(folder / PLAN_FILE):
        return UsageError(f"{folder} holds no replay that can go on: there is no {PLAN_FILE}")
    return UsageError(f"the replay in {folder} cannot be opened: {error.strerror}, {error.filename}")


def _line(result: Result) -> dict[str, Any]:
    item = result.item
    return {
        "number": result.number,
        "status": result.status,
        "originId": item.origin_id,
        "originTopic": item.topic,
        "originQueueId": item.queue_id,
        "originQueueOffset": item.queue_offset,
        **result.more,
    }
