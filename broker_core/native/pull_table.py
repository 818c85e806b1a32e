"""The memory of the kernel that serves pulls (`broker_core.native.pulls`), and its calls. For one thread."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import pulls
from broker_core.native.addresses import address
from broker_core.native.lane_table import KEY_BYTES_MAX, LaneTable, anonymous
from broker_core.native.library import Function, Library
from broker_core.native.queue_rows import QueueRows

CODES_MAX: Final = 1 << 14
"""Tags codes of all filters; the next one empties the table of lanes."""
_WORD: Final = 8
_LOG: Final = 3
"""Which argument of the kernel is the file of the log."""


class PullTable:
    """Lanes of pulls. Its memory never moves, and takes the machine's where it is used.

    Args:
        library: The machine code; None runs the kernel in Python, which is for tests.
        data: Where what is received lies.
        out: Where answers go.
        rows: Of the queues, with their units.
        seen: Pieces of the log that are in memory: rows of the piece, and until when that counts.

    Attributes:
        state: Columns of `broker_core.native.lanes` and `broker_core.native.pull_columns`.
        lanes: The lanes.
    """

    def __init__(
        self,
        library: Library | None,
        rows: QueueRows,
        seen: memoryview,
        *,
        data: memoryview | None = None,
        out: memoryview | None = None,
    ) -> None:
        self.lanes = LaneTable()
        self.state = self.lanes.state
        self.data, self.out = data or anonymous(p.DATA_BYTES), out or anonymous(p.OUT_BYTES)
        self.state[k.OUT_END] = len(self.out)
        self._codes = anonymous(_WORD * CODES_MAX).cast("q")
        self._codes_end = 0
        self._codes_at: dict[frozenset[int], int] = {}
        self._pieces = anonymous(_WORD * 2 * p.PIECES_MAX).cast("q")
        self._touched = anonymous(_WORD * len(self.lanes.slots)).cast("q")
        self._scratch = anonymous(p.FRAME_BYTES_MAX)
        self._log = memoryview(b"")
        self._arguments = [
            self.state, self.data, self.out, self._log, rows.table, self.lanes.lanes, self.lanes.slots, self.lanes.texts,
            rows.tails, self._codes, seen, self._pieces, self._touched, memoryview(p.MARKS), self._scratch,
        ]  # fmt: skip
        self._function: Function | None = None if library is None else library.function("serve_pulls")
        self._addresses = array("q", [address(argument) if len(argument) else 0 for argument in self._arguments])
        self._table = address(self._addresses)

    def serve(self) -> int:
        """Serve pulls; returns why it stopped."""
        return pulls.serve_pulls(*self._arguments) if self._function is None else self._function(self._table)

    def use_log(self, mapped: memoryview) -> None:
        """Set the file of the log that records are read from; it stays mapped until the next one is set."""
        self._log = self._arguments[_LOG] = mapped
        self._addresses[_LOG] = address(mapped) if len(mapped) else 0

    def pieces(self) -> list[memoryview]:
        """The body of the last answer, which was not copied."""
        places = self._pieces[: 2 * self.state[p.PIECES]].tolist()
        return [self._log[place : place + size] for place, size in zip(places[::2], places[1::2], strict=True)]

    def touched(self) -> list[int]:
        """Lanes that were served, as rows times `LANE_COLUMNS`; none from now on."""
        found = self._touched[: self.state[k.TOUCHED]].tolist()
        self.state[k.TOUCHED] = 0
        return found

    # ---- lanes ----

    def key(self) -> bytes:
        """The key of the frame in front of which the kernel stopped without a lane."""
        return bytes(self._scratch[: self.state[k.KEY_BYTES]])

    def has_room(self, key: bytes) -> bool:
        """Whether a lane fits; else `forget` makes room."""
        return self.lanes.has_room(len(key) + p.ANSWER_BYTES_MAX) and self._codes_end < CODES_MAX // 2

    def add_lane(self, kind: int, key: bytes) -> int:
        """The lane of a key, made if there is none; -1 for a key that is too long. The caller has asked `has_room`."""
        lane = self.lanes.find(kind, key)
        if lane >= 0 or len(key) > KEY_BYTES_MAX:
            return lane
        return self.lanes.add(kind, key, b"", {})

    def set_lane(self, lane: int, columns: Mapping[int, int], parts: list[bytes], codes: frozenset[int]) -> bool:
        """Set what a lane's pulls are served by; False where its filter takes too much room."""
        at = self._place_of(codes)
        if at < 0:
            return False
        for number, part in enumerate(parts):
            self._set_part(lane, number, part)
        values = {**columns, p.P_CODES_AT: at, p.P_CODES: len(codes), k.L_IS_OPEN: 1}
        for column, value in values.items():
            self.lanes.lanes[lane + column] = value
        return True

    def _set_part(self, lane: int, number: int, part: bytes) -> None:
        if number < 4:
            self.lanes.part(lane, number, part)
            return
        self.lanes.lanes[lane + p.P_LAST_PART_AT] = self.lanes.text(part)
        self.lanes.lanes[lane + p.P_LAST_PART_BYTES] = len(part)

    def _place_of(self, codes: frozenset[int]) -> int:
        at = self._codes_at.get(codes)
        if at is None:
            at = self._codes_end
            if at + len(codes) > CODES_MAX:
                return -1
            self._codes[at : at + len(codes)] = memoryview(array("q", codes))
            self._codes_end += len(codes)
            self._codes_at[codes] = at
        return at

    def forget(self) -> None:
        """Forget all lanes and filters."""
        self.lanes.forget()
        self._codes_end = 0
        self._codes_at.clear()
