"""The reports there are, as plain data for catalogue pages and command lines.

Imports neither Spark nor the report modules: a window or a ``--list`` reads this in no time. What a report computes is
in `spark_reports.reports`, found by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from broker_core.errors import UnknownReportError


class ParameterKind(StrEnum):
    """What a parameter holds, so that a form can offer the right control."""

    TIME = "time"  # ISO 8601, epoch milliseconds, or relative to now: -2h
    TOPICS = "topics"  # any number of topic names; none = all


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing a report can be told.

    Args:
        name: Option name on the command line, without the dashes.
        title: Label in a form.
        kind: What it holds.
        help: One sentence.
        repeated: The option may be given several times.
    """

    name: str
    title: str
    kind: ParameterKind
    help: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class ReportSpec:
    """One report of the catalogue.

    Args:
        name: Name on the command line and in manifests.
        title: Name on cards and pages.
        summary: One line under the title: what it shows.
        question: The question it answers.
        group: Group of the catalogue it is listed under.
        icon: Glyph name of the window's icon set.
        parameters: In the order a form shows them.
        stages: Keys and titles of the stages of a run, in order; progress lines name the keys.
        needs_samples: It needs samples recorded while the console was connected; stored messages are not enough.
    """

    name: str
    title: str
    summary: str
    question: str
    group: str
    icon: str
    parameters: tuple[Parameter, ...]
    stages: tuple[tuple[str, str], ...]
    needs_samples: bool = False


FROM = Parameter("from", "From", ParameterKind.TIME, "Messages stored at or after this time; the oldest one if not given.")
TO = Parameter("to", "To", ParameterKind.TIME, "Messages stored before this time; the newest one if not given.")
TOPICS = Parameter("topic", "Topics", ParameterKind.TOPICS, "Only these topics; all if not given.", repeated=True)

STAGES = (
    ("plan", "Find the log files and their end"),
    ("java", "Start Spark"),
    ("read", "Read and group the messages"),
    ("write", "Write the result"),
)

_REPORTS = (
    ReportSpec(
        name="throughput",
        title="Throughput over time",
        summary="By minute, topic and tag, with sizes",
        question="Who sends what and when, where are the peaks, and who fills the disk.",
        group="Traffic",
        icon="chart-line-up",
        parameters=(FROM, TO, TOPICS),
        stages=STAGES,
    ),
)


def reports() -> tuple[ReportSpec, ...]:
    """All reports, in catalogue order."""
    return _REPORTS


def find(name: str) -> ReportSpec:
    """Return the report of that name.

    Raises:
        UnknownReportError: There is none; the message lists the names there are.
    """
    for spec in _REPORTS:
        if spec.name == name:
            return spec
    names = ", ".join(spec.name for spec in _REPORTS)
    raise UnknownReportError(f"there is no report “{name}”. Reports: {names}", name=name)
