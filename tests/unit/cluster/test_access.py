"""How commands reach a cluster: files of this user's alone, the environment, saved connections, and never the command line."""

import argparse
import importlib
import json
import os
from dataclasses import asdict

import pytest

from broker_core.cluster.access import (
    ClusterAccess,
    access_of,
    access_of_environment,
    access_of_file,
    access_of_line,
    add_access,
    no_saved,
)
from broker_core.errors import ReadOnlyConnectionError, UsageError
from broker_core.protocol.signature import Credentials
from broker_core.tools.commands.replay_arguments import goal_of_arguments, goal_of_plan, parser
from broker_core.tools.replay.journal import ReplayPlan
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget

KEYS = {"ORBIT_ACCESS_KEY": "ann", "ORBIT_SECRET_KEY": "hidden"}
ANN = Credentials("ann", "hidden")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in [name for name in os.environ if name.startswith("ORBIT_")]:
        monkeypatch.delenv(name)


def line(**parts):
    return json.dumps(parts).encode()


def file_with(folder, content, mode=0o600):
    path = folder / "connection.json"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def arguments_of(*words):
    made = argparse.ArgumentParser()
    add_access(made.add_mutually_exclusive_group(required=True))
    return made.parse_args(words)


def test_a_file_of_this_users_alone_is_a_connection(tmp_path):
    path = file_with(tmp_path, line(nameServers="h:1", accessKey="ann", secretKey="hidden", addresses={"a:1": "b:1"}))
    access = access_of_file(path)
    assert (access.name_servers, access.security.credentials, access.security.addresses) == ("h:1", ANN, {"a:1": "b:1"})
    assert "hidden" not in repr(access)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused(tmp_path, mode):
    with pytest.raises(UsageError, match="chmod 600"):
        access_of_file(file_with(tmp_path, line(nameServers="h:1"), mode))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"secret words", "no JSON"),
        (line(accessKey="ann", secretKey="x"), "no name servers"),
        (line(nameServers="h:1", accessKey="ann"), "no secret key"),
        (line(nameServers="h:1", socks="p:1", ssh="s:22"), "one of them"),
        (line(nameServers="h:1", ssh="s"), "no address"),
        (b'"' + b"x" * 300_000, "more than 262,144 bytes"),
    ],
)
def test_what_is_no_connection_is_refused_without_quoting_it(tmp_path, content, reason):
    path = file_with(tmp_path, content)
    with pytest.raises(UsageError, match=reason) as refused:
        access_of_file(path)
    assert str(path) in str(refused.value)
    assert "secret words" not in str(refused.value)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        access_of_file(tmp_path / "none")


def test_the_environment_has_both_keys_or_none():
    assert access_of_environment("h:1", {}) == ClusterAccess("h:1")
    assert access_of_environment("h:1", KEYS).security.credentials == ANN
    with_token = access_of_environment("h:1", {**KEYS, "ORBIT_SECURITY_TOKEN": "t"}).security.credentials
    assert with_token == Credentials("ann", "hidden", "t")
    for name, missing in (("ORBIT_ACCESS_KEY", "ORBIT_SECRET_KEY"), ("ORBIT_SECRET_KEY", "ORBIT_ACCESS_KEY")):
        with pytest.raises(UsageError, match=f"no {missing}"):
            access_of_environment("h:1", {name: KEYS[name]})


def test_a_name_means_a_saved_connection():
    def find(name):
        assert name == "Prod"
        return line(nameServers="h:1", accessKey="ann", secretKey="hidden", readOnly=True)

    access = access_of(arguments_of("--connection", "Prod"), find)
    assert (access.saved_as, access.name_servers, access.security.credentials) == ("Prod", "h:1", ANN)
    with pytest.raises(ReadOnlyConnectionError, match="“Prod” is read-only: nothing was sent"):
        access.check_sendable()
    with pytest.raises(UsageError, match="knows no saved connections"):
        access_of(arguments_of("--connection", "Prod"), no_saved)


def test_details_of_the_input_go_with_their_own_name_servers_alone():
    details = access_of_line(line(nameServers="h:1", accessKey="ann", secretKey="hidden"))
    assert access_of(arguments_of("--ns", "h:1"), no_saved, details) is details
    assert access_of(arguments_of("--ns", "other:1"), no_saved, details) == ClusterAccess("other:1")


# ---- where a replay goes -----------------------------------------------------------------------------------------------


def goal(*words, source=None, details=None, find=no_saved):
    arguments = parser().parse_args(["--store", "/s", "f", "--to-origin", *words])
    return goal_of_arguments(arguments, find, source, details)


def test_messages_go_where_they_were_found_unless_another_cluster_is_named():
    source = ClusterAccess("h:1", saved_as="Prod")
    assert goal(source=source) is source
    assert goal("--to-ns", "h:1", source=source) is source
    assert goal("--to-ns", "t:1", source=source) == ClusterAccess("t:1")
    assert goal() is None


def test_keys_of_one_cluster_are_not_shown_to_another(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    source = access_of_environment("h:1", KEYS)
    assert goal("--to-ns", "t:1", source=source).security.credentials is None
    assert goal("--to-ns", "t:1").security.credentials == ANN, "the only cluster that it touches"
    monkeypatch.setenv("ORBIT_TO_ACCESS_KEY", "bob")
    monkeypatch.setenv("ORBIT_TO_SECRET_KEY", "other")
    assert goal("--to-ns", "t:1", source=source).security.credentials == Credentials("bob", "other")


def resumed(*words, saved_as="", details=None, find=no_saved):
    plan = ReplayPlan(
        source="", name_servers="t:1", target=ReplayTarget(to_origin=True), pace=Pace(None, None), count=1, body_bytes=1,
        saved_as=saved_as,
    )  # fmt: skip
    plan = ReplayPlan.from_json(json.loads(json.dumps(plan.as_json())))
    return goal_of_plan(plan, parser().parse_args(["--resume", "/j", *words]), find, details)


def test_a_replay_that_goes_on_finds_its_keys_again(tmp_path, monkeypatch):
    there = line(nameServers="t:1", accessKey="ann", secretKey="hidden")
    assert resumed(saved_as="Test", find=lambda _name: there).security.credentials == ANN
    assert resumed("--to-connection-file", str(file_with(tmp_path, there))).security.credentials == ANN
    assert resumed(details=access_of_line(there)).security.credentials == ANN
    assert resumed(details=access_of_line(line(nameServers="h:1", accessKey="ann", secretKey="x"))) == ClusterAccess("t:1")
    with pytest.raises(UsageError, match="goes to t:1, the connection leads to h:1"):
        resumed(saved_as="Test", find=lambda _name: line(nameServers="h:1"))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert resumed().security.credentials == ANN


def test_a_plan_of_before_goes_on():
    old = {"version": 1, "source": "", "nameServers": "t:1", "target": asdict(ReplayTarget(to_origin=True)),
           "pace": asdict(Pace(None, None)), "count": 1, "bodyBytes": 1}  # fmt: skip
    assert ReplayPlan.from_json(old).saved_as == ""


@pytest.mark.parametrize("name_servers", ["", ";", " ; "])
@pytest.mark.parametrize(
    "command", ["worker.commands.cluster", "worker.commands.watch", "tools.commands.doctor", "tools.commands.search"]
)
def test_a_name_server_that_is_empty_is_told(command, name_servers, capsys):
    module = importlib.import_module(f"broker_core.{command}")
    words = ["--ns", name_servers, *(['topic = "a"'] if command.endswith("search") else [])]
    assert module.main(words, **({"open_history": None} if command.endswith("watch") else {})) == UsageError.exit_code
    assert "no name server is given" in capsys.readouterr().err
