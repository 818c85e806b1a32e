"""Whatever the window reads of what came from outside: any text is read, or refused by the error that the entry documents."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gui
from broker_core.api import OrbitError, parse_field, parse_filter
from broker_core.worker.questions.administration import BrokerAnswer
from gui.main_window.links import LinkError, is_link, place_of
from gui.models.compose import DraftTemplate, When, delivery_value
from gui.models.favourites import _read as read_favourites
from gui.models.filter_text import clauses, pieces
from gui.models.message_ids import is_message_id, pasted_ids
from gui.models.message_words import PropertyWords
from gui.models.messages import MessageDraft, json_fault, parse_time
from gui.models.reports import (
    ManifestFault,
    ReportUnit,
    parameter_fault,
    past_run,
    read_result_table,
    result_charts,
    time_fault,
)
from gui.models.row_filter import RowField, WordKind, read_row_filter
from gui.models.schedules import read_schedules
from gui.operations.connection_probe import _hop
from gui.operations.filter_memory import FilterMemory, SavedCuts
from gui.operations.report_estimate import expected
from gui.processes.saved_options import read_saved
from gui.processes.spark_child import session_line
from gui.settings.quiet_hours import read_quiet_hours
from gui.settings.values import listed, named, whole_number
from gui.views.alerts.rule_form import _number as threshold
from gui.views.broker_settings.detail import human_text
from gui.views.connections.connect_fields import address_fault, map_fault
from gui.views.consumers.reset_dialog import _whole as offset_of
from gui.views.dead_letters.edit_side import laid_out
from gui.views.messages.draft_menus import drafts_from_text, templates_from_text
from gui.views.reports.columns import cell_text
from gui.views.tail.view import load_rules
from gui.words.amounts import told_text
from gui.words.broker_words import broker_text
from gui.words.text import TimeZoneChoice
from monitoring.admin.clients import read_stacks
from monitoring.admin.offsets import snapshots_from_text
from monitoring.admin.runtime_figures import size_of
from monitoring.admin.settings import fault_of, settings_of
from monitoring.admin.topic_files import read_topic_file
from monitoring.alert_rules import rules_from_json
from monitoring.letter_notes import notes_from_json
from monitoring.payload.content import read_content
from monitoring.payload.rules import read_rules
from spark_reports.catalog import Parameter, ParameterKind
from tests.support.hostile_texts import DEEP, DIGITS, NASTY, as_json


@dataclass(frozen=True)
class Settings:
    """A settings file whose every value is this text."""

    text: str

    def value(self, _key: str, _default: object = None) -> str:
        return self.text


def faults(text: str) -> list[object]:
    answer = BrokerAnswer(body=f"maxMessageSize={DIGITS}\ndeleteWhen=04\nbrokerName=a\n".encode())
    return [fault_of(setting, text) for setting in settings_of(answer)]


def rules_in_file(text: str, folder: Path) -> object:
    path = folder / "rules.json"
    path.write_text(text, encoding="utf-8", errors="replace")
    return read_rules(path)


TIMES = TimeZoneChoice(utc=True)
TEXTS: dict[str, Callable[[str], object]] = {
    "parse_filter": lambda text: parse_filter(text, now_ms=0),
    "parse_field": parse_field,
    "pieces": pieces,
    "clauses": clauses,
    "row filter": lambda text: read_row_filter(text, [RowField("lag", "Lag", WordKind.COUNT, float)], str).accepts("9"),
    "is_link": is_link,
    "place_of": place_of,
    "is_message_id": is_message_id,
    "pasted_ids": pasted_ids,
    "parse_time": lambda text: parse_time(text, 0, UTC),
    "delivery": lambda text: [delivery_value(when, text, now_ms=0, zone=UTC) for when in When],
    "template": lambda text: DraftTemplate(MessageDraft("t", 0, text, text, (("a", text),), b""), queues=(0,), fills=True),
    "result table": lambda text: read_result_table("t", io.StringIO(text)),
    "cell": lambda text: [cell_text(text, unit, TIMES) for unit in ReportUnit],
    "parameter": lambda text: parameter_fault(Parameter("n", "N", ParameterKind.NUMBER, ""), text),
    "report time": time_fault,
    "threshold": threshold,
    "human_text": lambda text: human_text("maxMessageSize", text),
    "address": address_fault,
    "map": map_fault,
    "offset": offset_of,
    "amount": told_text,
    "broker_text": broker_text,
    "stacks": read_stacks,
    "size_of": size_of,
    "setting": faults,
    "property": lambda text: PropertyWords(TIMES, lambda _level: 0).words("DELAY", text),
    "body": lambda text: read_content(text.encode("utf-8", "surrogatepass")),
    "whole_number": lambda text: whole_number(Settings(text), "key", 1),
    "quiet hours": lambda text: read_quiet_hours(Settings(text)),
    "saved broker": lambda text: read_saved(Settings(text)),
}
JSON_TEXTS: dict[str, Callable[[str], object]] = {
    "json_fault": json_fault,
    "laid_out": laid_out,
    "drafts": drafts_from_text,
    "templates": templates_from_text,
    "schedules": read_schedules,
    "manifest": lambda text: past_run(Path("/r"), text),
    "charts": result_charts,
    "hop": _hop,
    "estimate": expected,
    "session_line": session_line,
    "stored list": listed,
    "stored names": named,
    "snapshots": snapshots_from_text,
    "topic file": lambda text: read_topic_file(text.encode("utf-8", "surrogatepass")),
    "alert rules": rules_from_json,
    "letter notes": notes_from_json,
    "colour rules": lambda text: load_rules(Settings(text)),
    "favourites": lambda text: read_favourites(Settings(text), "key"),
    "last filters": lambda text: FilterMemory(Settings(text)).history,
    "saved filters": lambda text: FilterMemory(Settings(text)).saved.all,
    "saved cuts": lambda text: SavedCuts(Settings(text)).all,
}
ENTRIES = TEXTS | JSON_TEXTS
DOCUMENTED = (OrbitError, ManifestFault, LinkError)


@pytest.mark.parametrize("entry", TEXTS)
def test_what_parsers_do_not_expect_is_read_or_refused(entry):
    for text in NASTY:
        with suppress(*DOCUMENTED):
            TEXTS[entry](text)


@pytest.mark.parametrize("entry", JSON_TEXTS)
def test_json_that_parsers_do_not_expect_is_read_or_refused(entry):
    for text in chain.from_iterable(map(as_json, NASTY)):
        with suppress(*DOCUMENTED):
            JSON_TEXTS[entry](text)


@pytest.mark.parametrize("entry", ENTRIES)
@settings(max_examples=30)
@given(text=st.text(max_size=80) | st.text(alphabet='0123456789-+.:/[]{}",<>=() aeEkKmsT', max_size=80))
def test_any_text_is_read_or_refused(entry, text):
    with suppress(*DOCUMENTED):
        ENTRIES[entry](text)


def test_decoder_rules_that_cannot_be_read_are_refused(tmp_path):
    for text in chain.from_iterable(map(as_json, NASTY)):
        with suppress(*DOCUMENTED):
            rules_in_file(text, tmp_path)


def test_json_says_why_it_cannot_be_read():
    assert json_fault(f'{{"n": {DIGITS}}}') == "a number has more than 4,300 digits"
    assert json_fault("[" * DEEP + "]" * DEEP) == "nested too deeply"
    assert json_fault('{"a": }') == "Expecting value, line 1 column 7"
    assert laid_out("[" * DEEP + "]" * DEEP) == "[" * DEEP + "]" * DEEP


def test_the_window_reads_json_of_others_by_one_function():
    root = Path(gui.__file__).parent
    readers = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if "json.loads(" in path.read_text("utf-8")]
    assert readers == ["words/text.py"], "texts of Orbit itself; all else is read by broker_core.outside.read_json"
