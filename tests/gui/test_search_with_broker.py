"""Searching with the real worker: in a running broker, and in stores of real brokers that are only read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt

from broker_core.api import ReadOnlyConnectionError
from broker_core.tools.search.export import read_rows
from broker_core.worker.questions.stored_messages import SendMessage
from gui.operations.decoding import RULES_FILE
from gui.operations.message_job import JobState
from gui.operations.search import SearchState
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.views.messages.view import MessagesView
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule, write_rules
from monitoring.sources.base import SourceStatus
from tests.gui.test_outside_texts import hover, in_menus, not_plain
from tests.support.golden import contents, golden_store
from tests.support.hostile_names import hostile_tag
from tests.support.opened_files import OpenedFile

pytestmark = pytest.mark.timeout(240)

TIMEOUT_MS = 60_000


class Page:
    """The Messages page over a worker, as the window shows it."""

    def __init__(self, qtbot, worker, view) -> None:
        self.qtbot = qtbot
        self.worker = worker
        self.source = worker.source
        self.view = view

    @property
    def search(self):
        return self.view.search

    def until(self, condition) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=TIMEOUT_MS)

    def find(self, text: str) -> list[int]:
        """Places of the hits of a filter, as they stand in the table."""
        self.search.bar.set_text(text)
        self.search.bar.submit()
        self.until(lambda: self.search.run.is_over)
        assert self.search.run.state in (SearchState.COMPLETE, SearchState.PARTIAL), self.search.run.error
        return self.places()

    def places(self) -> list[int]:
        model = self.search.model
        return [model.key_at(position) for position in range(model.rowCount())]

    def column(self, key: str) -> list[str]:
        """What a column shows of the first rows, once it was read."""
        model = self.search.model
        place = [column.key for column in model.columns].index(key)
        self.search.grid.view.viewport().repaint()
        shown = min(model.rowCount(), 5)
        self.until(lambda: all(model.index(row, place).data() not in ("", "…") for row in range(shown)))
        return [str(model.index(row, place).data()) for row in range(shown)]


@pytest.fixture
def start(qtbot, tmp_path, monkeypatch, show_page) -> Iterator:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workers: list[WorkerProcess] = []

    def begin(options: WorkerArguments) -> Page:
        worker = WorkerProcess(options)
        workers.append(worker)
        worker.start()
        source = worker.source
        qtbot.waitUntil(lambda: source.status is not SourceStatus.STARTING, timeout=TIMEOUT_MS)
        assert source.status is SourceStatus.READY, source.reason
        qtbot.waitUntil(lambda: source.state is not None, timeout=TIMEOUT_MS)
        view = show_page(MessagesView, source)
        view.open({"show": "search"})
        return Page(qtbot, worker, view)

    yield begin
    for worker in workers:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()


def test_messages_of_a_running_broker_are_found_read_and_sorted(qtbot, start, tmp_path):
    page = start(WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0))
    cities, receipts = ("杭州", "北京", "上海"), []
    for number in range(60):
        body = json.dumps({"city": cities[number % 3], "amount": number}, ensure_ascii=False)
        properties = {"TAGS": "PAID" if number % 2 else "NEW", "KEYS": f"k{number}", "region": f"r{number % 4}"}
        pending = page.source.ask(SendMessage(f"orders-{number % 2}", -1, body.encode(), properties))
        pending.then(receipts.append, receipts.append)
    page.until(lambda: len(receipts) == 60)
    found = page.find('tag = "PAID" and topic in ("orders-0", "orders-1") and body contains "杭州" and body.amount > 8')
    assert len(found) == 9  # 9, 15, …, 57
    assert page.search.run.state is SearchState.COMPLETE
    assert page.search.progress.verdict.text == "Complete"
    assert page.search.fields.add_field("body.amount")
    assert page.search.fields.add_field("prop.region")
    assert page.column("body.amount") == ["9", "15", "21", "27", "33"]
    page.search.grid.sort_by("body.amount", descending=True)
    page.until(lambda: page.places() == found[::-1])
    assert page.column("body.amount") == ["57", "51", "45", "39", "33"]
    assert '"city": "杭州"' in page.column("body")[0]
    page.search.grid.select_key(found[0])
    page.until(lambda: page.view.detail.detail is not None and page.view.detail.detail.physical_offset == found[0])
    assert page.find('key = "k7" and topic = "orders-1"') != []
    assert "index lookup of 1 key" in page.search.progress.plan.whole_text()


def test_a_message_that_names_a_file_opens_none(start, tmp_path):
    bait = OpenedFile(tmp_path / "bait.png")
    tag = hostile_tag(bait.path)
    page = start(WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0))
    receipts: list[object] = []
    properties = {"TAGS": tag, "KEYS": tag.replace(" ", "\u00a0"), tag: tag}
    for body in (tag, json.dumps({tag: tag})):
        page.source.ask(SendMessage("orders", 0, body.encode(), properties)).then(receipts.append, receipts.append)
    page.until(lambda: len(receipts) == 2)
    found = page.find('topic = "orders"')
    assert len(found) == 2
    assert page.column("tag") == [tag, tag]
    for place in found:
        page.search.grid.select_key(place)
        page.until(lambda place=place: page.view.detail.detail is not None and page.view.detail.detail.physical_offset == place)
        for tab in range(page.view.detail.tabs.count()):
            page.view.detail.tabs.setCurrentIndex(tab)
            assert not_plain(page.view) + hover(page.view) + in_menus(page.view) == []
    assert bait.opened() == 0
    bait.close()


def test_a_filter_for_a_cell_narrows_the_search(qtbot, start, tmp_path):
    page = start(WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0))
    receipts = []
    for number in range(10):
        message = SendMessage("orders", -1, b"x", {"TAGS": f"t{number % 2}"})
        page.source.ask(message).then(receipts.append, receipts.append)
    page.until(lambda: len(receipts) == 10)
    assert len(page.find('topic = "orders"')) == 10
    hit = page.search.model.row_at(0)
    (_for, _condition), (_against, condition) = page.search.conditions(hit, "tag")
    page.search.bar.add_condition(condition)
    page.until(lambda: page.search.run.is_over and page.search.model.rowCount() == 5)
    assert page.search.bar.text == f'topic = "orders" and tag != "{hit.tag}"'


@pytest.mark.parametrize("name", ["normal", "crash", "ipv6"])
def test_a_store_that_is_only_read_shows_everything_and_stays_as_it_is(start, tmp_path, name):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    before = contents(root)
    page = start(WorkerArguments(root, files_only=True))
    expected = {message.columns["physicalOffset"]: message.columns for message in golden.messages()}
    assert page.find("size > 0") == sorted(expected)
    assert page.search.run.state is SearchState.COMPLETE
    for position in range(0, len(expected), 97):
        row = page.search.model.row_at(position)
        columns = expected[row.physical_offset]
        assert (row.queue_offset, row.store_ms, row.born_ms, row.body_bytes) == (
            columns["queueOffset"], columns["storeTimestamp"], columns["bornTimestamp"], columns["bodyLength"],
        )  # fmt: skip
        assert (row.keys, row.tag) == (columns["properties"].get("KEYS", ""), columns["properties"].get("TAGS", ""))
    answers: list[object] = []
    page.source.ask(SendMessage("t", 0, b"x", {})).then(answers.append, answers.append)
    page.until(lambda: answers)
    assert isinstance(answers[0], ReadOnlyConnectionError)
    assert contents(root) == before


def test_chinese_and_binary_bodies_are_found_and_read(start, tmp_path):
    golden = golden_store("normal")
    page = start(WorkerArguments(golden.unpack(tmp_path), files_only=True))
    chinese = page.find('body contains "退款"')
    assert chinese
    assert all("退款" in text for text in page.column("body") if len(text) < 60)
    binary = page.find('body ~ "\ufffd"')
    assert binary
    page.search.grid.select_key(binary[0])
    page.until(lambda: page.view.detail.detail is not None and page.view.detail.detail.physical_offset == binary[0])


def test_damaged_places_are_named_and_the_rest_is_found(start, tmp_path):
    golden = golden_store("normal")
    root = golden.unpack(tmp_path)
    victims = sorted(message.columns["physicalOffset"] for message in golden.messages())[200:203]
    first = min((root / "commitlog").iterdir())
    file_bytes = first.stat().st_size
    for place in victims:
        path = root / "commitlog" / f"{place // file_bytes * file_bytes:020d}"
        with path.open("r+b") as file:
            file.seek(place % file_bytes + 4)
            file.write(b"\xff" * 16)
    page = start(WorkerArguments(root, files_only=True))
    found = page.find("size > 0")
    expected = {message.columns["physicalOffset"] for message in golden.messages()}
    assert page.search.run.state is SearchState.PARTIAL
    assert "damaged place" in page.search.progress.reason.text()
    assert set(found) == expected - set(victims)


def test_what_is_masked_is_in_no_list_and_in_no_file(start, tmp_path):
    golden = golden_store("normal")
    write_rules(tmp_path / RULES_FILE, [DecoderRule("*", mask=MaskRules((), (r"\d+", "退款")))])
    page = start(WorkerArguments(golden.unpack(tmp_path), files_only=True))
    found = page.find('body contains "退款"')
    rows = [page.search.model.row_at(position) for position in range(len(found))]
    assert any(MASK in row.keys for row in rows)
    assert not any(re.search(r"\d", row.keys) for row in rows)
    assert all("退款" not in text for text in page.column("body"))
    page.search.grid.select_key(found[0])
    page.until(lambda: page.view.detail.body.body is not None)
    assert "退款" not in page.view.detail.body.body.content.text
    dialog = page.search.export()
    assert dialog is not None
    dialog.export(tmp_path / "hits.jsonl")
    page.until(lambda: dialog.job.state is JobState.COMPLETE)
    exported = [row for _number, row in read_rows(tmp_path / "hits.jsonl")]
    assert len(exported) == len(found)
    assert all("退款".encode() not in base64.b64decode(row["body"]) for row in exported)
    assert not any(re.search(r"\d", row["properties"].get("KEYS", "")) for row in exported)
    assert any(line.startswith("masked: something is hidden in ") for line in dialog.job.lines)
    dialog.reject()


def test_a_search_is_paused_and_goes_on(qtbot, start, tmp_path):
    page = start(WorkerArguments(golden_store("bigkeys").unpack(tmp_path), files_only=True))
    page.search.bar.set_text("size > 0")
    page.search.bar.submit(plan_only=True)
    page.until(lambda: page.search.run.state is SearchState.PAUSED)
    assert page.places() == []
    assert "scan of the log" in page.search.progress.plan.whole_text()
    qtbot.mouseClick(page.search.progress.pause_button, Qt.MouseButton.LeftButton)
    page.until(lambda: page.search.model.rowCount() > 0)
    page.search.run.pause()
    page.search.run.resume()
    page.until(lambda: page.search.run.is_over)
    assert page.search.model.rowCount() == sum(1 for _message in golden_store("bigkeys").messages())
