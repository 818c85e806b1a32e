"""The receipt of a copy: one file of JSON lines with the plan and the result of each part; a copy resumes from it.

    {"orbitCopy": 1, "plan": {…}}                                     first line, written before anything is changed
    {"topic": NAME, "did": "created"}   {"group": NAME, …}            settings
    {"handed": PART, "upTo": OFFSET}                                  messages before this source offset may be sent from now on
    {"copied": PART, "from": OFFSET, "count": N, "at": OFFSET}        N neighbours of the source are N neighbours of the target
        with "maybeTwice": true   they were sent again after no answer came, so they may be there twice
        with "found": true        no answer came, but they were found at the target
    {"leftOut": PART, "from": OFFSET, "count": N, "reason": …}        surely not at the target
    {"gone": PART, "from": OFFSET, "count": N}                        the source has no message at these offsets
    {"offset": GROUP, "part": PART, "set": OFFSET, "before": …}       or "notSet": the reason
    {"ended": …, "messages": {…}}                                     each time a run ends

Every source offset of the plan is in exactly one line of copied, leftOut and gone when the copy is complete.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from broker_core.errors import UsageError
from broker_core.tools.copying.plan import CopyPlan
from broker_core.tools.line_file import Line, LineFile

RECEIPT_VERSION = 1


@dataclass(slots=True)
class Counts:
    """Results of the messages so far."""

    copied: int = 0
    left_out: int = 0
    gone: int = 0
    maybe_twice: int = 0
    unknown: int = 0
    """Unanswered when a run ended; the next run looks for them at the target. Counted when a run has ended."""

    @property
    def done(self) -> int:
        return self.copied + self.left_out + self.gone

    def __str__(self) -> str:
        parts = [f"{self.copied:,} copied"]
        parts += [f"{self.unknown:,} without an answer may be there"] if self.unknown else []
        parts += [f"{self.left_out:,} left out"] if self.left_out else []
        parts += [f"{self.gone:,} no longer at the source"] if self.gone else []
        parts += [f"{self.maybe_twice:,} may be there twice"] if self.maybe_twice else []
        return ", ".join(parts)


@dataclass(slots=True)
class PartState:
    """Progress of a part.

    Attributes:
        next_offset: Of the source; all before it are done.
        handed: Messages of earlier runs below this source offset may have been sent.
        target_end: The target queue held nothing of this part from here on when it was last read.
        positions: Source offset of a group → offset of the first copied message from there on.
    """

    next_offset: int
    handed: int
    target_end: int
    positions: dict[int, int | None]


class CopyReceipt:
    """An open receipt, which no other process can have open. Without a ``plan`` it resumes the one in the file.

    Raises `UsageError` when the file cannot be made or read, exists already, is no receipt, or another process works on it;
    `CodecError` when its first line is damaged.
    """

    def __init__(self, path: Path, plan: CopyPlan | None = None) -> None:
        self.path = path
        self.counts = Counts()
        self.settings_done: set[tuple[str, str]] = set()
        """("topic" or "group", name) whose settings are done."""
        self.offsets_done: set[tuple[str, int]] = set()
        """(group, part) whose offset was set."""
        self.is_resumed = plan is None
        self._handed: dict[int, int] = {}
        """CopyPart → source offset up to which this run may have sent."""
        with contextlib.ExitStack() as files:
            try:
                self._file = files.enter_context(contextlib.closing(LineFile(path, "r+b" if plan is None else "x+b")))
            except OSError as error:
                raise _not_opened(path, error) from error
            if plan is None:
                self.plan = self._read_plan()
            else:
                self.plan = plan
                self._begin(plan, files)
            self.parts = [
                PartState(part.first, part.first, part.to_offset, self._wanted_positions(part.number))
                for part in self.plan.parts
            ]
            if plan is None:
                self._file.take_in(self._take_in)
            self._files = files.pop_all()

    def _begin(self, plan: CopyPlan, files: contextlib.ExitStack) -> None:
        """Write the first line; where there is no room for it, no file is left that nothing could go on from."""
        try:
            self._write({"orbitCopy": RECEIPT_VERSION, "plan": asdict(plan)})
            self.sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                files.close()
            self.path.unlink(missing_ok=True)
            raise _not_opened(self.path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        with self._files:
            self.sync()

    @property
    def left(self) -> int:
        """Messages without a result."""
        return self.plan.count - self.counts.done

    # ---- results of a run ----------------------------------------------------------------------------------------------

    def setting(self, kind: str, name: str, did: str) -> None:
        """Record that a topic's or group's settings are done."""
        self._write({kind: name, "did": did})
        self.settings_done.add((kind, name))

    def hand_on(self, part: int, up_to: int) -> None:
        """Record that messages of a part before a source offset are about to be sent."""
        self._write({"handed": part, "upTo": up_to})
        self._handed[part] = up_to

    def copied(self, part: int, first: int, count: int, at: int, **more: bool) -> None:
        """Record that neighbours are at the target."""
        line = {"copied": part, "from": first, "count": count, "at": at, **{name: True for name, on in more.items() if on}}
        self._write(line)
        self._take_copied(line)

    def left_out(self, part: int, first: int, reason: str) -> None:
        """Record that one message is surely not at the target, and will not be."""
        line = {"leftOut": part, "from": first, "count": 1, "reason": reason}
        self._write(line)
        self._take_in(line)

    def gone(self, part: int, first: int, count: int) -> None:
        """Record that the source has no messages at these offsets."""
        line = {"gone": part, "from": first, "count": count}
        self._write(line)
        self._take_in(line)

    def offset_set(self, group: str, part: int, offset: int, before: int | None) -> None:
        """Record that the offset of a group in the target queue of a part was set."""
        self._write({"offset": group, "part": part, "set": offset, "before": before})
        self.offsets_done.add((group, part))

    def offset_not_set(self, group: str, part: int, reason: str) -> None:
        self._write({"offset": group, "part": part, "notSet": reason})

    def ended(self, how: str) -> None:
        """Record the end of a run: messages about to be sent and without a result may be at the target."""
        counts = self.counts
        counts.unknown = sum(
            max(self._handed.get(number, state.handed) - state.next_offset, 0) for number, state in enumerate(self.parts)
        )
        messages = {
            "planned": self.plan.count, "copied": counts.copied, "leftOut": counts.left_out, "gone": counts.gone,
            "maybeTwice": counts.maybe_twice, "unknown": counts.unknown, "left": self.left,
        }  # fmt: skip
        self._write({"ended": how, "messages": messages})

    def sync(self) -> None:
        self._file.sync()

    def _write(self, line: Line) -> None:
        self._file.write([line])

    # ---- reading the file ----------------------------------------------------------------------------------------------

    def _wanted_positions(self, part: int) -> dict[int, int | None]:
        return {row.offset: None for row in self.plan.offsets if row.part == part}

    def _read_plan(self) -> CopyPlan:
        values = self._file.first()
        if values is None or "orbitCopy" not in values:
            raise UsageError(f"{self.path} is no receipt of a copy")
        if values["orbitCopy"] != RECEIPT_VERSION:
            raise UsageError(f"{self.path} is a receipt of another version of Orbit: {values['orbitCopy']!r}")
        return CopyPlan.from_json(values.get("plan", {}))

    def _take_in(self, values: Line) -> None:
        if "copied" in values:
            self._take_copied(values)
        elif "leftOut" in values or "gone" in values:
            name = "leftOut" if "leftOut" in values else "gone"
            count = int(values["count"])
            if name == "gone":
                self.counts.gone += count
            else:
                self.counts.left_out += count
            self.parts[values[name]].next_offset = int(values["from"]) + count
        elif "handed" in values:
            state = self.parts[values["handed"]]
            state.handed = int(values["upTo"])
        elif "offset" in values and "set" in values:
            self.offsets_done.add((str(values["offset"]), int(values["part"])))
        else:
            self.settings_done.update((kind, str(values[kind])) for kind in ("topic", "group") if kind in values)

    def _take_copied(self, values: Line) -> None:
        first, count, at = int(values["from"]), int(values["count"]), int(values["at"])
        state = self.parts[values["copied"]]
        state.next_offset = first + count
        state.target_end = max(state.target_end, at + count)
        for wanted, known in state.positions.items():
            if known is None and wanted < first + count:
                state.positions[wanted] = at + max(wanted - first, 0)
        self.counts.copied += count
        self.counts.maybe_twice += count if values.get("maybeTwice") else 0


def _not_opened(path: Path, error: OSError) -> UsageError:
    if isinstance(error, BlockingIOError):
        return UsageError(f"another process is at work on the copy of {path}: end it first")
    if isinstance(error, FileNotFoundError):
        return UsageError(f"there is no file {path}, or no folder for it")
    if isinstance(error, FileExistsError):
        return UsageError(f"{path} exists already: go on with it (--resume), or name another file with --receipt")
    return UsageError(f"the receipt {path} cannot be opened or written: {error.strerror}. Name another file with --receipt")
