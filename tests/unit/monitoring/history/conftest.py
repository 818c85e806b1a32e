"""States as they come from a broker, with as little in them as a test needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from broker_core.worker.questions.figures import Catalog
from broker_core.worker.questions.history import ReadHistory
from monitoring.history.database import FILE_NAME, open_database
from monitoring.history.queries import HistoryQueries
from monitoring.history.recorder import Recorder
from monitoring.history.upkeep import Upkeep
from monitoring.state import ClusterState

BEGIN_MS = 1_700_000_000_000 // 86_400_000 * 86_400_000
NAN = float("nan")


def state_of(taken_ms: int, *, put_rate: float = 0.0, lag: float = 0.0, topics: tuple[str, ...] = ("orders",)) -> ClusterState:
    """One queue a topic, one group with a position in the first."""
    count = len(topics)
    catalog = _catalog(topics)
    ints, floats = np.zeros(count, np.int64), np.zeros(count)
    return ClusterState(
        catalog=catalog,
        taken_ms=taken_ms,
        queue_min_offset=ints,
        queue_max_offset=ints + 100,
        queue_last_store_ms=ints,
        queue_put_rate=floats,
        topic_put_messages=ints,
        topic_put_bytes=ints,
        topic_put_rate=np.full(count, put_rate),
        topic_got_rate=floats,
        topic_kept_messages=ints - 1,
        topic_last_store_ms=ints,
        group_members=np.array([-1]),
        group_lag_messages=np.array([lag]),
        group_behind_ms=np.array([NAN]),
        group_got_rate=np.array([0.0]),
        position_offset=np.array([100 - int(lag)]),
        position_lag_messages=np.array([lag]),
        position_behind_ms=np.array([0.0]),
        position_owner=np.array([0]),
        owners=["client@1"],
        totals={"put_rate": put_rate},
    )


_CATALOGS: dict[tuple[str, ...], Catalog] = {}


def _catalog(topics: tuple[str, ...]) -> Catalog:
    ones, count = [1] * len(topics), len(topics)
    if topics not in _CATALOGS:
        _CATALOGS[topics] = Catalog(
            1, list(topics), ones, ones, ones, [False] * count, list(range(count)), [0] * count, ["billing"], [0], [0], [False]
        )
    return _CATALOGS[topics]


class Bench:
    """A history with a recorder, upkeep and queries, on a clock of states."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = open_database(path)
        self.recorder = Recorder(self.connection)
        self.queries = HistoryQueries(path, self.recorder)

    def record(self, from_s: int, to_s: int, make: Callable[[int], ClusterState]) -> None:
        """A state for each second, counted from `BEGIN_MS`."""
        for second in range(from_s, to_s):
            self.recorder.add(make(second))

    def upkeep(self, now_s: int, **settings: int) -> None:
        """All there is to do, by a clock that is believed at once."""
        upkeep = Upkeep(self.connection, steady_time=lambda now_ms: now_ms, **settings)
        for _turn in range(100_000):
            if not upkeep.turn(BEGIN_MS + now_s * 1_000):
                return
        raise AssertionError("the upkeep does not end")

    def line(self, name: str, from_s: int, to_s: int, points: int = 10_000) -> dict[str, list[float]]:
        """Seconds since `BEGIN_MS`, smallest, largest and last values."""
        answer = self.queries.lines(ReadHistory([name], BEGIN_MS + from_s * 1_000, BEGIN_MS + to_s * 1_000, points))
        seconds = (np.frombuffer(answer.times_ms[0], "<i8") - BEGIN_MS) / 1_000
        columns = {"low": answer.low[0], "high": answer.high[0], "last": answer.last[0]}
        return {"at": seconds.tolist()} | {key: np.frombuffer(raw, "<f8").tolist() for key, raw in columns.items()}

    def rows(self, tier: int = 0) -> int:
        (count,) = self.connection.execute("SELECT COUNT(*) FROM points WHERE tier=?", (tier,)).fetchone()
        return int(count)

    def close(self) -> None:
        """As a crash would: nothing more is written."""
        self.queries.close()
        self.connection.close()


@pytest.fixture
def bench(tmp_path: Path):
    made = Bench(tmp_path / FILE_NAME)
    yield made
    made.close()
