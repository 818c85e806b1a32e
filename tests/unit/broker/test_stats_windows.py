from broker_core.broker.counters import Counters

HOUR_MS = 3_600_000


def counted(seconds, *, per_second=10, batch=1):
    """Counters of a broker that got messages for so long."""
    counters = Counters(now_ms=0)
    for second in range(1, seconds + 1):
        for _ in range(per_second // batch):
            counters.put("T", batch, batch * 100)
            counters.got("T", "CG", batch, batch * 100)
        counters.sample(second * 1000)
    return counters


def test_600_messages_in_a_minute_are_10_per_second():
    minute = counted(60).stats.view("TOPIC_PUT_NUMS", "T").minute
    assert (minute.sum, minute.tps, minute.average) == (600, 10.0, 1.0)


def test_the_minute_moves_on_and_keeps_its_length():
    assert counted(600).stats.view("GROUP_GET_NUMS", "T@CG").minute.sum == 600


def test_an_item_counts_from_nothing_one_reading_before_its_first():
    counters = counted(60)
    counters.put("New", 30, 3_000)
    counters.sample(70_000)
    minute = counters.stats.view("TOPIC_PUT_NUMS", "New").minute
    assert (minute.sum, minute.tps) == (30, 3.0)


def test_bytes_and_batches():
    counters = counted(60, batch=5)
    assert counters.stats.view("TOPIC_PUT_SIZE", "T").minute.sum == 60_000
    assert counters.stats.view("TOPIC_PUT_NUMS", "T").minute.average == 5.0
    assert counters.stats.view("BROKER_PUT_NUMS", "DefaultCluster").minute.sum == 600


def test_hour_and_day_fill_as_time_goes():
    counters = Counters(now_ms=0)
    counters.put("T", 7, 7)
    for minute in range(0, 25 * 60, 10):
        counters.put("T", 1, 1)
        counters.sample((minute + 10) * 60_000)
    view = counters.stats.view("TOPIC_PUT_NUMS", "T")
    assert (view.hour.sum, view.day.sum) == (6, 24 * 6)


def test_what_was_never_counted_is_unknown():
    counters = counted(10)
    assert counters.stats.view("TOPIC_PUT_NUMS", "Other") is None
    assert counters.stats.view("NO_SUCH_STATS", "T") is None
    counters.forget_topic("T")
    counters.sample(20_000)
    assert counters.stats.view("TOPIC_PUT_NUMS", "T") is None


def test_messages_given_back_are_counted_by_topic_and_group():
    counters = Counters(now_ms=0)
    counters.consume_failed("CG", "T")
    counters.sample(10_000)
    assert counters.stats.view("SNDBCK_PUT_NUMS", "T@CG").minute.sum == 1
