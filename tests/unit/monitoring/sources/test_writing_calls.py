"""Which calls of a source change something: found in the interface itself, so that a new one is not forgotten."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from broker_core.api import Query, ReadOnlyConnectionError, acts
from broker_core.protocol.administration import ACTING, READING
from broker_core.worker.channel import schema
from broker_core.worker.questions import alerts, letter_notes
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.lifecycle import Ready
from monitoring.sources import base
from monitoring.sources.base import ClusterSource, SourceStatus
from monitoring.sources.embedded import EmbeddedSource

GUI = Path(__file__).resolve().parents[4] / "gui"
LOOKING = {
    "browse_queue", "find_offset", "read_message", "read_message_by_id", "list_connections", "read_alerts", "read_store",
    "list_members", "list_delayed", "list_transactions", "list_atomic", "read_history", "read_events", "read_ownership",
    "measure_topics", "transaction_history", "forecast_timers", "list_timers", "start_search", "continue_search",
    "read_fields", "read_letter_notes", "end_search", "read_lifeline", "start_follow", "continue_follow", "end_follow",
}  # fmt: skip
LOCAL = {"change_alerts", "change_letter_notes"}
"""Alert rules and notes are Orbit's own: who only looks needs them as much."""
OF_NOTES = {"note_event"}
"""Refused on a connection that only looks; it changes nothing in a cluster, so production is not asked about."""
WITH_CODES = {"ask_broker"}
"""May do both: its request says."""
ASKS_BY_DIALOG = {"ActionPlan", "ActionDialog", "ProductionField"}
BEHIND_DIALOGS = {
    "views/messages/burst.py": "views/messages/composing.py",
    "operations/topic_import.py": "views/topics/import_dialog.py",
    "operations/requests.py": "operations/offset_reset.py",
    "operations/offset_reset.py": "views/consumers/reset_dialog.py",
}
"""What only carries out → who asks before."""
READERS = {
    "views/topics/topic_view.py", "views/consumers/client_dialog.py", "views/settings/connection_doctor.py",
    "operations/group_facts.py", "operations/topic_facts.py", "operations/retry_facts.py",
}  # fmt: skip
"""They ask brokers for what is in `READING` alone."""


def calls() -> dict[str, object]:
    return {
        name: call
        for name, call in vars(ClusterSource).items()
        if inspect.isfunction(call) and not name.startswith("_") and not name.endswith("_listener")
    }


WRITING = set(calls()) - LOOKING - LOCAL - WITH_CODES


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
def source(wire: _Wire) -> EmbeddedSource:
    made = EmbeddedSource(wire, read_only=True)
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


def given(name: str) -> Iterator[list[object]]:
    action = schema.EndTransaction | schema.CheckTransaction | schema.ResumeTransaction
    names = vars(schema) | vars(alerts) | vars(letter_notes) | vars(base) | {"TransactionAction": action}
    hints = typing.get_type_hints(calls()[name], globalns=names)
    parameters = [one for one in inspect.signature(calls()[name]).parameters.values() if one.name != "self"]  # type: ignore[arg-type]
    wanted = [one for one in parameters if one.default is inspect.Parameter.empty]
    if not wanted:
        yield []
        return
    for first in value_of(hints[wanted[0].name]):
        yield [first, *(value_of(hints[one.name])[0] for one in wanted[1:])]


@pytest.mark.parametrize("name", sorted(WRITING))
def test_a_read_only_connection_refuses_every_call_that_is_not_known_to_look(source, wire, name):
    for arguments in given(name):
        told: list[object] = []
        getattr(source, name)(*arguments).then(told.append, told.append)
        assert [type(one) for one in told] == [ReadOnlyConnectionError], name
    assert wire.sent == []


@pytest.mark.parametrize("name", sorted(LOOKING | LOCAL))
def test_it_lets_through_what_looks(source, wire, name):
    for arguments in given(name):
        wire.sent.clear()
        getattr(source, name)(*arguments).then(lambda _answer: None, lambda _error: None)
        assert len(wire.sent) == 1, name


def test_administration_is_refused_by_its_code(source, wire):
    for code in sorted(READING | ACTING | {10, 99_999}):
        told: list[object] = []
        source.ask_broker(AskBroker(code)).then(told.append, told.append)
        assert bool(told) is (code not in READING), code
    assert len(wire.sent) == len(READING)
    assert not READING & ACTING


def test_the_worker_knows_every_request_that_the_interface_sends():
    sent = {type(value) for name in calls() for arguments in given(name) for value in arguments if isinstance(value, Query)}
    refused = {kind for name in WRITING for arguments in given(name) for kind in map(type, arguments) if kind in sent}
    assert {kind for kind in sent if kind is not AskBroker and acts(value_of(kind)[0])} == refused


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(GUI.rglob("*.py")):
        if path.parent.name != "gallery":
            yield path.relative_to(GUI).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_production_is_asked_about_before_every_call_that_writes():
    """Whoever calls has a dialog that asks for the name, or is only called from one that has."""
    names = {module: {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
             for module, tree in _modules()}  # fmt: skip
    wanted = (WRITING - OF_NOTES) | WITH_CODES
    callers = {
        module
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in wanted
    }
    assert len(callers) >= 15, "callers are found by the names of the interface"
    unasked = {module for module in callers if not names[module] & ASKS_BY_DIALOG}
    assert unasked - set(BEHIND_DIALOGS) - READERS == set()
    for carrier, asker in BEHIND_DIALOGS.items():
        end = asker
        while end in BEHIND_DIALOGS:
            end = BEHIND_DIALOGS[end]
        assert names[end] & ASKS_BY_DIALOG, (carrier, end)
    acting = {code.name for code in ACTING if hasattr(code, "name")}
    for module, tree in _modules():
        if module in READERS:
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not used & acting, module
