"""Report runs: the order, the progress of a run, and the results of earlier runs. Pure: no widget, no I/O.

The lines of a run and its manifest are those of `spark_reports.progress` and `spark_reports.output`; a missing field is
unknown, a line that is no progress is ignored.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path

from broker_core.api import CodecError, UnclearTimeError, UsageError, program_name, read_csv
from broker_core.outside import whole_of
from gui.settings.values import named
from spark_reports.catalog import CLUSTER, Parameter, ParameterKind, ReportSpec
from spark_reports.parameters import parse_time
from spark_reports.vocabulary import unit_of


@dataclass(frozen=True, slots=True)
class ReportOrder:
    spec: ReportSpec
    stores: tuple[str, ...]
    """Store directories, or one cluster (`spark_reports.catalog.CLUSTER` and its name servers)."""
    out_directory: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Option name and value; a repeated option appears several times."""
    commit_log: str = ""
    """Directories of the only store's commit log, separated by commas; empty: its own."""
    also: tuple[str, ...] = ()
    """Further forms of the tables: jsonl, xlsx, pdf."""
    language: str = "en"
    """Of the page."""
    originals: bool = False
    """Whether the result contains originals of masked values."""
    rules: str = ""
    """File of the masking rules; empty while nothing is masked."""

    @property
    def name_servers(self) -> str:
        """Of the cluster; empty for stores."""
        return name_servers_of(self.stores)

    def arguments(self, details: str | None = "") -> list[str]:
        """Arguments of ``main.py``; the run ends when the window closes its input.

        ``details`` are sent to its input; empty: none; None: a saved connection has them.
        """
        announced = ["--connection-details"] if details else []
        return [*self.command(is_saved=details is None), *announced, "--progress", "json", "--parent-pipe"]

    def command(self, *, is_saved: bool = False) -> list[str]:
        """Arguments without those for programs; ``is_saved``: a cluster is named as a saved connection."""
        options = source_options(self.stores, is_saved=is_saved)
        options += [("commit-log", self.commit_log)] if self.commit_log else []
        options += [("out", self.out_directory), *self.parameters, *(("also", form) for form in self.also)]
        options += [("lang", self.language)] if self.language != "en" else []
        options += [("mask", self.rules)] if self.rules and not self.originals else []
        words = [word for name, value in options for word in _option(name, value)]
        return ["report", self.spec.name, *words, *(["--originals"] if self.rules and self.originals else [])]

    def command_text(self) -> str:
        """The run as a line for a terminal."""
        return " ".join(_quoted(part) for part in [program_name(), *self.command(is_saved=bool(self.name_servers))])


def name_servers_of(stores: Sequence[str]) -> str:
    """Name servers of the cluster among the sources; empty if they are stores."""
    return next((one.removeprefix(CLUSTER) for one in stores if one.startswith(CLUSTER)), "")


def source_options(stores: Sequence[str], *, is_saved: bool) -> list[tuple[str, str]]:
    """Options that name the sources; ``is_saved``: a cluster is named as a saved connection."""
    name_servers = name_servers_of(stores)
    if name_servers:
        return [("connection" if is_saved else "ns", name_servers)]
    return [("store", store) for store in stores]


def _option(name: str, value: str) -> tuple[str, ...]:
    """An option as words; a value that begins with a dash is joined to its name, or it would be read as an option."""
    is_time = name in ("from", "to")  # the command line knows that -2h is one
    return (f"--{name}={value}",) if value.startswith("-") and not is_time else (f"--{name}", value)


def _quoted(part: str) -> str:
    return part if re.fullmatch(r"[\w@%+=:,./-]+", part) else "'" + part.replace("'", "'\\''") + "'"


def parameter_values(parameter: Parameter, text: str) -> list[str]:
    """Values of a parameter as entered: topics separated by commas, spaces or lines; others unchanged. Empty: none."""
    if parameter.kind is ParameterKind.TOPICS:
        return [name for name in re.split(r"[\s,，]+", text) if name]
    return [text.strip()] if text.strip() else []


def parameter_fault(parameter: Parameter, text: str) -> bool:
    """Whether a report would surely refuse a parameter as entered; it checks the rest itself."""
    if not text:
        # A form loads saved queries into the field itself, so an empty one is no query at all.
        return (parameter.required or parameter.kind is ParameterKind.QUERY) and not parameter.default
    if parameter.kind is ParameterKind.NUMBER:
        number = whole_of(text)
        return number is None or not parameter.minimum <= number <= parameter.maximum
    return False


def time_fault(text: str) -> str:
    """Whether a report would refuse a time: empty, or ``time`` when it would.

    Raises:
        UnclearTimeError: The local time comes twice, or never.
    """
    try:
        parse_time(text, now_ms=0) if text.strip() else None
    except UnclearTimeError:
        raise
    except UsageError:
        return "time"
    return ""


