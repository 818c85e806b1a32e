"""Runtime figures of the brokers of a cluster as rows: a figure with each broker's value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitoring.admin.runtime_figures import FIGURES, BrokerRuntime, RuntimeFigure, Table, Value, apart_of

NO_TABLE: Table = {}


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of all brokers.

    Attributes:
        figure: Which one.
        values: Of each broker, in the order of their names; None where it does not report one.
        apart: Places of the brokers whose value is far from the others.
    """

    figure: RuntimeFigure
    values: tuple[Value, ...]
    apart: frozenset[int]


def tables_of(runtime: BrokerRuntime, brokers: Sequence[str]) -> Mapping[str, Table]:
    """The table of each broker that reported one; with one broker there is one table."""
    return runtime.by_broker or dict.fromkeys(brokers[:1], runtime.table)


def figure_rows(tables: Mapping[str, Table], brokers: Sequence[str]) -> list[FigureRow]:
    """All figures that some broker reports; ``brokers`` has also those without a table."""
    told = [tables.get(broker, NO_TABLE) for broker in brokers]
    return [_row(figure, told) for figure in FIGURES if any(map(figure.is_told, told))]


def _row(figure: RuntimeFigure, tables: Sequence[Table]) -> FigureRow:
    values = tuple(figure.of(table) for table in tables)
    return FigureRow(figure, values, apart_of(values, figure.apart))
