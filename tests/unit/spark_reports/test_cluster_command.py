"""``report --ns``: what it makes, what it refuses and how it ends; without Spark."""

import json

import pytest

from spark_reports.__main__ import main
from tests.support.attached import BROKER
from tests.support.broker_thread import broker_thread


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_thread(tmp_path_factory.mktemp("broker") / "store") as made:
        made.create("orders", 2)
        for queue_id in range(2):
            made.send("orders", queue_id, [b"x" * 50] * 40, tags="new")
        yield made


def test_a_report_of_a_small_cluster_says_what_it_read(broker, tmp_path, capsys):
    assert main(["throughput", "--ns", broker.name_server, "--out", str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["state"], manifest["rows"]["read"], manifest["rows"]["looked_at"]) == ("complete", 80, 80)
    source = manifest["source"]
    assert (source["stores"], source["name_servers"]) == ([f"cluster://{broker.name_server}"], broker.name_server)
    assert (source["brokers"], source["queues"], source["messages"]) == ([BROKER], 2, 80)
    page = (tmp_path / "out" / "report.html").read_text()
    assert broker.name_server in page
    assert "pulled from the brokers" in page


def test_what_is_missing_makes_it_partial_and_is_named(broker, tmp_path, capsys):
    words = ["--ns", broker.name_server, "--topic", "orders", "--topic", "never", "--out", str(tmp_path / "out")]
    assert main(["throughput", *words]) == 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["state"], manifest["rows"]["read"]) == ("partial", 80)
    assert [skip["reason"] for skip in manifest["skipped"]] == ["there is no topic never"]
    page = tmp_path / "out" / "report.html"
    assert capsys.readouterr().out.splitlines()[-2:] == [f"partial: {page}", "  1: there is no topic never"]
    assert "<dt>Not read</dt><dd>1: there is no topic never" in page.read_text("utf-8")


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
