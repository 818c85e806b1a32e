"""The catalogue of the editor names what a query can name."""

from spark_reports.reports.sql import ALL_COLUMNS, SKIPPED_COLUMNS
from spark_reports.samples.tables import TABLES, table_schema
from spark_reports.sql_tables import MESSAGE_COLUMNS, SQL_TABLES


def test_the_tables_are_those_of_the_data_sources():
    assert [name for name in ALL_COLUMNS.names if name not in SKIPPED_COLUMNS] == list(MESSAGE_COLUMNS)
    assert {name: tuple(table_schema(name).names) for name in TABLES} == {
        name: columns for name, columns in SQL_TABLES.items() if name != "messages"
    }
