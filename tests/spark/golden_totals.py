"""What reports have to find in golden stores, from the answers that a real broker gave and nothing of ours.

`EXPECTED` has for each report on messages what is compared: from the description, and the same from the result.
"""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import cached_property

from tests.spark.support import rows

LEVELS, TIMERS, HALF = "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "RMQ_SYS_TRANS_HALF_TOPIC"
_KINDS = {
    LEVELS: "delay", TIMERS: "delay", HALF: "half", "RMQ_SYS_TRANS_OP_HALF_TOPIC": "op",
    "TRANS_CHECK_MAX_TIME_TOPIC": "given_up",
}  # fmt: skip


class Record:
    """One record of the log, as the broker served it."""

    def __init__(self, message):
        self.topic, self.queue_id = message.topic, message.queue_id
        self.told, self.properties = message.columns, message.columns["properties"]
        self.stored_ms, self.size = self.told["storeTimestamp"], self.told["storeSize"]
        self.body_bytes = self.told["storedBodyLength"]
        self.host = self.told["bornHost"].rpartition(":")[0].strip("[]")
        self.tag, self.id = self.properties.get("TAGS"), self.properties.get("UNIQ_KEY")
        self.keys = self.properties.get("KEYS", "").split()
        self.real_topic = self.properties.get("REAL_TOPIC", self.topic)
        self.meant = self.properties.get("RETRY_TOPIC", self.real_topic)

    @cached_property
    def kind(self):
        for start, kind in (("%RETRY%", "retry"), ("%DLQ%", "dead_letter")):
            if self.topic.startswith(start):
                return kind
        if self.topic in _KINDS:
            return _KINDS[self.topic]
        committed = self.told["sysFlag"] & 0xC == 8
        return "committed" if committed else "delivered" if "REAL_TOPIC" in self.properties else "normal"

    @property
    def is_sent(self):
        """A producer wrote it itself."""
        is_again = {"TIMER_DEL_UNIQKEY", "TIMER_ROLL_TIMES"} & set(self.properties)
        waits = self.kind == "delay" and not self.told["reconsumeTimes"] and not is_again
        return self.kind == "normal" or waits or (self.kind == "half" and "TRANSACTION_CHECK_TIMES" not in self.properties)


class Told:
    """A golden store's records, each once, in the order of the log."""

    def __init__(self, golden):
        self.is_4 = golden.expected["brokerVersion"].startswith("4")
        by_place = {}
        for message in golden.messages():
            if not message.topic.startswith("%LMQ%"):  # the same records again
                by_place[message.columns["physicalOffset"]] = Record(message)
        self.records = [by_place[place] for place in sorted(by_place)]
        assert len(self.records) == golden.expected["recordCount"]
        self.first_ms, self.last_ms = (pick(one.stored_ms for one in self.records) for pick in (min, max))
        self.middle_ms = (self.first_ms + self.last_ms) // 2

    @property
    def story_key(self):
        """Of the first message that no transaction belongs to; its copies have it too."""
        return next((one.id for one in self.of("normal", "delay") if one.is_sent and one.id), "never")

    def of(self, *kinds):
        return [one for one in self.records if one.kind in kinds]

    @property
    def sent(self):
        return [one for one in self.records if one.is_sent]


def sums(records, key, *measures):
    """Counts and sums by a key."""
    found = defaultdict(lambda: [0] * (1 + len(measures)))
    for one in records:
        row = found[key(one)]
        row[0] += 1
        for place, measure in enumerate(measures, start=1):
            row[place] += measure(one)
    return {name: tuple(row) for name, row in found.items()}


def shown(result, table, keys, *columns):
    """The same from a table of a result."""
    return {tuple(row[key] for key in keys): tuple(row[name] for name in columns) for row in rows(result, table)}


def total(result, table, column):
    return sum(row[column] for row in rows(result, table))


