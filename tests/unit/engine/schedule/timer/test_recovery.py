"""Opening again: after a stop, a kill, lost or damaged files, another precision, a week away."""

import struct

import pytest

from broker_core.engine.schedule.timer.layout import SLOTS_TTL, WHEEL_BYTES
from broker_core.errors import CorruptStoreError
from broker_core.protocol.names import WHEEL_TIMER_TOPIC
from tests.support.timer_bench import DAY_MS, SMALL_LOG_FILE, TimerBench

SECOND = 1_000


@pytest.fixture
def sent(bench):
    """Five messages, ten seconds apart, the third cancelled, all in the wheel and on disk."""
    start = bench.clock()
    for number in range(1, 6):
        bench.send(f"k{number}", start + 10 * number * SECOND)
    bench.send("del", start + 30 * SECOND, cancels="k3")
    bench.send("far", start + 20 * DAY_MS)
    bench.turns()
    bench.flush()
    return bench


def reopen(bench, **settings):
    reopened = TimerBench(bench.stores.root, **settings)
    reopened.stores = bench.stores
    reopened.precisions = bench.precisions
    return reopened.open()


def log_files(bench):
    return sorted(bench.paths.log.iterdir())


def the_rest_comes(bench):
    bench.pass_time(60 * SECOND)
    assert bench.delivered() == ["k1", "k2", "k4", "k5"]
    bench.pass_time(20 * DAY_MS)
    assert bench.delivered() == ["k1", "k2", "k4", "k5", "far"]
    assert bench.work.figures.lost == 0
    return bench


def test_a_stop_in_good_order_changes_nothing(sent):
    sent.pass_time(15 * SECOND)
    sent.close()
    again = reopen(sent)
    assert again.work.store.waiting == 5 - 1
    assert not again.work.store.is_redoing
    the_rest_comes(again)


@pytest.mark.parametrize("turns", [1, 2])
def test_a_stop_in_the_midst_of_a_slot_repeats_nothing_and_loses_nothing(bench, turns):
    due = bench.clock() + 5 * SECOND
    keys = [f"k{number}" for number in range(1_500)]
    for number, key in enumerate(keys):
        bench.send(key, due)
        if number == 700:
            bench.send("del", due, cancels="k1400")
            bench.send("roll", due + 20 * DAY_MS)
    keys.remove("k1400")
    bench.turns()
    bench.clock.advance(5 * SECOND)
    seen = []
    while len(bench.delivered()) < len(keys):
        before = len(bench.delivered())
        while len(bench.delivered()) == before:
            bench.work.turn(bench.clock())
        for _ in range(turns - 1):
            bench.work.turn(bench.clock())
        seen.append(len(bench.delivered()))
        bench.close()
        bench = reopen(bench)
    assert len(seen) >= 3, "no stop fell into the slot"
    bench.pass_time(2 * SECOND)
    assert bench.delivered() == keys
    assert bench.work.store.waiting == 1
    bench.pass_time(20 * DAY_MS)
    assert bench.delivered()[-1] == "roll"
    assert bench.work.figures.lost == 0


def test_what_comes_into_a_slot_after_a_stop_is_delivered_once(bench):
    due = bench.clock() + 5 * SECOND
    for number in range(300):
        bench.send(f"k{number}", due)
    bench.turns()
    bench.clock.advance(5 * SECOND)
    while not bench.delivered():
        bench.work.turn(bench.clock())
    bench.clock.advance(-3 * SECOND)
    bench.close()
    again = reopen(bench)
    again.send("late", due)
    again.pass_time(10 * SECOND)
    assert again.delivered() == [*(f"k{number}" for number in range(300)), "late"]


def in_a_slot(bench):
    """Three hundred messages of one second, some of them delivered, and all of it on the disk."""
    due = bench.clock() + 5 * SECOND
    for number in range(300):
        bench.send(f"k{number}", due)
    bench.turns()
    bench.clock.advance(5 * SECOND)
    while not bench.delivered():
        bench.work.turn(bench.clock())
    bench.flush()
    return len(bench.delivered())


