"""The catalogue of reports as plain data for pages and command lines.

Imports neither Spark nor the report modules, so that a window or ``--list`` reads it fast. The module of a report in
`spark_reports.reports` has its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from broker_core.errors import UnknownReportError

CLUSTER = "cluster://"
"""Prefix of a source that is a cluster, before its name servers; else a source is the directory of a store."""


class ParameterKind(StrEnum):
    """What a parameter holds; a form chooses its control by it."""

    TIME = "time"  # ISO 8601, epoch milliseconds, or relative to now: -2h
    TOPICS = "topics"  # any number of topic names; none = all
    NUMBER = "number"  # a whole number between minimum and maximum
    CHOICE = "choice"  # one of the choices
    TEXT = "text"  # any text
    FILE = "file"  # a file that is there
    ZONE = "zone"  # a time zone by its name
    DURATIONS = "durations"  # such as 1s 5m 2h
    QUERY = "query"  # SQL, of any number of lines
    SAVED = "saved"  # name of a saved query; a form that keeps queries itself has no use for it


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a report.

    Attributes:
        name: Option name on the command line, without the dashes.
        title: Label in a form.
        help: One sentence.
        repeated: The option may be given several times.
        default: Value in text if it is not given; empty means none.
    """

    name: str
    title: str
    kind: ParameterKind
    help: str
    repeated: bool = False
    default: str = ""
    required: bool = False
    minimum: int = 0
    maximum: int = 1_000_000_000
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportSpec:
    """One report of the catalogue.

    Attributes:
        summary: One line under the title: what it shows.
        question: The question it answers.
        icon: Glyph name of the window's icon set.
        parameters: In the order of a form.
        stages: Keys and titles of the stages of a run, in order; progress lines name the keys.
        needs_samples: It reads the recorded history instead of stored messages.
        needs_history: It needs the monitoring history; the journal of actions is not enough.
        is_summed: It reads sums that are computed while the log is read, instead of messages.
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
    needs_history: bool = False
    is_summed: bool = False

    @property
    def module(self) -> str:
        """Name of its module in `spark_reports.reports`."""
        return self.name.replace("-", "_")


FROM = Parameter("from", "From", ParameterKind.TIME, "Messages stored at or after this time; the oldest one if not given.")
TO = Parameter("to", "To", ParameterKind.TIME, "Messages stored before this time; the newest one if not given.")
TOPICS = Parameter("topic", "Topics", ParameterKind.TOPICS, "Only these topics; all if not given.", repeated=True)
BOUNDS = (FROM, TO, TOPICS)

LEVELS = Parameter(
    "levels", "Delay levels", ParameterKind.DURATIONS, "Durations of the delay levels, as the broker had "
    "them (messageDelayLevel).",
    default="1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
)  # fmt: skip
LATE = Parameter("late-ms", "Late from (ms)", ParameterKind.NUMBER, "Deliveries this much behind their plan count as late.",
                 default="1000")  # fmt: skip
RETENTION = Parameter(
    "retention-hours", "Retention (hours)", ParameterKind.NUMBER, "How long the broker keeps log files (fileReservedTime).",
    default="72", minimum=1, maximum=87_600,
)  # fmt: skip
ZONE = Parameter("zone", "Time zone", ParameterKind.ZONE, "Zone of weekdays and hours, such as Asia/Shanghai.", default="UTC")
TOP = Parameter("top", "Rows", ParameterKind.NUMBER, "How many rows the ranking has.", default="100", minimum=1,
                maximum=100_000)  # fmt: skip
KEY = Parameter("key", "Key", ParameterKind.TEXT, "A business key or a unique key.", required=True)
SILENT = Parameter("silent-days", "Silent for (days)", ParameterKind.NUMBER,
                   "A tag counts as gone when its topic went on so much longer.", default="3", minimum=1)  # fmt: skip
SAMPLE = Parameter(
    "sample", "Sample", ParameterKind.NUMBER, "One body of so many is compressed on trial; 0: none.", default="10"
)
WITHIN = Parameter("within-s", "Within (s)", ParameterKind.NUMBER, "Repeats further apart than this are taken for lawful.",
                   default="86400", minimum=1)  # fmt: skip
EARLIER = Parameter("earlier-days", "Compare with (days earlier)", ParameterKind.NUMBER,
                    "The other period has the same length and lies this much earlier; 7 keeps the weekdays.",
                    default="7", minimum=1, maximum=3660)  # fmt: skip
KEYS_FILE = Parameter(
    "keys-file", "CSV file", ParameterKind.FILE,
    "CSV with a header; one key in each row. Columns are separated by commas, semicolons, tabs or bars.", required=True,
)  # fmt: skip
COLUMN = Parameter("column", "Column", ParameterKind.TEXT, "Column of the CSV that holds the keys; the first one if not given.")
MATCH = Parameter("match", "Match", ParameterKind.CHOICE, "What the keys are compared with.", default="keys",
                  choices=("keys", "unique-key"))  # fmt: skip
QUERY = Parameter("query", "SQL", ParameterKind.QUERY, "A query over the tables messages, lag, ownership and so on.")
SAVED = Parameter("saved", "Saved query", ParameterKind.SAVED, "Name of a saved query to run instead.")
SAVE_AS = Parameter("save-as", "Save as", ParameterKind.SAVED, "Keep the query under this name.")
GROUP = Parameter("group", "Group", ParameterKind.TEXT, "Only this consumer group; all if not given.")
LAG_MAX = Parameter("lag-max", "Late above (messages)", ParameterKind.NUMBER, "A group is late with more messages waiting.",
                    default="10000")  # fmt: skip
BEHIND = Parameter("behind-s", "Late above (s)", ParameterKind.NUMBER, "A group is late when one waits longer than this.",
                   default="60")  # fmt: skip
TARGET = Parameter("target-percent", "Service level (%)", ParameterKind.NUMBER,
                   "Part of the sampled time in which no group should be late.", default="99", maximum=100)  # fmt: skip
BEFORE = Parameter("before-min", "Time before (min)", ParameterKind.NUMBER, "The window is compared with so much time before.",
                   default="60", minimum=1, maximum=1440)  # fmt: skip
SQL_ROWS = Parameter("rows", "Rows at most", ParameterKind.NUMBER, "The result is cut behind so many rows.", default="10000",
                     minimum=1, maximum=1_000_000)  # fmt: skip

STAGES = (
    ("plan", "Find what is to be read"),
    ("java", "Start Spark"),
    ("read", "Read and group the messages"),
    ("write", "Write the result"),
)
PREPARING = ("prepare", "Write new messages to Parquet")
"""Additional stage of runs that continue a folder of prepared messages."""


SAMPLED_BOUNDS = (FROM, TO)


def _sampled(  # noqa: PLR0917  as `_report`
    group: str, name: str, icon: str, title: str, summary: str, question: str, *parameters: Parameter, by_journal: bool = False
) -> ReportSpec:
    return ReportSpec(
        name, title, summary, question, group, icon, (*SAMPLED_BOUNDS, *parameters), STAGES,
        needs_samples=True, needs_history=not by_journal,
    )  # fmt: skip


def _report(  # noqa: PLR0917  a row of the table below
    group: str, name: str, icon: str, title: str, summary: str, question: str, *parameters: Parameter, is_summed: bool = False
) -> ReportSpec:
    return ReportSpec(name, title, summary, question, group, icon, (*BOUNDS, *parameters), STAGES, is_summed=is_summed)


_REPORTS = (
    _report("Traffic", "throughput", "chart-line-up", "Throughput over time", "By minute, topic, tag and producer, with sizes",
            "Who sends what and when, where are the peaks, and who fills the disk.", is_summed=True),
    _report("Traffic", "calendar", "squares-four", "Calendar and forecast", "Weekday by hour, growth, retention",
            "When is it quiet, how fast does it grow, and how much disk will retention need.", ZONE, RETENTION),
    _report("Traffic", "sizes", "stack", "Message sizes", "Sizes by topic and tag, and what compression would save",
            "Who fills the disk, what is near the limit, and what would shrink.", SAMPLE),
    _report("Traffic", "compare", "arrow-right", "Period against period", "Two periods side by side",
            "What changed after a release, in figures and in proportion.", EARLIER),
    _report("Timing", "latency", "clock", "Born to store", "From the producer's clock to the broker's, by host",
            "Is the network, the broker or a clock slow."),
    _report("Timing", "delay", "hourglass", "Delayed delivery", "Planned against real, by level and for timers",
            "Are delayed messages delivered on time.", LEVELS, LATE),
    _sampled("Timing", "lag", "timer", "Consumer lag", "Service level of each group, and when it was missed",
             "How long were consumers late, and in which hours.", GROUP, LAG_MAX, BEHIND, TARGET),
    _report("Outcomes", "transactions", "circle-half", "Transactions", "Outcomes, checks and time to decision",
            "How many commit, roll back, hang or are given up, and how long do they take."),
    _report("Outcomes", "retries", "repeat", "Retries and dead letters", "How far failing messages get",
            "Of the messages that failed, how many recover at which attempt, and how many die."),
    _report("Outcomes", "dead-letters", "warning-octagon", "Dead letters", "By age, group, topic and property",
            "What to clean first."),
    _report("Shape", "keys", "key", "Keys and ordering", "Hot keys, and how evenly ordering keys spread",
            "Which key blocks a queue.", TOP),
    _report("Shape", "queues", "queue", "Queue balance", "Even, silent and incomplete queues",
            "Which queues get too much, nothing, or have offsets missing."),
    _report("Shape", "tags", "tag", "Tags and properties", "All tags and properties, and tags gone silent",
            "Which tags and properties are in use, and which are not any more.", SILENT),
    _report("Shape", "producers", "users-three", "Producers", "Hosts, first and last seen, what they send",
            "Who sends here, and since when."),
    _sampled("Shape", "ownership", "arrows-left-right", "Ownership and rebalances", "Which client had which queue when",
             "How often did queues move, and when had they nobody.", GROUP),
    _report("Audit", "duplicates", "copy", "Duplicates", "The same unique key, business key or body again",
            "What was stored twice.", WITHIN, TOP),
    _report("Audit", "reconcile", "check-circle", "Reconciliation", "A list of keys against what is stored",
            "Is everything that was sent stored, and nothing twice.", KEYS_FILE, COLUMN, MATCH),
    _report("Audit", "story", "list", "Story of a message", "Every record of one message or key, in order",
            "What happened to this message.", KEY),
    _report("Audit", "incident", "lightning", "Incident window", "A window of time on one page, beside the time before it",
            "What happened between these two times.", BEFORE),
    _sampled("Audit", "operations", "terminal-window", "Operations", "Recorded actions of the console, events of the broker",
             "Who reset, cancelled, deleted or resent what.", by_journal=True),
    _report("Audit", "sql", "code", "Spark SQL", "A query of your own over messages and samples",
            "Whatever you ask, in SQL.", QUERY, SAVED, SAVE_AS, SQL_ROWS),
)  # fmt: skip


def reports() -> tuple[ReportSpec, ...]:
    return _REPORTS


def find(name: str) -> ReportSpec:
    """The report of that name; else an `UnknownReportError` lists all names."""
    for spec in _REPORTS:
        if spec.name == name:
            return spec
    names = ", ".join(spec.name for spec in _REPORTS)
    raise UnknownReportError(f"there is no report “{name}”. Reports: {names}", name=name)
