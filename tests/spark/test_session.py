"""Reports one after the other in one Spark."""

import pyarrow as pa
import pytest

from spark_reports.datasource.source import RocketMQStoreDataSource

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_a_report_that_made_a_frame_of_rows_does_not_stand_in_the_way_of_the_next(report_session):
    for _ in range(2):
        session = report_session.begin()
        session.dataSource.register(RocketMQStoreDataSource)
        assert session.createDataFrame(pa.table({"key": ["a"]})).count() == 1
