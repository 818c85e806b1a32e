"""``report --ns``: what it estimates and what it refuses before Spark starts; results are in tests/spark/test_command.py."""

import json

import pytest

from spark_reports.__main__ import main
from tests.support.broker_thread import broker_thread


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_thread(tmp_path_factory.mktemp("broker") / "store") as made:
        made.create("orders", 2)
        for queue_id in range(2):
            made.send("orders", queue_id, [b"x" * 50] * 40, tags="new")
        yield made


def test_what_would_be_read_is_estimated(broker, capsys):
    assert main(["throughput", "--ns", broker.name_server, "--estimate"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["records"]) == (2, 80)
    assert 80 * 150 < told["bytes"] < 80 * 400


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["throughput", "--ns", "127.0.0.1:1"], (4, "127.0.0.1:1")),
        (["throughput", "--topic", "never"], (2, "no topic never")),
        (["lag"], (3, "orbit watch --ns")),
        (["throughput", "--store", "/s"], (2, "not both")),
        (["throughput", "--connection-file", "/no/such/file"], (2, "/no/such/file")),
        (["throughput", "--connection", "home"], (2, "no saved connections")),
        (["throughput", "--offsets", "[1]"], (2, "option offsets")),
    ],
)
def test_what_cannot_be_is_refused_with_a_code_of_its_own(broker, tmp_path, capsys, words, end):
    known = [] if {"--ns", "--connection", "--connection-file"} & {*words} else ["--ns", broker.name_server]
    history = ["--history", str(tmp_path)]
    code = main([*words, *known, *history, "--out", str(tmp_path / "out")])
    assert (code, end[1] in capsys.readouterr().err) == (end[0], True)
    assert not (tmp_path / "out").exists()