# ---- a run -------------------------------------------------------------------------------------------------------------


class StageState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunStage:
    key: str
    title: str
    state: StageState = StageState.WAITING
    done: int = 0
    total: int = 0
    rows: int = 0
    took_ms: float = 0.0

    @property
    def share(self) -> float | None:
        """Progress from 0 to 1; None when it runs and its total is not known."""
        if self.state is StageState.DONE:
            return 1.0
        if self.state is StageState.WAITING:
            return 0.0
        return min(1.0, self.done / self.total) if self.total > 1 else None


class RunState(Enum):
    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class StartedRun:
    """One run of a report since its start here. Times are in ms on a clock that only rises."""

    order: ReportOrder
    stages: tuple[RunStage, ...]
    started_ms: float
    state: RunState = RunState.RUNNING
    stage_began_ms: float = 0.0
    rows: int = 0
    took_ms: float = 0.0
    html: str = ""
    error: str = ""
    error_kind: str = ""
    cancelling: bool = False
    first: ResultTable | None = None
    """Its first table, which arrives before the rest."""

    @property
    def running_stage(self) -> RunStage | None:
        return next((stage for stage in self.stages if stage.state is StageState.RUNNING), None)

    def stage_ms(self, stage: RunStage, now_ms: float) -> float:
        """Time of a stage so far."""
        return now_ms - self.stage_began_ms if stage.state is StageState.RUNNING else stage.took_ms

    @property
    def share(self) -> tuple[int, int]:
        """Progress over all stages, in hundredths of a stage: done, total."""
        done = sum(100 * (stage.share or 0.0) for stage in self.stages)
        return int(done), 100 * len(self.stages)


def new_run(order: ReportOrder, now_ms: float) -> StartedRun:
    stages = tuple(RunStage(key, title) for key, title in order.spec.stages)
    return StartedRun(order, stages, started_ms=now_ms, stage_began_ms=now_ms)


def after_line(run: StartedRun, line: str, now_ms: float) -> StartedRun:
    fields = named(line)
    key = _text(fields, "stage")
    if key == "done":
        partial = _text(fields, "state") == "partial"
        closed = _close_stage(run, StageState.DONE, now_ms)
        return replace(
            closed,
            state=RunState.PARTIAL if partial else RunState.COMPLETE,
            html=_text(fields, "html"),
            rows=_count(fields, "rows", run.rows),
            took_ms=now_ms - run.started_ms,
        )
    if key == "failed":
        return failed_run(run, _text(fields, "message"), now_ms, kind=_text(fields, "error"))
    if key == "cancelled":
        return cancelled_run(run, now_ms)
    if key == "first":
        return _after_first(run, fields)
    return _after_step(run, key, fields, now_ms) if key in {stage.key for stage in run.stages} else run


def _after_first(run: StartedRun, fields: Mapping[str, object]) -> StartedRun:
    try:
        table = read_result_table(_text(fields, "title"), io.StringIO(_text(fields, "csv"), newline=""))
    except CodecError:
        return run
    return replace(run, first=replace(table, row_count=_count(fields, "rows")))


def _after_step(run: StartedRun, key: str, fields: Mapping[str, object], now_ms: float) -> StartedRun:
    running = run.running_stage
    if running is None or running.key != key:
        run = replace(_close_stage(run, StageState.DONE, now_ms), stage_began_ms=now_ms)
    stages = tuple(
        replace(
            stage,
            state=StageState.RUNNING,
            done=_count(fields, "done", stage.done),
            total=_count(fields, "total", stage.total),
            rows=_count(fields, "rows", stage.rows),
        )
        if stage.key == key
        else stage
        for stage in run.stages
    )
    return replace(run, stages=stages, rows=max(run.rows, *(stage.rows for stage in stages)))


def failed_run(run: StartedRun, message: str, now_ms: float, *, kind: str = "") -> StartedRun:
    closed = _close_stage(run, StageState.FAILED, now_ms)
    return replace(closed, state=RunState.FAILED, error=message, error_kind=kind, took_ms=now_ms - run.started_ms)


def cancelled_run(run: StartedRun, now_ms: float) -> StartedRun:
    closed = _close_stage(run, StageState.WAITING, now_ms)
    return replace(closed, state=RunState.CANCELLED, cancelling=False, took_ms=now_ms - run.started_ms)


def _close_stage(run: StartedRun, state: StageState, now_ms: float) -> StartedRun:
    took_ms = now_ms - run.stage_began_ms
    stages = tuple(
        replace(stage, state=state, took_ms=took_ms) if stage.state is StageState.RUNNING else stage for stage in run.stages
    )
    return replace(run, stages=stages)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _count(fields: Mapping[str, object], name: str, otherwise: int = 0) -> int:
    value = fields.get(name)
    return int(value) if isinstance(value, int | float) and math.isfinite(_float(value)) else otherwise


