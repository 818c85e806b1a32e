"""Report ``reconcile``: a list of keys from a CSV file against the stored messages."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.delimited_text import unguarded
from broker_core.errors import UsageError
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number, part, verb
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, meant_topic, own_key
from spark_reports.vocabulary import ValueUnit

RECONCILE_COLUMNS = (
    "store", "real_topic", "retry_topic", "keys", "unique_key", "member_key", "store_time", "physical_offset", *ORIGIN_COLUMNS,
)  # fmt: skip
MISSING, ONCE, SEVERAL = "missing", "stored once", "stored several times"
STATES = (MISSING, ONCE, SEVERAL)
FIRST = ("keys",)
DELIMITERS = ",;\t|"
"""Possible separators of columns: the most frequent one of the heading; without any, the first."""
HEADER_BYTES_MAX = 1 << 20
_SAID = re.compile(f"sep=([{DELIMITERS}])", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def check(parameters: ReportParameters) -> None:
    """Refuse a list that `listed_keys` cannot read by a `UsageError`."""
    listed_keys(Path(parameters.text("keys-file")), parameters.text("column"))


def listed_keys(path: Path, column: str) -> pa.Table:
    """The keys of a CSV file, ``key``, and their row in it, ``list_row`` (1 below the header); a `UsageError` without any."""
    try:
        read, parse = _dialect(path)
        rows = pa_csv.read_csv(path, read_options=read, parse_options=parse)
        written = {unguarded(name): name for name in rows.column_names}
        column = column or next(iter(written))
        if column not in written:
            raise UsageError(f"{path} has no column {column}. Columns: {', '.join(written)}", column=column)
        typed = {written[column]: pa.string()}  # as text, whatever it looks like: 007 is not 7
        options = pa_csv.ConvertOptions(include_columns=[written[column]], column_types=typed)
        rows = pa_csv.read_csv(path, read_options=read, parse_options=parse, convert_options=options)
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} cannot be read as CSV in UTF-8: {error}", path=str(path)) from error
    cells = pc.utf8_trim_whitespace(rows[written[column]]).to_pylist()
    keys = pa.array([None if cell is None else unguarded(cell) for cell in cells], pa.string())
    listed = pa.table({"key": keys, "list_row": pa.array(range(1, len(keys) + 1), pa.int64())})
    listed = listed.filter(pc.not_equal(pc.fill_null(listed["key"], ""), ""))
    if not listed.num_rows:
        raise UsageError(f"column {column} of {path} holds no key", path=str(path))
    return listed


def _dialect(path: Path) -> tuple[pa_csv.ReadOptions, pa_csv.ParseOptions]:
    """The format of a file: programs choose the separator by their language; some name it in a first line."""
    with path.open("rb") as file:
        header = file.readline(HEADER_BYTES_MAX).decode("utf-8-sig", errors="replace").rstrip("\r\n")
    said = _SAID.fullmatch(header)
    bare = _QUOTED.sub("", header)
    delimiter = said[1] if said else max(DELIMITERS, key=bare.count)
    read = pa_csv.ReadOptions(skip_rows=1 if said else 0)
    # Rows are counted with empty lines; with several columns Arrow would reject an empty line as too short.
    several = bool(said) or delimiter in bare
    return read, pa_csv.ParseOptions(newlines_in_values=True, delimiter=delimiter, ignore_empty_lines=several)


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    parameters = reading.parameters
    source = read(reading, *RECONCILE_COLUMNS, topics_of="meant")
    wanted = reading.spark.createDataFrame(listed_keys(Path(parameters.text("keys-file")), parameters.text("column")))
    column = parameters.text("match").replace("-", "_")
    return {ACCOUNTING: source.accounting, "keys": reconciled(source.messages, wanted, column)}


def first(found: QueryResults) -> ReportTable:
    """Numbers of keys that are missing, stored once, and stored several times."""
    states = found["keys"]["state"].to_pylist()
    counts = pa.table({"state": list(STATES), "listed": [states.count(state) for state in STATES]})
    return table("by_state", "By state", counts, totals=("listed",))


def result(found: QueryResults) -> ReportResult:
    keys = ordered(found["keys"], "key", "list_row")
    by_state = {state: keys.filter(pc.equal(keys["state"], state)) for state in STATES}
    repeated = keys.filter(pc.greater(keys["listed"], 1)).num_rows
    counts = first(found)
    dead = keys.filter(pc.greater(keys["dead"], 0)).num_rows
    spaced = keys.filter(pc.match_substring(keys["key"], " ")).num_rows if found.parameters.text("match") == "keys" else 0
    in_vain = f"{number(spaced, 'listed key')} with a space can match none: spaces separate the keys of a message."
    return found.result(
        headlines=(
            KeyFigure(
                keys.num_rows,
                ValueUnit.COUNT,
                "listed keys",
                f"{verb(repeated, 'stands', 'stand')} in the list more than once" if repeated else "",
            ),
            *(KeyFigure(by_state[state].num_rows, ValueUnit.COUNT, state) for state in STATES),
        ),
        findings=(
            (
                f"{part(by_state[ONCE].num_rows, keys.num_rows)} listed keys are stored once, "
                f"{verb(by_state[MISSING].num_rows, 'is', 'are')} missing, "
                f"{verb(by_state[SEVERAL].num_rows, 'is', 'are')} stored several times."
            ),
            (
                f"{number(total(keys, 'copies'), 'message')} carry a listed key; {number(dead, 'key')} "
                f"{'has' if dead == 1 else 'have'} a dead letter."
            ),
            *([in_vain] if spaced else []),
        ),
        charts=(bars("states", "Listed keys", list(STATES), counts.data["listed"].to_pylist(), words=True),),
        tables=(
            counts,
            table("missing", "Missing", by_state[MISSING].select(["key", "list_row", "listed"])),
            table("several", "Stored several times", by_state[SEVERAL].drop_columns("state")),
            table("keys", "All listed keys", keys, totals=("copies", "retried", "dead")),
        ),
        notes=(
            (
                "Missing means: not in the range and topics of this report. Widen them before drawing "
                "conclusions, and mind what retention has cleaned away."
            ),
            (
                "Copies are messages as sent; retries and dead letters stand beside them. What was consumed is not in the log, "
                "only what was given back."
            ),
        ),
    )


def reconciled(messages: DataFrame, wanted: DataFrame, column: str) -> DataFrame:
    """One row for each key of a list.

    Args:
        messages: With `RECONCILE_COLUMNS`.
        wanted: Columns key and list_row, its place; a key may occur several times.
        column: ``keys`` or ``unique_key``.

    Returns:
        key, list_row (its first one), listed (occurrences in the list), copies (messages as sent), retried, dead, topic (of
        the first), first_time, last_time, state.
    """
    listed = wanted.groupBy("key").agg(F.min("list_row").alias("list_row"), F.count("*").alias("listed"))
    keyed = messages.withColumn("key", F.explode("keys") if column == "keys" else own_key()).where("key is not null")
    keyed = keyed.join(listed.select("key"), "key", "left_semi")
    sent = (
        first_stored(keyed)
        .groupBy("key")
        .agg(
            F.count("*").alias("copies"),
            F.min_by(meant_topic(), F.struct("store_time", "store", "physical_offset")).alias("topic"),
            *first_and_last(),
        )
    )
    by_key = keyed.where("kind in ('retry', 'dead_letter')").groupBy("key")
    given_back = by_key.agg(*(F.count(F.when(F.col("kind") == kind, 1)).alias(name) for kind, name in
                                  (("retry", "retried"), ("dead_letter", "dead"))))  # fmt: skip
    rows = listed.join(sent, "key", "left").join(given_back, "key", "left").fillna(0, ["copies", "retried", "dead"])
    state = F.when(F.col("copies") == 0, MISSING).when(F.col("copies") == 1, ONCE).otherwise(SEVERAL)
    return rows.select(
        "key", "list_row", "listed", "copies", "retried", "dead", "topic", "first_time", "last_time", state.alias("state")
    )  # fmt: skip
