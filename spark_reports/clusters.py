"""Reports on running clusters: the part to read, the folder of the history, estimates. Imports no Spark.

The catalogue runs on messages of a cluster as on those of a store. Reports on samples need the history that Orbit recorded of
the connection, in the window or by ``orbit watch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from broker_core.cluster.key_place import history_folder
from broker_core.cluster.reader import SliceReader
from broker_core.engine.store.layout import answer_records
from broker_core.errors import ForeignStoreError
from spark_reports.catalog import ReportSpec
from spark_reports.datasource.cluster_options import ClusterOptions
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import plan_cluster, wanted_of
from spark_reports.datasource.estimate import Estimate, memory_shortage
from spark_reports.datasource.options import Selection
from spark_reports.parameters import ReportParameters
from spark_reports.samples.database import history_of
from spark_reports.samples.rows import JOURNAL_FILES

NOTE = (
    "These messages were pulled from the brokers: what no queue leads to is not among them (records of deleted topics, and "
    "what the brokers cleaned away)."
)
_EVERY_TOPIC = frozenset({"story", "transactions"})
"""Reports that read all topics, whichever are selected."""
_WITHOUT_SAMPLES = frozenset({"operations"})
"""Reports on samples that also work with the journal of actions alone."""
_SAMPLED_QUEUES = 8
_SAMPLED_MESSAGES = 32


@dataclass(frozen=True, slots=True)
class ReportCluster:
    """A cluster to report on; ``history`` is the folder of its recorded history, which may be missing."""

    options: ClusterOptions
    history: Path

    @classmethod
    def of(cls, options: ClusterOptions, history: Path | None) -> ReportCluster:
        """With the folder in which Orbit records a connection, unless another is given."""
        return cls(options, history or history_folder(options.name_servers, options.place))


def plan_report(source: ReportCluster, spec: ReportSpec, parameters: ReportParameters, earliest_ms: int | None) -> ClusterPlan:
    """Plan a report's read of a cluster: the selected topics and those where their messages wait or end.

    Raises:
        ForeignStoreError: The report needs samples, and there are none.
        OrbitError: As `plan_cluster`.
    """
    if spec.needs_samples:
        require_samples(source, spec)
        return ClusterPlan(source.options.name_servers, files=(str(history_of(source.history)),))
    return plan_cluster(source.options, _selection(spec, parameters, earliest_ms))


def _selection(spec: ReportSpec, parameters: ReportParameters, earliest_ms: int | None) -> Selection:
    topics = () if spec.name in _EVERY_TOPIC else parameters.topics
    return Selection(earliest_ms, parameters.to_ms, topics, meant=bool(topics))


def require_samples(source: ReportCluster, spec: ReportSpec) -> None:
    """Raise `ForeignStoreError` if the history of the connection was not recorded."""
    journals = [source.history / "config" / name for name in JOURNAL_FILES] if spec.name in _WITHOUT_SAMPLES else []
    if not any(path.is_file() for path in (history_of(source.history), *journals)):
        raise ForeignStoreError(
            f"report {spec.name} is made of samples, and none of {source.options.name_servers} were recorded in "
            f"{source.history}. Record them with “orbit watch --ns {source.options.name_servers}” or with a window that is "
            "connected; what nobody sampled cannot be found out later. --history DIR names another folder.",
            path=str(source.history),
        )


def estimate_cluster(
    source: ReportCluster, spec: ReportSpec | None, parameters: ReportParameters, earliest_ms: int | None
) -> Estimate:
    """Estimate a read of a cluster from the ends of its queues and from some messages."""
    if spec is not None and spec.needs_samples:
        require_samples(source, spec)
        return Estimate(1, 0, 0, 0, memory_shortage())
    options = source.options
    selection = _selection(spec, parameters, earliest_ms) if spec is not None else Selection(earliest_ms, parameters.to_ms)
    with SliceReader(options.name_servers, options.place, limits=options.limits) as reader:
        queues = reader.survey(wanted_of(selection, options.offsets)).slices
        largest = sorted((one for one in queues if not one.singly), key=lambda one: -one.messages)[:_SAMPLED_QUEUES]
        ends = [replace(one, first=max(one.first, one.end - _SAMPLED_MESSAGES)) for one in largest]
        answers = [turn.records for turn in reader.turns(ends)]
    messages = sum(one.messages for one in queues)
    return Estimate(len(queues), 0, round(messages * _mean_bytes(answers)), messages, memory_shortage())


def _mean_bytes(answers: Sequence[bytes]) -> float:
    heads = [answer_records(answer) for answer in answers]
    count = sum(map(len, heads))
    return sum(one.end for one in heads) / count if count else 0.0