def test_a_kill_in_the_midst_of_a_slot_repeats_at_most_what_came_since_the_last_write(bench):
    delivered = in_a_slot(bench)
    bench.crash()
    again = reopen(bench)
    again.pass_time(SECOND)
    assert delivered < 300
    assert again.delivered() == [f"k{number}" for number in range(300)]


def test_the_progress_of_a_slot_does_not_count_for_a_timer_log_that_was_made_again(bench):
    in_a_slot(bench)
    bench.crash()
    for path in log_files(bench):
        path.unlink()
    again = reopen(bench)
    again.send("more", again.clock() + 5 * SECOND)
    again.turns()
    again.crash()
    last = reopen(again)
    last.pass_time(10 * SECOND)
    assert set(last.delivered()) == {*(f"k{number}" for number in range(300)), "more"}


def test_a_kill_with_everything_on_disk_repeats_at_most_what_came_since_the_last_write(sent):
    sent.pass_time(10 * SECOND)
    sent.flush()
    sent.pass_time(10 * SECOND)
    sent.crash()
    again = reopen(sent)
    again.turns()
    assert again.delivered() == ["k1", "k2", "k2"]


def test_units_that_were_not_written_are_made_again_from_the_wheel_topic(bench):
    start = bench.clock()
    for number in range(1, 6):
        bench.send(f"k{number}", start + 10 * number * SECOND)
        if number == 2:
            bench.turns()
            bench.flush()
    bench.turns()
    bench.crash()
    again = reopen(bench)
    assert again.work.store.queue_offset == 2
    again.turns()
    assert again.work.store.waiting == 5
    again.pass_time(60 * SECOND)
    assert again.delivered() == ["k1", "k2", "k3", "k4", "k5"]


def test_nothing_was_ever_written(bench):
    bench.send("a", bench.clock() + 10 * SECOND)
    bench.turns()
    bench.crash()
    again = reopen(bench)
    again.pass_time(20 * SECOND)
    assert again.delivered() == ["a"]


@pytest.mark.parametrize("garbage", [b"", b"\xff" * 100, b"\x01" * WHEEL_BYTES, None])
def test_a_damaged_wheel_file_does_no_harm(sent, garbage):
    sent.close()
    if garbage is None:
        sent.paths.wheel.unlink()
    else:
        sent.paths.wheel.write_bytes(garbage)
    again = reopen(sent)
    again.flush()
    assert sent.paths.wheel.stat().st_size == WHEEL_BYTES
    again.close()
    the_rest_comes(reopen(again))


def test_the_wheel_file_is_again_what_it_was(sent):
    sent.close()
    before = sent.paths.wheel.read_bytes()
    sent.paths.wheel.write_bytes(bytes(WHEEL_BYTES))
    again = reopen(sent)
    again.flush()
    assert sent.paths.wheel.read_bytes() == before


def test_a_lost_timer_log_is_made_again_without_repeating_what_was_delivered(sent, caplog):
    sent.pass_time(15 * SECOND)
    sent.close()
    for path in log_files(sent):
        path.unlink()
    again = reopen(sent)
    assert "made again from the wheel topic" in caplog.text
    the_rest_comes(again)


def test_a_lost_timer_log_does_not_bring_back_what_was_rolled(sent):
    sent.pass_time(11 * DAY_MS)
    sent.close()
    for path in log_files(sent):
        path.unlink()
    again = reopen(sent)
    again.pass_time(11 * DAY_MS)
    assert again.delivered() == ["k1", "k2", "k4", "k5", "far"]


