"""`Judgement`: what the samples of a run say, whether the history can be written or not. On the history's thread."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from broker_core.api import CodecError, OrbitError, StoreError
from broker_core.worker.questions.figures import HistorySample, Occurred
from monitoring.alert_keeper import AlertKeeper
from monitoring.collector import Collector
from monitoring.history.changes import OffsetWatch
from monitoring.history.retry_pause import GrowingPause
from monitoring.state import ClusterState

logger = logging.getLogger(__name__)

EVENTS_UNWRITTEN_MAX = 1_000
"""Events that wait for a disk that is full."""


class Judgement:
    """Derives figures and finds events; keeps the events until they are written.

    Args:
        open_alerts: Opens the alerts, which judge what is sampled; tried again when it fails.
    """

    def __init__(self, open_alerts: Callable[[], AlertKeeper]) -> None:
        self.alerts: AlertKeeper | None = None
        self.alerts_refusal: OrbitError | None = None
        self.unwritten: list[Occurred] = []
        self._open_alerts = open_alerts
        self._pause = GrowingPause()
        self._collector = Collector(None)
        self._offsets = OffsetWatch()

    def try_alerts(self) -> None:
        """Open the alerts if they are not, and it is time to."""
        if self.alerts is not None or self._pause.left_seconds:
            return
        try:
            self.alerts = self._open_alerts()
        except (OrbitError, sqlite3.Error) as error:
            refusal = error if isinstance(error, OrbitError) else StoreError(f"the alerts cannot be read: {error}")
            if self.alerts_refusal is None or self.alerts_refusal.message != refusal.message:
                logger.error("nothing is judged by alert rules: %s; it is tried again", error)  # noqa: TRY400  says all
            self.alerts_refusal = refusal
            self._pause.failed()
        else:
            if self.alerts_refusal is not None:
                logger.info("alert rules are judged again")
            self.alerts_refusal = None

    def take(self, sample: HistorySample) -> ClusterState | None:
        """Take a sample in; None when it belongs to a catalog that has been replaced.

        Raises:
            CodecError: It cannot be understood. Its events are kept all the same.
        """
        self._keep(sample.events)
        self.try_alerts()
        if sample.catalog is not None:
            self._collector.catalog_changed(sample.catalog)
        state = self._collector.snapshot_taken(sample.snapshot)
        if state is not None:
            self._keep(self._offsets.look(state))
            if self.alerts is not None:
                self._keep(self.alerts.look(state))
        return state

    def pass_by(self, sample: HistorySample) -> None:
        """Take a sample in that is not recorded."""
        try:
            self.take(sample)
        except CodecError as error:
            logger.debug("a sample cannot be understood: %s", error.message)

    def end(self) -> None:
        """Take in what the alerts have told of since the newest sample."""
        if self.alerts is not None:
            self._keep(self.alerts.events())

    def close(self) -> None:
        """Close the alerts."""
        alerts, self.alerts = self.alerts, None
        if alerts is not None:
            alerts.close()

    def _keep(self, events: list[Occurred]) -> None:
        if events:
            self.unwritten = [*self.unwritten, *events][-EVENTS_UNWRITTEN_MAX:]
