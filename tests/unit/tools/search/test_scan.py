"""Searches of stores, against filters worked out in plain Python beside their text."""

from __future__ import annotations

import json
import re
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.tools.search import patterns
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import Breather, StoreSearch
from tests.support.store_writer import StoreWriter

NOW_MS = 1_700_000_000_000
TOPICS = ("orders", "pay", "%RETRY%g1", "%DLQ%g1", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC")
STATES = {"orders": "normal", "pay": "normal", "%RETRY%g1": "retry", "%DLQ%g1": "dead"} | {
    "SCHEDULE_TOPIC_XXXX": "delayed",
    "RMQ_SYS_TRANS_HALF_TOPIC": "half",
}
WORDS = ("new", "paid", "x", "杭州", "a b", "4711", "new2", 'q"uote', "back\\slash")
HOST = HostAddress.parse("127.0.0.1:10911")


@dataclass(frozen=True)
class Told:
    """A message as the test knows it."""

    topic: str
    queue: int
    body: bytes
    properties: dict[str, str]
    stored: int
    born: int
    host: str
    reconsume: int
    compression: Compression | None

    def json(self) -> Any:
        try:
            return json.loads(self.body.decode())
        except ValueError:
            return None


Case = tuple[str, Callable[[Told], bool]]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ---- messages ----------------------------------------------------------------------------------------------------------

words = st.sampled_from(WORDS)
json_values = st.one_of(
    words, st.integers(-3, 3), st.floats(-3, 3).map(lambda number: round(number, 1)), st.booleans(), st.none()
)
documents = st.fixed_dictionaries({}, optional={"a": json_values, "b": st.fixed_dictionaries({"c": json_values})})
bodies = st.one_of(
    documents.map(lambda value: json.dumps(value).encode()),
    documents.map(lambda value: json.dumps(value, ensure_ascii=False).encode()),
    words.map(str.encode),
    st.binary(max_size=20),
)
properties = st.fixed_dictionaries(
    {},
    optional={
        "TAGS": words,
        "KEYS": st.lists(words.filter(lambda word: " " not in word), min_size=1, max_size=3).map(" ".join),
        "UNIQ_KEY": st.sampled_from(("ID1", "ID2", "7F00000100002A9F0000000000000000")),
        "region": st.one_of(words, st.sampled_from(("5", "5.0", "-1", "1e1", "05"))),
        "DELAY": st.sampled_from(("1", "3", "x")),
        "PGROUP": st.sampled_from(("g1", "g2")),
        "REAL_TOPIC": st.sampled_from(("orders", "%RETRY%g2")),
    },
)
messages = st.builds(
    Told,
    topic=st.sampled_from(TOPICS),
    queue=st.integers(0, 2),
    body=bodies,
    properties=properties,
    stored=st.just(0),
    born=st.integers(NOW_MS - 5, NOW_MS + 5),
    host=st.sampled_from(("10.0.0.7:40001", "10.0.0.8:1", "[::1]:5", "[2001:db8::a]:5")),
    reconsume=st.integers(0, 3),
    compression=st.sampled_from((None, None, Compression.ZLIB, Compression.LZ4, Compression.ZSTD)),
)

# ---- filters: the text, and what it means ------------------------------------------------------------------------------

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def numbers(name: str, of: Callable[[Told], int | None], values: st.SearchStrategy[int]) -> st.SearchStrategy[Case]:
    def make(operator: str, value: int) -> Case:
        def holds(told: Told) -> bool:
            found = of(told)
            return operator == "!=" if found is None else ORDERS[operator](found, value)

        return f"{name} {operator} {value}", holds

    one = st.builds(make, st.sampled_from(sorted(ORDERS)), values)
    several = st.lists(values, min_size=1, max_size=3).map(
        lambda found: (f"{name} in ({', '.join(map(str, found))})", lambda told: of(told) in found)
    )
    return st.one_of(one, several)


def texts(name: str, of: Callable[[Told], list[str]], values: st.SearchStrategy[str]) -> st.SearchStrategy[Case]:
    def make(operator: str, value: str) -> Case:
        if operator == "!=":
            return f"{name} != {quoted(value)}", lambda told: value not in of(told)
        if operator == "contains":
            return f"{name} contains {quoted(value)}", lambda told: any(value in text for text in of(told))
        if operator == "~":
            pattern = re.compile(f"^{re.escape(value)}.?$")
            return f"{name} ~ {quoted(pattern.pattern)}", lambda told: any(pattern.search(text) for text in of(told))
        if operator == "in":
            return f"{name} in ({quoted(value)}, 'zz')", lambda told: value in of(told) or "zz" in of(told)
        return f"{name} {operator} {quoted(value)}", lambda told: any(ORDERS[operator](text, value) for text in of(told))

    return st.builds(make, st.sampled_from((*sorted(ORDERS), "contains", "~", "in")), values)


def optional(name: str) -> Callable[[Told], list[str]]:
    return lambda told: [told.properties[name]] if name in told.properties else []


def group_of(told: Told) -> list[str]:
    for topic in (told.topic, told.properties.get("REAL_TOPIC", "")):
        if topic.startswith(("%RETRY%", "%DLQ%")):
            return [topic.split("%")[2]]
    return optional("PGROUP")(told)


def body_cases() -> st.SearchStrategy[Case]:
    def contains(word: str) -> Case:
        return f"body contains {quoted(word)}", lambda told: word.encode() in told.body

    def equals(word: str) -> Case:
        return f"body = {quoted(word)}", lambda told: told.body == word.encode()

    def path(value: Any) -> Case:
        text = quoted(value) if isinstance(value, str) else json.dumps(value)

        def holds(told: Told) -> bool:
            found = told.json()
            if not isinstance(found, dict) or "a" not in found:
                return False
            same = isinstance(found["a"], bool) is isinstance(value, bool)
            return same and found["a"] == value

        return f"body.a = {text}", holds

    def inner(limit: int) -> Case:
        def holds(told: Told) -> bool:
            found = told.json()
            value = found["b"]["c"] if isinstance(found, dict) and "b" in found else None
            return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= limit

        return f"body.b.c >= {limit}", holds

    return st.one_of(words.map(contains), words.map(equals), json_values.map(path), st.integers(-3, 3).map(inner))


def region_number(limit: int) -> Case:
    def holds(told: Told) -> bool:
        try:
            return float(told.properties.get("region", "none")) == limit
        except ValueError:
            return False

    return f"prop.region = {limit}", holds


def spelled(operator: str, written: str, meant: str) -> Case:
    """A comparison with an address that is spelled in another way than messages are."""

    def holds(told: Told) -> bool:
        values = (told.host, told.host.rpartition(":")[0].strip("[]"))
        if operator == "contains":
            return any(meant in value for value in values)
        return (meant in values) is not (operator == "!=")

    literal = f"({quoted(written)})" if operator == "in" else quoted(written)
    return f"host {operator} {literal}", holds


hosts = st.sampled_from(("10.0.0.7", "10.0.0.8:1", "::1", "[::1]:5", "2001:db8::a"))
SPELLINGS = (
    ("0:0:0:0:0:0:0:1", "::1"), ("[::1]", "::1"), ("[0:0:0:0:0:0:0:1]:5", "[::1]:5"), ("2001:0DB8::000A", "2001:db8::a"),
    ("2001:db8:0:0:0:0:0:a", "2001:db8::a"), ("2001:DB8:", "2001:db8:"),
)  # fmt: skip
leaves = st.one_of(
    texts("topic", lambda told: [told.topic], st.sampled_from(("orders", "pay", "%RETRY%g1", "nope"))),
    numbers("queue", lambda told: told.queue, st.integers(-1, 3)),
    numbers("born", lambda told: told.born, st.integers(NOW_MS - 6, NOW_MS + 6)),
    numbers("stored", lambda told: told.stored, st.integers(NOW_MS - 1, NOW_MS + 30)),
    numbers("reconsume", lambda told: told.reconsume, st.integers(0, 4)),
    numbers("body_bytes", lambda told: len(told.body), st.integers(0, 30)),
    numbers(
        "delay_level",
        lambda told: int(told.properties["DELAY"]) if told.properties.get("DELAY", "x") != "x" else None,
        st.integers(0, 4),
    ),
    texts("tag", optional("TAGS"), words),
    texts("key", lambda told: told.properties["KEYS"].split(" ") if "KEYS" in told.properties else [], words),
    texts("prop.region", optional("region"), words),
    texts("group", group_of, st.sampled_from(("g1", "g2", "g"))),
    texts("host", lambda told: [told.host, told.host.rpartition(":")[0].strip("[]")], hosts),
    st.builds(
        lambda operator, spelling: spelled(operator, *spelling),
        st.sampled_from(("=", "!=", "in", "contains")),
        st.sampled_from(SPELLINGS),
    ),
    st.sampled_from(("normal", "retry", "dead", "delayed", "half", "op")).map(
        lambda state: (f"state = {state}", lambda told: STATES[told.topic] == state)
    ),
    st.sampled_from(("ID1", "ID2")).map(lambda one: (f"id = '{one}'", lambda told: told.properties.get("UNIQ_KEY") == one)),
    st.integers(-1, 11).map(region_number),
    body_cases(),
)


def joined(word: str, items: list[Case]) -> Case:
    every = all if word == "and" else any
    return "(" + f" {word} ".join(text for text, _ in items) + ")", lambda told: every(holds(told) for _, holds in items)


filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(joined, st.sampled_from(("and", "or")), st.lists(inner, min_size=2, max_size=3)),
        inner.map(lambda case: (f"not {case[0]}", lambda told: not case[1](told))),
    ),
    max_leaves=5,
)


