from broker_core.engine.tables.clients import Client, Consumers, Producers
from broker_core.engine.tables.heartbeat import ConsumerData
from broker_core.protocol.names import INNER_PRODUCER_GROUP
from broker_core.protocol.subscription import parse_subscription


def client(name="c", now_ms=0):
    return Client(name, "10.0.0.1:1", "JAVA", 409, now_ms)


def data(*subscriptions, group="G", model="CLUSTERING"):
    return ConsumerData(group, "CONSUME_PASSIVELY", model, "CONSUME_FROM_LAST_OFFSET", tuple(subscriptions))


def sub(topic, expression="*", version=1):
    return parse_subscription(topic, expression, version=version)


def test_the_expression_of_a_topic_follows_the_highest_version():
    consumers = Consumers()
    consumers.register("x", client(), data(sub("T", "a", 5)))
    assert consumers.register("x", client(), data(sub("T", "b", 4))) is False
    assert consumers.group("G").subscriptions["T"].expression == "a"
    assert consumers.register("x", client(), data(sub("T", "c", 6))) is False
    assert consumers.group("G").subscriptions["T"].expression == "c"


def test_a_changed_expression_is_a_change_that_members_need_not_be_told():
    consumers = Consumers()
    consumers.register("x", client(), data(sub("T", "a", 5)))
    before = consumers.changes
    consumers.register("x", client(), data(sub("T", "a", 6)))
    assert consumers.changes == before
    assert consumers.register("x", client(), data(sub("T", "b", 7))) is False
    assert consumers.changes == before + 1


def test_the_topics_follow_the_last_heartbeat_so_members_that_differ_replace_each_others():
    consumers = Consumers()
    consumers.register("x", client("1"), data(sub("A")))
    assert consumers.register("y", client("2"), data(sub("B"))) is True
    assert list(consumers.group("G").subscriptions) == ["B"]
    assert consumers.register("x", client("1"), data(sub("A"))) is True
    assert list(consumers.group("G").subscriptions) == ["A"]


def test_one_client_on_two_connections_is_listed_once():
    consumers = Consumers()
    consumers.register("x", client("same"), data())
    consumers.register("y", client("same"), data())
    assert consumers.group("G").client_ids == ["same"]
    assert consumers.member_count == 2


def test_leaving_tells_of_the_groups_that_were_left():
    consumers = Consumers()
    consumers.register("x", client(), data(group="G1"))
    consumers.register("x", client(), data(group="G2"))
    consumers.register("y", client(), data(group="G2"))
    assert consumers.connection_lost("x") == ["G1", "G2"]
    assert consumers.group("G1") is None
    assert consumers.unregister("x", "G2") is False
    assert consumers.group("G2").client_ids == ["c"]


def test_a_queue_belongs_to_the_member_that_pulled_it_last_while_it_stays():
    consumers = Consumers()
    for connection in "xy":
        consumers.register(connection, client(connection), data())
        consumers.pulled(connection, "G", "T", 0)
    consumers.pulled("stranger", "G", "T", 0)
    assert consumers.group("G").pullers == {("T", 0): "y"}
    consumers.unregister("y", "G")
    assert consumers.group("G").pullers == {}


def test_silent_members_are_found():
    consumers, producers = Consumers(silence_max_ms=10), Producers(silence_max_ms=10)
    consumers.register("x", client(now_ms=0), data())
    producers.register("y", client(now_ms=0), "PG")
    producers.register("z", client(now_ms=5), "PG")
    assert (consumers.silent(10), producers.silent(10)) == (set(), set())
    assert (consumers.silent(11), producers.silent(11)) == ({"x"}, {"y"})


def test_a_producer_group_without_members_is_gone():
    producers = Producers()
    producers.register("x", client(), "A")
    producers.register("x", client(), "B")
    assert producers.member_count == 1
    producers.connection_lost("x")
    assert (producers.groups(), producers.members("A")) == ({}, None)


def test_the_producer_inside_a_java_client_makes_no_producer_of_its_connection():
    producers = Producers()
    producers.register("consumer", client(), INNER_PRODUCER_GROUP)
    producers.register("both", client(), INNER_PRODUCER_GROUP)
    producers.register("both", client(), "PG")
    assert producers.member_count == 1
    assert len(producers.connections(INNER_PRODUCER_GROUP)) == 2, "the broker knows them all"
