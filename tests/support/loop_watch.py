"""`LoopWatch`: how long each turn of Qt's loop keeps the GUI thread.

Processor time is exact and does not count a machine that is busy elsewhere; it lies between two moments at which the loop
begins a turn, is about to wait or serves the heartbeat, as it would then serve a key or a click. A turn begins without a wait
before it while something is posted. Time by the clock comes from that heartbeat, which is late when the thread does not return
to its loop.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from PySide6.QtCore import QAbstractEventDispatcher, QObject, Qt, QTimer

BEAT_MS = 5


@dataclass(slots=True)
class Turns:
    """What was seen in a while, in ms."""

    cpu_ms: list[float] = field(default_factory=list)
    """Processor time of each turn."""
    late_ms: list[float] = field(default_factory=list)
    """By the clock: how much later than due the heartbeat came."""

    @property
    def worst_cpu_ms(self) -> float:
        return max(self.cpu_ms, default=0.0)

    @property
    def worst_late_ms(self) -> float:
        return max(self.late_ms, default=0.0)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values stays below; 0 where there are none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


class LoopWatch(QObject):
    """Watches the loop of the thread that makes it, until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        dispatcher = QAbstractEventDispatcher.instance()
        assert dispatcher is not None
        self._dispatcher = dispatcher
        self._turns = Turns()
        self._cpu_s = time.thread_time()
        self._beat_s = time.perf_counter()
        dispatcher.aboutToBlock.connect(self._turn_ended)
        dispatcher.awake.connect(self._turn_ended)
        self._heart = QTimer(self)
        self._heart.setTimerType(Qt.TimerType.PreciseTimer)
        self._heart.setInterval(BEAT_MS)
        self._heart.timeout.connect(self._beat)
        self._heart.start()

    def take(self) -> Turns:
        """What was seen since the last call."""
        taken, self._turns = self._turns, Turns()
        self._cpu_s, self._beat_s = time.thread_time(), time.perf_counter()
        return taken

    def close(self) -> None:
        """Watch no more."""
        self._heart.stop()
        self._dispatcher.aboutToBlock.disconnect(self._turn_ended)
        self._dispatcher.awake.disconnect(self._turn_ended)

    def _turn_ended(self) -> None:
        now_s = time.thread_time()
        self._turns.cpu_ms.append((now_s - self._cpu_s) * 1_000)
        self._cpu_s = now_s

    def _beat(self) -> None:
        self._turn_ended()
        now_s = time.perf_counter()
        self._turns.late_ms.append(max(0.0, (now_s - self._beat_s) * 1_000 - BEAT_MS))
        self._beat_s = now_s
