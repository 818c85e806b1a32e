import json
import os
from pathlib import Path

import pytest

from spark_reports import __main__ as program
from spark_reports.catalog import find
from spark_reports.report_command import with_file
from tests.support.store_writer import StoreWriter


def run(capsys, *words):
    code = program.main(words)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def store(tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.append("orders")
    writer.flush()
    return str(tmp_path / "store")


def test_the_list_names_every_report(capsys):
    code, out, _ = run(capsys, "--list")
    assert code == 0
    assert out.startswith("throughput")


def test_help_is_there(capsys):
    with pytest.raises(SystemExit) as caught:
        program.main(["--help"])
    assert caught.value.code == 0
    assert "--master" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "name a report"),
        (["nothing"], 2, "there is no report “nothing”. Reports: throughput"),
        (["throughput"], 2, "needs --store DIR"),
        (["throughput", "--store", "STORE", "--out", "OUT", "--from", "-1h", "--to", "-2h"], 2, "the range is empty"),
        (["throughput", "--store", "STORE", "--out", "OUT", "--from", "yesterdayish"], 2, "is not a time"),
        (["throughput", "--store", "STORE", "--out", "STORE"], 2, "Name a new or empty folder"),
        (["throughput", "--store", "STORE", "--out", "/proc/none/out"], 7, "takes no new folder"),
        (["throughput", "--store", "STORE", "--out", "OUT", "--java-home", "OUT"], 8, "there is no Java"),
        (["throughput", "--store", "OUT", "--out", "OUT"], 3, "the directory does not exist"),
        (["lag", "--store", "STORE", "--out", "OUT"], 3, "has no history"),
        (["ownership", "--store", "STORE", "--out", "OUT"], 3, "what nobody sampled cannot be found out later"),
        (["keys", "--store", "STORE", "--out", "OUT", "--memory-mib", "0"], 2, "needs a heap of 512 MiB at least, not 0"),
        (["keys", "--store", "STORE", "--out", "OUT", "--memory-mib", "-5"], 2, "Give --memory-mib more, or leave it out"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(capsys, store, words, code, said):
    out = f"{store}-out"
    words = [word.replace("STORE", store).replace("OUT", out) for word in words]
    got, _, err = run(capsys, *words)
    assert (got, err.startswith("orbit: ")) == (code, True)
    assert said in err
    assert not Path(out).exists()


def test_programs_get_the_failure_as_a_line(capsys, tmp_path):
    words = ("throughput", "--store", str(tmp_path / "none"), "--out", str(tmp_path / "out"), "--progress", "json")
    _, out, _ = run(capsys, *words)
    last = json.loads(out.splitlines()[-1])
    assert (last["stage"], last["error"]) == ("failed", "ForeignStoreError")
    assert "does not exist" in last["message"]


def test_parameters_come_from_a_file_and_options_win(tmp_path):
    file = tmp_path / "parameters.json"
    file.write_text(json.dumps({"from": 1_700_000_000_000, "topic": ["orders"], "late-ms": 50, "levels": "1s 2s"}))
    spec = find("delay")
    words = ["delay", "--params", str(file), "--late-ms", "70"]
    parameters = with_file(program.parse(words), spec)
    assert (parameters.from_ms, parameters.topics) == (1_700_000_000_000, ("orders",))
    assert parameters.values == {"late-ms": 70, "levels": "1s 2s"}


def test_parameters_may_come_by_a_pipe_which_can_be_read_once():
    reading, writing = os.pipe()
    os.write(writing, b'{"to": 1700000000000, "late-ms": 50}')
    os.close(writing)
    parameters = with_file(program.parse(["delay", "--params", f"/dev/fd/{reading}"]), find("delay"))
    os.close(reading)
    assert (parameters.to_ms, parameters.values["late-ms"]) == (1_700_000_000_000, 50)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"topic": ["orders", 7]}', "“topic” in"), ('{"topic": {"orders": 1}}', "takes names, such as"),
        ('["orders"]', "holds no JSON object"), ("{", "is no JSON"), ('{"tops": 1}', "has no parameter tops"),
        ('{"from": "soon"}', "“soon” is not a time"),
    ],
)  # fmt: skip
def test_a_file_of_parameters_that_says_something_else_is_refused(capsys, store, tmp_path, text, said):
    file = tmp_path / "parameters.json"
    file.write_text(text)
    code, _, err = run(capsys, "throughput", "--store", store, "--out", f"{store}-out", "--params", str(file))
    assert code == 2
    assert said in err


def test_a_parameter_of_another_report_is_refused(capsys, store):
    code, _, err = run(capsys, "throughput", "--store", store, "--out", f"{store}-out", "--zone", "UTC")
    assert code == 2
    assert "report throughput has no parameter zone" in err


def test_prepared_messages_are_not_masked(capsys, store, tmp_path):
    words = ("--parquet", str(tmp_path / "prepared"), "--store", store, "--mask", str(tmp_path / "rules.json"))
    code, _, err = run(capsys, *words)
    assert (code, "prepared messages are kept as they are stored" in err) == (2, True)
