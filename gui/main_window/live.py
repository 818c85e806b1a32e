"""`LiveFeed`: emits the newest figures at the live cadence, or holds them while paused."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from monitoring.reach import ClusterReach

if TYPE_CHECKING:
    from monitoring.state import ClusterState


CADENCES_MS = (1_000, 2_000, 5_000, 10_000, 30_000)


class Standing(Enum):
    """What the figures on screen are worth."""

    LIVE = "live"
    PART = "part"
    """They come, but a broker of the cluster does not answer."""
    WAITING = "waiting"
    """The broker starts; there are none yet."""
    LATE = "late"
    """No new ones came for longer than they should."""
    ENDED = "ended"
    """The broker is gone, or nothing answers: they are the last ones."""


class LiveFeed(QObject):
    """Throttles the source's ten states a second to a readable rate. One timer, which runs only while live.

    Signals:
        due: Figures are to be shown; carries the newest `ClusterState`.
        changed: Cadence or pause changed.
    """

    due = Signal(object)
    changed = Signal()

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        cadence_ms: int = CADENCES_MS[0],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a live feed; ``monotonic`` returns seconds on a clock that never goes back."""
        super().__init__(parent)
        self._monotonic = monotonic
        self._newest: ClusterState | None = None
        self._arrived_s = 0.0
        self._is_new = False
        self.paused_since_s: float | None = None
        self._timer = QTimer(self, interval=cadence_ms if cadence_ms in CADENCES_MS else CADENCES_MS[0])
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    @property
    def cadence_ms(self) -> int:
        return self._timer.interval()

    @property
    def paused(self) -> bool:
        return self.paused_since_s is not None

    @property
    def age_ms(self) -> float | None:
        """Age of the newest figures by the window's own clock, of those that a broker answered with; None before the first."""
        return None if self._newest is None else (self._monotonic() - self._arrived_s) * 1_000

    def take(self, state: ClusterState) -> None:
        """Store new figures; the first ones are emitted at once."""
        first = self._newest is None
        self._newest, self._is_new = state, True
        if first or state.reach is not ClusterReach.NOTHING:
            self._arrived_s = self._monotonic()
        if first and not self.paused:
            self._tick()

    def set_cadence(self, cadence_ms: int) -> None:
        """Set the cadence; ends a pause."""
        self._timer.setInterval(cadence_ms)
        self.resume()
        self.changed.emit()

    def pause(self) -> None:
        if not self.paused:
            self.paused_since_s = self._monotonic()
            self._timer.stop()
            self.changed.emit()

    def resume(self) -> None:
        """Continue, with the newest figures at once."""
        if self.paused:
            self.paused_since_s = None
            self._timer.start()
            self._tick()
            self.changed.emit()

    def toggle(self) -> None:
        if self.paused:
            self.resume()
        else:
            self.pause()

    def once(self) -> None:
        """Emit the newest figures now, also while paused."""
        self._is_new = self._newest is not None
        self._tick()

    def forget(self) -> None:
        """Drop the figures, because another cluster is shown from now on."""
        self._newest, self._is_new = None, False

    def stop(self) -> None:
        """Stop for good when the window closes."""
        self._timer.stop()

    def _tick(self) -> None:
        if self._is_new:
            self._is_new = False
            self.due.emit(self._newest)
