"""`TopicFacts`: facts of topics that states lack: settings, bytes on disk, oldest message."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from broker_core.api import MESSAGE_TYPE, OrbitError, TopicConfig, read_all_topic_settings
from broker_core.worker.questions.administration import MeasureTopics, TopicMeasures
from broker_core.worker.questions.figures import Catalog
from gui.models.topic_queues import QueueMeasure, TopicMeasure
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from monitoring.admin.topics import TopicType, ask_all_settings, topic_type
from monitoring.sources.base import ClusterSource, SourceStatus

TOPICS_AT_ONCE = 50
MEASURED_FOR_MS = 30_000
SETTINGS_STEP_MS = 5_000
SETTINGS_FOR_MS = 60_000


class TopicFacts(QObject):
    """Requests wanted facts, and again when they are old. Sends only in `tend`, which is called with each state.

    Signals:
        changed: New facts are known.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._settings_query: LatestQuery[dict[str, TopicConfig]] = LatestQuery(self)
        self._measure_query: LatestQuery[TopicMeasures] = LatestQuery(self)
        self._settings: dict[str, TopicConfig] = {}
        self._catalog: Catalog | None = None
        self._settings_ms = 0
        self._measured: dict[str, tuple[int, TopicMeasure]] = {}
        self._wanted: dict[str, None] = {}
        self._now_ms = 0

    # ---- what pages ask ------------------------------------------------------------------------------------------------

    def settings_of(self, topic: str) -> TopicConfig | None:
        return self._settings.get(topic)

    def type_of(self, topic: str, *, is_system: bool) -> TopicType | None:
        """Type of a topic; None while its settings are not known and its name does not say it."""
        settings = self._settings.get(topic)
        if settings is None and not is_system:
            return None
        if settings is None:
            return topic_type(topic, is_system=is_system)
        declared = settings.attributes.get(MESSAGE_TYPE, "")
        return topic_type(topic, is_system=is_system, order=settings.order, declared=declared)

    def measure_of(self, topic: str) -> TopicMeasure | None:
        """A topic on disk, once measured; the call requests a measurement."""
        known = self._measured.get(topic)
        if known is None or self._now_ms - known[0] >= MEASURED_FOR_MS:
            self._wanted[topic] = None
        return known[1] if known is not None else None

    def measured_ago_ms(self, topic: str) -> int:
        """Age of a topic's measurement; -1 without one."""
        known = self._measured.get(topic)
        return -1 if known is None or not known[0] else max(0, self._now_ms - known[0])

    def tend(self, catalog: Catalog, now_ms: int) -> None:
        """Send the wanted requests; ``now_ms`` is the broker's clock."""
        self._now_ms = now_ms
        if self._source.status is not SourceStatus.READY:
            return
        for_ms = SETTINGS_FOR_MS if self._catalog is catalog else SETTINGS_STEP_MS
        is_due = abs(now_ms - self._settings_ms) >= for_ms
        if is_due and not self._settings_query.waiting:
            self._catalog, self._settings_ms = catalog, now_ms
            asked = ReadAnswer(self._source.ask(ask_all_settings()), lambda answer: read_all_topic_settings(answer.body))
            self._settings_query.ask(asked, self._take_settings, self._ignore)
        if self._wanted and not self._measure_query.waiting:
            topics = list(self._wanted)[-TOPICS_AT_ONCE:]
            self._wanted = {}
            self._measure_query.ask(self._source.ask(MeasureTopics(topics)), self._measure_taker(topics), self._ignore)

    def forget(self) -> None:
        self._catalog = None
        self._settings_ms = 0
        self._measured = {topic: (0, measure) for topic, (_at, measure) in self._measured.items()}

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _take_settings(self, settings: dict[str, TopicConfig]) -> None:
        self._settings = settings
        self.changed.emit()

    def _measure_taker(self, topics: list[str]) -> Callable[[TopicMeasures], None]:
        def take(measures: TopicMeasures) -> None:
            found: dict[str, dict[int, QueueMeasure]] = {topic: {} for topic in topics}
            columns = (measures.topic, measures.queue_id, measures.log_bytes, measures.queue_bytes, measures.oldest_ms,
                       measures.is_estimate)  # fmt: skip
            for topic, queue_id, log_bytes, queue_bytes, oldest_ms, is_estimate in zip(*columns, strict=True):
                found.setdefault(topic, {})[queue_id] = QueueMeasure(log_bytes, queue_bytes, oldest_ms, is_estimate)
            self._measured.update((topic, (self._now_ms, TopicMeasure(queues))) for topic, queues in found.items())
            self.changed.emit()

        return take

    def _ignore(self, _error: OrbitError) -> None:
        """Leave it unknown; the next look requests it again."""