def run_folder(folder: Path, report: str, at: datetime, taken: Collection[str] = ()) -> Path:
    """Folder of a run's output: ``throughput-20261121-101502``, with a number appended if that is ``taken``."""
    name = f"{report}-{at:%Y%m%d-%H%M%S}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return folder / next(one for one in names if str(folder / one) not in taken)


# ---- results -----------------------------------------------------------------------------------------------------------


TABLE_ROWS_MAX = 1_000


class ReportUnit(Enum):
    """Format of a figure of a result."""

    COUNT = "count"
    BYTES = "bytes"
    TIME = "time"
    SHARE = "share"
    RATE = "rate"
    DURATION = "duration"
    RATIO = "ratio"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ResultHeadline:
    value: float
    unit: ReportUnit
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class PastRun:
    """The result of a finished run, from its manifest. Times in ms since the epoch, -1 unknown."""

    folder: Path
    report: str
    title: str
    state: RunState
    created_ms: int
    asked_from_ms: int
    asked_to_ms: int
    found_from_ms: int
    found_to_ms: int
    rows_read: int
    rows_skipped: int
    skipped: tuple[tuple[str, int], ...]
    """Reason and number of rows."""
    headlines: tuple[ResultHeadline, ...]
    findings: tuple[str, ...]
    page: str
    tables: tuple[tuple[str, str], ...]
    """Title and CSV file of each table that has one."""
    topics: tuple[str, ...]
    stores: tuple[str, ...]
    seconds: float
    commit_log: str = ""
    """Directories of the commit log, separated by commas, where the store has more than its own."""
    asked: tuple[tuple[str, str], ...] = ()
    """Options that order the same report again."""
    also: tuple[str, ...] = ()
    byte_count: int = -1
    charts: str = ""
    """File with the figures of the charts; empty for old results without one."""
    notes: tuple[str, ...] = ()
    is_sampled: bool = False
    hidden_parameters: tuple[str, ...] = ()
    """Masked parameters, which prevent another run with the same order."""

    @property
    def page_path(self) -> Path:
        return self.folder / Path(self.page).name


class ManifestFault(ValueError):  # noqa: N818  the caller shows or skips it; it is no error of the program
    """A file is no manifest of a report."""


def past_run(folder: Path, text: str) -> PastRun:
    """Read a manifest.

    Raises:
        ManifestFault: The text is no manifest.
    """
    fields = named(text)
    if not _text(fields, "report") or not _text(fields, "state"):
        raise ManifestFault(f"{folder / 'manifest.json'} is no manifest of a report")
    asked, found = (_object(_object(fields, "range"), name) for name in ("asked", "found"))
    rows = _object(fields, "rows")
    return PastRun(
        folder=folder,
        report=_text(fields, "report"),
        title=_text(fields, "title") or _text(fields, "report"),
        state=RunState.COMPLETE if _text(fields, "state") == "complete" else RunState.PARTIAL,
        created_ms=_moment(fields, "created_at"),
        asked_from_ms=_moment(asked, "from"),
        asked_to_ms=_moment(asked, "to"),
        found_from_ms=_moment(found, "from"),
        found_to_ms=_moment(found, "to"),
        rows_read=_count(rows, "read", -1),
        rows_skipped=_count(rows, "skipped", -1),
        skipped=tuple((_text(skip, "reason"), _count(skip, "rows")) for skip in _objects(fields, "skipped")),
        headlines=tuple(_headline(item) for item in _objects(fields, "headlines")),
        findings=_texts(fields.get("findings")),
        page=_text(fields, "page") or "report.html",
        tables=tuple(pair for table in _objects(fields, "tables") for pair in _csv_of(table)),
        topics=_texts(_object(fields, "parameters").get("topics")),
        stores=_texts(_object(fields, "source").get("stores")),
        seconds=_number(fields, "seconds"),
        commit_log=_commit_log(_object(fields, "source")),
        asked=_asked(fields, asked),
        also=_also(fields),
        byte_count=_count(_object(fields, "source"), "bytes", -1),
        charts=_text(fields, "charts"),
        notes=_texts(fields.get("notes")),
        is_sampled=_text(fields, "rows_are") == "samples",
        hidden_parameters=_texts(_object(fields, "masked").get("parameters")),
    )


