"""What is searched of a store, and how: also where queues or index are missing or damaged."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import StoreSearch

NOW_MS = 1_700_000_000_000
HOST = HostAddress.parse("127.0.0.1:10911")
TOPICS = ("orders", "pay", "stock")


class Clock:
    """A millisecond later each time it is asked."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


def put(store: MessageStore, topic: str, queue_id: int, body: bytes, properties: bytes = b"") -> None:
    store.put(MessageToStore(topic, queue_id, 0, 0, NOW_MS, HOST, HOST, 0, 0, body, properties))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was closed in good order: three topics, four queues each, a key of its own for every message."""
    root = tmp_path_factory.mktemp("closed") / "store"
    config = StoreConfig(root=root, commit_log_file_bytes=1 << 20, max_hash_slots=100, max_index_items=101)
    with MessageStore.open(config, clock=Clock()) as store:
        for number in range(120):
            put(store, TOPICS[number % 3], number % 4, b"%d" % number, b"KEYS\x01k%d" % number)
    ConfigFile(root / "config" / "topics.json").save({"topicConfigTable": {topic: {} for topic in TOPICS}})
    return root


@pytest.fixture
def copied(closed: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(closed, tmp_path / "store")


def searched(root: Path, text: str) -> tuple[list[int], str, str]:
    """Bodies found, the plan, and how it ended."""
    search = StoreSearch(root, parse_filter(text, now_ms=NOW_MS))
    found = [int(hit.message.body) for step in search.steps() for hit in step.hits]
    return found, str(search.plan), str(search.outcome)


def test_keys_are_found_where_the_queues_of_their_topic_are_lost(copied: Path) -> None:
    shutil.rmtree(copied / "consumequeue" / "pay")
    found, plan, outcome = searched(copied, 'key in ("k0", "k1", "k2")')
    assert (found, outcome[:16]) == ([0, 1, 2], "complete: 3 hits"), plan
    assert plan.startswith("index lookup of 3 keys in 3 topics")
    found, plan, outcome = searched(copied, 'topic = "pay" and queue = 1')
    assert (found, outcome[:8]) == (list(range(1, 120, 12)), "complete")
    assert plan.startswith("queues are left aside: topic pay has none, then scan of the log, ")


def test_a_store_without_any_queue_is_scanned_and_the_plan_says_why(copied: Path) -> None:
    shutil.rmtree(copied / "consumequeue")
    for text in ('key = "k7"', 'topic = "pay" and body = "7"'):
        found, plan, outcome = searched(copied, text)
        assert (found, outcome) == ([7], "complete: 1 hit in 120 messages")
        assert plan.startswith("queues and index are left aside: the store has no consume queues, then scan of the log, ")
    assert searched(copied, "body = '7'")[1].startswith("scan of the log, ")


def test_queues_that_only_rocketmq_reads_are_no_reason_to_miss_what_is_in_them(copied: Path) -> None:
    made = copied / "batchconsumequeue" / "stock" / "0" / ("0" * 20)
    made.parent.mkdir(parents=True)
    made.write_bytes(bytes(46))
    shutil.rmtree(copied / "consumequeue" / "stock")
    found, plan, outcome = searched(copied, 'key = "k2" or (topic = "stock" and body = "5")')
    assert (found, outcome[:8]) == ([2, 5], "complete")
    assert "RocketMQ 5 alone" in plan


def test_a_store_in_use_says_why_its_index_is_left_aside(copied: Path) -> None:
    (copied / "abort").touch()
    found, plan, _outcome = searched(copied, 'key = "k7"')
    assert found == [7]
    assert plan.startswith("queues and index are left aside: the store is in use, or was not closed in good order, then ")


def test_a_damaged_record_that_the_index_names_makes_it_partial(copied: Path) -> None:
    [hit] = [hit for step in StoreSearch(copied, parse_filter('key = "k7"', now_ms=NOW_MS)).steps() for hit in step.hits]
    with (copied / "commitlog" / ("0" * 20)).open("r+b") as file:
        file.seek(hit.message.physical_offset + 4)
        file.write(b"xxxx")
    found, plan, outcome = searched(copied, 'key in ("k7", "k8")')
    assert plan.startswith("index lookup")
    assert found == [8]
    assert outcome.startswith("partial: 1 hit in ")
    assert outcome.endswith("; 1 message that the index names could not be read")


def test_what_the_index_names_and_what_is_scanned_beside_it_come_in_the_order_of_the_log(copied: Path) -> None:
    first, second, *_others = sorted((copied / "index").iterdir())
    for gone in (first, second):
        gone.unlink()
        keys = ", ".join(f'"k{number}"' for number in range(120))
        found, plan, _outcome = searched(copied, f"key in ({keys})")
        assert found == list(range(120)), plan
        assert ", then scan of " in plan


def test_more_questions_than_a_scan_is_worth_are_not_asked(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_core.tools.search.plan.QUESTIONS_MAX", 8)
    assert searched(copied, 'key in ("k1", "k2")')[1].startswith("index lookup of 2 keys in 3 topics")
    found, plan, outcome = searched(copied, 'key in ("k1", "k2", "k3")')
    assert (found, outcome) == ([1, 2, 3], "complete: 3 hits in 120 messages")
    assert plan.startswith("scan of the log, ")


def test_an_index_file_whose_header_is_damaged_is_made_up_for_by_a_scan(copied: Path) -> None:
    first, *others = sorted((copied / "index").iterdir())
    assert others
    with first.open("r+b") as file:
        file.seek(16)
        file.write((0).to_bytes(8, "big") + (1 << 40).to_bytes(8, "big"))  # says that it covers the whole log
    for number in (0, 7, 119):
        found, plan, outcome = searched(copied, f'key = "k{number}"')
        assert (found, outcome[:8]) == ([number], "complete"), plan


def test_a_message_is_found_by_its_time_where_the_clock_was_set_back(tmp_path: Path) -> None:
    """Eight seconds, in mid-file: such as a time server does when a machine wakes up."""
    clock = Clock()
    config = StoreConfig(root=tmp_path / "store", commit_log_file_bytes=1 << 20)
    times = [0, 60_000, 120_000, 180_000, 172_000, 176_000, 240_000, 300_000]
    with MessageStore.open(config, clock=clock) as store:
        for number, after_ms in enumerate(times):
            for queue in range(2):
                for topic in TOPICS:
                    clock.now_ms = NOW_MS + after_ms - 1
                    put(store, topic, queue, b"%d" % number)
        for low, high in itertools.product(times, times):
            text = f'topic = "orders" and queue = 1 and stored >= {NOW_MS + low} and stored <= {NOW_MS + high}'
            expected = [number for number, after_ms in enumerate(times) if low <= after_ms <= high]
            for opened in (store, None):
                search = StoreSearch(config.root, parse_filter(text, now_ms=NOW_MS), store=opened)
                found = [int(hit.message.body) for step in search.steps() for hit in step.hits]
                assert found == expected, (text, str(search.plan))
    assert (
        searched(config.root, f'topic = "pay" and queue = 0 and stored > {NOW_MS + 200_000}')[1]
        == "scan of 1 queue, 2 messages"
    )


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> StoreConfig:
    """A log without its first files: all 40 messages of `orders` and some of `pay` are gone; `stock` is whole."""
    root = tmp_path_factory.mktemp("cleaned") / "store"
    config = StoreConfig(root=root, commit_log_file_bytes=1 << 13)
    clock = Clock()
    with MessageStore.open(config, clock=clock) as store:
        for topic in TOPICS:
            for number in range(40):
                clock.now_ms += 60_000
                put(store, topic, 0, b"%d" % number, b"KEYS\x01%s%d\x02PAD\x01" % (topic.encode(), number) + b"x" * 600)
        pay = store.queue_units("pay", 0, 0, 40)
    for base in range(0, int(pay[20][0]), 1 << 13):
        (root / "commitlog" / f"{base:020}").unlink(missing_ok=True)
    return config


@pytest.mark.parametrize("is_open", [False, True])
def test_a_complete_search_says_what_is_no_longer_stored(cleaned: StoreConfig, *, is_open: bool) -> None:
    def ended(text: str) -> tuple[int, tuple[str, ...]]:
        with MessageStore.open(cleaned) if is_open else contextlib.nullcontext() as store:
            search = StoreSearch(cleaned.root, parse_filter(text, now_ms=NOW_MS), store=store)
            hits = [hit.message for step in search.steps() for hit in step.hits]
        assert search.outcome is not None
        assert search.outcome.is_complete, search.outcome
        return len(hits), search.outcome.notes

    of_orders = ("40 earlier messages of topic orders are no longer stored",)
    kept, (of_pay,) = ended('topic = "pay"')
    assert 0 < kept < 40
    assert of_pay == f"{40 - kept} earlier messages of topic pay are no longer stored"
    assert ended('topic = "orders"') == ended('topic = "orders" and key = "orders7"') == (0, of_orders)
    assert ended('topic = "orders" and offset = 3') == (0, ("1 earlier message of topic orders is no longer stored",))
    assert ended('topic = "orders" and queue = 1') == (0, ())
    assert ended('topic = "stock"') == (40, ())
    assert ended('topic = "pay" and offset >= 39') == (1, ())
    assert ended(f'topic = "pay" and stored >= {NOW_MS + 79 * 60_000}')[1] == ()
    assert ended(f'topic = "pay" and stored >= {NOW_MS + 41 * 60_000}') == (kept, (of_pay,))
    of_both = (f"{80 - kept} earlier messages of 2 topics are no longer stored, most of them of topic orders",)
    assert ended("body != 'x'") == (40 + kept, of_both)
    assert ended('key = "orders7"') == (0, of_both)
