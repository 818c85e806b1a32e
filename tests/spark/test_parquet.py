"""Prepared messages: continued exactly, read with the same results, refused when they do not fit."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from broker_core.errors import CorruptStoreError, ForeignStoreError, UsageError
from spark_reports import catalog
from spark_reports.parquet.advance import Addition, advance
from spark_reports.parquet.folder import MANIFEST, PARTS, held, open_folder
from tests.spark.support import rows, run
from tests.support import known_store as known
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return known.write_known_store(tmp_path_factory.mktemp("known") / "store").root


@pytest.fixture(scope="module")
def prepared(spark, store, tmp_path_factory):
    return advance(spark, tmp_path_factory.mktemp("prepared") / "messages", Addition([str(store)], bodies=True))


OWN = {
    "story": {"key": "payment-0"},
    "sql": {"query": "select topic, count(*) as messages from messages group by topic"},
    "compare": {"from_ms": known.START_MS + 7 * known.DAY_MS},
}
ON_MESSAGES = [spec.name for spec in catalog.reports() if not spec.needs_samples and spec.name not in ("reconcile", "incident")]
OFTEN = ("throughput", "transactions", "delay")
NAMES = [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in ON_MESSAGES]


def same(one, other):
    assert (one.findings, one.headlines) == (other.findings, other.headlines)
    for mine, theirs in zip(one.tables, other.tables, strict=True):
        assert mine.name == theirs.name
        assert sorted(map(repr, mine.data.to_pylist())) == sorted(map(repr, theirs.data.to_pylist()))


@pytest.mark.parametrize("name", NAMES)
def test_a_report_says_the_same_of_prepared_messages(spark, store, prepared, name):
    own = OWN.get(name, {})
    log, parquet = run(spark, store, name, **own), run(spark, store, name, prepared=prepared, **own)
    same(log, parquet)
    if "from_ms" not in own:
        assert (log.looked_at, log.skipped) == (parquet.looked_at, parquet.skipped)


def test_bounds_and_topics_leave_out_the_same(spark, store, prepared):
    own = {"from_ms": known.START_MS + known.DAY_MS, "to_ms": known.START_MS + 6 * known.DAY_MS, "topics": ("orders",)}
    log, parquet = run(spark, store, "queues", **own), run(spark, store, "queues", prepared=prepared, **own)
    same(log, parquet)
    assert (log.looked_at, log.skipped) == (parquet.looked_at, parquet.skipped)
    meant = [run(spark, store, "retries", topics=("invoices",), prepared=source) for source in (None, prepared)]
    same(*meant)


def test_a_folder_with_the_signs_of_a_pattern_in_its_name_is_read_and_no_other(spark, store, tmp_path):
    strange = tmp_path / "run[12] {a,b} *?\\%41 #:" / "messages"
    whole = advance(spark, strange, Addition([str(store)]))
    for other in ("run1 a xy", "run2 b xy", "run[12] a ab"):
        shutil.copytree(strange.parent, tmp_path / other)
    same(run(spark, store, "throughput"), run(spark, store, "throughput", prepared=whole))


def test_only_what_is_new_is_read(spark, tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 14)
    for index in range(300):
        writer.append("orders", b"x" * 40, store_ms=known.START_MS + index)
    writer.flush()
    addition = Addition([str(tmp_path / "store")])
    first = advance(spark, tmp_path / "out", addition)
    files = {part.file for part in first.parts}
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / PARTS).iterdir()}
    assert advance(spark, tmp_path / "out", addition) == first
    for index in range(300, 350):
        writer.append("orders", b"x" * 40, store_ms=known.START_MS + index)
    writer.flush()
    (tmp_path / "out" / PARTS / "left-over.parquet").write_bytes(b"of a cancelled run")
    second = advance(spark, tmp_path / "out", addition)
    assert [sum(part.rows for part in one.parts) for one in (first, second)] == [300, 350]
    assert second.parts[: len(first.parts)] == first.parts
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / PARTS).iterdir()}
    assert {name: after[name] for name in files} == times
    assert set(after) == {part.file for part in second.parts}
    assert second.stores[0].end == writer.position
    assert open_folder(tmp_path / "out") == second


def test_what_was_cleaned_away_unread_is_damage(spark, tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 12)
    writer.append("orders", b"x" * 40)
    writer.flush()
    addition = Addition([str(tmp_path / "store")])
    advance(spark, tmp_path / "out", addition)
    for _ in range(200):
        writer.append("orders", b"x" * 40)
    writer.flush()
    for path in sorted((tmp_path / "store" / "commitlog").iterdir())[:3]:
        path.unlink()
    folder = advance(spark, tmp_path / "out", addition)
    (gone,) = folder.stores[0].damage
    assert (gone.reason, gone.offset + gone.bytes) == ("removed by the broker's cleaning before it was read", 3 << 12)
    result = run(spark, tmp_path / "store", "queues", prepared=folder)
    assert (result.complete, [skip.bytes for skip in result.skipped]) == (False, [gone.bytes])


def test_a_torn_end_counts_until_it_is_whole(spark, tmp_path):
    root = golden_store("torn").unpack(tmp_path)
    folder = advance(spark, tmp_path / "out", Addition([str(root)]))
    log, parquet = run(spark, root, "throughput"), run(spark, root, "throughput", prepared=folder)
    same(log, parquet)
    assert [(skip.reason, skip.bytes) for skip in log.skipped] == [(skip.reason, skip.bytes) for skip in parquet.skipped]


def copy(prepared, tmp_path):
    shutil.copytree(prepared.path, tmp_path / "copy")
    return tmp_path / "copy"


def test_what_does_not_fit_is_refused(spark, store, prepared, tmp_path):
    other = StoreWriter(tmp_path / "other")
    other.append("orders")
    other.flush()
    with pytest.raises(ForeignStoreError, match="is another store"):
        advance(spark, prepared.path, Addition([str(tmp_path / "other")]))
    with pytest.raises(UsageError, match="was begun with bodies"):
        advance(spark, prepared.path, Addition([str(store)], bodies=False))
    with held(prepared.path), pytest.raises(UsageError, match="another run continues"):
        advance(spark, prepared.path, Addition([str(store)]))
    with pytest.raises(ForeignStoreError, match="holds no prepared messages"):
        open_folder(tmp_path)
    with pytest.raises(UsageError, match="holds other files"):
        advance(spark, tmp_path, Addition([str(store)]))


def test_another_log_in_the_place_of_the_first_is_refused(spark, tmp_path):
    def write(count, body):
        shutil.rmtree(tmp_path / "store", ignore_errors=True)
        writer = StoreWriter(tmp_path / "store", file_bytes=1 << 12)
        for _ in range(count):
            writer.append("orders", body)
        writer.flush()

    addition = Addition([str(tmp_path / "store")])
    write(100, b"x" * 40)
    advance(spark, tmp_path / "out", addition)
    write(100, b"y" * 40)
    with pytest.raises(ForeignStoreError, match="is not the one that was read before: its record at"):
        advance(spark, tmp_path / "out", addition)
    write(10, b"x" * 40)
    with pytest.raises(ForeignStoreError, match="it was cut or replaced"):
        advance(spark, tmp_path / "out", addition)


@pytest.mark.parametrize("harm", ["cut", "gone", "manifest", "format", "escape"])
def test_a_damaged_folder_is_refused(prepared, tmp_path, harm):
    path = copy(prepared, tmp_path)
    manifest = json.loads((path / MANIFEST).read_text())
    part = path / PARTS / manifest["parts"][0]["file"]
    said = {"cut": "has 10 bytes; the manifest names", "gone": "is missing; the manifest", "manifest": "is damaged: KeyError",
            "format": "its format is 99", "escape": "is damaged: ValueError"}[harm]  # fmt: skip
    if harm == "cut":
        part.write_bytes(part.read_bytes()[:10])
    elif harm == "gone":
        part.unlink()
    elif harm == "escape":
        manifest["parts"][0]["file"] = "../x"
    elif harm == "format":
        manifest["format"] = 99
    else:
        del manifest["parts"][0]["rows"], manifest["stores"][0]["end"]
    (path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises((CorruptStoreError, ForeignStoreError), match=said):
        open_folder(path)


def test_a_column_that_was_not_prepared_is_refused(spark, store, tmp_path):
    folder = advance(spark, tmp_path / "out", Addition([str(store)]))
    with pytest.raises(UsageError, match="was prepared without body"):
        run(spark, store, "sizes", prepared=folder)
    assert run(spark, store, "sizes", prepared=folder, sample=0).complete


def as_an_older_orbit_left_it(spark, folder, column):
    """The folder without a column, in its parts too."""
    manifest = json.loads((folder.path / MANIFEST).read_text())
    manifest["columns"].remove(column)
    for part in manifest["parts"]:
        file = folder.path / PARTS / part["file"]
        pq.write_table(pq.read_table(file).drop_columns(column), file)
        part["bytes"] = file.stat().st_size
    (folder.path / MANIFEST).write_text(json.dumps(manifest))
    return open_folder(folder.path)


def test_a_folder_without_a_column_of_today_is_read_again(spark, store, tmp_path):
    addition = Addition([str(store)])
    new = advance(spark, tmp_path / "out", addition)
    old = as_an_older_orbit_left_it(spark, new, "member_key")
    with pytest.raises(UsageError, match=r"without member_key, which this report needs. Read .* or name the store too"):
        run(spark, store, "story", prepared=old, key="payment-0")
    again = advance(spark, tmp_path / "out", addition)
    assert (again.columns, again.stores) == (new.columns, new.stores)
    assert sum(part.rows for part in again.parts) == sum(part.rows for part in new.parts)
    assert {path.name for path in (tmp_path / "out" / PARTS).iterdir()} == {part.file for part in again.parts}
    same(*(run(spark, store, "story", prepared=source, key="payment-0") for source in (None, again)))


def test_what_properties_tell_is_no_column_that_an_older_folder_lacks(spark, tmp_path):
    writer = StoreWriter(tmp_path / "store")
    timer = {"REAL_TOPIC": "later", "REAL_QID": "3", "KEYS": "k", "TIMER_OUT_MS": "1700000900000"}
    for own in (timer, timer | {"TIMER_ROLL_TIMES": "1"}, timer | {"REAL_QID": "1"}):
        writer.append("rmq_sys_wheel_timer", b"", own)
    writer.append("orders", b"", {"KEYS": "k", "REAL_QID": "7"}, queue_id=2)
    writer.flush()
    addition = Addition([str(tmp_path / "store")])
    old = advance(spark, tmp_path / "out", addition)
    for column in ("real_queue_id", "roll_times"):
        old = as_an_older_orbit_left_it(spark, old, column)
    found = run(spark, tmp_path / "store", "keys", prepared=old)
    assert [(row["topic"], row["messages"], row["queues"]) for row in rows(found, "keys_first")] == [
        ("later", 2, 2), ("orders", 1, 1),
    ]  # fmt: skip
    same(run(spark, tmp_path / "store", "keys"), found)
    query = "select real_queue_id, roll_times from messages order by physical_offset"
    same(*(run(spark, tmp_path / "store", "sql", prepared=folder, query=query) for folder in (None, old)))
    assert advance(spark, tmp_path / "out", addition).columns == old.columns


def test_messages_whose_log_is_gone_are_kept_without_the_column(spark, tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 12)
    for _ in range(100):
        writer.append("orders", b"x" * 40)
    writer.flush()
    addition = Addition([str(tmp_path / "store")])
    old = as_an_older_orbit_left_it(spark, advance(spark, tmp_path / "out", addition), "member_key")
    min((tmp_path / "store" / "commitlog").iterdir()).unlink()
    writer.append("orders", b"x" * 40)
    writer.flush()
    continued = advance(spark, tmp_path / "out", addition)
    assert (continued.columns, sum(part.rows for part in continued.parts)) == (old.columns, 101)
