"""Which questions change something: found among all questions, so that a new one is not forgotten."""

from __future__ import annotations

import ast
import dataclasses
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from broker_core.api import ReadOnlyConnectionError
from broker_core.protocol.administration import ACTING, READING
from broker_core.worker.channel.schema import SUBJECTS
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.lifecycle import Ready
from broker_core.worker.questions.question import QUESTIONS
from monitoring.sources.base import SourceStatus
from monitoring.sources.worker import WorkerSource

GUI = Path(__file__).resolve().parents[4] / "gui"
assert SUBJECTS, "importing them registers the questions"
LOOKING = {
    "BrowseQueue", "BrowseTopic", "FindOffset", "FindBound", "ReadMessage", "ReadMessageById", "ReadBody", "ListConnections",
    "ReadStore", "ListMembers", "ListDelayed", "ListInFlight",
    "ListTransactions", "ListAtomic", "ReadHistory", "ReadEvents", "ReadOwnership", "MeasureTopics", "ReadTransactionHistory",
    "ForecastTimers", "ListTimers", "StartSearch", "ContinueSearch", "ReadFields", "EndSearch", "ReadLifeline", "StartFollow",
    "ContinueFollow", "EndFollow", "Shutdown",
}  # fmt: skip
LOCAL = {
    "ReadAlerts", "PutAlertRules", "RemoveAlertRule", "MuteAlert", "SetAlertWebhook", "TryAlertWebhook",
    "MarkAlertsTold", "ReadLetterNotes", "MarkLetters", "NoteLetters", "NoteResends", "NoteGroup", "AdoptNotes",
}  # fmt: skip
"""Alert rules and notes are Orbit's own: who only looks needs them as much."""
OF_NOTES = {"NoteEvent"}
"""Refused on a connection that only looks; it changes nothing in a cluster, so production is not asked about."""
WITH_CODES = {"AskBroker"}
"""May do both: its request says."""
WRITING = set(QUESTIONS) - LOOKING - LOCAL - WITH_CODES
ASKS_BY_DIALOG = {"ActionPlan", "ActionDialog", "ProductionField"}
BEHIND_DIALOGS = {
    "views/messages/burst.py": "views/messages/composing.py",
    "operations/requests.py": "operations/offset_reset.py",
    "operations/offset_reset.py": "views/consumers/reset_dialog.py",
}
"""What only carries out → who asks before."""
OF_OWN_BROKER = {"views/welcome/view.py"}
"""They write only where the window runs the broker itself, which is nobody's production."""
READERS = {
    "views/topics/topic_view.py", "views/dead_letters/retries.py", "views/settings/connection_doctor.py",
    "operations/group_facts.py", "operations/topic_facts.py",
}  # fmt: skip
"""They ask brokers for what is in `READING` alone."""


class _Wire:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def abort(self) -> None:
        raise AssertionError


@pytest.fixture
def wire() -> _Wire:
    return _Wire()


@pytest.fixture
def source(wire: _Wire) -> WorkerSource:
    made = WorkerSource(wire, read_only=True)
    made.worker_starting()
    made._take(Ready("h:1", "h:2", "/data", "c", "b", 0, 0))
    assert made.status is SourceStatus.READY
    return made


def value_of(kind: object) -> list[object]:
    """Values of a type, one for each alternative that it has."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is not None and (origin is typing.Union or "UnionType" in str(origin)):
        return [value for part in parts for value in value_of(part)]
    if origin in (list, Sequence) or str(origin).endswith("Sequence"):
        return [value_of(parts[0])]
    if origin is dict or str(origin).endswith("Mapping"):
        return [{}]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        required = [
            one for one in dataclasses.fields(kind)
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        ]  # fmt: skip
        return [kind(**{one.name: value_of(hints[one.name])[0] for one in required})]
    return [{str: "x", int: 1, bool: False, bytes: b"", float: 1.0}[kind]]  # type: ignore[index]  # anything else fails here


@pytest.mark.parametrize("name", sorted(WRITING))
def test_a_read_only_connection_refuses_every_question_that_is_not_known_to_look(source, wire, name):
    (question,) = value_of(QUESTIONS[name])
    told: list[object] = []
    source.ask(question).then(told.append, told.append)
    assert [type(one) for one in told] == [ReadOnlyConnectionError]
    assert wire.sent == []


@pytest.mark.parametrize("name", sorted(LOOKING | LOCAL))
def test_it_lets_through_what_looks(source, wire, name):
    (question,) = value_of(QUESTIONS[name])
    source.ask(question).then(lambda _answer: None, lambda _error: None)
    assert len(wire.sent) == 1


def test_administration_is_refused_by_its_code(source, wire):
    for code in sorted(READING | ACTING | {10, 99_999}):
        told: list[object] = []
        source.ask(AskBroker(code)).then(told.append, told.append)
        assert bool(told) is (code not in READING), code
    assert len(wire.sent) == len(READING)
    assert not READING & ACTING


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(GUI.rglob("*.py")):
        if path.parent.name != "gallery":
            yield path.relative_to(GUI).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _asked(tree: ast.Module) -> Iterator[ast.expr]:
    """What a module asks a source: ``source.ask(what)``, ``partial(source.ask, what)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            for call, what in ((node.func, node.args[0]), (node.args[0], node.args[-1])):
                if isinstance(call, ast.Attribute) and call.attr == "ask" and ast.unparse(call.value).endswith("source"):
                    yield what


def _kinds(tree: ast.Module, what: ast.expr) -> set[str]:
    """Names of the classes that a question may be of, as far as the module says."""
    if isinstance(what, ast.Call):
        return {ast.unparse(what.func)}
    name, found = ast.unparse(what), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            found |= _kinds(tree, node.value)
        elif isinstance(node, ast.arg) and node.arg == name and node.annotation is not None:
            found.add(ast.unparse(node.annotation))
    return found or {name}


def test_production_is_asked_about_before_every_question_that_writes():
    """Whoever asks has a dialog that asks for the name, or is only called from one that has."""
    modules = dict(_modules())
    names = {module: {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
             for module, tree in modules.items()}  # fmt: skip
    asked = {module: {kind for what in _asked(tree) for kind in _kinds(tree, what)} for module, tree in modules.items()}
    callers = {
        module for module, kinds in asked.items() if kinds - LOOKING - LOCAL - OF_NOTES - {"AlertCommand", "NoteCommand"}
    }
    assert len(callers) >= 15, "callers are found by what they ask"
    unasked = {module for module in callers if not names[module] & ASKS_BY_DIALOG}
    assert unasked - set(BEHIND_DIALOGS) - READERS - OF_OWN_BROKER == set()
    for carrier, asker in BEHIND_DIALOGS.items():
        end = asker
        while end in BEHIND_DIALOGS:
            end = BEHIND_DIALOGS[end]
        assert names[end] & ASKS_BY_DIALOG, (carrier, end)
    acting = {code.name for code in ACTING if hasattr(code, "name")}
    for module, tree in modules.items():
        if module in READERS:
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not used & acting, module