def _asked(fields: Mapping[str, object], asked: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    parameters = _object(fields, "parameters")
    times = [(name, _text(asked, name)) for name in ("from", "to")]
    topics = [("topic", topic) for topic in _texts(parameters.get("topics"))]
    own = [(name, str(value)) for name, value in _object(parameters, "values").items() if isinstance(value, str | int)]
    return tuple((name, value) for name, value in [*times, *topics, *own] if value)


def _commit_log(source: Mapping[str, object]) -> str:
    """Directories of the log files of a single store; empty if it is only the usual one."""
    stores, files = _texts(source.get("stores")), [*_texts(source.get("files")), *_texts(source.get("passed_over"))]
    folders = list(dict.fromkeys(str(Path(file).parent) for file in files if Path(file).suffix != ".db"))
    usual = len(stores) != 1 or folders in ([], [str(Path(stores[0]) / "commitlog")])
    return "" if usual else ",".join(folders)


def _also(fields: Mapping[str, object]) -> tuple[str, ...]:
    lines = any(name.endswith(".jsonl") for table in _objects(fields, "tables") for name in _texts(table.get("files")))
    made = {"jsonl": lines, "xlsx": bool(_text(fields, "workbook")), "pdf": bool(_text(fields, "pdf"))}
    return tuple(form for form, is_there in made.items() if is_there)


def _headline(fields: Mapping[str, object]) -> ResultHeadline:
    unit = _text(fields, "unit")
    known = unit in {one.value for one in ReportUnit}
    return ResultHeadline(
        value=_number(fields, "value"),
        unit=ReportUnit(unit) if known else ReportUnit.COUNT,
        label=_text(fields, "label"),
        note=_text(fields, "note"),
    )


def _csv_of(table: Mapping[str, object]) -> list[tuple[str, str]]:
    files = [name for name in _texts(table.get("files")) if name.endswith(".csv")]
    return [(_text(table, "title") or _text(table, "name"), files[0])] if files else []


def _object(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _objects(fields: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = fields.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _number(fields: Mapping[str, object], name: str) -> float:
    value = fields.get(name)
    return _float(value)


def _moment(fields: Mapping[str, object], name: str) -> int:
    try:
        return round(datetime.fromisoformat(_text(fields, name)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return -1


# ---- result tables -----------------------------------------------------------------------------------------------------

COLUMNS_SHOWN_MAX = 7


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One row of a result table; ``number`` is its place in the file."""

    number: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The first rows of a result table, `TABLE_ROWS_MAX` at most."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    row_count: int


def read_result_table(title: str, lines: Iterable[str]) -> ResultTable:
    """The table in lines of CSV.

    Raises:
        CodecError: The lines are not CSV.
    """
    cells = (tuple(row) for _line, row in read_csv(lines))
    columns = next(cells, ())
    rows = tuple(ResultRow(number, row) for number, row in enumerate(itertools.islice(cells, TABLE_ROWS_MAX)))
    return ResultTable(title, columns, rows, len(rows) + sum(1 for _ in cells))


def column_unit(name: str) -> ReportUnit:
    """Format of the cells of a result column, by the column's name."""
    return ReportUnit(unit_of(name).value)


def cell_number(text: str) -> float:
    """Number of a result cell; NaN when it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


# ---- result charts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultSeries:
    """One series of a chart: epoch milliseconds or names, and as many float values; NaN is not known."""

    name: str
    x: tuple[int | str, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ResultChart:
    """A chart of a result; kinds are those of `spark_reports.reports.result.ReportChart`."""

    name: str
    title: str
    kind: str
    unit: ReportUnit
    series: tuple[ResultSeries, ...]
    note: str = ""
    words: bool = False
    """Whether the labels of bars, or names of lines, are words of the report."""


def result_charts(text: str) -> tuple[ResultChart, ...]:
    """Read the charts file of a result; invalid charts are left out."""
    charts = [_chart(one) for one in _objects(named(text), "charts")]
    return tuple(chart for chart in charts if chart.series)


def _chart(fields: Mapping[str, object]) -> ResultChart:
    unit = _text(fields, "unit")
    series = [_series(one) for one in _objects(fields, "series")]
    return ResultChart(
        name=_text(fields, "name"),
        title=_text(fields, "title"),
        kind=_text(fields, "kind"),
        unit=ReportUnit(unit) if unit in {one.value for one in ReportUnit} else ReportUnit.COUNT,
        series=tuple(one for one in series if one.x),
        note=_text(fields, "note"),
        words=fields.get("words") is True,
    )


def _series(fields: Mapping[str, object]) -> ResultSeries:
    x, y = (value if isinstance(value := fields.get(name), list) else [] for name in ("x", "y"))
    pairs = [(at, _float(value)) for at, value in zip(x, y, strict=False) if isinstance(at, int | str)]
    return ResultSeries(_text(fields, "name"), tuple(at for at, _ in pairs), tuple(value for _, value in pairs))


def _float(value: object) -> float:
    """Number of a file; NaN where it is none, or larger than a float can be."""
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan
