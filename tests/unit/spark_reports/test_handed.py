import argparse
import os
from pathlib import Path

import pytest

from broker_core.errors import UsageError
from broker_core.queue_reading.access import security_at
from spark_reports.handed import given_details

DETAILS = '{"accessKey": "reader", "secretKey": "hush"}'


def arguments(details="-", master="local[*]"):
    return argparse.Namespace(details=details, master=master)


def test_details_have_a_place_for_as_long_as_they_are_needed():
    given = arguments()
    with given_details(given, DETAILS):
        place = given.details
        assert "hush" not in place
        for _ in range(2):
            assert security_at(place).credentials.secret_key == "hush"
    assert not Path(place).exists()


def test_details_are_a_line_of_the_input(monkeypatch):
    reading, writing = os.pipe()
    os.write(writing, f"{DETAILS}\nrest".encode())
    with os.fdopen(reading) as given:
        monkeypatch.setattr("sys.stdin", given)
        handed = arguments()
        with given_details(handed):
            assert security_at(handed.details).credentials.access_key == "reader"
        assert os.read(reading, 10) == b"rest"
    os.close(writing)


def test_a_file_that_is_named_stays_named():
    given = arguments("/some/file")
    with given_details(given):
        assert given.details == "/some/file"


def test_workers_elsewhere_could_not_read_them():
    with pytest.raises(UsageError, match="env:NAME"), given_details(arguments(master="spark://head:7077"), DETAILS):
        pytest.fail("it was not refused")
