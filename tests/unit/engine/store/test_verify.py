from __future__ import annotations

import os
import random
import shutil
import struct

import pytest

from broker_core.engine.store.inspection.verify import Verification
from broker_core.errors import ForeignStoreError
from broker_core.protocol.delay_levels import DelayLevels
from tests.support.golden import contents, golden_store
from tests.support.store_bench import LOG_FILE_BYTES, message

pytestmark = pytest.mark.usefixtures("both_ways", "both_platforms")

LEVELS = DelayLevels("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")


def verify(root) -> list[tuple[str, int, str]]:
    before = contents(root)
    found = list(Verification(root, LEVELS).findings())
    assert contents(root) == before
    return found


def notes(root) -> list[str]:
    run = Verification(root, LEVELS)
    assert list(run.findings()) == []
    return [str(note) for note in run.notes]


def fill(bench, count: int = 400, queues: int = 3) -> None:
    with bench.open() as store:
        for number in range(count):
            bench.clock.advance(50)
            store.put(message(b"%d" % number * 10, queue_id=number % queues, properties=b"TAGS\x01Tag%d" % (number % 5)))


def change(path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def log_file(bench, number: int):
    return sorted((bench.root / "commitlog").iterdir())[number]


def queue_file(bench, number: int, queue_id: int = 1):
    return sorted((bench.root / "consumequeue" / "Orders" / str(queue_id)).iterdir())[number]


def test_a_store_that_was_closed_is_sound(bench):
    fill(bench)
    run = Verification(bench.root, LEVELS)
    assert list(run.findings()) == []
    assert (run.records, run.queues, run.index_files, run.notes) == (400, 3, 0, [])
    assert run.log_end > 3 * LOG_FILE_BYTES


def test_an_open_store_whose_queues_are_behind_is_sound_and_says_so(bench):
    store = bench.open()
    store.put(message())
    assert any("abort" in note for note in notes(bench.root))
    assert any("queue is missing" in note for note in notes(bench.root))


def test_a_changed_body_is_named_with_its_record(bench):
    fill(bench)
    position = LOG_FILE_BYTES  # the first record of the second file
    change(log_file(bench, 1), 90, b"\xff")
    ((file, found, text),) = verify(bench.root)
    assert (file, found) == (f"commitlog/{position:020d}", 0)
    assert "checksum" in text


@pytest.mark.parametrize("at", [0, 4, 30, 87], ids=["size", "magic code", "physical offset", "body length"])
def test_a_changed_head_is_a_gap_and_its_unit_leads_nowhere(bench, at):
    fill(bench)
    change(log_file(bench, 1), at, b"\x77")
    log, queue = verify(bench.root)
    assert log[:2] == (log_file(bench, 1).relative_to(bench.root).as_posix(), 0)
    assert "hold no readable record" in log[2]
    assert queue[0].startswith("consumequeue/Orders/")
    assert f"points to {LOG_FILE_BYTES:,}, where no record starts" in queue[2]


def test_a_missing_log_file_in_the_middle_is_a_gap(bench):
    fill(bench)
    log_file(bench, 2).unlink()
    texts = [text for _, _, text in verify(bench.root)]
    assert f"{LOG_FILE_BYTES:,} bytes are missing" in texts[0]
    assert all("where no record starts" in text for text in texts[1:])
    assert len(texts) > 10


def test_a_lost_filler_is_noticed(bench):
    fill(bench)
    data = log_file(bench, 0).read_bytes()
    end = data.rindex(struct.pack(">I", 0xCBD43194)) - 4
    change(log_file(bench, 0), end, bytes(8))
    ((file, position, text),) = verify(bench.root)
    assert (file, position) == ("commitlog/" + "0" * 20, end)
    assert "neither a record nor a filler" in text


def test_a_filler_of_the_wrong_size_is_noticed(bench):
    fill(bench)
    data = log_file(bench, 0).read_bytes()
    end = data.rindex(struct.pack(">I", 0xCBD43194)) - 4
    change(log_file(bench, 0), end, struct.pack(">i", 5))
    ((_, position, text),) = verify(bench.root)
    assert position == end
    assert f"the filler says 5 bytes; {LOG_FILE_BYTES - end:,} are left" in text


def test_a_log_file_of_another_length_is_noticed(bench):
    fill(bench)
    path = log_file(bench, 1)
    path.write_bytes(path.read_bytes()[:5_000])
    assert any("has 5,000 bytes" in text for _, _, text in verify(bench.root))


def test_left_overs_behind_the_end_are_a_note(bench):
    fill(bench)
    path = log_file(bench, -1)
    change(path, LOG_FILE_BYTES - 5, b"\1")
    ((note),) = notes(bench.root)
    assert f"{path.name} at {LOG_FILE_BYTES - 5:,}" in note


@pytest.mark.parametrize(
    ("at", "data", "expected"),
    [
        (0, struct.pack(">q", 7), "points to 7, where no record starts"),
        (8, struct.pack(">i", 99), "says 99 bytes"),
        (12, struct.pack(">q", 4711), "has tags code 4711"),
        (0, bytes(20), "units from 13 on are empty"),
        (0, struct.pack(">q", 1 << 40), "point behind the log's end"),
    ],
)
def test_a_changed_unit_is_named_with_what_it_should_say(bench, at, data, expected):
    fill(bench)
    change(queue_file(bench, 1), 60 + at, data)  # unit 13 of queue 1
    found = verify(bench.root)
    assert any((file, position) == (f"consumequeue/Orders/1/{200:020d}", 60) for file, position, _ in found)
    assert any(expected in text for _, _, text in found)


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_missing_queue_file_is_noticed(bench, number):
    fill(bench)
    queue_file(bench, number).unlink()
    texts = [text for _, _, text in verify(bench.root)]
    assert any("records of the log have no unit" in text for text in texts)


def test_a_missing_queue_is_noticed_and_excused_by_the_configuration(bench):
    fill(bench)
    for path in sorted((bench.root / "consumequeue" / "Orders").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert [text.partition(" of it")[0] for _, _, text in verify(bench.root)] == [
        f"the queue is missing; the log has {count} records" for count in (134, 133, 133)
    ]
    (bench.root / "config" / "topics.json").write_text('{"topicConfigTable":{"Other":{}}}')
    assert len(notes(bench.root)) == 3


def test_a_topic_that_was_deleted_and_made_again_is_sound(bench):
    fill(bench)
    with bench.open() as store:
        store.remove_topic("Orders")
        store.put(message(b"anew"))
        store.put(message(b"again", queue_id=1))
        store.put(message(b"again", queue_id=2))
    assert verify(bench.root) == []
    assert [note.partition(" records")[0] for note in notes(bench.root)] == [
        f"consumequeue/Orders/{queue}/{0:020d} at 20: {count}" for queue, count in enumerate((133, 132, 132))
    ]


def test_a_topic_that_was_deleted_and_made_again_is_sound_without_messages_too(bench):
    fill(bench)
    with bench.open() as store:
        store.remove_topic("Orders")
        store.put(message(b"another", topic="Other"))
    (bench.root / "config").mkdir(exist_ok=True)
    (bench.root / "config" / "topics.json").write_text('{"topicConfigTable":{"Orders":{},"Other":{}}}')
    assert len(notes(bench.root)) == 3
    (bench.root / "orbit.queues").unlink()  # as after a real broker
    assert len(notes(bench.root)) == 3


def test_of_a_topic_that_was_made_again_what_is_lost_is_named(bench):
    fill(bench, 30)
    with bench.open() as store:
        store.remove_topic("Orders")
    fill(bench, 90)
    shutil.rmtree(bench.root / "consumequeue" / "Orders" / "1")
    assert [text for _, _, text in verify(bench.root)] == [
        "the queue is missing; the log has 40 records of it, the first at 116"  # also the 10 of the deleted topic
    ]
    (bench.root / "orbit.queues").unlink()
    assert [text.partition("; ")[2].partition(" of it")[0] for _, _, text in verify(bench.root)] == ["the log has 40 records"]


def test_a_queue_that_ends_before_its_note_is_named(bench):
    fill(bench, 12)
    with bench.open() as store:
        store.remove_topic("Orders")
        store.put(message(b"again"))
    change(queue_file(bench, 0, 0), 0, bytes(20))
    ((file, position, text),) = verify(bench.root)
    assert (file, position) == (f"consumequeue/Orders/0/{0:020d}", 0)
    assert text == "the queue ends at 0; it ended at 1 when the store was closed"


@pytest.mark.parametrize("offset", [-1, -(1 << 63), 134, 928803233967072000])
def test_an_offset_that_a_real_broker_stores_is_a_note(bench, offset):
    fill(bench)
    path = bench.root / "config" / "consumerOffset.json"
    path.write_text(f'{{"offsetTable":{{"Orders@g":{{0:7,1:{offset}}}}}}}')
    assert notes(bench.root) == [
        f"config/consumerOffset.json at 0: Orders@g: queue 1 has offset {offset:,}; the queue ends at 133"
    ]


def test_the_progress_of_a_delay_level_is_beyond_its_queue_after_a_crash_alone(bench):
    with bench.open() as store:
        store.put(message(topic="SCHEDULE_TOPIC_XXXX", properties=b"DELAY\x011"))
    path = bench.root / "config" / "delayOffset.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"offsetTable":{1:2}}')
    ((file, _, text),) = verify(bench.root)
    assert (file, text) == ("config/delayOffset.json", "level 1: queue 0 has offset 2; the queue ends at 1")
    (bench.root / "abort").touch()
    assert any("level 1" in note for note in notes(bench.root))


def test_delayed_messages_of_an_earlier_message_delay_level_are_a_note(bench):
    with bench.open(message_delay_level="1s 3s") as store:
        for _ in range(3):
            store.put(message(topic="SCHEDULE_TOPIC_XXXX", queue_id=1, properties=b"DELAY\x012"))
    queue = bench.root / "consumequeue" / "SCHEDULE_TOPIC_XXXX" / "1"
    (path,) = queue.iterdir()
    name = path.relative_to(bench.root).as_posix()
    text = "3 units from 0 on are due by another messageDelayLevel than the given one"
    assert notes(bench.root) == [f"{name} at 0: {text}"]
    sound = path.read_bytes()
    due_ms = struct.unpack_from(">q", sound, 12)[0]
    for wrong_ms in (due_ms + 1, due_ms - 4_000, 0):
        change(path, 12, struct.pack(">q", wrong_ms))
        ((file, position, text),) = verify(bench.root)
        assert (file, position, f"unit 0 has tags code {wrong_ms}" in text) == (name, 0, True)


def test_an_index_that_ends_where_a_broker_did_without_is_a_note_and_goes_on_later(bench):
    keys = b"UNIQ_KEY\x01%d"
    for number, is_on in enumerate((True, False, True)):
        with bench.open(message_index=is_on) as store:
            store.put(message(properties=keys % number))
        assert verify(bench.root) == []
        assert any("the index is behind the log: 1 records" in note for note in notes(bench.root)) is not is_on


@pytest.mark.parametrize("is_kept", [True, False], ids=["all of its log", "its begin is cleaned away"])
def test_a_clock_that_was_set_back_leaves_a_sound_index(bench, is_kept):
    with bench.open(file_reserved_hours=0) as store:
        for number in range(100):
            bench.clock.advance(-60_000)
            store.put(message(b"b" * 500, properties=b"KEYS\x01k%d" % number))
        store.flush()
        if not is_kept:
            store.flush()
            os.utime(log_file(bench, 0), (0, 0))
            assert store.clean().log_files == 1
    assert len(list((bench.root / "index").iterdir())) == 1
    assert verify(bench.root) == []
    path = next((bench.root / "index").iterdir())
    begin_ms = int.from_bytes(path.read_bytes()[:8], "big")
    change(path, 8, struct.pack(">q", begin_ms - 1))
    assert any("is behind its last" in text for _, _, text in verify(bench.root))


def test_items_that_are_not_counted_yet_are_sound(bench):
    """A kill comes between the items of a message and the header that counts them."""
    with bench.open() as store:
        for number in range(3):
            store.put(message(properties=b"KEYS\x01k%d" % number))
            store.flush()
    path = next((bench.root / "index").iterdir())
    data = path.read_bytes()
    begin, _, first, _, used, counted = struct.unpack_from(">qqqqii", data)
    last = first + (store.commit_log_max_offset - first) // 3
    (bench.root / "abort").touch()
    change(path, 0, struct.pack(">qqqqii", begin, begin, first, last, used - 1, counted - 1))
    assert not [text for _, _, text in verify(bench.root) if "slot" in text]


def test_further_queues_that_a_producer_names_are_a_note(bench):
    with bench.open() as store:
        store.put(message(topic="B"))
        store.put(message(properties=b"INNER_MULTI_DISPATCH\x01%LMQ%x,B\x02INNER_MULTI_QUEUE_OFFSET\x013,1"))
    assert verify(bench.root) == []
    assert [note.partition(" at ")[0] for note in notes(bench.root)] == ["consumequeue/%LMQ%x/0", "consumequeue/B/0"]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("checkpoint", struct.pack(">q", 1 << 50) + bytes(4088), "physicMsgTimestamp is 1125899906842624"),
        ("checkpoint", struct.pack(">q", -5) + bytes(4088), "which is no time"),
        ("checkpoint", bytes(100), "has 100 bytes"),
        ("config/topics.json", b'{"topicConfigTable":', "no JSON"),
        ("config/topics.json", b"[1]", "no configuration"),
        ("config/topics.json", b"\xff\xfe", "no configuration"),
        ("config/topics.json", b"", "it is empty"),
        ("config/topics.json", b"{}", "no object “topicConfigTable”"),
        ("config/consumerOffset.json", bytes(4096), "byte 0 of 4,096 is NUL"),
        ("config/consumerOffset.json.bak", b"null", "no configuration"),
        ("config/delayOffset.json", b'{"offsetTable":[]}', "no object “offsetTable”"),
        ("config/broker.properties", b"brokerPermi", "its last line has no end"),
        ("config/consumerOffset.json", b'{"offsetTable":{"Orders@g":{0:"x"}}}', "which is no number"),
        ("config/consumerOffset.json", b'{"offsetTable":{"Orders":{0:7}}}', "a topic and a group with @ between them"),
        ("config/topics.json", b'{"topicConfigTable":{},"topicConfigTable":{}}', "is there twice"),
    ],
)
def test_a_side_file_that_disagrees_is_named(bench, name, data, expected):
    fill(bench)
    (bench.root / name).write_bytes(data)
    ((file, _, text),) = verify(bench.root)
    assert file == name
    assert expected in text


