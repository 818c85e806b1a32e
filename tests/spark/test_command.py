"""The command line ``report`` inside one session: reports on a running cluster, and masked results in all their forms."""

import json

import pytest

from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule, write_rules
from spark_reports import __main__ as program
from spark_reports.cancel import Cancellation
from spark_reports.report_command import carry_out, spec_of
from tests.support.attached import BROKER
from tests.support.broker_thread import broker_thread
from tests.support.store_writer import StoreWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_thread(tmp_path_factory.mktemp("broker") / "store") as made:
        made.create("orders", 2)
        for queue_id in range(2):
            made.send("orders", queue_id, [b"x" * 50] * 40, tags="new")
        yield made


@pytest.fixture
def report(report_session):
    """Run a command line; the answer is whether its result is complete."""

    def run(*words):
        arguments = program.parse([*map(str, words)])
        cancellation = Cancellation()
        cancellation.install()
        try:
            return carry_out(arguments, spec_of(arguments), cancellation, report_session)
        finally:
            cancellation.uninstall()

    return run


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_a_report_of_a_small_cluster_says_what_it_read(broker, report, tmp_path):
    assert report("throughput", "--ns", broker.name_server, "--out", tmp_path / "out")
    manifest = manifest_of(tmp_path / "out")
    assert (manifest["state"], manifest["rows"]["read"], manifest["rows"]["looked_at"]) == ("complete", 80, 80)
    source = manifest["source"]
    assert (source["stores"], source["name_servers"]) == ([f"cluster://{broker.name_server}"], broker.name_server)
    assert (source["brokers"], source["queues"], source["messages"]) == ([BROKER], 2, 80)
    page = (tmp_path / "out" / "report.html").read_text()
    assert broker.name_server in page
    assert "pulled from the brokers" in page


def test_what_is_missing_makes_it_partial_and_is_named(broker, report, tmp_path, capsys):
    words = ["--ns", broker.name_server, "--topic", "orders", "--topic", "never", "--out", tmp_path / "out"]
    assert not report("throughput", *words)
    manifest = manifest_of(tmp_path / "out")
    assert (manifest["state"], manifest["rows"]["read"]) == ("partial", 80)
    assert [skip["reason"] for skip in manifest["skipped"]] == ["there is no topic never"]
    page = tmp_path / "out" / "report.html"
    assert capsys.readouterr().out.splitlines()[-2:] == [f"partial: {page}", "  1: there is no topic never"]
    assert "<dt>Not read</dt><dd>1: there is no topic never" in page.read_text("utf-8")


def test_a_masked_result_says_so_in_all_its_forms(report, tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.append("orders", properties={"TAGS": "secret"})
    writer.append("bills", properties={"TAGS": "plain"})
    writer.flush()
    write_rules(tmp_path / "rules.json", [DecoderRule("orders", mask=MaskRules((), ("secret",)))])
    words = ("throughput", "--store", tmp_path / "store", "--also", "jsonl", "--also", "xlsx")
    masked, plain = tmp_path / "masked", tmp_path / "plain"
    assert report(*words, "--out", masked, "--mask", tmp_path / "rules.json")
    assert report(*words, "--out", plain, "--originals")

    def with_secret(folder):
        return {path.suffix for path in folder.iterdir() if b"secret" in path.read_bytes()}

    assert with_secret(masked) == set()
    assert with_secret(plain) >= {".html", ".csv", ".json", ".jsonl"}
    said, said_plain = manifest_of(masked), manifest_of(plain)
    assert said["masked"]["values"] == {"tag": 1}
    assert (said_plain["masked"]["rules"], said_plain["notes"][-1]) == ("", "Nothing is masked: originals were asked for.")
    assert said["notes"][-1] in (masked / "report.html").read_text()
    assert "plain" in (masked / "by_topic_tag.csv").read_text()


def test_a_log_without_a_message_says_so(report, tmp_path):
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    assert report("throughput", "--store", tmp_path / "store", "--out", tmp_path / "out")
    manifest = manifest_of(tmp_path / "out")
    assert (manifest["rows"]["looked_at"], manifest["findings"]) == (0, ["No message is stored in this range."])
