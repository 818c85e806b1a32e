from broker_core.engine.tables.counters import Counters, PutCount


def test_rates_need_as_many_samples_as_their_span():
    counters = Counters(now_ms=0)
    assert counters.rates("put") == []
    for second in range(1, 61):
        counters.put("T", 5, 500)
        counters.sample(second * 1000)
    assert counters.rates("put") == [5.0, 5.0]


def test_finds_and_misses_make_the_total():
    counters = Counters(now_ms=0)
    for second in range(1, 11):
        counters.got("T", "G", 3, 30)
        counters.get_missed += 2
        counters.sample(second * 1000)
    assert [counters.rates(what)[0] for what in ("get_found", "get_missed", "get", "got")] == [1.0, 2.0, 3.0, 3.0]


def test_the_pull_rate_of_a_group_covers_the_last_minute():
    counters = Counters(now_ms=0)
    for second in range(1, 601):
        counters.got("T", "G", 10 if second > 540 else 1, 1)
        counters.sample(second * 1000)
    assert counters.pull_rate("T", "G", 600_000) == 10.0
    assert counters.pull_rate("T", "other", 600_000) == 0.0


def test_midnight_starts_a_new_day():
    day = 86_400_000
    counters = Counters(now_ms=0)
    counters.put("T", 5, 5)
    counters.sample(day)
    counters.put("T", 2, 2)
    counters.sample(2 * day)
    assert (counters.day.today_morning, counters.day.yesterday_morning) == ((7, 0), (5, 0))


def test_deleted_topics_and_groups_are_not_counted_on():
    counters = Counters(now_ms=0)
    for topic, group in (("T", "G"), ("U", "G"), ("T", "H")):
        counters.got(topic, group, 1, 1)
    counters.forget_topic("T")
    assert (set(counters.topics), set(counters.pulls)) == ({"U"}, {("U", "G")})
    counters.forget_group("G")
    assert (set(counters.groups), counters.pulls) == ({"H"}, {})


def test_puts_that_somebody_else_counts_are_taken_when_a_counter_is_read():
    counters, asked = Counters(now_ms=0), []

    def counts():
        asked.append(1)
        return [PutCount("T", 3, 3, 300), PutCount("U", 1, 1, 10), PutCount("T", 1, 2, 20)]

    counters.count_by(counts)
    counters.put("T", 4, 40)
    assert (counters.puts, asked) == (1, [])
    readings = {
        "puts": lambda: counters.puts, "put_messages": lambda: counters.put_messages, "put_bytes": lambda: counters.put_bytes,
        "topic": lambda: counters.topics["T"].put_messages,
    }  # fmt: skip
    expected = {"puts": 1, "put_messages": 4, "put_bytes": 40, "topic": 4}
    more = {"puts": 5, "put_messages": 6, "put_bytes": 330, "topic": 5}
    for number, (name, read) in enumerate(readings.items(), 1):
        counters.counted_elsewhere = True
        assert read() == expected[name] + number * more[name]
        assert (len(asked), counters.counted_elsewhere) == (number, False)
    counters.counted_elsewhere = True
    counters.sample(1_000)
    assert counters.put_messages == 4 + 5 * 6
    assert (counters.topics["U"].puts, counters.topics["T"].puts) == (5, 1 + 5 * 4)


def test_the_time_of_several_puts_counts_for_each():
    counters = Counters(now_ms=0)
    counters.put("T", 70, 1)
    counters.put_took(0.02, 5.0, 60)
    counters.put_took(0.001, 5.0, 10)
    counters.count_by(lambda: [PutCount("T", 69, 69, 1)])
    counters.counted_elsewhere = True
    counters.sample(60_000)
    assert counters.put_distribution[:4] == [0, 10, 60, 0]
    assert counters.put_latency.quantiles((0.1, 0.5), 5.0)[0] < 2 < counters.put_latency.quantiles((0.1, 0.5), 5.0)[1]