def test_a_missing_checkpoint_is_named(bench):
    fill(bench)
    (bench.root / "checkpoint").unlink()
    assert [file for file, _, _ in verify(bench.root)] == ["checkpoint"]


def test_a_directory_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ForeignStoreError, match="belongs to something else"):
        list(Verification(tmp_path, LEVELS).findings())


@pytest.mark.parametrize("name", ["normal", "normal-5", "filter", "lmq", "transaction"])
@pytest.mark.parametrize("part", ["commitlog", "consumequeue", "index"])
def test_a_flipped_bit_in_use_is_noticed(name, part, tmp_path, request):
    """Any bit of units and of items; in records, bits of lengths, offsets, bodies and of what units and items repeat."""
    root = golden_store(name).unpack(tmp_path)
    randomness = random.Random(request.node.name)  # other places in each way to read a store
    for _ in range(6):
        path, position = place_in_use(root, part, randomness)
        before = path.read_bytes()
        change(path, position, bytes((before[position] ^ 1 << randomness.randrange(8),)))
        assert list(Verification(root, LEVELS).findings()), f"{path} at {position}"
        path.write_bytes(before)


def place_in_use(root, part: str, randomness: random.Random):
    while True:
        path = randomness.choice(sorted(path for path in (root / part).rglob("*") if path.is_file()))
        data = path.read_bytes()
        if part == "commitlog":
            end = len(data.rstrip(b"\0"))
            if end > 200:
                magic = data.rfind(b"\xda\xa3\x20\xa7", 0, randomness.randrange(100, end))
                if magic >= 0:
                    return path, magic - 4 + randomness.choice((0, 4, 12, 20, 28, 84, 87))
        elif part == "consumequeue" and any(data):
            return path, randomness.randrange(len(data.rstrip(b"\0")) // 20 * 20 or 20)
        elif part == "index":
            begin = randomness.choice((16, 24, 32, 36))
            return path, begin + randomness.randrange(4)


@pytest.mark.parametrize("field", [0, 4, 12, 16], ids=["hash", "offset", "seconds", "previous"])
def test_a_changed_index_item_is_named(field, tmp_path):
    root = golden_store("normal").unpack(tmp_path)
    path = max((root / "index").iterdir())
    header = struct.unpack_from(">qqqqii", path.read_bytes())
    slots = int(golden_store("normal").expected["settings"]["maxHashSlotNum"])
    position = 40 + slots * 4 + 20 * (header[5] // 2) + field
    before = path.read_bytes()[position : position + 4]
    change(path, position, bytes((before[0], before[1], before[2], before[3] ^ 0x15)))
    found = list(Verification(root, LEVELS).findings())
    assert any(file == f"index/{path.name}" and abs(place - position) < 20 for file, place, _ in found)


def test_an_oldest_index_file_that_counts_less_than_nothing_is_named(tmp_path):
    root = golden_store("transaction").unpack(tmp_path)
    path = min((root / "index").iterdir())
    change(path, 36, bytes((path.read_bytes()[36] | 0x80,)))
    ((file, position, text),) = Verification(root, LEVELS).findings()
    assert (file, position) == (f"index/{path.name}", 36)
    assert text.startswith("the header counts no item")


def test_an_index_that_is_behind_the_log_is_named(tmp_path):
    root = golden_store("normal").unpack(tmp_path)
    path = max((root / "index").iterdir())
    path.unlink()
    *_, (file, _, text) = Verification(root, LEVELS).findings()
    assert file.startswith("index/")
    assert "the index is behind the log" in text
