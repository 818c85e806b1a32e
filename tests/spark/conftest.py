"""One Spark session for all tests of this folder."""

import warnings

import pytest

from spark_reports.session import ReportSession, SparkOptions
from tests.support.toolchains import SHORT_LIVED


@pytest.fixture(scope="session")
def report_session():
    session = ReportSession(SparkOptions(master="local[2]", heap_bytes=1 << 30, java_options=SHORT_LIVED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own, at import
        connected = session.connect()
        from spark_reports.datasource.source import RocketMQStoreDataSource

        connected.dataSource.register(RocketMQStoreDataSource)
    yield session
    session.close()


@pytest.fixture(scope="session")
def spark(report_session):
    return report_session.connect()
