import os
from pathlib import Path

import pytest

from broker_core.cluster.access import no_saved
from broker_core.cluster.key_place import security_at
from broker_core.errors import UsageError
from spark_reports.__main__ import _parser
from spark_reports.cluster_access import is_cluster, reached

DETAILS = '{"nameServers": "x:1;y:1", "accessKey": "reader", "secretKey": "hush"}'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("ORBIT_ACCESS_KEY", "ORBIT_SECRET_KEY", "ORBIT_SECURITY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def arguments(*words):
    return _parser().parse_args(["keys", *words])


def secret_in(given):
    return security_at(given.details).credentials.secret_key


def test_details_that_are_handed_over_have_a_place_for_as_long_as_they_are_needed():
    given = arguments("--ns", "x:1", "--connection-details")
    with reached(given, no_saved, DETAILS):
        place = given.details
        assert ("hush" in place, [secret_in(given), secret_in(given)]) == (False, ["hush"] * 2)
    assert not Path(place).exists()


def test_details_are_a_line_of_the_input(monkeypatch):
    reading, writing = os.pipe()
    os.write(writing, f"{DETAILS}\nrest".encode())
    with os.fdopen(reading) as handed:
        monkeypatch.setattr("sys.stdin", handed)
        given = arguments("--ns", "x:1", "--connection-details")
        with reached(given, no_saved):
            assert secret_in(given) == "hush"
        assert os.read(reading, 10) == b"rest"
    os.close(writing)


def test_a_saved_connection_names_its_name_servers():
    given = arguments("--connection", "home")
    with reached(given, lambda name: DETAILS.encode() if name == "home" else b""):
        assert (given.ns, secret_in(given)) == ("x:1;y:1", "hush")


def test_a_file_of_a_connection_is_its_own_place(tmp_path):
    path = tmp_path / "home.json"
    path.write_text(DETAILS)
    path.chmod(0o600)
    given = arguments("--connection-file", str(path), "--master", "spark://head:7077")
    with reached(given, no_saved):
        assert (given.ns, given.details, secret_in(given)) == ("x:1;y:1", str(path), "hush")


def test_keys_of_the_environment_go_with_the_name_servers(monkeypatch):
    monkeypatch.setenv("ORBIT_ACCESS_KEY", "reader")
    monkeypatch.setenv("ORBIT_SECRET_KEY", "hush")
    given = arguments("--ns", "x:1")
    with reached(given, no_saved):
        assert secret_in(given) == "hush"


def test_plain_clusters_and_stores_need_no_place():
    for words, asked in ((["--ns", "x:1"], True), (["--store", "/s"], False)):
        given = arguments(*words)
        with reached(given, no_saved):
            assert (given.details, is_cluster(given)) == ("", asked)


def test_workers_elsewhere_could_not_read_what_is_handed_over():
    given = arguments("--ns", "x:1", "--connection-details", "--master", "spark://head:7077")
    with pytest.raises(UsageError, match="--connection-file"), reached(given, no_saved, DETAILS):
        pytest.fail("it was not refused")