# ---- the property ------------------------------------------------------------------------------------------------------


class Ticking:
    """A store's clock: two messages a millisecond."""

    def __init__(self) -> None:
        self.half_ms = 2 * NOW_MS

    def __call__(self) -> int:
        return self.half_ms // 2


def fill(store: MessageStore, clock: Ticking, told: list[Told]) -> list[tuple[int, Told]]:
    placed = []
    for one in told:
        clock.half_ms += 1
        body, flag = one.body, 0
        if one.compression is not None:
            body, flag = compress_body(one.body, one.compression), with_compression(0, one.compression)
        message = MessageToStore(
            one.topic, one.queue, 0, flag, one.born, HostAddress.parse(one.host), HOST, one.reconsume, 0, body,
            encode_properties(one.properties),
        )  # fmt: skip
        place = store.put(message).physical_offset
        placed.append((place, Told(**{**{f: getattr(one, f) for f in one.__dataclass_fields__}, "stored": clock()})))
    return placed


def places(search: StoreSearch) -> list[int]:
    found = [hit.message.physical_offset for step in search.steps() for hit in step.hits]
    assert search.outcome is not None
    assert search.outcome.is_complete, (str(search.plan), str(search.outcome))
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(told=st.lists(messages, min_size=1, max_size=40), cases=st.lists(filters, min_size=1, max_size=8))
def test_a_search_finds_what_plain_python_finds(told: list[Told], cases: list[Case]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root, clock = Path(directory) / "store", Ticking()
        config = StoreConfig(root=root, commit_log_file_bytes=1 << 13, max_message_bytes=1 << 12, consume_queue_file_bytes=200)
        with MessageStore.open(config, clock=clock) as store:
            placed = fill(store, clock, told)
            expected = {text: [place for place, one in placed if holds(one)] for text, holds in cases}
            for text, wanted in expected.items():
                assert places(StoreSearch(root, parse_filter(text, now_ms=NOW_MS), store=store)) == wanted, text
        for text, wanted in expected.items():
            small = StoreSearch(root, parse_filter(text, now_ms=NOW_MS), window_bytes=700)
            assert places(small) == wanted, (text, str(small.plan))


# ---- the end, and what lies between -----------------------------------------------------------------------------------


def written(root: Path, count: int) -> StoreWriter:
    writer = StoreWriter(root)
    for number in range(count):
        writer.append("orders", b"body %d" % number, {"KEYS": f"k{number}", "TAGS": "t"}, queue_id=number % 2)
    writer.flush()
    return writer


def outcome_of(search: StoreSearch, taken: int | None = None) -> tuple[list[bytes], str]:
    found: list[bytes] = []
    steps = search.steps()
    for step in steps:
        found += [hit.message.body for hit in step.hits]
        if taken is not None and len(found) >= taken:
            search.cancel()
    return found, str(search.outcome)


def test_a_damaged_place_makes_it_partial_and_what_lies_behind_is_found(tmp_path: Path) -> None:
    writer = written(tmp_path, 10)
    place = writer.append("orders", b"lost")
    writer.append("orders", b"behind")
    writer.overwrite(place + 4, b"xxxx")
    found, outcome = outcome_of(StoreSearch(tmp_path, parse_filter("size > 0", now_ms=NOW_MS)))
    assert found == [b"body %d" % number for number in range(10)] + [b"behind"]
    assert outcome.startswith("partial: 11 hits in 11 messages; 1 damaged place could not be read, the first in commitlog/")


def test_a_body_that_does_not_decompress_is_searched_as_it_is_and_told(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path)
    writer.append("orders", b"no zlib 4711", sys_flag=1)
    writer.append("orders", zlib.compress(b"zlib 4711"), sys_flag=1)
    writer.flush()
    search = StoreSearch(tmp_path, parse_filter('body contains "4711"', now_ms=NOW_MS))
    found, outcome = outcome_of(search)
    assert len(found) == 2
    assert outcome == "partial: 2 hits in 2 messages; 1 body could not be decompressed and was searched as it is stored"


def test_a_limit_and_a_cancel_make_it_partial(tmp_path: Path) -> None:
    written(tmp_path, 2_000)
    everything = parse_filter("size > 0", now_ms=NOW_MS)
    found, outcome = outcome_of(StoreSearch(tmp_path, everything, limit=7))
    assert (len(found), outcome) == (7, "partial: 7 hits in 7 messages; the limit of 7 hits was reached")
    found, outcome = outcome_of(StoreSearch(tmp_path, everything, window_bytes=4_096), taken=300)
    assert 300 <= len(found) < 2_000
    assert outcome.endswith("it was cancelled")


def test_an_expression_that_does_not_end_makes_it_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SEARCH_SECONDS", 0.01)
    writer = StoreWriter(tmp_path)
    for body in (b"aaa", b"a" * 200 + b"b", b"aa"):
        writer.append("orders", body)
    writer.flush()
    found, outcome = outcome_of(StoreSearch(tmp_path, parse_filter('body ~ "^(a|aa)+$"', now_ms=NOW_MS)))
    assert found == [b"aaa"]
    assert outcome.startswith("partial: 1 hit in 2 messages; the regular expression '^(a|aa)+$' takes more than ")


def test_a_search_that_is_let_go_is_not_complete(tmp_path: Path) -> None:
    written(tmp_path, 1_000)
    search = StoreSearch(tmp_path, parse_filter("size > 0", now_ms=NOW_MS))
    steps = search.steps()
    first = next(steps)
    assert search.outcome is None
    assert (len(first.hits), first.total >= first.scanned) == (256, True)
    steps.close()
    assert search.outcome is not None
    assert not search.outcome.is_complete


def test_progress_is_told_where_there_are_no_hits(tmp_path: Path) -> None:
    written(tmp_path, 2_000)
    search = StoreSearch(tmp_path, parse_filter("queue = 9", now_ms=NOW_MS), window_bytes=16_384)
    scanned = [step.scanned for step in search.steps()]
    assert len(scanned) > 5
    assert scanned == sorted(scanned)
    assert scanned[-1] == 2_000


def test_an_empty_log_is_searched_completely(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    for text in ("size > 0", 'key = "x"', "stored > -1h", 'topic = "x"', "position = 3"):
        found, outcome = outcome_of(StoreSearch(tmp_path, parse_filter(text, now_ms=NOW_MS)))
        assert (found, outcome) == ([], "complete: 0 hits in 0 messages")


def test_a_store_that_is_in_use_is_searched_without_its_queues(tmp_path: Path) -> None:
    clock = Ticking()
    config = StoreConfig(root=tmp_path / "store", commit_log_file_bytes=1 << 20, consume_queue_file_bytes=2_000)
    with MessageStore.open(config, clock=clock) as store:
        for number in range(100):
            message = MessageToStore("orders", number % 4, 0, 0, NOW_MS, HOST, HOST, 0, 0, b"%d" % number, b"KEYS\x01k")
            store.put(message)
        for text in ('topic = "orders" and queue = 1', 'key = "k" and queue = 1'):
            search = StoreSearch(config.root, parse_filter(text, now_ms=NOW_MS))
            assert "scan of the log" in str(search.plan)
            assert len(outcome_of(search)[0]) == 25
    for text, plan in (
        ('topic = "orders" and queue = 1', "scan of 1 queue, 25 messages"),
        ('key = "k"', "index lookup of 1 key"),
    ):
        search = StoreSearch(config.root, parse_filter(text, now_ms=NOW_MS))
        assert str(search.plan).startswith(plan)
        assert outcome_of(search)[1].startswith("complete")


def test_a_chain_of_the_index_that_leads_nowhere_is_made_up_for_by_a_scan(tmp_path: Path) -> None:
    config = StoreConfig(root=tmp_path / "store", commit_log_file_bytes=1 << 20, max_hash_slots=10, max_index_items=101)
    with MessageStore.open(config, clock=Ticking()) as store:
        for number in range(40):
            properties = b"KEYS\x01k%d" % (number % 20)
            store.put(MessageToStore("orders", 0, 0, 0, NOW_MS, HOST, HOST, 0, 0, b"%d" % number, properties))
    [path] = (config.root / "index").iterdir()
    data = bytearray(path.read_bytes())
    items = 40 + 10 * 4
    for item in range(2, 39):  # the newest stays, so that the file is recognised
        data[items + item * 20 + 16 : items + item * 20 + 20] = (90).to_bytes(4, "big")
    path.write_bytes(data)
    for number in range(20):
        search = StoreSearch(config.root, parse_filter(f'key = "k{number}"', now_ms=NOW_MS))
        found, outcome = outcome_of(search)
        assert found == [b"%d" % number, b"%d" % (number + 20)], str(search.plan)
        assert outcome.startswith("complete")


class Processor:
    """A clock, and how much of its time was worked."""

    def __init__(self) -> None:
        self.now_ns = self.worked_ns = 0
        self.slept: list[float] = []
        self.breathe = Breather(lambda: self.now_ns, lambda: self.worked_ns, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_ns += round(seconds * 1e9)

    def work(self, ns: int, *, kept_from_it_ns: int = 0) -> None:
        self.now_ns += ns + kept_from_it_ns
        self.worked_ns += ns


def test_a_breather_sleeps_as_long_as_was_worked() -> None:
    processor = Processor()
    for worked_ns in (400_000, 700_000, 3_000_000, 900_000_000):
        processor.work(worked_ns)
        processor.breathe()
    assert processor.slept == pytest.approx([0.0011, 0.003, 0.05])


def test_a_breather_sleeps_longer_where_others_want_the_processor() -> None:
    processor = Processor()
    for kept_ns in (0, 1_000_000, 2_000_000, 7_000_000, 90_000_000):
        processor.work(1_000_000, kept_from_it_ns=kept_ns)
        processor.breathe()
    assert processor.slept == pytest.approx([0.001, 0.004, 0.009, 0.032, 0.05])


def test_a_breather_does_not_take_a_wait_for_work() -> None:
    processor = Processor()
    processor.now_ns += 500_000_000
    processor.breathe.begin()
    processor.work(999_999)
    processor.breathe()
    assert processor.slept == []
