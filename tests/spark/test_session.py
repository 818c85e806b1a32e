"""Reports one after the other in one Spark."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_reports.datasource.source import RocketMQStoreDataSource
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_a_report_that_made_a_frame_of_rows_does_not_stand_in_the_way_of_the_next(report_session):
    for _ in range(2):
        session = report_session.begin()
        session.dataSource.register(RocketMQStoreDataSource)
        assert session.createDataFrame(pa.table({"key": ["a"]})).count() == 1


def test_what_pyspark_has_no_public_door_for_is_reached(report_session, tmp_path):
    pq.write_table(pa.table({"number": list(range(1_000))}), tmp_path / "numbers.parquet")
    session = report_session.begin()
    assert report_session.java_version[0].isdigit()
    assert report_session.progress() is None
    assert session.read.schema("number bigint").parquet(str(tmp_path)).groupBy().sum("number").toArrow().to_pylist() == [
        {"sum(number)": 499_500}
    ]
    # Spark counts after the query has ended.
    wait_until(lambda: report_session.progress() == (1, 1_000), lambda: str(report_session.progress()))
    report_session.tidy()
    assert report_session.is_running
