from broker_core.engine.tables.counters import Counters

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
    minute = counted(60).stats.view("TOPIC_PUT_NUMS", "T", 60_000).minute
    assert (minute.sum, minute.tps, minute.average) == (600, 10.0, 1.0)


def test_the_minute_moves_on_and_keeps_its_length():
    assert counted(600).stats.view("GROUP_GET_NUMS", "T@CG", 600_000).minute.sum == 600


def test_an_item_counts_from_nothing_one_reading_before_its_first():
    counters = counted(60)
    counters.put("New", 30, 3_000)
    counters.sample(70_000)
    minute = counters.stats.view("TOPIC_PUT_NUMS", "New", 70_000).minute
    assert (minute.sum, minute.tps) == (30, 3.0)


def test_bytes_and_batches():
    counters = counted(60, batch=5)
    assert counters.stats.view("TOPIC_PUT_SIZE", "T", 60_000).minute.sum == 60_000
    assert counters.stats.view("TOPIC_PUT_NUMS", "T", 60_000).minute.average == 5.0
    assert counters.stats.view("BROKER_PUT_NUMS", "DefaultCluster", 60_000).minute.sum == 600


def test_hour_and_day_fill_as_time_goes():
    counters = Counters(now_ms=0)
    counters.put("T", 7, 7)
    for minute in range(0, 25 * 60, 10):
        counters.put("T", 1, 1)
        counters.sample((minute + 10) * 60_000)
    view = counters.stats.view("TOPIC_PUT_NUMS", "T", 25 * HOUR_MS)
    assert (view.hour.sum, view.day.sum) == (6, 24 * 6)


def test_what_was_never_counted_is_unknown():
    counters = counted(10)
    assert counters.stats.view("TOPIC_PUT_NUMS", "Other", 10_000) is None
    assert counters.stats.view("NO_SUCH_STATS", "T", 10_000) is None
    counters.forget_topic("T")
    assert counters.stats.view("TOPIC_PUT_NUMS", "T", 10_000) is None


def test_messages_given_back_are_counted_by_topic_and_group():
    counters = Counters(now_ms=0)
    counters.consume_failed("CG", "T")
    assert counters.stats.view("SNDBCK_PUT_NUMS", "T@CG", 10_000).minute.sum == 1


def test_an_item_is_known_with_its_first_message_and_what_it_says_is_of_now():
    counters = counted(65)
    counters.put("New", 1, 100)
    new = counters.stats.view("TOPIC_PUT_NUMS", "New", 65_005)
    assert (new.minute.sum, new.minute.tps, new.hour.sum, new.day.sum) == (1, 0.1, 1, 1)
    counters.put("T", 50, 5_000)
    # Readings were taken each 10 s: the oldest that is no more than a minute old is that of 10 s.
    assert counters.stats.view("TOPIC_PUT_NUMS", "T", 65_005).minute.sum == 550 + 50


def test_a_minute_without_readings_is_what_came_since_the_last():
    counters = counted(20)
    counters.put("T", 30, 3_000)
    minute = counters.stats.view("TOPIC_PUT_NUMS", "T", 320_000).minute
    assert (minute.sum, minute.tps) == (30, 0.1)


def test_a_topic_that_went_and_came_again_counts_from_nothing():
    counters = counted(60)
    counters.forget_topic("T")
    counters.put("T", 5, 500)
    view = counters.stats.view("TOPIC_PUT_NUMS", "T", 61_000)
    assert (view.minute.sum, view.hour.sum, view.minute.average) == (5, 5, 5.0)


def test_the_brokers_own_items_are_there_from_the_start():
    counters = counted(50, per_second=0)
    counters.put("T", 60, 60)
    assert counters.stats.view("BROKER_PUT_NUMS", "DefaultCluster", 60_000).minute[:2] == (60, 1.0)
