"""What programs read of commands with --json that fail."""

import asyncio
import json

import pytest

from broker_core.errors import NetworkError
from broker_core.tools.commands import doctor as doctor_command
from broker_core.worker.commands import cluster as cluster_command
from tests.support.fake_cluster import FakeCluster, refused, rubbish

COMMANDS = {"cluster": cluster_command.main, "doctor": doctor_command.main}
NOBODY = "127.0.0.1:1"


def told(capsys):
    """The last line of the output as JSON, and the error output."""
    out, error = capsys.readouterr()
    return json.loads(out.splitlines()[-1]), error


def test_an_address_where_nobody_listens(capsys):
    assert cluster_command.main(["--ns", NOBODY, "--json"]) == NetworkError.exit_code
    found, error = told(capsys)
    assert error == f"orbit cluster: {found['error']}\n"
    assert found["error"].startswith(f"cannot connect to {NOBODY}")
    assert (found["kind"], found["exit_code"]) == ("NetworkError", NetworkError.exit_code)


@pytest.mark.parametrize("answer", [refused, rubbish])
def test_a_name_server_that_refuses_or_is_none(capsys, answer):
    async def run():
        async with FakeCluster([]) as fake:
            fake.answers = dict.fromkeys(range(400), answer)
            return await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server, "--json"])

    code = asyncio.run(run())
    found, error = told(capsys)
    assert (found["exit_code"], error) == (code, f"orbit cluster: {found['error']}\n")
    assert "127.0.0.1:" in error


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "words", [["--ns", ""], ["--connection", "none of that name"], ["--connection-file", "/nowhere/at.all"]]
)
def test_a_connection_that_there_is_not(capsys, command, words):
    assert COMMANDS[command]([*words, "--json"]) == 2
    found, error = told(capsys)
    assert (found["exit_code"], error) == (2, f"orbit {command}: {found['error']}\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("words", [["--json", "--unknown"], ["--js", "--ns"], ["--json", "--ns", NOBODY, "--all"]])
def test_wrong_arguments(capsys, command, words):
    with pytest.raises(SystemExit, match="2"):
        COMMANDS[command](words)
    found, error = told(capsys)
    assert (found["kind"], found["exit_code"]) == ("UsageError", 2)
    assert error.endswith(f"orbit {command}: error: {found['error']}\n")


def test_without_the_flag_errors_are_for_people_alone(capsys):
    assert cluster_command.main(["--ns", NOBODY]) == NetworkError.exit_code
    with pytest.raises(SystemExit):
        cluster_command.main([])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_command(capsys, monkeypatch, command):
    def interrupted(coroutine):
        coroutine.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    assert COMMANDS[command](["--ns", NOBODY, "--json"]) == 130
    found, error = told(capsys)
    assert (found["error"], found["exit_code"], error) == ("interrupted", 130, f"orbit {command}: interrupted\n")
