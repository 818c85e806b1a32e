"""`Recorder` turns cluster states, one a second, into rows of the history.

A sample is first in memory, after at most `JOURNAL_SLOTS` seconds in the journal, and at the end of its minute in rows; a
crash loses only samples in memory. All of this runs on one thread. `Recorder.lock` protects the block in memory, which a query
copies when it begins to read.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from struct import Struct

import numpy as np

from broker_core.platform import memory
from broker_core.worker.questions.figures import Catalog
from monitoring.history.database import PRESENT, Numbers, set_meta, transaction
from monitoring.history.figures import KindSample, Names, samples_of
from monitoring.history.open_block import OpenBlock, SubjectRows
from monitoring.history.tiers import GAP_MS, TIERS, encode
from monitoring.state import ClusterState

_LAYOUT = Struct("<q")

_HELD_BEFORE = """
SELECT old.subject, old.layout, old.data FROM subjects JOIN points AS old ON old.rowid=(
    SELECT rowid FROM points WHERE tier=0 AND subject=subjects.id AND start<? ORDER BY start DESC LIMIT 1
) WHERE old.held=1 AND old.start>=?
"""


logger = logging.getLogger(__name__)

STEP_MS = TIERS[0].step_ms
GAP_SLOTS = GAP_MS // STEP_MS
JOURNAL_SLOTS = 5
RowTuple = tuple[int, int, int, int, int, bytes]
"""A row of ``points`` in the order of its columns."""


class ReplacedTime:
    """Deletes older seconds as a run covers them, and continues held values of a longer run after it. Within transactions.

    The run begins with slot ``begin``.
    """

    def __init__(self, connection: sqlite3.Connection, begin: int) -> None:
        self._connection = connection
        self._begin = begin
        self._end = begin
        self._held: dict[int, tuple[int, bytes]] = {}
        """Held values, at the end, of the run around this one: layout and data by subject."""

    def go_on(self, end: int) -> None:
        """Cover the time until a slot."""
        begin_ms, end_ms = self._begin * STEP_MS, end * STEP_MS
        query = "SELECT begin_ms, end_ms FROM runs WHERE begin_ms<? AND end_ms>? AND begin_ms<>?"
        others = self._connection.execute(query, (end_ms, self._end * STEP_MS, begin_ms)).fetchall()
        if others:
            around_ms = max((other_ms for other_ms, _end_ms in others if other_ms < begin_ms), default=-1)
            if around_ms >= 0:
                self._follow(around_ms // STEP_MS, end)
            self._connection.execute("DELETE FROM points WHERE tier=0 AND start>=? AND start<?", (self._end, end))
            for other_begin_ms, other_end_ms in others:
                if other_begin_ms > begin_ms:
                    self._cut(other_begin_ms, other_end_ms, end_ms)
        self._end = end

    def end(self) -> None:
        """End the run at the last slot of `go_on`."""
        query = "SELECT 1 FROM runs WHERE begin_ms<? AND end_ms>? LIMIT 1"
        if self._held and self._connection.execute(query, (self._begin * STEP_MS, self._end * STEP_MS)).fetchone():
            rows = [(0, subject, self._end, 1, layout, data) for subject, (layout, data) in self._held.items()]
            self._connection.executemany("INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _follow(self, around: int, end: int) -> None:
        if self._end == self._begin:
            rows = self._connection.execute(_HELD_BEFORE, (self._begin, around))
            self._held = {subject: (layout, data) for subject, layout, data in rows}
        query = "SELECT subject, held, layout, data FROM points WHERE tier=0 AND start>=? AND start<? ORDER BY start"
        for subject, held, layout, data in self._connection.execute(query, (self._end, end)):
            if held:
                self._held[subject] = (layout, data)
            else:
                self._held.pop(subject, None)

    def _cut(self, other_begin_ms: int, other_end_ms: int, end_ms: int) -> None:
        """Keep only the later part of a run that began within this one."""
        self._connection.execute("DELETE FROM runs WHERE begin_ms=?", (other_begin_ms,))
        if other_end_ms > end_ms:
            self._connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (end_ms, other_end_ms))


class Recorder:
    """Writes one database. ``pace`` is called between pieces of work; it may pause, to leave the processor to the broker."""

    def __init__(self, connection: sqlite3.Connection, *, pace: Callable[[], None] = lambda: None) -> None:
        self.lock = threading.Lock()
        self.block: OpenBlock | None = None
        self._connection = connection
        self._pace = pace
        self._numbers = Numbers(connection)
        self._names = Names(_NO_CATALOG)
        self._ids: dict[str, tuple[object, list[int]]] = {}
        self._run_ms = 0
        self._journaled = 0
        self._replaced = ReplacedTime(connection, 0)
        self.writes = 0
        """Writes of samples to the disk."""
        self._is_torn = False
        """Whether samples of a run that ended with an error may still be in the journal."""
        self._held: dict[int, bytes] = {}
        """Constant values of a subject since its last row: layout and data, in one piece because there are thousands."""
        self._replay()

    def add(self, state: ClusterState) -> None:
        """Add a state; a second one in the same second is dropped.

        Raises:
            sqlite3.Error: It cannot be written. Samples that are in no journal are lost, and a new run begins.
        """
        slot = state.taken_ms // STEP_MS
        block = self.block
        if block is not None and block.last - GAP_SLOTS < slot <= block.last:
            return
        if block is not None and not block.last < slot <= block.last + GAP_SLOTS:
            # A clock set back begins a new run, and so does a gap.
            self.end_run()
        elif block is not None and slot >= block.end:
            self._commit()
        if self.block is None:
            self._begin_block(slot)
        self._put(slot, state)
        if slot - self._journaled >= JOURNAL_SLOTS:
            self._write_journal()

    def end_run(self) -> None:
        """Write all samples and end the run; a gap separates it from later samples."""
        try:
            self._commit(ends=True)
        finally:
            self._run_ms = 0
            self._held.clear()

    def forget(self) -> None:
        """Drop the samples in memory after an error; those in the journal become rows before the next sample."""
        self._is_torn = True
        with self.lock:
            self.block = None
        self._run_ms = 0
        self._held.clear()

    # ---- one sample ----

    def _begin_block(self, slot: int) -> None:
        if self._is_torn:
            self._replay()
            self._is_torn = False
        if not self._run_ms:
            self._run_ms = slot * STEP_MS
            self._replaced = ReplacedTime(self._connection, slot)
        with self.lock:
            self.block = OpenBlock(slot)
        self._journaled = slot - 1

    def _put(self, slot: int, state: ClusterState) -> None:
        if self._names.catalog is not state.catalog:
            self._names = Names(state.catalog)
            self._ids.clear()
        samples = samples_of(state, self._names, self._numbers.client)
        subjects = [self._subjects(sample) for sample in samples]
        block = self.block
        assert block is not None
        with self.lock:
            for sample, ids in zip(samples, subjects, strict=True):
                block.add(slot, sample.kind, sample.figures, ids, sample.values)

    def _subjects(self, sample: KindSample) -> list[int]:
        known = self._ids.get(sample.kind)
        if known is None or known[0] != sample.names:
            known = self._ids[sample.kind] = (sample.names, self._numbers.subjects(sample.kind, sample.names))
        return known[1]

    # ---- writing ----

    def _write_journal(self) -> None:
        block = self.block
        assert block is not None
        with self.lock:
            first, data = block.pack()
        with transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?)", (first, data))
            self._write_run(block.last)
        self._journaled = block.last
        self.writes += 1

    def _write_run(self, last: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (self._run_ms, (last + 1) * STEP_MS))
        set_meta(self._connection, PRESENT, (last + 1) * STEP_MS)

    def _commit(self, *, ends: bool = False) -> None:
        """Turn the block into rows, the last ones of the run or not; afterwards it is gone, even after an error."""
        block = self.block
        if block is None:
            return
        try:
            with transaction(self._connection):
                self._replaced.go_on(block.last + 1)
            # Part by part, because the rows of thousands of queues take megabytes. Until the end a query reads the block, not
            # these rows, and after a crash they are made again from the journal.
            for rows in self._rows(block):
                with transaction(self._connection):
                    self._connection.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)", rows)
            with self.lock:
                with transaction(self._connection):
                    self._connection.execute("DELETE FROM journal")
                    self._write_run(block.last)
                    if ends:
                        self._replaced.end()
                self.block = None
            self.writes += 1
            memory.trim_heap()
        except BaseException:
            self.forget()
            raise

    def _rows(self, block: OpenBlock) -> Iterator[list[RowTuple]]:
        seen: set[int] = set()
        for part in block.rows():
            yield self._rows_of(block, part)
            seen.update(part.subjects)
        gone: list[RowTuple] = []
        for subject in [subject for subject in self._held if subject not in seen]:
            # The subject is gone: its values are unknown from here on.
            held = self._held.pop(subject)
            figures = (len(held) - _LAYOUT.size) // 8
            gone.append((0, subject, block.begin, 1, _LAYOUT.unpack_from(held)[0], np.full(figures, np.nan).tobytes()))
        yield gone

    def _rows_of(self, block: OpenBlock, part: SubjectRows) -> list[RowTuple]:
        layout = self._numbers.layout(part.figures)
        values = part.values[block.sampled]
        bits = np.ascontiguousarray(values).view(np.uint64)
        same = (bits == bits[:1]).all(axis=(0, 2))
        made: list[RowTuple] = []
        for column, subject in enumerate(part.subjects):
            if not same[column]:
                self._held.pop(subject, None)
                made.append((0, subject, block.begin, 0, layout, encode(part.values[:, column, :])))
                self._pace()
                continue
            first = values[0, column]
            data = first.astype("<f8").tobytes()
            before, held = self._held.get(subject), _LAYOUT.pack(layout) + data
            if before == held:
                continue
            if np.isnan(first).all():
                self._held.pop(subject, None)
                if before is None:
                    continue
            else:
                self._held[subject] = held
            made.append((0, subject, block.begin, 1, layout, data))
        return made

    # ---- after a crash ----

    def _replay(self) -> None:
        rows = self._connection.execute("SELECT start, data FROM journal ORDER BY start").fetchall()
        if not rows:
            return
        first = int(rows[0][0])
        block = OpenBlock(first)
        try:
            for start, data in rows:
                block.replay(start, data)
        except (ValueError, TypeError, IndexError) as error:
            logger.warning("the last seconds before a crash are missing in the history: %s", error)
        found = self._connection.execute("SELECT MAX(begin_ms) FROM runs WHERE begin_ms <= ?", (first * STEP_MS,)).fetchone()
        self._run_ms = int(found[0]) if found[0] is not None else first * STEP_MS
        self._replaced = ReplacedTime(self._connection, first)
        if block.last < block.begin:
            self._connection.execute("DELETE FROM journal")
        else:
            self.block = block
            self._commit()
        self._run_ms = 0
        self._held.clear()


_NO_CATALOG = Catalog(-1, [], [], [], [], [], [], [], [], [], [])