def _throughput(told, result):
    stored = (lambda one: one.body_bytes, lambda one: one.size)
    columns = ("messages", "body_bytes", "store_bytes")
    minute = lambda one: datetime.fromtimestamp(one.stored_ms // 60_000 * 60, UTC)  # noqa: E731  one of five keys
    for table, keys, key in (
        ("by_topic", ["topic"], lambda one: (one.topic,)),
        ("by_topic_tag", ["topic", "tag"], lambda one: (one.topic, one.tag)),
        ("by_producer", ["host"], lambda one: (one.host,)),
        ("by_producer_topic_tag", ["host", "topic", "tag"], lambda one: (one.host, one.topic, one.tag)),
        ("by_minute", ["minute"], lambda one: (minute(one),)),
        ("by_minute_topic_tag", ["minute", "topic", "tag"], lambda one: (minute(one), one.topic, one.tag)),
    ):
        yield sums(told.records, key, *stored), shown(result, table, keys, *columns)


def _calendar(told, result):
    at = lambda one: datetime.fromtimestamp(one.stored_ms / 1000, UTC)  # noqa: E731  one of two keys
    expected = sums(told.records, lambda one: (at(one).strftime("%A"), at(one).hour), lambda one: one.size)
    found = shown(result, "by_weekday_hour", ["weekday", "hour"], "messages", "store_bytes")
    yield expected, {key: row for key, row in found.items() if row[0]}
    yield sum(one.size for one in told.records), total(result, "by_day", "store_bytes")


def _sizes(told, result):
    stored = (lambda one: one.body_bytes, lambda one: one.size)
    columns = ("messages", "body_bytes", "store_bytes")
    yield (
        sums(told.records, lambda one: (one.topic, one.tag), *stored),
        shown(result, "by_topic_tag", ["topic", "tag"], *columns),
    )
    largest = sorted((one.body_bytes for one in told.records), reverse=True)[:100]
    yield largest, [row["body_bytes"] for row in rows(result, "largest")]
    expected = (len(told.records), sum(one.body_bytes for one in told.records))
    yield expected, (total(result, "by_size", "messages"), total(result, "by_size", "body_bytes"))


def _compare(told, result):
    """Of the second half of the time, against the same a day before, of which nothing is there."""
    late = [one for one in told.records if one.stored_ms >= told.middle_ms]
    expected = {key: (count, 0) for key, (count,) in sums(late, lambda one: (one.topic, one.tag)).items()}
    yield expected, shown(result, "changes", ["topic", "tag"], "messages", "messages_before")


def _latency(told, result):
    waits = [(one.host, one.stored_ms - one.told["bornTimestamp"]) for one in told.sent if one.told["bornTimestamp"] > 0]
    for table, is_in in (("by_host", lambda ms: ms >= 0), ("clocks_ahead", lambda ms: ms < 0)):
        of_host = defaultdict(list)
        for host, ms in waits:
            if is_in(ms):
                of_host[host].append(ms)
        expected = {(host,): (len(some), min(some), max(some)) for host, some in of_host.items()}
        yield expected, shown(result, table, ["host"], "messages", "min_ms", "max_ms")


def _delay(told, result):
    identity = lambda one: (one.id, one.real_topic, one.told["reconsumeTimes"])  # noqa: E731  one of two
    waits = [one for one in told.of("delay") if one.id and "TIMER_DEL_UNIQKEY" not in one.properties]
    levels = [one for one in waits if one.topic == LEVELS]
    timers = {(*identity(one), one.properties.get("TIMER_OUT_MS")) for one in waits if one.topic == TIMERS}  # rolled ones once
    by_level = Counter(one.queue_id + 1 for one in levels)
    found = {row["level"].split()[0]: row["messages"] for row in rows(result, "by_level")}
    yield {str(level): count for level, count in by_level.items()} | ({"timer": len(timers)} if timers else {}), found
    planned = Counter(identity(one) for one in levels) + Counter(one[:3] for one in timers)
    real = Counter(identity(one) for one in told.of("delivered", "retry"))
    yield sum(min(count, real[key]) for key, count in planned.items()), total(result, "by_level", "delivered")
    yield len(levels) + len(timers), total(result, "by_level_topic", "messages")


def _transactions(told, result):
    lives = {(one.properties["PGROUP"], one.id) for one in told.of("half")}
    given_up = {(one.properties["PGROUP"], one.id) for one in told.of("given_up")}
    yield len(lives), total(result, "by_group", "transactions")
    committed = {(one.properties["PGROUP"], one.id) for one in told.of("committed")}
    yield len(committed), total(result, "by_group", "committed")
    yield len(told.of("committed")) - len(committed), total(result, "by_group", "extra_copies")
    # A broker of 5.x goes on asking for some that it has committed, and gives them up in the end: consumers have them.
    yield len(given_up - committed), total(result, "by_group", "given_up")
    checks = defaultdict(int)
    for one in told.of("half"):
        life = (one.properties["PGROUP"], one.id)
        checks[life] = max(checks[life], int(one.properties.get("TRANSACTION_CHECK_TIMES", 0)))
    yield Counter(checks.values()), Counter({row["checks"]: row["transactions"] for row in rows(result, "by_checks")})
    yield len(lives), sum(total(result, "by_host", name) for name in ("committed", "rolled_back", "given_up", "undecided"))


def _retries(told, result):
    """A chain is a message in a group: by the id of its first copy."""
    target = {id(one): one.real_topic if one.kind == "delay" else one.topic for one in told.records}
    failed = [one for one in told.records if target[id(one)].startswith(("%RETRY%", "%DLQ%"))]
    chains = {(target[id(one)].split("%")[2], one.properties["ORIGIN_MESSAGE_ID"]) for one in failed}
    dead = {one.properties["ORIGIN_MESSAGE_ID"] for one in told.of("dead_letter")}
    yield (
        Counter(group for group, _ in chains),
        Counter(
            {
                group: sum(row["messages"] for row in rows(result, "by_topic_tag") if row["group"] == group)
                for group in {row["group"] for row in rows(result, "by_topic_tag")}
            }
        ),
    )
    yield len(dead), total(result, "by_topic_tag", "dead")
    yield len(dead), total(result, "by_host", "dead")


def _dead_letters(told, result):
    key = lambda one: (one.topic.removeprefix("%DLQ%"), one.meant, one.tag)  # noqa: E731  read with what it is for
    expected = sums(told.of("dead_letter"), key, lambda one: one.size)
    yield expected, shown(result, "by_origin", ["group", "topic", "tag"], "dead", "store_bytes")
    yield len(told.of("dead_letter")), total(result, "by_age", "dead")


def _keys(told, result):
    for table, keys_of in (
        ("keys_by_topic", lambda one: one.keys),
        ("ordering_key_by_topic", lambda one: [one.properties[name] for name in ("__SHARDINGKEY",) if name in one.properties]),
    ):
        uses = defaultdict(Counter)
        for one in told.sent:
            uses[one.real_topic].update(keys_of(one))
        expected = {(topic,): (len(some), some.total(), max(some.values())) for topic, some in uses.items() if some}
        yield expected, shown(result, table, ["topic"], "distinct_values", "keyed", "largest")


def _queues(told, result):
    offsets = defaultdict(list)
    for one in told.records:
        offsets[one.topic, one.queue_id].append(one.told["queueOffset"])
    expected = {key: (len(some), min(some), max(some)) for key, some in offsets.items()}
    yield expected, shown(result, "by_queue", ["topic", "queue_id"], "messages", "offset_first", "offset_last")


def _tags(told, result):
    yield sums(told.records, lambda one: (one.topic, one.tag)), shown(result, "by_tag", ["topic", "tag"], "messages")
    values = defaultdict(list)
    for one in told.records:
        for name, value in one.properties.items():
            values[one.topic, name].append(value)
    expected = {key: (len(some), len(set(some))) for key, some in values.items()}
    yield expected, shown(result, "properties", ["topic", "property"], "messages", "distinct_values")


def _producers(told, result):
    yield (
        sums(told.sent, lambda one: (one.host,), lambda one: one.size),
        shown(result, "by_host", ["host"], "messages", "store_bytes"),
    )
    key = lambda one: (one.host, one.real_topic, one.properties.get("PGROUP"))  # noqa: E731  read with what it is for
    yield sums(told.sent, key), shown(result, "by_topic", ["host", "topic", "group"], "messages")


def _duplicates(told, result):
    """All stores are younger than the day within which repeats are looked for."""
    if not told.is_4:
        return  # the ids of members of 5.x batches are not in the description
    places = {(one.real_topic, one.id or index): one for index, one in reversed(list(enumerate(told.sent)))}
    named = Counter((one.real_topic, one.id) for one in told.sent if one.id)
    keyed = Counter((one.real_topic, key) for one in places.values() for key in one.keys)
    bodies = Counter((one.real_topic, one.told["bodyCrc"], one.body_bytes) for one in places.values() if one.body_bytes)
    expected = {
        name: (sum(count > 1 for count in some.values()), some.total() - len(some))
        for name, some in (("unique key", named), ("business key", keyed), ("body", bodies))
    }
    found = {name: [0, 0] for name in expected}
    for row in rows(result, "by_topic"):
        found[row["sameness"]][0] += row["groups"]
        found[row["sameness"]][1] += row["repeats"]
    yield expected, {name: tuple(row) for name, row in found.items()}


def _reconcile(told, result):
    copies = Counter(key for one in told.sent for key in one.keys)
    for row in rows(result, "keys"):
        yield copies[row["key"]], row["copies"]


def _incident(told, result):
    late = sums((one for one in told.records if one.stored_ms >= told.middle_ms), lambda one: one.topic)
    hour = range(told.middle_ms - 3_600_000, told.middle_ms)
    before = sums((one for one in told.records if one.stored_ms in hour), lambda one: one.topic)
    expected = {(topic,): (late.get(topic, (0,))[0], before.get(topic, (0,))[0]) for topic in late.keys() | before.keys()}
    yield expected, shown(result, "by_topic", ["topic"], "messages", "messages_before")


def _sql(told, result):
    yield sums(told.records, lambda one: (one.topic,)), shown(result, "rows", ["topic"], "messages")


def _story(told, result):
    yield sum(one.id == told.story_key for one in told.records), len(rows(result, "story"))


EXPECTED = {
    "throughput": _throughput, "calendar": _calendar, "sizes": _sizes, "compare": _compare, "latency": _latency,
    "delay": _delay, "transactions": _transactions, "retries": _retries, "dead-letters": _dead_letters, "keys": _keys,
    "queues": _queues, "tags": _tags, "producers": _producers, "duplicates": _duplicates, "reconcile": _reconcile,
    "story": _story, "incident": _incident, "sql": _sql,
}  # fmt: skip