@pytest.mark.parametrize("position", [0, 12, 52 * 3 + 13, 52 * 6])
def test_a_damaged_unit_ends_the_log_and_the_rest_is_made_again(sent, position):
    sent.close()
    path = log_files(sent)[0]
    data = bytearray(path.read_bytes())
    data[position : position + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    the_rest_comes(reopen(sent))


def test_a_missing_checkpoint_loses_nothing_and_is_reported(sent):
    sent.close()
    for path in (sent.paths.checkpoint, sent.paths.checkpoint.with_name("timercheck.bak")):
        path.unlink(missing_ok=True)
    again = reopen(sent)
    assert again.report == "config/timercheck is missing: every timer message that is kept is delivered again"
    the_rest_comes(again)


DAMAGED = {
    "empty": lambda _good: b"",
    "blanks": lambda _good: b" \n",
    "NULs": lambda good: bytes(len(good)),
    "cut": lambda good: good[:31],
    "cut behind the fields": lambda good: good[:100],
    "longer": lambda good: good + bytes(1),
    "text": lambda good: b"{}" * (len(good) // 2),
    "ones": lambda good: b"\xff" * len(good),
    "in the other order": lambda good: good[7::-1] + good[8:],
    "a negative position": lambda good: good[:8] + b"\xff" * 8 + good[16:],
    "a negative offset": lambda good: good[:16] + b"\x80" + good[17:],
}


def damage(bench, shape):
    good = bench.paths.checkpoint.read_bytes()
    bench.paths.checkpoint.write_bytes(DAMAGED[shape](good))


@pytest.mark.parametrize("shape", DAMAGED)
def test_a_damaged_checkpoint_has_a_backup_by_which_nothing_is_lost(sent, shape):
    sent.pass_time(15 * SECOND)
    sent.flush()
    sent.pass_time(SECOND)
    sent.close()
    damage(sent, shape)
    again = reopen(sent)
    assert "its backup is used" in again.report
    assert len(list(sent.paths.checkpoint.parent.glob("timercheck.damaged-*"))) == 1
    the_rest_comes(again)


@pytest.mark.parametrize("shape", DAMAGED)
def test_a_damaged_checkpoint_without_a_backup_is_refused_and_left_alone(sent, shape):
    sent.close()
    sent.paths.checkpoint.with_name("timercheck.bak").unlink(missing_ok=True)
    damage(sent, shape)
    damaged = sent.paths.checkpoint.read_bytes()
    with pytest.raises(CorruptStoreError, match="every timer message that is kept is delivered again"):
        reopen(sent)
    assert sent.paths.checkpoint.read_bytes() == damaged


def test_a_checkpoint_that_is_no_file_is_set_aside(sent):
    sent.flush()
    sent.pass_time(SECOND)
    sent.close()
    sent.paths.checkpoint.unlink()
    sent.paths.checkpoint.mkdir()
    again = reopen(sent)
    again.flush()
    assert again.paths.checkpoint.is_file()
    the_rest_comes(again)


@pytest.mark.parametrize("data", [b"", bytes(4096)])
def test_an_empty_checkpoint_of_a_store_without_timers_has_lost_nothing(bench, data):
    bench.close()
    bench.paths.checkpoint.parent.mkdir(exist_ok=True)
    bench.paths.checkpoint.write_bytes(data)
    again = reopen(bench)
    again.send("later", again.clock() + SECOND)
    again.pass_time(5 * SECOND)
    assert again.delivered() == ["later"]


def test_files_of_different_sizes_are_refused_with_what_to_do(sent):
    sent.close()
    (sent.paths.log / f"{SMALL_LOG_FILE:020d}").write_bytes(bytes(1_000))
    with pytest.raises(CorruptStoreError, match="Move the directory away"):
        reopen(sent)


def test_units_of_records_that_a_power_cut_took_are_dropped_for_good(sent):
    sent.close()
    end = sent.store.commit_log_max_offset
    path = log_files(sent)[-1]
    data = bytearray(path.read_bytes())
    unit = 52 * 6 % len(data)
    struct.pack_into(">q", data, unit + 28, end + 100)
    path.write_bytes(data)
    again = reopen(sent)
    assert again.work.store.waiting == 4
    again.close()
    assert reopen(again).work.store.waiting == 4


@pytest.mark.parametrize(("before", "after"), [(1_000, 100), (1_000, 5_000), (100, 1_000), (1_000, 700), (250, 1_000)])
def test_another_precision_makes_nothing_early_and_loses_nothing(tmp_path, before, after):
    bench = TimerBench(tmp_path / "store", precision_ms=before).open()
    bench.clock.now_ms += 123
    start = bench.clock()
    for number in range(20):
        bench.send(f"k{number:02}", start + 3_210 * (number + 1))
        if number == 15:
            bench.turns()
    bench.send("far", start + 17 * DAY_MS + 55)
    bench.close()
    again = reopen(bench, precision_ms=after)
    again.send("new", start + 18 * DAY_MS)
    again.pass_time(19 * DAY_MS)
    arrivals = again.arrivals()
    assert sorted(again.delivered()) == [*["far"], *(f"k{number:02}" for number in range(20)), "new"]
    for at_ms, properties in arrivals:
        late = at_ms - int(properties["TIMER_DELIVER_MS"])
        assert 0 <= late <= before + after
    again.close()


def test_a_precision_that_no_file_tells_is_seen_in_the_wheel(tmp_path):
    bench = TimerBench(tmp_path / "store", precision_ms=200).open()
    bench.send("a", bench.clock() + 5_050)
    bench.turns()
    bench.close()
    again = reopen(bench, precision_ms=1_000)
    assert again.precisions == {"changes": [{"fromOffset": 0, "precisionMs": 200}, {"fromOffset": 1, "precisionMs": 1_000}]}
    again.close()


@pytest.mark.parametrize("days", [6, 8, 15, 40])
def test_a_stop_of_weeks_loses_nothing_and_delivers_by_time(bench, days):
    start = bench.clock()
    for number, due_days in enumerate((3, 1, 9, 2, 30)):
        bench.send(f"k{number}", start + due_days * DAY_MS)
    bench.turns()
    bench.close()
    bench.clock.advance(days * DAY_MS)
    again = reopen(bench)
    again.send("new", again.clock() + 10 * SECOND)
    again.pass_time(11 * SECOND)
    expected = {6: "k1 k3 k0 new", 8: "k1 k3 k0 new", 15: "k1 k3 k0 k2 new", 40: "k1 k3 k0 k2 k4 new"}[days]
    order = again.delivered()
    assert sorted(order) == sorted(expected.split())
    assert [key for key in order if key in ("k1", "k3", "k0")] == ["k1", "k3", "k0"]
    again.pass_time(31 * DAY_MS)
    assert sorted(again.delivered()) == ["k0", "k1", "k2", "k3", "k4", "new"]


def test_old_log_files_go_when_the_commit_log_has_deleted_their_records(sent):
    for number in range(30):
        sent.send(f"m{number}", sent.clock() + 5 * SECOND)
    sent.pass_time(10 * SECOND)
    sent.flush()
    files = len(log_files(sent))
    assert files > 3
    unit = sent.work.store.log.unit(SMALL_LOG_FILE)
    assert sent.work.store.clean(unit.physical_offset) == 1
    assert sent.work.store.clean(sent.store.commit_log_max_offset) == files - 2
    assert len(log_files(sent)) == 1
    sent.close()
    assert reopen(sent).work.store.log.start == (files - 1) * SMALL_LOG_FILE


def test_a_wheel_topic_that_was_cut_below_the_checkpoint_is_followed(sent):
    sent.close()
    data = bytearray(sent.paths.checkpoint.read_bytes())
    struct.pack_into(">qq", data, 16, 500, 500)
    sent.paths.checkpoint.write_bytes(data)
    again = reopen(sent)
    assert again.work.store.queue_offset == again.store.max_offset(WHEEL_TIMER_TOPIC, 0)
    again.send("new", again.clock() + 10 * SECOND)
    again.pass_time(10 * SECOND)
    assert "new" in again.delivered()


def test_slots_reach_a_week(bench):
    assert SLOTS_TTL * bench.settings.precision_ms == 7 * DAY_MS
