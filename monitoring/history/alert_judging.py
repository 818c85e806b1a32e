"""`Judgement` judges the samples of a run, whether or not the history can be written. On the history's thread."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

import numpy as np

from broker_core.api import CodecError, OrbitError, StoreError, counted
from broker_core.worker.questions.figures import Catalog, HistorySample, Occurred
from monitoring.alert_keeper import AlertKeeper
from monitoring.collector import Collector
from monitoring.history.retry_pause import GrowingPause
from monitoring.series import Ints
from monitoring.state import ClusterState

logger = logging.getLogger(__name__)

EVENTS_UNWRITTEN_MAX = 1_000
"""Limit of events kept in memory while the disk is full."""


class Judgement:
    """Derives figures and finds events; keeps events until they are written. A failed opening of the alerts is repeated."""

    def __init__(self, open_alerts: Callable[[], AlertKeeper]) -> None:
        self.alerts: AlertKeeper | None = None
        self.alerts_refusal: OrbitError | None = None
        self.unwritten: list[Occurred] = []
        self._open_alerts = open_alerts
        self._pause = GrowingPause()
        self._collector = Collector(None)
        self._offsets = OffsetWatch()

    def try_alerts(self) -> None:
        """Open the alerts unless they are open or a pause after a failure lasts."""
        if self.alerts is not None or self._pause.left_seconds:
            return
        try:
            self.alerts = self._open_alerts()
        except (OrbitError, sqlite3.Error) as error:
            refusal = error if isinstance(error, OrbitError) else StoreError(f"the alerts cannot be read: {error}")
            if self.alerts_refusal is None or self.alerts_refusal.message != refusal.message:
                logger.error("nothing is judged by alert rules: %s; it is tried again", error)
            self.alerts_refusal = refusal
            self._pause.failed()
        else:
            if self.alerts_refusal is not None:
                logger.info("alert rules are judged again")
            self.alerts_refusal = None

    def take(self, sample: HistorySample) -> ClusterState | None:
        """Judge a sample; returns None if its catalog has been replaced.

        Raises:
            CodecError: The sample is invalid. Its events are kept nevertheless.
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
        """Judge a sample that is not recorded."""
        try:
            self.take(sample)
        except CodecError as error:
            logger.debug("a sample cannot be understood: %s", error.message)

    def end(self) -> None:
        """Keep the events of the alerts since the newest sample."""
        if self.alerts is not None:
            self._keep(self.alerts.events())

    def close(self) -> None:
        alerts, self.alerts = self.alerts, None
        if alerts is not None:
            alerts.close()

    def _keep(self, events: list[Occurred]) -> None:
        if events:
            self.unwritten = [*self.unwritten, *events][-EVENTS_UNWRITTEN_MAX:]


class OffsetWatch:
    """Follows the offsets of the groups. A consumer moves them forward only; a reset moves them back."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._offset: Ints = np.zeros(0, np.int64)

    def look(self, state: ClusterState) -> list[Occurred]:
        """Events since the previous state; none if the catalog has changed."""
        before, self._offset = self._offset, state.position_offset
        known, self._catalog = self._catalog, state.catalog
        if known is not state.catalog:
            return []
        back = (before >= 0) & (state.position_offset >= 0) & (state.position_offset < before)
        if not back.any():
            return []
        group_of = np.asarray(state.catalog.position_group, np.int64)
        moved = before - state.position_offset
        events = []
        for group in np.unique(group_of[back]).tolist():
            rows = back & (group_of == group)
            name = state.catalog.groups[group]
            queues = counted(int(rows.sum()), "queue")
            again = counted(int(moved[rows].sum()), "message comes", "messages come")
            text = f"Group {name} was moved back in {queues}: {again} again"
            events.append(Occurred("offsets_moved_back", text, state.taken_ms, name))
        return events
